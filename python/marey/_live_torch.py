"""The torch of this process: its collector, and the ranges of compiled models.

torch is never imported for its own sake: if the program imports it later, the collector is
attached then.

torch's fast ranges, those of compiled models, reach no collector: they are made only while
torch's own profiler says that it is on, and they tell global hooks nothing unless it is. So
while a session runs the flag is set and a type of ours stands in for torch's. As long as
torch's profiler really is on, all is as torch has it: then its own ranges reach us too.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

from marey import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_lock = RLock()


# ---- when torch is imported ------------------------------------------------------------------------


class _Loader:
    """Loads a module as its own loader does, then calls."""

    def __init__(self, loader: Any, then: Callable[[bool], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        is_loaded = False
        try:
            self._loader.exec_module(module)
            is_loaded = True
        finally:
            self._then(is_loaded)


class _Finder:
    """Finds torch as the others do, once, to hear of it when it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, self._heard)
                return spec
        return None

    def _heard(self, is_loaded: bool) -> None:
        """Its work is done once torch is there; a failed import may be tried again."""
        if not is_loaded:
            return
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            attach()
        except Exception as error:
            import warnings

            warnings.warn(f"operators of torch are not recorded: {error}", stacklevel=2)
        _arrange_ranges()


def is_imported() -> bool:
    """torch is there whole: a thread may be importing it just now."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "autograd")


def is_importable() -> bool:
    import importlib.util

    try:
        return importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def attach() -> None:
    """Builds the collector if need be and loads it. Imports torch.

    Raises CollectorError, or what the loader says.
    """
    from marey import _build

    path = _build.find() or _build.build()
    _core.collector_load(os.fspath(path))


def attach_when_imported() -> None:
    """Attaches when the program imports torch; a failure is a warning then."""
    with _lock:
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())


# ---- ranges of compiled models -----------------------------------------------------------------------


class _Ranges:
    """What is in place of what. Written under the lock."""

    n_users = 0
    original: Any = None  # torch's type, while ours stands in for it
    is_hooked = False
    torchs: dict[str, Any]  # torch's functions that ours stand before; kept for late callers
    is_fork_handled = False


_Ranges.torchs = {}


def _swap(old: Any, new: Any) -> None:
    """In torch and in all modules that imported it by name."""
    for module in list(sys.modules.values()):
        members = getattr(module, "__dict__", None)
        if isinstance(members, dict) and members.get("_RecordFunctionFast") is old:
            members["_RecordFunctionFast"] = new


def _stand_in(profiler: Any) -> None:
    native = sys.modules.get("torch._C._profiler")
    if _Ranges.original is not None or native is None or profiler._is_profiler_enabled:
        return
    original = getattr(native, "_RecordFunctionFast", None)
    if original is None:
        return
    _Ranges.original = original
    _swap(original, _core.OpRange)
    profiler._is_profiler_enabled = True


def _stand_aside(profiler: Any) -> None:
    if _Ranges.original is None:
        return
    _swap(_core.OpRange, _Ranges.original)
    _Ranges.original = None
    profiler._is_profiler_enabled = False


def _on_torchs_start() -> None:
    """torch's own profiler starts."""
    with _lock:
        _stand_aside(sys.modules["torch.autograd.profiler"])
    _Ranges.torchs["_run_on_profiler_start"]()


def _on_torchs_stop() -> None:
    """It has stopped."""
    _Ranges.torchs["_run_on_profiler_stop"]()
    _arrange_ranges()


_HOOKS = {
    "_run_on_profiler_start": _on_torchs_start,
    "_run_on_profiler_stop": _on_torchs_stop,
}


def _hook(profiler: Any) -> None:
    for name, ours in _HOOKS.items():
        if name in vars(profiler):
            _Ranges.torchs[name] = getattr(profiler, name)
            setattr(profiler, name, ours)
    _Ranges.is_hooked = True


def _unhook(profiler: Any) -> None:
    for name, ours in _HOOKS.items():
        # Who came after us keeps its place, and calls torch's through ours.
        if vars(profiler).get(name) is ours:
            setattr(profiler, name, _Ranges.torchs[name])
    _Ranges.is_hooked = False


def _arrange_ranges() -> None:
    """Brings all in the place that the number of users asks for."""
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    if profiler is None or not hasattr(profiler, "_is_profiler_enabled"):
        return
    with _lock:
        if _Ranges.n_users > 0:
            if not _Ranges.is_hooked:
                _hook(profiler)
            _stand_in(profiler)
        elif _Ranges.is_hooked:
            _stand_aside(profiler)
            _unhook(profiler)


def _forget_users() -> None:
    """In a forked child, where no session runs."""
    global _lock
    _lock = RLock()
    _Ranges.n_users = 0
    _arrange_ranges()


def begin_ranges() -> None:
    """A session runs from now on."""
    with _lock:
        if not _Ranges.is_fork_handled:
            os.register_at_fork(after_in_child=_forget_users)
            _Ranges.is_fork_handled = True
        _Ranges.n_users += 1
        _arrange_ranges()


def end_ranges() -> None:
    """A session has ended."""
    with _lock:
        _Ranges.n_users = max(0, _Ranges.n_users - 1)
        if _Ranges.n_users == 0:
            _arrange_ranges()
