"""profile: record what a program does, as torch.profiler.profile does it."""

from __future__ import annotations

import atexit
import json
import sys
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from marey import _core, _live_torch
from marey._averages import Grouping, whole_number
from marey._cycle import Asked, Cycle
from marey._cycles import Cycles
from marey._errors import CollectorError
from marey._machine import Machine
from marey._results import ProfileAverages, ProfileEvents, Results, SessionStats
from marey._schedule import ProfilerAction, ProfilerActivity, activity_of, callable_or_none
from marey._toolchain import find_torch
from marey._torch_args import NotInitializedError
from marey._trace import Trace
from marey._warn import tell
from marey._workers import WorkerInit, Workers

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Cycle", "ProfileAverages", "ProfileEvents", "SessionStats", "profile"]

Made = TypeVar("Made")

CLOCKS = {"wall": 0, "wall+cpu": _core.WANT_CPU}

MOST_POOL_BYTES = 1 << 40
"""The recorder has no larger one, and takes no number that is far beyond it."""

NOT_BUILT = {
    "profile_memory": "memory cannot be recorded yet, leave out profile_memory",
    "with_stack": "stacks cannot be recorded yet, leave out with_stack",
    "with_flops": "FLOPs cannot be counted yet, leave out with_flops",
    "with_modules": "modules cannot be recorded yet, leave out with_modules",
    "experimental_config": "torch's experiments cannot be taken yet, leave out experimental_config",
    "execution_trace_observer": "execution traces cannot be recorded yet, leave out"
    " execution_trace_observer",
    "use_cuda": "CUDA cannot be recorded yet, leave out use_cuda",
    "custom_trace_id_callback": "traces have no ids yet, leave out custom_trace_id_callback",
    "post_processing_timeout_s": "the end of a cycle cannot be bounded yet, leave out"
    " post_processing_timeout_s",
}
"""Arguments of torch.profiler.profile: None, False and 0 are taken, since they ask for nothing."""


# ---- what a profile is asked for -------------------------------------------------------------------------


def _check_activities(activities: Iterable[Any]) -> None:
    """Asked for and not to be had is an error."""
    asked = [activity_of(activity) for activity in activities]
    if not asked:
        raise ValueError("no activity to record: name one, or leave out activities")
    for activity in asked:
        if activity is not ProfilerActivity.CPU:
            raise CollectorError(
                f"cannot record {activity.name}: there is no {activity.name} collector yet",
                "ask for ProfilerActivity.CPU only",
            )


def prepare_torch(is_asked: bool) -> _live_torch.Wish | None:
    """Sees to it that torch's operators are recorded; None if there is no torch.

    Without being asked it neither imports torch nor fails.
    """
    if not _live_torch.is_importable():
        return None
    if is_asked:
        _live_torch.attach()
    return _live_torch.Wish()


def prepare_torch_or_tell(is_asked: bool) -> _live_torch.Wish | None:
    """The same for programs that are to go on whatever there is: never fails. If it is asked torch
    is imported now, so that what takes a while happens before the start."""
    if is_asked and _live_torch.is_importable():
        try:
            find_torch()
        except CollectorError as error:
            tell(f"operators of torch are not recorded: {error}")
    return prepare_torch(is_asked=False)


_is_told = False


def tell_kernels_missing() -> None:
    """Once: who asked for nothing by name may take the profile for a whole one."""
    global _is_told
    if _is_told or not _live_torch.uses_gpu():
        return
    _is_told = True
    tell(
        "the program uses a GPU, whose kernels and copies cannot be recorded yet: the profile has"
        " its operators on the CPU"
    )


def ask(
    with_torch: bool,
    record_shapes: bool,
    clock: str = "wall",
    pool_bytes: int | None = None,
    joins_steps: bool = False,
) -> Asked:
    """ValueError: such a clock or such a pool there is not."""
    if clock not in CLOCKS:
        raise ValueError(f"no clock '{clock}': it is one of 'wall', 'wall+cpu'")
    if pool_bytes is not None and (pool_bytes := whole_number("pool_bytes", pool_bytes)) <= 0:
        raise ValueError(f"no pool of {pool_bytes} bytes: give a number above 0, or None")
    wants = _core.WANT_RANGES | CLOCKS[clock]
    if with_torch:
        wants |= _core.WANT_OPS
    if record_shapes:
        wants |= _core.WANT_INPUTS
    return Asked(wants, min(pool_bytes or 0, MOST_POOL_BYTES), with_torch, joins_steps)


# ---- profilers that nobody stops ------------------------------------------------------------------------


_running: weakref.WeakSet[Profiled] = weakref.WeakSet()


def _end_forgotten(prof: Profiled, what: str) -> None:
    """what: has happened to it, to be told. Raises nothing: there is nobody to take it."""
    machine = prof._marey_machine
    if not machine.is_running:
        return
    if machine.is_inherited:  # its end is the parent process's business
        machine.drop()
    elif getattr(prof, "on_trace_ready", None) is None:
        machine.drop()
        tell(f"{what}, with no on_trace_ready to hand its results to: call stop()")
    else:
        tell(f"{what}: it is stopped now")
        try:
            prof.stop()
        except Exception as error:
            tell(f"its on_trace_ready failed: {error!r}")


def _end_all() -> None:
    for prof in list(_running):
        _end_forgotten(prof, "a profiler was still running at the end of the program")


atexit.register(_end_all)


# ---- the profiler ------------------------------------------------------------------------------------------------------


class Profiled(Results):
    """What profilers have in common: cycles, metadata, and what they came to.

    Inside on_trace_ready it shows the cycle that has just ended; else all cycles, the one that is
    recorded as far as it has got.
    """

    acc_events: bool
    """Without a schedule too, what is started again keeps its results."""
    _marey_machine: Machine
    _marey_focus: Cycle | None = None
    _marey_has_begun = False  # and is not just another view of a profiler's results
    _marey_handles: weakref.WeakSet[Profiled] | None = None
    """Once it was copied: all that share the machine so."""

    def _marey_begin(self) -> None:
        machine = self._marey_machine
        begins_anew = machine.schedule is None and not self.acc_events
        if self._marey_workers is not None and begins_anew and not machine.is_running:
            self._marey_workers.clear()
        machine.start(keeps_results=bool(self.acc_events))
        for one in (self, *self._marey_copies()):
            one._marey_has_begun = True
            _running.add(one)

    def __copy__(self) -> Self:
        """Another handle of the same profiler: it runs until the last of them is dropped."""
        made = object.__new__(type(self))
        self._marey_handles = self._marey_handles or weakref.WeakSet([self])
        vars(made).update(vars(self))
        self._marey_handles.add(made)
        if self in _running:
            _running.add(made)
        return made

    def _marey_copies(self) -> list[Profiled]:
        return [handle for handle in self._marey_handles or () if handle is not self]

    def __del__(self) -> None:
        """Who rebinds its name in a notebook has not stopped it."""
        # While the interpreter ends there is nothing left to stop with; _end_all was before.
        if sys is None or sys.is_finalizing():
            return
        if self._marey_has_begun and not self._marey_copies():
            _end_forgotten(self, "a profiler was dropped while it was running")

    @abstractmethod
    def stop(self) -> None: ...

    @property
    def cycles(self) -> tuple[Cycle, ...]:
        """Each cycle for itself: of a program without a schedule there is one."""
        return tuple(self._marey_machine.cycles.shown())

    def _marey_shown(self) -> Cycle | Cycles:
        if self._marey_focus is not None:
            return self._marey_focus
        if not self._marey_machine.cycles.shown():
            raise NotInitializedError(self._marey_machine.why_nothing())
        return self._marey_machine.cycles

    def _marey_of_shown(self, make: Callable[[Cycle | Cycles], Made]) -> Made:
        """Made anew if it was to be of the cycle that on_trace_ready of another thread is called
        for, and that went meanwhile."""
        while True:
            shown = self._marey_shown()
            try:
                return make(shown)
            except RuntimeError:
                if isinstance(shown, Cycles) or shown is self._marey_focus:
                    raise

    def _marey_trace_now(self) -> Trace:
        return self._marey_of_shown(lambda shown: shown._marey_trace_now())

    def _marey_averages_now(self, grouping: Grouping) -> ProfileAverages:
        return self._marey_of_shown(lambda shown: shown._marey_averages_now(grouping))

    @property
    def _marey_workers(self) -> Workers | None:
        return self._marey_machine.cycles.windows.workers

    def worker_init(self, then: Callable[[int], Any] | None = None) -> WorkerInit:
        """A worker_init_fn for a DataLoader: its worker processes, forked or spawned, are
        recorded too and are in the results once they have ended. then: the program's own such
        function."""
        workers, cycles = self._marey_workers, self._marey_machine.cycles
        if workers is None:
            workers = cycles.windows.workers = Workers(self._marey_machine.asked)
            workers.open(cycles.windows, self._marey_machine.running_recordings())
            cycles.forget_traces()
        return workers.init(then)

    @property
    def stats(self) -> SessionStats:
        """What recording came to: losses, memory, error of the clock."""
        return self._marey_shown().stats

    def add_metadata(self, key: str, value: str) -> None:
        """A text in the head of the traces."""
        # Not in ASCII: an escaped half of a surrogate pair would be no text for the reader.
        self.add_metadata_json(key, json.dumps(str(value), ensure_ascii=False))

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same, of a value that is JSON already.

        ValueError: it is not one JSON value that a reader takes, or the key is one that
        the file has itself.
        """
        _core.check_meta(key, value)
        self._marey_machine.cycles.metadata[key] = value
        self._marey_machine.cycles.forget_traces()


class HandsOver(Profiled):
    """What hands each cycle that has ended to a function of the program."""

    _marey_on_trace_ready: Callable[[Any], Any] | None = None

    @property
    def on_trace_ready(self) -> Callable[[Any], Any] | None:
        return self._marey_on_trace_ready

    @on_trace_ready.setter
    def on_trace_ready(self, ready: Callable[[Any], Any] | None) -> None:
        self._marey_on_trace_ready = callable_or_none("on_trace_ready", ready)

    def _marey_ready(self, cycle: Cycle) -> None:
        self._marey_focus = cycle
        try:
            if self._marey_on_trace_ready is not None:
                self._marey_on_trace_ready(self)
        finally:
            self._marey_focus = None


class profile(HandsOver):
    """Records what happens in a with block, or between start() and stop().

        with marey.profile() as prof:
            train()
        print(prof.key_averages().table())
        prof.export_chrome_trace("trace.json.gz")

    activities: what to record, None is all that can be had here. schedule: tells the action of
    a step, see marey.schedule; step() ends a step. on_trace_ready: called with this object
    when a cycle has ended. record_shapes: shapes and types of operators' inputs. clock:
    "wall", or "wall+cpu" for the thread's CPU time beside it. pool_bytes: the bound of the
    recorder's memory, in blocks of 64 KiB: one at least, at most 1 TiB, and what the process has
    reserved at its first recording (8 GiB, or more if that one asked for it); None is the smaller
    of 1 GiB and an eighth of the machine's. first_step: what the first step is called, for a run
    that is resumed. keep_bytes: how much of finished cycles is held, 0 is the last one, None is
    half of the pool; of older ones averages stay. acc_events: a profile without a
    schedule that is started again keeps the results of earlier runs; all cycles of a schedule are
    gathered anyway. The other arguments are torch's, and none of them can be had yet.

    What is asked for and cannot be had is an error, when the object is made.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
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
        clock: Literal["wall", "wall+cpu"] = "wall",
        pool_bytes: int | None = None,
        first_step: int = 0,
        keep_bytes: int | None = None,
    ) -> None:
        given = locals()
        for name, words in NOT_BUILT.items():
            if given[name]:
                raise _core.UnsupportedError(words)
        ask(False, False, clock, pool_bytes)
        if activities is not None:
            _check_activities(activities)

        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.acc_events = acc_events
        self._marey_takes_what_there_is = activities is None
        self._marey_wish = prepare_torch(activities is not None)
        asked = ask(self._marey_wish is not None, record_shapes, clock, pool_bytes)
        self._marey_machine = Machine(asked, schedule, first_step, keep_bytes)

    # -- start, step, stop

    def start(self) -> None:
        """Begins at the step where it was stopped, at first that of first_step.

        RuntimeError: it runs already; it goes on."""
        self._marey_begin()

    def step(self) -> None:
        """Ends a step and begins the next."""
        if not self._marey_machine.is_running:
            raise RuntimeError("the profiler does not run, start it before its first step")
        self._marey_machine.step(self._marey_ready)

    def stop(self) -> None:
        """Ends the last step. A cycle that is cut short is handed over too."""
        if not self._marey_machine.is_running:
            raise RuntimeError("the profiler does not run, start it before it is stopped")
        if self._marey_takes_what_there_is:
            tell_kernels_missing()
        self._marey_machine.stop(self._marey_ready)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._marey_machine.is_running:
            self._marey_machine.left_by = exc_type
            self.stop()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Switches recording off and on again, within a cycle: the next begins switched on, and
        where none is recorded nothing changes. What is open ends where it is switched off; the
        ledger of the trace says for how long nothing was recorded."""
        _check_activities(activities)
        if self._marey_machine.is_running:
            self._marey_machine.toggle(enable)

    # -- where it is

    @property
    def schedule(self) -> Callable[[int], Any] | None:
        return self._marey_machine.schedule

    @property
    def record_steps(self) -> bool:
        """Each step is a range "ProfilerStep#n"."""
        return self._marey_machine.records_steps

    @property
    def step_num(self) -> int:
        """The number of the step that runs."""
        return self._marey_machine.step_num

    @property
    def current_action(self) -> ProfilerAction:
        return self._marey_machine.action

    def __repr__(self) -> str:
        state = "running" if self._marey_machine.is_running else "stopped"
        return f"<marey.profile, {state}, step {self.step_num}, {self.current_action.name}>"
