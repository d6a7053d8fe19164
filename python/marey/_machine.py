"""The profiler's machine: from step to step, what a schedule asks for is done."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from marey import _core, _live_torch
from marey._averages import whole_number
from marey._cycle import Asked, Cycle, Recording
from marey._cycles import Cycles
from marey._schedule import ProfilerAction, action_of, callable_or_none, n_active_of
from marey._warn import tell, warn

# What is done from one action to the next, in this order; None is the end.
#   W warm up    C cancel the warm-up    S start recording    E end it    R hand it over
#   ! say that the schedule is wrong; last, since a warning may be an error here
_N, _U, _R, _S = ProfilerAction
TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], str] = {
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

Deliver: TypeAlias = "Callable[[Cycle], None]"

RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def _asked_action(schedule: Callable[[int], Any] | None, step: int) -> ProfilerAction:
    return ProfilerAction.RECORD if schedule is None else action_of(schedule(step))


class Machine:
    """Begins and ends cycles as a schedule asks for it, and hands them to who calls it; it refers
    to nobody, so that a profiler that is dropped ends.

    schedule: from the number of steps that have ended, since the first start, to an action; None
    records always. It is asked once for each step, as torch's: of the first when it is given, so that
    one which is none fails there.
    step_num is what the program calls the step; it begins with first_step.
    """

    def __init__(
        self,
        asked: Asked,
        schedule: Callable[[int], Any] | None,
        first_step: int,
        keep_bytes: int | None,
    ) -> None:
        first_step = whole_number("first_step", first_step)
        if keep_bytes is not None:
            keep_bytes = whole_number("keep_bytes", keep_bytes)
            if keep_bytes < 0:
                raise ValueError(f"no keep_bytes {keep_bytes}: give 0 or more, or None")
        self.cycles = Cycles(asked, keep_bytes)
        self.is_running = False
        self.was_started = False
        self.left_by: type[BaseException] | None = None  # what ended its with block
        self.n_ended = 0
        self.set_schedule(schedule)
        self.records_steps = self.schedule is not None
        self._n_at_start = 0
        self.observer: Any = None
        """Started before each cycle and stopped before its end; it has start() and stop()."""
        self.new_trace_id: Callable[[], str] | None = None
        self._first_step = first_step
        self.asked = asked
        self._step_range: _core.record_function | _live_torch.SeenRange | None = None
        self._step_thread = 0
        self._step_called = first_step
        """The number with which it began: it keeps that one, in its range and its cycle."""
        self._step_is_shown = True
        """Its range began while it was recorded, so that it is in the trace."""
        self._step_is_cut = False
        """It was switched off for a part of the step."""
        self._warming: Cycle | None = None
        self._standby: Cycle | None = None
        self._undelivered: Cycle | None = None
        self._is_off = False  # the cycle that is recorded was switched off by the program
        self._is_observing = False
        self._pid = os.getpid()

    # -- start, step, stop

    def start(self, keeps_results: bool = False) -> None:
        """keeps_results: also without a schedule, where a start begins anew."""
        if self.is_running:
            raise RuntimeError("the profiler runs already, stop it before it is started again")
        self._n_at_start = self.n_ended
        self.action = ProfilerAction.NONE
        self._is_off = False
        if self.is_inherited or (self.schedule is None and not keeps_results):
            self.cycles.clear()
        self._pid = os.getpid()
        self.is_running = True
        self.was_started = True
        self.left_by = None
        try:
            self._go_to(self._planned, None)
            self._stand_by()
        except BaseException:
            self.drop()
            raise
        self._begin_step()

    def step(self, deliver: Deliver) -> None:
        planned = _asked_action(self.schedule, self.n_ended + 1)  # if it fails the step goes on
        self._end_step()
        self._count_step()
        self.n_ended += 1
        self._planned = planned
        if self.is_inherited and not self.is_of_parent():
            self.cycles.clear()  # a child that was forked between cycles may go on with its own
        self._pid = os.getpid()
        self._leave_standby()
        try:
            self._go_to(planned, deliver)
        finally:
            if self._step_range is None:  # else a step() in the callback has begun it
                self._begin_step()

    def stop(self, deliver: Deliver) -> None:
        self._end_step()
        self.is_running = False
        try:
            if self.n_since_start == 0 and self.schedule is not None and not self.is_of_parent():
                self._tell_no_step()
            self._leave_standby()
            self._go_to(None, deliver)
        finally:
            self.action = self._planned
            self._end_interrupted()

    def _end_interrupted(self) -> None:
        """What a signal's handler broke off, here or in a step before, may still record: a warm-up
        beside its cycle, a cycle that is not done or not stopped."""
        self._cancel_warming()
        self._leave_standby()
        self.cycles.end()
        if self.cycles.done:
            self.cycles.done[-1].pause()

    @property
    def n_since_start(self) -> int:
        """Steps that have ended. A schedule goes on where the last stop left it, as torch's."""
        return self.n_ended - self._n_at_start

    @property
    def step_num(self) -> int:
        return self._first_step + self.n_ended

    @step_num.setter
    def step_num(self, number: int) -> None:
        """Steps that begin are called so from now on; the schedule goes on counting."""
        self._first_step = whole_number("step_num", number) - self.n_ended

    def set_schedule(self, schedule: Any) -> None:
        """While it runs it counts from the next step on."""
        schedule = callable_or_none("schedule", schedule)
        if not self.is_running:
            self.action = self._planned = _asked_action(schedule, self.n_ended)
        self.schedule: Callable[[int], Any] | None = schedule

    def _step_name(self) -> str:
        return f"ProfilerStep#{self._step_called}"

    def _begin_step(self) -> None:
        self._step_called = self.step_num
        self._step_is_cut = self._is_off
        if self.records_steps and self.is_running:
            self.cycles.begin_step()
            self._step_is_shown = self.cycles.running is None or not self._is_off
            self._enter_step_range()

    def _enter_step_range(self) -> None:
        self._step_thread = threading.get_ident()
        self._step_range = _live_torch.step_range(self._step_name(), self._is_observing)
        self._step_range.__enter__()

    def _count_step(self, cycle: Cycle | None = None) -> None:
        """The step that has ended is one of the cycle's."""
        cycle = cycle or self.cycles.running
        if cycle is not None:
            cycle.add_step(self._step_called, self._step_is_cut)

    def _end_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    # -- a program that never calls step()

    def _stand_by(self) -> None:
        """Records the first step whatever the schedule says, for the case that it stays the only
        one: a loop without step() would leave nothing."""
        if self.schedule is not None and self.action not in RECORDING:
            self._standby = self.cycles.stand_by()

    def _leave_standby(self) -> None:
        if self._standby is not None:
            self._standby.drop()
            self._standby = None
            self._is_off = False

    def _tell_no_step(self) -> None:
        if self._standby is not None:
            self._cancel_warming()
            self.cycles.running, self._standby = self._standby, None
            self.action = ProfilerAction.RECORD
        if self.left_by is not None:
            tell(
                f"{self.left_by.__name__} ended the block before step() was called: what ran until"
                " then is recorded as one step"
            )
            return
        tell(
            "step() was never called, so that the schedule had no steps: all that ran is recorded"
            " as one; call step() at the end of each step"
        )

    # -- switching on and off

    def toggle(self, is_on: bool) -> None:
        """The cycle that is recorded stops or goes on at once; what is open ends here. Where none is
        nothing changes, and each begins switched on, as torch's. Each step has one range: that of a
        step in which it is switched off ends there, that of a step which began while it was off
        begins where it goes on, unless another thread switches it on: a range is its own thread's."""
        cycle = self.cycles.running or self._standby
        if cycle is None or not cycle.is_ours:
            return
        self._is_off = not is_on
        self._step_is_cut |= self._is_off
        shows = is_on and not self._step_is_shown and self._step_thread == threading.get_ident()
        if shows:
            self._end_step()
        if is_on:
            cycle.resume()
        else:
            cycle.pause()
        if shows:
            self._step_is_shown = True
            self._enter_step_range()

    # -- transitions

    def _go_to(self, action: ProfilerAction | None, deliver: Deliver | None) -> None:
        former = self.action
        if action is not None:
            self.action = action
        if self.is_of_parent():
            # A forked child of the process that records: there is nothing here to go on with.
            self.drop()
            return
        failure: BaseException | None = None
        for do in TRANSITIONS[former, action]:
            if do == "W":
                self._warm_up()
            elif do == "C":
                self._cancel_warming()
            elif do == "S":
                self._begin_cycle()
            elif do == "E":
                failure = self._end_cycle(is_cut_short=action is None)
            elif do == "R":
                failure = self._hand_over(deliver) or failure
                if action is not None and not self.is_running:
                    break  # the callback has stopped it
            else:
                now = "its end" if action is None else action.name
                warn(f"Incorrect schedule: {former.name} followed by {now}")
        if failure is not None:
            raise failure
        if action is None:
            self._tell_nothing_reached()
            self._tell_switched_off()

    def _hand_over(self, deliver: Deliver | None) -> BaseException | None:
        """A finished cycle, once. What the callback raises is told at the end of the transition,
        so that the next cycle begins all the same."""
        cycle, self._undelivered = self._undelivered, None
        if cycle is None or deliver is None:
            return None
        try:
            deliver(cycle)
        except BaseException as error:
            return error
        return None

    def _warm_up(self) -> None:
        if self.action is ProfilerAction.WARMUP:  # else a step() in the callback is further on
            self._warming = Cycle(self.asked, 0, None, {})

    def _begin_cycle(self) -> None:
        """Unless a step() in the callback has begun it, or is further on. What has begun a step's
        range before its cycle begins it again."""
        if self.cycles.running is not None or self.action not in RECORDING:
            return
        self._end_step()
        if self.observer is not None:
            self.observer.start()
            self._is_observing = True
        cycle = self.cycles.begin(n_active_of(self.schedule))
        self._is_off = False
        if self.new_trace_id is not None:
            made: Any = self.new_trace_id()
            is_bytes = isinstance(made, bytes)
            cycle.trace_id = made.decode(errors="backslashreplace") if is_bytes else str(made)

    def _cancel_warming(self) -> None:
        if self._warming is not None:
            self._warming.drop()
            self._warming = None

    def _end_cycle(self, is_cut_short: bool) -> BaseException | None:
        """What the observer raises is told as what the callback raises."""
        failure = self._end_observing()
        self._end_own_cycle(is_cut_short)
        return failure

    def _end_own_cycle(self, is_cut_short: bool) -> None:
        cycle = self.cycles.end()
        self._undelivered = cycle
        if cycle is None or not is_cut_short or not self.records_steps or self.n_since_start == 0:
            return
        if not cycle.cut_unused_step(self._step_name()):
            self._count_step(cycle)
        if not cycle.steps:
            self.cycles.take_back(cycle)
            self._undelivered = None
        elif cycle.is_partial:
            tell(
                f"cycle {cycle.number} has {len(cycle.steps)} of {cycle.n_active} active steps: the"
                " profiler was stopped within it"
            )

    def _tell_nothing_reached(self) -> None:
        n_active = n_active_of(self.schedule)
        if n_active is None or self.cycles.done or self.n_since_start == 0:
            return
        steps = "1 step" if self.n_ended == 1 else f"{self.n_ended} steps"
        tell(
            f"0 of {n_active} active steps were reached in {steps}: nothing was recorded; the next"
            " start goes on from there"
        )

    def _tell_switched_off(self) -> None:
        done = self.cycles.done
        if self._is_off and done and done[-1].stats.n_records == 0:
            tell(
                "nothing was recorded: recording was switched off by toggle_collection_dynamic(), and"
                " not on again"
            )

    def is_of_parent(self) -> bool:
        cycle = self.cycles.running or self._warming or self._standby
        return cycle is not None and not cycle.is_ours

    @property
    def is_inherited(self) -> bool:
        """It was started, and stepped, only by the process that this one was forked from."""
        return self._pid != os.getpid()

    def _end_observing(self) -> BaseException | None:
        if self._is_observing:
            self._is_observing = False
            try:
                self.observer.stop()
            except BaseException as error:
                return error
        return None

    def drop(self) -> None:
        self.is_running = False
        failure = None if self.is_inherited else self._end_observing()
        if failure is not None:
            tell(f"the observer of execution traces failed: {failure!r}")
        self._cancel_warming()
        self._leave_standby()
        self.cycles.running = None

    def running_recordings(self) -> list[Recording]:
        """Those that a process which begins now may be in."""
        cycles = (self.cycles.running, self._standby)
        return [cycle._recordings[-1] for cycle in cycles if cycle is not None]

    # -- results

    def why_nothing(self) -> str:
        if not self.was_started:
            return "nothing was recorded: the profiler was not started"
        if self.schedule is None:
            return "nothing was recorded in this process"
        steps = "1 step" if self.n_ended == 1 else f"{self.n_ended} steps"
        return (
            f"nothing was recorded yet: step() has ended {steps}, and by the schedule none of them"
            " was active"
        )
