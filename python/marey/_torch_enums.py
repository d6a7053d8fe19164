"""Enums that torch has too: ours for who has no torch, and torch's where the program has it.

Torch's enums are equal to nothing but themselves, are looked up in dicts, and its C++ takes no
others. So a drop-in hands out torch's own objects as soon as torch is loaded. This module never
imports torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any


def is_torchs(other: Any, name: str) -> bool:
    """Of torch's enum of this name, or of a class made from it."""
    return type(other).__name__ == name and type(other).__module__.partition(".")[0] == "torch"


class AsTorchs:
    """For an Enum: equal to torch's member of the same name."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        mine: Any = self
        theirs: Any = other
        if is_torchs(other, type(self).__name__):
            return bool(mine.name == theirs.name)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)  # type: ignore[attr-defined]


def as_torch(member: Any) -> Any:
    """torch.profiler's own member of this name. Ours, if the program has no torch or an older one
    that lacks it."""
    torchs = getattr(sys.modules.get("torch.profiler"), type(member).__name__, None)
    return getattr(torchs, member.name, member)


# ---- devices ---------------------------------------------------------------------------------------


class DeviceType(IntEnum):
    """torch's own numbers."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20

    def __eq__(self, other: object) -> bool:
        if is_torchs(other, "DeviceType"):
            return self.value == int(other)  # type: ignore[call-overload, no-any-return]
        return int.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        if is_torchs(other, "DeviceType"):
            return self.value != int(other)  # type: ignore[call-overload, no-any-return]
        return int.__ne__(self, other)

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def _comparison(name: str, torchs: type) -> Callable[[Any, object], Any]:
    compare: Callable[[int, int], Any] = getattr(int, name)

    def compared(self: Any, other: Any) -> Any:
        if isinstance(other, (int, torchs)):
            return compare(self.number, int(other))
        return NotImplemented

    return compared


def _both(torchs: Any) -> dict[int, Any]:
    """Members of torch's enum, by number, that are equal to ours too. They are of a class made
    from torch's: Python asks such a one first, on whichever side it stands."""
    names = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
    body: dict[str, Any] = {name: _comparison(name, torchs) for name in names}
    body["__hash__"] = lambda self: hash(self.number)
    body["__reduce__"] = lambda self: (torchs, (self.number,))
    body["__module__"] = torchs.__module__
    both: Any = type(torchs.__name__, (torchs,), body)
    made = {int(member): both(int(member)) for member in torchs.__members__.values()}
    for number, member in made.items():
        member.number = number  # torch's C++ takes ten times as long to tell it
    return made


_BOTH: dict[int, Any] = {}
"""Empty as long as the program has no torch."""


def device_type(number: int) -> DeviceType:
    """Equal to ours and, where the program has torch, an object of torch's class."""
    if not _BOTH:
        torchs = getattr(sys.modules.get("torch._C._autograd"), "DeviceType", None)
        if torchs is not None:
            _BOTH.update(_both(torchs))
    return _BOTH[number] if number in _BOTH else DeviceType(number)
