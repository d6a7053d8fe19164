"""When a profiler records: actions, and schedules that tell the action of a step."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from marey import _core


class ProfilerAction(enum.Enum):
    """What a profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    """Record, and hand over what the cycle came to at its end."""


class ProfilerActivity(enum.Enum):
    """What can be recorded."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


def action_of(value: Any) -> ProfilerAction:
    """An action, also if it is torch's own."""
    if isinstance(value, ProfilerAction):
        return value
    if type(value).__name__ == "ProfilerAction" and value.name in ProfilerAction.__members__:
        return ProfilerAction[value.name]
    raise ValueError(f"a schedule gave {value!r}, which is no ProfilerAction")


def activity_of(value: Any) -> ProfilerActivity:
    """An activity, also if it is torch's own."""
    if isinstance(value, ProfilerActivity):
        return value
    if type(value).__name__ == "ProfilerActivity" and value.name in ProfilerActivity.__members__:
        return ProfilerActivity[value.name]
    if isinstance(value, dict):
        raise _core.UnsupportedError(
            "cannot record a part of an activity yet, name the activity without its filter"
        )
    raise TypeError(f"an activity is a ProfilerActivity, not {type(value).__name__}")


class Schedule:
    """Steps to actions; what schedule() returns."""

    __slots__ = ("_numbers",)

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers

    def __call__(self, step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"no step {step}: steps count from 0")
        return ProfilerAction(_core.schedule_action(*self._numbers, step))

    def __repr__(self) -> str:
        wait, warmup, active, repeat, skip_first, skip_first_wait = self._numbers
        return (
            f"marey.schedule(wait={wait}, warmup={warmup}, active={active}, repeat={repeat},"
            f" skip_first={skip_first}, skip_first_wait={int(skip_first_wait)})"
        )


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Schedule:
    """A schedule as torch.profiler has it: after skip_first steps, cycles of wait, warm-up and
    active ones; ``repeat`` of them, 0 is no end. With skip_first_wait the first cycle has no
    wait."""
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup}"
            f" (need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0),"
            f" skip_first={skip_first} (need >= 0)"
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    return Schedule(wait, warmup, active, repeat, skip_first, bool(skip_first_wait))
