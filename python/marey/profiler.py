"""A drop-in for torch.profiler.

    from marey.profiler import ProfilerActivity, profile, record_function, schedule

takes the place of the same line with torch.profiler: names, arguments, defaults, warnings and
errors are torch's, of 2.4 to the newest. Numbers are Marey's (docs/differences.md);
``profile(compat="torch")`` shows torch's own.

What asks for something that is not to be had goes on without it and says so; `marey.profile` is
the strict one. Threads: a profile is started, stepped and stopped by one thread at a time; its
results may be read by any.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, overload

from marey import _core, _schedule, _torch_args
from marey._averages import check_seconds
from marey._core import record_function
from marey._cycle import Cycle
from marey._cycles import Cycles
from marey._machine import Machine
from marey._profile import HandsOver, Profiled, ask, prepare_torch_or_tell, tell_kernels_missing
from marey._schedule import TorchSchedule, callable_or_none
from marey._results import SessionStats
from marey._torch import TorchView
from marey._torch_args import (
    ExperimentalConfig as _ExperimentalConfig,
    NotInitializedError,
    has_torch,
    read_activities,
    tell_experiments,
    tell_not_yet,
    torch_member,
    torch_version,
    torchs_or,
    with_use_cuda,
    without_devices,
)
from marey._torch_enums import DeviceType as _DeviceType, as_torch
from marey._trace import Path, Trace
from marey._warn import tell, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from marey._exports import Export
    from marey._schedule import ProfilerAction, ProfilerActivity
    from marey._torch_enums import DeviceType
    from marey.autograd_profiler import profile as AutogradProfile

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

if has_torch():
    __all__ += ["ExecutionTraceObserver"]

Compat = Literal["torch"] | None


ENUMS = {
    "DeviceType": (_DeviceType, "torch.autograd"),
    "ProfilerAction": (_schedule.ProfilerAction, "torch.profiler"),
    "ProfilerActivity": (_schedule.ProfilerActivity, "torch.profiler"),
}


def __getattr__(name: str) -> Any:
    """What is torch's own. Its enums are ours where there is no torch: torch's functions take only
    torch's, and a program hands them to both."""
    if name in ENUMS:
        return torchs_or(*ENUMS[name])
    if name in ("ExecutionTraceObserver", "KinetoStepTracker", "RecordScope", "itt"):
        return torch_member("torch.profiler", name)
    raise AttributeError(f"module 'marey.profiler' has no attribute {name!r}")


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> TorchSchedule:
    """As marey.schedule; torch's profiler takes it too."""
    return TorchSchedule.of(
        _schedule.schedule(
            wait=wait,
            warmup=warmup,
            active=active,
            repeat=repeat,
            skip_first=skip_first,
            skip_first_wait=skip_first_wait,
        )
    )


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here."""
    return set(map(as_torch, _torch_args.supported_activities()))


def kineto_available() -> bool:
    """Whether there is a tracer, which programs ask before they profile: Marey's own is."""
    return True


def tensorboard_trace_handler(
    dir_name: Path,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """For on_trace_ready: writes a file into dir_name for each cycle, named as TensorBoard's
    plug-in wants it, "<worker>.<ns>.pt.trace.json", with ".gz" if use_gzip.

    worker_name: None is host name and process. RuntimeError: the folder cannot be made.
    """
    worker = worker_name

    def handler(prof: Any) -> None:
        nonlocal worker
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {os.fspath(dir_name)}") from error
        if not worker:
            worker = f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        name = f"{worker}.{time.time_ns()}{ending}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


def _observer(given: Any) -> Any:
    """The one that is given, else that of the environment. TypeError: it is none."""
    if not given:
        return _observer_of_environment()
    if not (callable(getattr(given, "start", None)) and callable(getattr(given, "stop", None))):
        raise TypeError(
            f"execution_trace_observer={given!r}: give an object with start() and stop(), or None"
        )
    return given


def _observer_of_environment() -> Any:
    """torch's, if its environment asks for one."""
    if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE") != "1":
        return None
    observer = torch_member("torch.profiler", "ExecutionTraceObserver")
    return observer.build_execution_trace_obs_from_env()


def new_trace_id() -> str:
    """As torch makes them."""
    return uuid.uuid4().hex.upper()


def trace_id_maker(callback: Any) -> Callable[[], str]:
    """TypeError: the callback cannot be called."""
    return callable_or_none("custom_trace_id_callback", callback) or new_trace_id


@dataclass(frozen=True)
class ProfilerStats:
    """What torch's _stats() tells; what is not measured is None."""

    profiling_window_duration_sec: float | None
    number_of_events: int
    profiler_prepare_call_duration_us: int | None = None
    profiler_enable_call_duration_us: int | None = None
    profiler_disable_call_duration_us: int | None = None
    parse_kineto_call_duration_us: int | None = None
    function_events_build_tree_call_duration_us: int | None = None


Got = TypeVar("Got")


class FreeName(Generic[Got]):
    """A property whose name is free in torch's class, or that of an attribute there: a program that
    sets it, as a class derived from torch's may, has what it set."""

    def __init__(self, ask: Callable[[Any], Got]) -> None:
        self._ask = ask
        self.__doc__ = ask.__doc__

    @overload
    def __get__(self, prof: None, kind: Any = None) -> FreeName[Got]: ...
    @overload
    def __get__(self, prof: object, kind: Any = None) -> Got: ...
    def __get__(self, prof: object | None, kind: Any = None) -> FreeName[Got] | Got:
        return self if prof is None else self._ask(prof)


class TorchProfiled(Profiled):
    """What the drop-ins have in common."""

    @FreeName
    def trace(self) -> Trace:
        """What was recorded; while it is, what there is so far."""
        return self._marey_trace_now()

    @FreeName
    def cycles(self) -> tuple[Cycle, ...]:
        """Each cycle for itself: of a program without a schedule there is one."""
        return tuple(self._marey_machine.cycles.shown())

    @FreeName
    def stats(self) -> SessionStats:
        """What recording came to: losses, memory, error of the clock."""
        return self._marey_shown().stats

    with_stack: bool
    _marey_compat: Compat
    _marey_joins_steps = True

    def _marey_set_compat(self, compat: Compat) -> None:
        if compat not in (None, "torch"):
            raise ValueError(f"no compat '{compat}': None for Marey's numbers, or 'torch'")
        self._marey_compat = compat

    def _marey_shown(self) -> Cycle | Cycles:
        if self._marey_focus is None and not self._marey_machine.was_started:
            raise NotInitializedError(
                "Profiler must be initialized before its results are asked for: it was not started"
            )
        machine = self._marey_machine
        if self._marey_focus is None and not machine.is_running and not machine.cycles.shown():
            # As torch: what was never active is empty, and no error.
            return machine.cycles.nothing()
        return super()._marey_shown()

    def _marey_view(self) -> TorchView:
        """What torch would show: the last cycle, or with acc_events all so far. What was let go is
        in no such view, which is told each time, nor are worker processes, told once."""
        trace = self._marey_of_shown(self._marey_trace_to_view)
        return trace.view(compat="torch", version=torch_version())

    def _marey_trace_to_view(self, shown: Cycle | Cycles) -> Trace:
        cycles = shown if isinstance(shown, Cycles) else self._marey_machine.cycles
        if self._marey_workers is not None:
            self._marey_workers.tell_left_out()
        if self.acc_events:
            self._marey_tell_left_out(cycles)
            return cycles.own_trace()
        return cycles.last_trace() if shown is cycles else shown.own_trace()

    @staticmethod
    def _marey_tell_left_out(cycles: Cycles) -> None:
        if not cycles.are_whole:
            n_whole = sum(cycle.is_whole for cycle in cycles.shown())
            tell(
                f'compat="torch": of {len(cycles.shown())} cycles it shows the last {n_whole}, the'
                " others were let go for want of memory; a larger keep_bytes keeps more"
            )

    def events(self) -> Any:
        """All that was recorded, in order of its start on each track."""
        return super().events() if self._marey_compat is None else self._marey_view().events()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> Any:
        """Averages by name, and by what else is asked for."""
        if self._marey_compat is None:
            return super().key_averages(
                group_by_input_shape,
                group_by_stack_n,
                group_by_overload_name,
                include_python_functions,
            )
        return self._marey_view().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(  # type: ignore[override]
        self, path: Path, use_python_export: bool = False, **ours: Any
    ) -> Export | None:
        """Write Chrome JSON, as torch does; ours: the other arguments of marey.profile's.

        OSError: it cannot be written. From on_trace_ready that is told instead, once for each
        file: as with torch's, a disk that is full ends no training.
        """
        try:
            return super().export_chrome_trace(path, **ours)
        except OSError as error:
            if self._marey_focus is None:
                raise
            tell(f"cycle {self._marey_focus.number} is not written: {error}")
            return None

    def export_stacks(self, path: Path, metric: str = "self_cpu_time_total") -> None:
        """Write one line a stack, as torch does: for flame graphs.

        AssertionError: it was not started, or not asked for stacks. ValueError: no such metric.
        """
        self._marey_shown()
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        super().export_stacks(path, metric)

    def _stats(self) -> ProfilerStats | None:
        """None before there is anything."""
        if not self._marey_machine.cycles.shown():
            return None
        stats = self._marey_shown().stats
        window_ns = None if stats.stop_ns is None else stats.stop_ns - stats.start_ns
        return ProfilerStats(
            profiling_window_duration_sec=None if window_ns is None else window_ns / 1e9,
            number_of_events=len(super().events()),
        )

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Switches recording off and on again, at any moment of a cycle: the next begins switched
        on, and where none is recorded nothing changes. What is open ends where it is switched off;
        the trace's ledger says for how long nothing was recorded. Without CPU among the activities,
        or with none, nothing changes, since nothing else is recorded yet."""
        activities = None if activities is None else list(activities)
        asked, _ = (set(), {}) if activities == [] else read_activities(activities)
        if self._marey_machine.is_running and _schedule.ProfilerActivity.CPU in asked:
            self._marey_machine.toggle(enable)


class _KinetoProfile(TorchProfiled):
    """A profiler without a schedule: start() and stop(), or their parts prepare_trace(),
    start_trace() and stop_trace()."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        compat: Compat = None,
        clock: Literal["wall", "wall+cpu"] = "wall",
        pool_bytes: int | None = None,
        keep_bytes: int | None = None,
    ) -> None:
        given = locals()
        asked, filters = read_activities(activities)
        self._marey_set_up(given, asked, filters, activities is not None, None, 0)

    def _marey_set_up(
        self,
        given: dict[str, Any],
        asked: set[ProfilerActivity],
        filters: dict[ProfilerActivity, list[str]],
        is_asked: bool,
        plan: Callable[[int], Any] | None,
        first_step: int,
    ) -> None:
        """given: the arguments of the constructor."""
        self._marey_set_compat(given["compat"])
        check_seconds("post_processing_timeout_s", given["post_processing_timeout_s"])
        self.activities = set(map(as_torch, without_devices(asked)))
        self.activity_filters = {as_torch(key): names for key, names in filters.items()}
        tell_not_yet(given)
        tell_experiments(given["experimental_config"])
        self.record_shapes = given["record_shapes"]
        self.profile_memory = given["profile_memory"]
        self.with_stack = given["with_stack"]
        self.with_flops = given["with_flops"]
        self.with_modules = given["with_modules"]
        self.experimental_config = given["experimental_config"]
        self.acc_events = given["acc_events"]
        self.custom_trace_id_callback = given["custom_trace_id_callback"]
        self.post_processing_timeout_s = given["post_processing_timeout_s"]
        self.execution_trace_observer = _observer(given["execution_trace_observer"])
        self.preset_metadata: dict[str, str] = {}
        self.mem_tl = None
        self._marey_is_all_asked = not is_asked
        self._marey_wish = prepare_torch_or_tell(is_asked)
        names = filters.get(_schedule.ProfilerActivity.CPU)
        has_ops = self._marey_wish is not None and (names is None or "CPU_OP" in names)
        # with_flops takes shapes, as in torch.
        has_shapes = self.record_shapes or self.with_flops
        self._marey_machine = Machine(
            ask(has_ops, has_shapes, given["clock"], given["pool_bytes"], joins_steps=True),
            plan,
            first_step,
            given["keep_bytes"],
        )
        self._marey_machine.observer = self.execution_trace_observer
        self._marey_machine.new_trace_id = trace_id_maker(self.custom_trace_id_callback)

    # -- start and stop

    def start(self) -> None:
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        self.stop_trace()

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._marey_machine.is_running:
                self._marey_machine.left_by = exc_type
                self.stop()
        finally:
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.cleanup()

    def prepare_trace(self) -> None:
        """ValueError: post_processing_timeout_s is negative. There is nothing else to prepare: the
        hooks are set at the start, in microseconds."""
        timeout_s = self.post_processing_timeout_s
        check_seconds("post_processing_timeout_s", timeout_s)
        if timeout_s is not None and timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")

    def start_trace(self) -> None:
        """One that runs goes on, which is told: torch loses what it has."""
        if self._marey_machine.is_running and not self._marey_machine.is_inherited:
            warn("start() of a profiler that runs already: it goes on, and nothing is lost")
            return
        for key, text in self.preset_metadata.items():
            self.add_metadata_json(key, text)
        self._marey_begin()

    def stop_trace(self) -> None:
        if not self._marey_machine.was_started:
            raise NotInitializedError("Profiler must be initialized before stop_trace()")
        if not self._marey_machine.is_running:
            return
        if self._marey_is_all_asked:
            tell_kernels_missing()
        self._marey_machine.stop(self._marey_ready)

    def _marey_ready(self, cycle: Cycle) -> None:
        pass

    # -- what torch has beside

    use_device = None
    """None is recorded yet."""

    @FreeName
    def has_cudagraphs(self) -> bool:
        """Whether torch's compiler is set up for them, as torch tells it."""
        config: Any = sys.modules.get("torch._inductor.config")
        return bool(getattr(getattr(config, "triton", None), "cudagraphs", False))

    @FreeName
    def profiler(self) -> AutogradProfile | None:
        """The same results behind the names of torch.autograd.profiler; None before the start."""
        from marey.autograd_profiler import profile as autograd_profile

        return autograd_profile._marey_of(self) if self._marey_machine.was_started else None

    def preset_metadata_json(self, key: str, value: str) -> None:
        """A member of the head of each trace from the next start on; value is JSON."""
        _core.check_meta(key, value)
        self.preset_metadata[key] = value

    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Called at the begin of each cycle; None: an id of random digits."""
        self._marey_machine.new_trace_id = trace_id_maker(callback)
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """Of the last cycle; None before there is one."""
        cycles = self._marey_machine.cycles.shown()
        return cycles[-1].trace_id if cycles else None

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """UnsupportedError: memory is not recorded yet."""
        raise _core.UnsupportedError("memory cannot be recorded yet, nor can its time line")

    def __repr__(self) -> str:
        state = "running" if self._marey_machine.is_running else "stopped"
        return f"<marey.profiler.{type(self).__name__}, {state}>"


class profile(HandsOver, _KinetoProfile):
    """torch.profiler.profile: what happens in a with block, or by a schedule.

    The arguments are torch's, and three more: compat, "torch" for events and averages with torch's
    own numbers; first_step, what the first step is called; and clock, pool_bytes and
    keep_bytes of marey.profile. acc_events is for compat="torch", and for what is started again
    without a schedule: our results are those of all cycles of a schedule anyway.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        compat: Compat = None,
        clock: Literal["wall", "wall+cpu"] = "wall",
        pool_bytes: int | None = None,
        first_step: int = 0,
        keep_bytes: int | None = None,
    ) -> None:
        given = locals()
        asked, filters = read_activities(activities)
        asked = with_use_cuda(asked, use_cuda)
        if not asked:
            raise AssertionError("No valid profiler activities found")
        self.use_cuda = use_cuda
        self.on_trace_ready = on_trace_ready
        self._marey_set_up(given, asked, filters, activities is not None, schedule, first_step)

    def step(self) -> None:
        """Ends a step and begins the next. Before the start it only counts."""
        if self._marey_machine.is_running:
            self._marey_machine.step(self._marey_ready)
        else:
            self._marey_machine.step_num += 1

    @property
    def schedule(self) -> Callable[[int], Any]:
        return self._marey_machine.schedule or _always

    @schedule.setter
    def schedule(self, plan: Callable[[int], Any]) -> None:
        """While it runs, from the next step on."""
        self._marey_machine.set_schedule(None if plan is _always else plan)

    @property
    def step_num(self) -> int:
        """The number of the step that runs. It may be set, also before the start: a run that is
        resumed goes on with its own numbers, while the schedule counts its steps from 0."""
        return self._marey_machine.step_num

    @step_num.setter
    def step_num(self, number: int) -> None:
        self._marey_machine.step_num = number

    @property
    def current_action(self) -> ProfilerAction:
        """torch's own, where the program has torch."""
        action: ProfilerAction = as_torch(self._marey_machine.action)
        return action

    @property
    def record_steps(self) -> bool:
        """Each step is a range "ProfilerStep#n"."""
        return self._marey_machine.records_steps

    @record_steps.setter
    def record_steps(self, is_on: bool) -> None:
        self._marey_machine.records_steps = is_on

    def __repr__(self) -> str:
        state = "running" if self._marey_machine.is_running else "stopped"
        return (
            f"<marey.profiler.profile, {state}, step {self.step_num}, {self.current_action.name}>"
        )


def _always(step: int) -> ProfilerAction:
    """Without a schedule."""
    action: ProfilerAction = as_torch(_schedule.ProfilerAction.RECORD)
    return action


