"""A drop-in for torch.autograd.profiler: the profiler without a schedule, and the names around it.

    import marey.autograd_profiler as profiler

    with profiler.profile(record_shapes=True) as prof:
        step()
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal

from marey import _schedule
from marey._averages import check_seconds
from marey._core import record_function
from marey._machine import Machine
from marey._profile import ask, prepare_torch_or_tell
from marey._torch_args import (
    NotInitializedError,
    has_torch,
    tell_experiments,
    tell_not_yet,
    torch_member,
    torchs_or,
    with_use_cuda,
    without_devices,
)
from marey._torch_records import Interval, Kernel
from marey._trace import Path
from marey._warn import warn
from marey.profiler import (
    ENUMS,
    Compat,
    FreeName,
    TorchProfiled,
    kineto_available,
    new_trace_id,
    supported_activities,
    trace_id_maker,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from marey._exports import Export
    from marey._schedule import ProfilerActivity  # noqa: F401 - by __getattr__
    from marey._torch_enums import DeviceType

__all__ = [
    "DeviceType",
    "Interval",
    "Kernel",
    "kineto_available",
    "profile",
    "record_function",
    "supported_activities",
]

if has_torch():
    __all__ += ["emit_itt", "emit_nvtx"]

TORCHS = frozenset({
    "EnforceUnique", "EventList", "FunctionEvent", "FunctionEventAvg", "KinetoStepTracker",
    "MemRecordsAcc", "ProfilerConfig", "ProfilerState", "emit_itt", "emit_nvtx",
    "load_nvprof", "parse_nvprof_trace",
})  # fmt: skip

SHARED = (
    "acc_events", "activity_filters", "custom_trace_id_callback", "experimental_config",
    "post_processing_timeout_s", "profile_memory", "record_shapes", "with_flops", "with_modules",
    "with_stack",
)  # fmt: skip
"""What another profiler was asked for, behind these names."""

USE_DEVICES = {
    "cuda": _schedule.ProfilerActivity.CUDA,
    "xpu": _schedule.ProfilerActivity.XPU,
    "mtia": _schedule.ProfilerActivity.MTIA,
    "hpu": _schedule.ProfilerActivity.HPU,
    "privateuseone": _schedule.ProfilerActivity.PrivateUse1,
}


def __getattr__(name: str) -> Any:
    """What is torch's own; of events and averages the classes are Marey's."""
    if name in ("DeviceType", "ProfilerActivity"):
        return torchs_or(*ENUMS[name])
    if name in TORCHS:
        import marey

        ours = getattr(marey, name, None)
        return torch_member("torch.autograd.profiler", name) if ours is None else ours
    raise AttributeError(f"module 'marey.autograd_profiler' has no attribute {name!r}")


class profile(TorchProfiled):
    """torch.autograd.profiler.profile.

    enabled=False records nothing. An object is entered once. The other arguments are torch's;
    compat="torch" shows torch's own numbers.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        use_mtia: bool = False,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: dict[Any, list[str]] | None = None,
        compat: Compat = None,
        clock: Literal["wall", "wall+cpu"] = "wall",
        pool_bytes: int | None = None,
    ) -> None:
        given = locals()
        self.enabled = enabled
        self.acc_events = acc_events
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.use_mtia = use_mtia
        self.entered = False
        self.use_cuda = use_cuda
        self.experimental_config = experimental_config
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.activity_filters = activity_filters or {}
        self._marey_set_compat(compat)
        check_seconds("post_processing_timeout_s", post_processing_timeout_s)
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        asked = {_schedule.ProfilerActivity.CPU} if use_cpu else set()
        asked = with_use_cuda(asked, use_cuda or None, 'use_device="cuda"')
        if use_device is not None and use_device not in USE_DEVICES:
            warn(f"The {use_device} is not a valid device option.")
        elif use_device is not None:
            asked.add(USE_DEVICES[use_device])
        if use_mtia:  # of torch 2.4
            asked.add(_schedule.ProfilerActivity.MTIA)
        self.use_device = None
        self._marey_wish = None
        if enabled:
            without_devices(asked)
            tell_not_yet(given)
            tell_experiments(experimental_config)
            self._marey_wish = prepare_torch_or_tell(True)
        wants = ask(self._marey_wish is not None, self.record_shapes, clock, pool_bytes, joins_steps=True)
        self._marey_machine = Machine(wants, None, 0, None)
        self._marey_machine.new_trace_id = trace_id_maker(custom_trace_id_callback)

    @classmethod
    def _marey_of(cls, prof: TorchProfiled) -> profile:
        """The results of another profiler behind these names."""
        made = cls(enabled=False)
        made._marey_machine = prof._marey_machine
        made._marey_focus = prof._marey_focus
        made.enabled = made.entered = True
        made._marey_compat = prof._marey_compat
        for name in SHARED:
            setattr(made, name, getattr(prof, name))
        return made

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._marey_begin()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.enabled and self._marey_machine.is_running:
            self.stop()

    def stop(self) -> None:
        self._marey_machine.stop(lambda cycle: None)

    # -- results

    @property
    def _marey_is_finished(self) -> bool:
        return self._marey_machine.was_started and not self._marey_machine.is_running

    @property
    def function_events(self) -> Any:
        """The events; None before the end, as torch has it."""
        return self.events() if self._marey_is_finished else None

    @FreeName
    def kineto_results(self) -> None:
        """torch's own results there are none."""
        return None

    @FreeName
    def kineto_activities(self) -> set[ProfilerActivity]:
        """What is recorded."""
        return supported_activities() if self.use_cpu else set()

    @FreeName
    def profiling_start_time_ns(self) -> int:
        """Since the Unix epoch, where torch has a clock without a known begin; 0 before the start."""
        return self._marey_shown().stats.start_ns if self._marey_machine.cycles.shown() else 0

    @FreeName
    def profiling_end_time_ns(self) -> int:
        """The same of the end; 0 before it."""
        return (self._marey_shown().stats.stop_ns or 0) if self._marey_is_finished else 0

    @FreeName
    def trace_id(self) -> str | None:
        """Of the last cycle; None before there is one."""
        cycles = self._marey_machine.cycles.shown()
        return cycles[-1].trace_id if cycles else None

    def _marey_check_finished(self) -> None:
        if not self._marey_is_finished:
            raise NotInitializedError("Profiler didn't finish running")

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """A row for each event; key_averages().table() has a row for each name."""
        self._marey_check_finished()
        text: str = self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )
        return text

    def total_average(self) -> Any:
        """All events added up, under the key "Total"."""
        self._marey_check_finished()
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of self times, in microseconds."""
        self._marey_check_finished()
        total: float = self.function_events.self_cpu_time_total
        return total

    def export_chrome_trace(  # type: ignore[override]
        self,
        path: Path,
        metadata: dict[str, str] | None = None,
        use_python_export: bool = False,
        **ours: Any,
    ) -> Export | None:
        """Write Chrome JSON. metadata: further members of the head, in JSON."""
        for key, value in (metadata or {}).items():
            self.add_metadata_json(key, value)
        return super().export_chrome_trace(path, **ours)

    def default_trace_id(self) -> str:
        """An id of random digits."""
        return new_trace_id()

    def create_trace_id(self) -> str:
        """The id that a trace which begins now would have."""
        make = self._marey_machine.new_trace_id
        return new_trace_id() if make is None else make()

    def export_stacks(self, path: Path, metric: str = "self_cpu_time_total") -> None:
        """Write one line a stack, as torch does: for flame graphs. Without stacks an error."""
        self._marey_check_finished()
        super().export_stacks(path, metric)

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[Any]) -> None:
        """Switches recording off and on again."""
        super().toggle_collection_dynamic(enabled, activities)

    def __str__(self) -> str:
        return self.table() if self._marey_is_finished else repr(self)

    def __repr__(self) -> str:
        if not self._marey_is_finished:
            return "<unfinished marey.autograd_profiler.profile>"
        return repr(self.function_events)


