"""What torch.profiler's arguments ask for, and what of it can be had: the drop-in says in words what
it goes on without, where marey.profile refuses."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any, ClassVar

from marey import _live_torch
from marey._schedule import ProfilerActivity
from marey._warn import warn

DEVICES = (ProfilerActivity.CUDA, ProfilerActivity.XPU, ProfilerActivity.MTIA,
           ProfilerActivity.HPU, ProfilerActivity.PrivateUse1)  # fmt: skip

NOT_YET = {
    "profile_memory": "memory is not recorded yet: its columns and its events are missing",
    "with_stack": "stacks are not recorded yet: events have none",
    "with_flops": "FLOPs are not counted yet: their column is missing",
}

CPU_FILTERS = frozenset({
    "CPU_OP", "USER_ANNOTATION", "EXTERNAL_CORRELATION", "CPU_INSTANT_EVENT", "PYTHON_FUNCTION",
    "OVERHEAD",
})  # fmt: skip
"""Names of Kineto's activity types on the CPU, as an item of activities may name them."""


class NotInitializedError(RuntimeError, AssertionError):
    """torch raises an AssertionError where results are asked for before there are any."""


class ActivityError(TypeError, AssertionError):
    """What is no activity: a TypeError in torch, and an AssertionError where there is nothing else."""


# ---- activities ------------------------------------------------------------------------------------


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here."""
    return {ProfilerActivity.CPU}


def _named(item: Any) -> ProfilerActivity | None:
    """An activity, also if it is torch's own; None for what is none."""
    if isinstance(item, ProfilerActivity):
        return item
    if type(item).__name__ == "ProfilerActivity":
        return ProfilerActivity.__members__.get(item.name)
    return None


def read_activities(
    activities: Iterable[Any] | None,
) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, list[str]]]:
    """Activities, and the filters of those that stand in a dict. None is all that there are.

    Source: torch.profiler 2.13. AssertionError: none of them is an activity; ValueError: one is
    named twice; TypeError: an item is neither an activity nor a dict of them.
    """
    if activities is None:
        return supported_activities(), {}
    asked: list[ProfilerActivity] = []
    filters: dict[ProfilerActivity, list[str]] = {}
    for item in activities:
        named = item.items() if isinstance(item, dict) else [(item, None)]
        for key, names in named:
            activity = _named(key)
            if activity is None:
                raise ActivityError(f"Expected ProfilerActivity or dict, got {type(key)}")
            if activity in asked:
                raise ValueError(f"Activity {activity.name} specified more than once")
            asked.append(activity)
            if names is not None:
                filters[activity] = list(names)
    if not asked:
        raise AssertionError("No valid profiler activities found")
    for name in filters.get(ProfilerActivity.CPU, ()):
        if name not in CPU_FILTERS:
            raise RuntimeError(f"Unknown or non-member activity type name: '{name}'")
    return set(asked), filters


def _is_there(device: ProfilerActivity) -> bool:
    """The program's torch has such a device."""
    if device is ProfilerActivity.PrivateUse1:
        return False
    torch: Any = sys.modules.get("torch")
    try:
        return bool(getattr(torch, device.name.lower()).is_available())
    except Exception:
        return False  # no torch, no such back end, or a driver that does not answer


def without_devices(asked: set[ProfilerActivity]) -> set[ProfilerActivity]:
    """What is left of them: a device that is not there is told as torch tells it, one that cannot
    be recorded yet in words. AssertionError: nothing is left of a device that is not there."""
    left = set(asked)
    for device in DEVICES:
        if device not in asked:
            continue
        left.discard(device)
        if _is_there(device):
            warn(
                f"{device.name} is there, and its kernels and copies cannot be recorded yet: the"
                " profile has the operators on the CPU"
            )
            left.add(ProfilerActivity.CPU)
        else:
            warn(f"{device.name} is not available, disabling {device.name} profiling")
    if not left:
        raise AssertionError("No valid profiler activities found")
    return left


def with_use_cuda(
    asked: set[ProfilerActivity],
    use_cuda: bool | None,
    instead: str = "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
) -> set[ProfilerActivity]:
    """torch's oldest argument. instead: what the profiler has in its place."""
    if use_cuda is None:
        return asked
    warn(f"use_cuda is deprecated, use {instead}", FutureWarning)
    device = {ProfilerActivity.CUDA}
    return asked | device if use_cuda else asked - device


def tell_not_yet(given: dict[str, Any]) -> None:
    """Of the arguments that later versions will answer."""
    for name, words in NOT_YET.items():
        if given.get(name):
            warn(f"{name}: {words}")
    if given.get("with_modules"):
        warn("with_modules is torch's for TorchScript, and has no effect", FutureWarning)


# ---- experiments ------------------------------------------------------------------------------------


class ExperimentalConfig:
    """torch's _ExperimentalConfig: its names and defaults. What is asked for beyond them is told
    when a profiler takes it."""

    DEFAULTS: ClassVar[dict[str, Any]] = {
        "profiler_metrics": (),
        "profiler_measure_per_kernel": False,
        "verbose": False,
        "performance_events": (),
        "enable_cuda_sync_events": False,
        "adjust_profiler_step": False,
        "disable_external_correlation": False,
        "profile_all_threads": False,
        "capture_overload_names": False,
        "record_python_gc_info": False,
        "expose_kineto_event_metadata": False,
        "custom_profiler_config": "",
        "adjust_timestamps": False,
        "trace_only": False,
    }

    def __init__(self, *positional: Any, **named: Any) -> None:
        names = list(self.DEFAULTS)
        if len(positional) > len(names):
            raise TypeError(f"_ExperimentalConfig takes {len(names)} arguments at most")
        given = dict(zip(names, positional, strict=False))
        for name, value in named.items():
            if name not in self.DEFAULTS:
                raise TypeError(f"_ExperimentalConfig has no argument {name!r}")
            if name in given:
                raise TypeError(f"_ExperimentalConfig got {name!r} twice")
            given[name] = value
        self.__dict__.update({**self.DEFAULTS, **given})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExperimentalConfig) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = [f"{n}={v!r}" for n, v in self.__dict__.items() if v != self.DEFAULTS[n]]
        return f"_ExperimentalConfig({', '.join(given)})"


NEEDS_NOTHING = ("profile_all_threads", "disable_external_correlation", "adjust_profiler_step")
"""All threads are recorded anyway, and what the others spare costs nothing here."""


def tell_experiments(config: Any) -> None:
    """What it asks for and there is not yet. Of torch's own only some members can be read."""
    if config is None:
        return
    asked = [
        name
        for name, default in ExperimentalConfig.DEFAULTS.items()
        if name not in NEEDS_NOTHING and getattr(config, name, default) not in (default, [], None)
    ]
    if asked:
        warn(f"experimental_config: {', '.join(asked)} cannot be had yet, and has no effect")


# ---- torch itself --------------------------------------------------------------------------------------


def has_torch() -> bool:
    return _live_torch.is_importable()


def torch_member(module: str, name: str) -> Any:
    """What is torch's own, of a module that offers it as its own too."""
    if not has_torch():
        raise AttributeError(f"{name} is torch's own, and torch is not installed")
    return getattr(importlib.import_module(module), name)


def torchs_or(ours: Any, module: str) -> Any:
    """torch's class of this name, which takes the import of torch; ours where there is none."""
    try:
        return torch_member(module, ours.__name__)
    except (AttributeError, ImportError, OSError):
        return ours


def torch_version() -> str | None:
    """Of the torch that the program uses."""
    torch: Any = sys.modules.get("torch")
    return str(torch.__version__) if torch is not None and _live_torch.is_imported() else None
