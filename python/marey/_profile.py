"""profile: record what a program does, as torch.profiler.profile does it.

A profile records one session a cycle. What a cycle came to stays in the session's own form,
which takes no time at its end, and becomes a trace when it is first asked for.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal, NamedTuple

from marey import _core, _live_torch
from marey._averages import Averages, Grouping, Row, Width, depth_of, told
from marey._columns import all_but
from marey._errors import CollectorError
from marey._events import Events
from marey._rank import Rank, find_rank
from marey._schedule import ProfilerAction, ProfilerActivity, action_of, activity_of
from marey._trace import Path, Trace

CLOCKS = {"wall": 0, "wall+cpu": _core.WANT_CPU}

NOT_BUILT = {
    "profile_memory": "memory cannot be recorded yet, leave out profile_memory",
    "with_stack": "stacks cannot be recorded yet, leave out with_stack",
    "with_flops": "FLOPs cannot be counted yet, leave out with_flops",
    "with_modules": "modules cannot be recorded yet, leave out with_modules",
    "experimental_config": "torch's experiments cannot be taken yet, leave out experimental_config",
    "execution_trace_observer": "execution traces cannot be recorded yet, leave out"
    " execution_trace_observer",
    "acc_events": "events of several cycles cannot be gathered yet, leave out acc_events",
    "use_cuda": "CUDA cannot be recorded yet, leave out use_cuda",
    "custom_trace_id_callback": "traces have no ids yet, leave out custom_trace_id_callback",
    "post_processing_timeout_s": "the end of a cycle cannot be bounded yet, leave out"
    " post_processing_timeout_s",
}
"""Arguments of torch.profiler.profile: None, False and 0 are taken, since they ask for nothing."""


class SessionStats(NamedTuple):
    """What the recording of a cycle came to."""

    n_records: int
    n_lost: int
    """Records for which there was no room."""
    held_bytes: int
    pool_bytes: int
    """The bound of the recorder's memory."""
    start_ns: int
    """Since the Unix epoch."""
    stop_ns: int | None
    """None while it runs."""
    first_lost_ns: int | None
    """From here on not all was recorded; None: all was."""
    clock_error_ns: int
    """How far a time may be off from the system's clock."""
    n_threads: int
    is_tsc: bool
    """The clock is the time stamp counter, else CLOCK_MONOTONIC."""
    range_cost_ns: int | None
    """Of a begin and its end, measured in a loop at the start; None: not measured."""


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


def _prepare_torch(is_asked: bool) -> _live_torch.Wish | None:
    """Sees to it that torch's operators are recorded; None if there is no torch.

    Without being asked it neither imports torch nor fails.
    """
    if not _live_torch.is_importable():
        return None
    if is_asked:
        _live_torch.attach()
    return _live_torch.Wish()


_is_told = False


def _tell_kernels_missing() -> None:
    """Once: who asked for nothing by name may take the profile for a whole one."""
    global _is_told
    if _is_told or not _live_torch.uses_gpu():
        return
    _is_told = True
    _live_torch.warn(
        "the program uses a GPU, whose kernels and copies cannot be recorded yet: the profile has"
        " its operators on the CPU",
        stacklevel=5,  # the with statement
    )


# ---- one cycle ------------------------------------------------------------------------------------------------


class _Cycle:
    """A session, with all that is in place while it runs; stopped when nobody holds it."""

    def __init__(self, options: dict[str, int], with_torch: bool) -> None:
        self.pid = os.getpid()
        self._has_ranges = False
        self._is_running = False
        self.rank = find_rank()
        self.session = _core.Session(**options)
        self._is_running = True
        if with_torch:
            self._has_ranges = True
            try:
                _live_torch.begin_ranges()
            except BaseException:
                self.stop()
                raise

    @property
    def is_ours(self) -> bool:
        """It was begun in this process, not in one that this was forked from."""
        return self.pid == os.getpid()

    def stop(self) -> None:
        if not self._is_running or not self.is_ours:
            return
        self._is_running = False
        try:
            self.session.stop()
        finally:
            if self._has_ranges:
                _live_torch.end_ranges()
        # What torch.distributed says at the end counts, if it still says anything.
        now = find_rank()
        self.rank = now if now.rank is not None else self.rank

    def trace(self, metadata: dict[str, str]) -> Trace:
        """What the library does not take of the metadata is told, and left out: what was recorded
        is worth more."""
        rank: Rank = self.rank
        if rank.json is not None:
            self.session.add_meta("distributedInfo", rank.json)
        refused = []
        for key, json_text in metadata.items():
            try:
                self.session.add_meta(key, json_text)
            except ValueError as error:
                refused.append((key, error))
        trace = Trace(self.session.trace(rank.rank, rank.world_size))
        for key, error in refused:
            del metadata[key]
            _live_torch.warn(f"the trace has no metadata {key!r}: {error}", stacklevel=4)
        return trace

    def __del__(self) -> None:
        # At the end of the interpreter there may be nothing left to stop with.
        if getattr(self, "_is_running", False) and os is not None:
            self.stop()


# ---- results ------------------------------------------------------------------------------------------------------


class ProfileAverages(Averages):
    """Averages of a profile: tables are laid out as torch's, with the numbers of Marey."""

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int | None = 100,
        max_src_column_width: Width = 75,
        max_name_column_width: Width = 55,
        max_shapes_column_width: Width = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: Literal["us", "ms", "s"] | None = None,
        layout: Literal["marey", "torch"] = "torch",
        columns: str | Iterable[str] | None = None,
        format: Literal["table", "csv", "json"] = "table",
    ) -> str:
        """The rows as text; see Averages.table. layout: "torch", or "marey" for its own."""
        return super().table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
            layout,
            columns,
            format,
        )


class ProfileEvents(Events):
    """The events of a profile."""

    __slots__ = ()

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> ProfileAverages:
        """Averages by name, and by what else is asked for."""
        grouping = Grouping(
            group_by_input_shapes,
            depth_of(group_by_stack_n),
            group_by_overload_name,
            include_python_functions,
        )
        return told(ProfileAverages(self._trace, grouping))

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of their self times, in microseconds."""
        return self.key_averages(include_python_functions=True).self_cpu_time_total

    def total_average(self) -> Row:
        """All of them added up, under the key "Total"."""
        return self.key_averages(include_python_functions=True).total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """A table of their averages."""
        return self.key_averages().table(*args, **kwargs)


# ---- the profiler ------------------------------------------------------------------------------------------------------

# What is done from one action to the next, in this order; None is the end.
#   W warm up    C cancel the warm-up    S start recording    E end it    R hand it over
#   ! say that the schedule is wrong; last, since a warning may be an error here
_N, _U, _R, _S = ProfilerAction
_TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], str] = {
    (_N, _N): "",
    (_N, _U): "W",
    (_N, _R): "S",
    (_N, _S): "S",
    (_N, None): "",
    (_U, _N): "C!",
    (_U, _U): "",
    (_U, _R): "SC",
    (_U, _S): "SC",
    (_U, None): "C",
    (_R, _N): "E!",
    (_R, _U): "EW!",
    (_R, _R): "",
    (_R, _S): "",
    (_R, None): "ER",
    (_S, _N): "ER",
    (_S, _U): "ERW",
    (_S, _R): "ERS",
    (_S, _S): "ERS",
    (_S, None): "ER",
}


class profile:
    """Records what happens in a with block, or between start() and stop().

        with marey.profile() as prof:
            train()
        print(prof.key_averages().table())
        prof.export_chrome_trace("trace.json.gz")

    activities: what to record, None is all that can be had here. schedule: tells the action of
    a step, see marey.schedule; step() ends a step. on_trace_ready: called with this object
    when a cycle has ended. record_shapes: shapes and types of operators' inputs. clock:
    "wall", or "wall+cpu" for the thread's CPU time beside it. pool_bytes: the bound of the
    recorder's memory, None is the smaller of 1 GiB and an eighth of the machine's. The other
    arguments are torch's, and none of them can be had yet.

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
    ) -> None:
        given = locals()
        for name, words in NOT_BUILT.items():
            if given[name]:
                raise _core.UnsupportedError(words)
        if clock not in CLOCKS:
            raise ValueError(f"no clock '{clock}': it is one of 'wall', 'wall+cpu'")
        if pool_bytes is not None and pool_bytes <= 0:
            raise ValueError(f"no pool of {pool_bytes} bytes: give a number above 0, or None")
        if activities is not None:
            _check_activities(activities)

        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.record_steps = schedule is not None
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._takes_what_there_is = activities is None
        self._wish = _prepare_torch(activities is not None)
        self._with_torch = self._wish is not None
        wants = _core.WANT_RANGES | CLOCKS[clock]
        if self._with_torch:
            wants |= _core.WANT_OPS
        if record_shapes:
            wants |= _core.WANT_INPUTS
        self._options = {"wants": wants, "pool_bytes": pool_bytes or 0}
        self._was_started = False
        self._metadata: dict[str, str] = {}
        self._is_running = False
        self._step_range: _core.record_function | None = None
        self._warming: _Cycle | None = None
        self._recording: _Cycle | None = None
        self._finished: _Cycle | None = None
        self._is_undelivered = False
        self._trace: Trace | None = None

    # -- start, step, stop

    def start(self) -> None:
        """Begins at step 0."""
        if self._is_running:
            raise RuntimeError("the profiler runs already, stop it before it is started again")
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._is_running = True
        self._was_started = True
        try:
            self._go_to(self._action_of_step())
        except BaseException:
            self._drop()
            raise
        self._begin_step()

    def step(self) -> None:
        """Ends a step and begins the next."""
        if not self._is_running:
            raise RuntimeError("the profiler does not run, start it before its first step")
        self._end_step()
        self.step_num += 1
        try:
            self._go_to(self._action_of_step())
        finally:
            self._begin_step()

    def stop(self) -> None:
        """Ends the last step. A cycle that is cut short is handed over too."""
        if not self._is_running:
            raise RuntimeError("the profiler does not run, start it before it is stopped")
        self._end_step()
        self._is_running = False
        if self._takes_what_there_is:
            _tell_kernels_missing()
        self._go_to(None)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_running:
            self.stop()

    def _action_of_step(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else action_of(self.schedule(self.step_num))

    def _begin_step(self) -> None:
        if self.record_steps and self._is_running:
            self._step_range = _core.record_function(f"ProfilerStep#{self.step_num}")
            self._step_range.__enter__()

    def _end_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    def _go_to(self, action: ProfilerAction | None) -> None:
        former = self.current_action
        if action is not None:
            self.current_action = action
        if self._is_of_parent():
            # A forked child of the process that records: there is nothing here to go on with.
            self._drop()
            return
        failure: BaseException | None = None
        for do in _TRANSITIONS[former, action]:
            if do == "W":
                self._warming = self._begin_cycle()
            elif do == "C":
                self._cancel_warming()
            elif do == "S":
                self._finished, self._trace = None, None
                self._recording = self._begin_cycle()
            elif do == "E":
                self._end_cycle()
            elif do == "R":
                failure = self._deliver()
                if action is not None and not self._is_running:
                    break  # the callback has stopped it
            else:
                now = "its end" if action is None else action.name
                warnings.warn(f"Incorrect schedule: {former.name} followed by {now}", stacklevel=4)

        if failure is not None:
            raise failure

    def _deliver(self) -> BaseException | None:
        """Hands a finished cycle over, once. What the callback raises is told at the end of the
        transition, so that the next cycle begins all the same."""
        if not self._is_undelivered:
            return None
        self._is_undelivered = False
        try:
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        except BaseException as error:
            return error
        return None

    def _begin_cycle(self) -> _Cycle:
        return _Cycle(self._options, self._with_torch)

    def _cancel_warming(self) -> None:
        if self._warming is not None:
            self._warming.stop()
            self._warming.session.free()
            self._warming = None

    def _end_cycle(self) -> None:
        cycle, self._recording = self._recording, None
        if cycle is not None:
            self._finished = cycle
            self._is_undelivered = True
            cycle.stop()

    def _is_of_parent(self) -> bool:
        cycle = self._recording or self._warming
        return cycle is not None and not cycle.is_ours

    def _drop(self) -> None:
        self._is_running = False
        self._cancel_warming()
        self._recording = None

    # -- results

    def _cycle(self) -> _Cycle:
        cycle = self._recording or self._finished
        if cycle is None:
            raise RuntimeError(self._why_nothing())
        return cycle

    def _why_nothing(self) -> str:
        if not self._was_started:
            return "nothing was recorded: the profiler was not started"
        if self.schedule is None:
            return "nothing was recorded in this process"
        steps = "1 step" if self.step_num == 1 else f"{self.step_num} steps"
        return (
            f"nothing was recorded yet: step() has ended {steps}, and by the schedule none of them"
            " was active"
        )

    @property
    def trace(self) -> Trace:
        """What the last cycle recorded; while one is recorded, what it has so far."""
        cycle = self._cycle()
        if cycle is self._recording:
            return cycle.trace(self._metadata)
        if self._trace is None:
            self._trace = cycle.trace(self._metadata)
        return self._trace

    @property
    def stats(self) -> SessionStats:
        """What the recording of that cycle came to: losses, memory, error of the clock."""
        return SessionStats(*self._cycle().session.stats())

    def events(self) -> ProfileEvents:
        """All that was recorded, track by track, in order of its start."""
        trace = self.trace
        return ProfileEvents(trace, all_but(trace._kinds, "window"))

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> ProfileAverages:
        """Averages by name, and by what else is asked for."""
        grouping = Grouping(
            group_by_input_shape,
            depth_of(group_by_stack_n),
            group_by_overload_name,
            include_python_functions,
        )
        return told(ProfileAverages(self.trace, grouping))

    def export_chrome_trace(
        self,
        path: Path,
        overwrite: bool = True,
        use_python_export: bool = False,
        *,
        repair: bool = False,
        scrub: bool = False,
    ) -> None:
        """Write Chrome JSON in Kineto's schema, gzip if path ends in ".gz".

        The file appears complete or not at all. As torch does, it takes the place of an
        earlier one, unless overwrite is false. use_python_export is torch's, whose handler for TensorBoard hands it over;
        there is one exporter here. repair and scrub: see Trace.export_chrome_trace.
        """
        self.trace.export_chrome_trace(path, overwrite, repair=repair, scrub=scrub)

    # -- metadata

    def add_metadata(self, key: str, value: str) -> None:
        """A text in the head of this cycle's trace and of those to come."""
        # Not in ASCII: an escaped half of a surrogate pair would be no text for the reader.
        self.add_metadata_json(key, json.dumps(str(value), ensure_ascii=False))

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same, of a value that is JSON already.

        ValueError: it is not one JSON value that a reader takes, or the key is one that
        the file has itself.
        """
        _core.check_meta(key, value)
        self._metadata[key] = value
        self._trace = None

    def __repr__(self) -> str:
        state = "running" if self._is_running else "stopped"
        return f"<marey.profile, {state}, step {self.step_num}, {self.current_action.name}>"
