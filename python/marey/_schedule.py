"""When a profiler records: actions, and schedules that tell the action of a step."""

from __future__ import annotations

import enum
from contextlib import suppress
from operator import index
from typing import Any

from marey import _core
from marey._torch_enums import AsTorchs, as_torch
from marey._warn import warn


class ProfilerAction(AsTorchs, enum.Enum):
    """What a profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    """Record, and hand over what the cycle came to at its end."""


class ProfilerActivity(AsTorchs, enum.Enum):
    """What can be recorded; the numbers are torch's."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5

    def __hash__(self) -> int:
        return hash(self.value)  # as torch's, which is one of C++


class ScheduleError(ValueError, AssertionError):
    """Numbers that make no schedule; torch raises an AssertionError."""


def callable_or_none(name: str, value: Any) -> Any:
    """A function of the program; None for what is false, as `rank == 0 and handler` is.
    TypeError: it cannot be called."""
    if callable(value):
        return value
    if not value:
        return None
    raise TypeError(f"{name}={value!r}: give a function, or None")


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


def _whole(number: Any) -> Any:
    """A number without a fraction, which comes of a division or of numpy, is the integer."""
    try:
        return index(number)
    except TypeError:
        pass
    try:
        whole = int(number)
        return whole if whole == number else float(number)
    except (OverflowError, ValueError):
        return number  # infinite, or none


def _action_by_parts(numbers: tuple[Any, ...], step: float) -> ProfilerAction:
    """What torch's arithmetic makes of numbers with a fraction. Source: torch.profiler 2.13."""
    wait, warmup, active, repeat, skip_first, skips_wait = numbers
    n_steps = wait + warmup + active
    if step < skip_first:
        return ProfilerAction.NONE
    step += (wait if skips_wait else 0) - skip_first
    place = step % n_steps
    if place < wait or (repeat > 0 and step / n_steps >= repeat):
        return ProfilerAction.NONE
    if place < wait + warmup:
        return ProfilerAction.WARMUP
    return ProfilerAction.RECORD if place < n_steps - 1 else ProfilerAction.RECORD_AND_SAVE


class Schedule:
    """Steps to actions; what schedule() returns."""

    __slots__ = ("_is_whole", "_numbers")

    def __init__(self, *numbers: Any) -> None:
        self._numbers = tuple(map(_whole, numbers))
        self._is_whole = all(isinstance(number, int) for number in self._numbers)

    def __call__(self, step: int) -> ProfilerAction:
        if step < 0:
            raise ScheduleError(f"no step {step}: steps count from 0")
        if self._is_whole:
            # What the core does not take is a fraction of a step, or a number without bound.
            with suppress(OverflowError, TypeError):
                return ProfilerAction(_core.schedule_action(*self._numbers, step))
        return _action_by_parts(self._numbers, step)

    @property
    def n_active(self) -> int | None:
        """Active steps of a cycle; None of numbers with a fraction, which do not tell it."""
        n_active: int = self._numbers[2]
        return n_active if self._is_whole else None

    def __repr__(self) -> str:
        wait, warmup, active, repeat, skip_first, skip_first_wait = self._numbers
        return (
            f"marey.schedule(wait={wait}, warmup={warmup}, active={active}, repeat={repeat},"
            f" skip_first={skip_first}, skip_first_wait={int(skip_first_wait)})"
        )


class TorchSchedule(Schedule):
    """Gives torch's own actions where the program has torch, so that its profiler takes it."""

    __slots__ = ()

    @classmethod
    def of(cls, plan: Schedule) -> TorchSchedule:
        return cls(*plan._numbers)

    def __call__(self, step: int) -> Any:
        return as_torch(super().__call__(step))


def _check_number(name: str, value: Any) -> None:
    """TypeError: what cannot be compared to a number is none."""
    try:
        _ = value < 0
    except TypeError:
        raise TypeError(f"schedule({name}={value!r}): give a number of steps") from None


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
    given = {
        "wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first,
    }  # fmt: skip
    for name, value in given.items():
        _check_number(name, value)
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ScheduleError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup}"
            f" (need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0),"
            f" skip_first={skip_first} (need >= 0)"
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")
    return Schedule(wait, warmup, active, repeat, skip_first, bool(skip_first_wait))


def n_active_of(schedule: Any) -> int | None:
    """How many active steps a cycle has; None where the schedule does not say it."""
    if isinstance(schedule, Schedule):
        return schedule.n_active
    # torch's is a function inside torch.profiler.schedule.
    names = getattr(getattr(schedule, "__code__", None), "co_freevars", ())
    if getattr(schedule, "__module__", None) != "torch.profiler.profiler" or "active" not in names:
        return None
    n_active = schedule.__closure__[names.index("active")].cell_contents
    return n_active if isinstance(n_active, int) else None
