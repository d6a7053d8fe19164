"""The cycles of a profile: which of them are kept, and what they come to as one."""

from __future__ import annotations

from collections import deque

from marey._averages import Grouping
from marey._company import Company
from marey._cycle import Asked, Cycle, Weight, about_cycles, trace_of
from marey._left import LeftAverages, Older, Parts, joined
from marey._results import ProfileAverages, SessionStats, add_stats
from marey._trace import Trace
from marey._warn import tell
from marey._windows import Windows


OF_LATE = 8
"""Cycles whose size tells that of the next. One that found no room is forgotten behind so many."""

OF_GONE = 64
"""The last cycles that were let go keep averages of their own. Those of so many are added up at once,
since a sum may have a row for each step that there was."""


class Cycles(Company):
    """All cycles of a profile, as one."""

    def __init__(self, asked: Asked, keep_bytes: int | None) -> None:
        self.metadata: dict[str, str] = {}
        self.done: list[Cycle] = []
        self.running: Cycle | None = None
        self.windows = Windows()
        self._asked = asked
        self._has_inputs = asked.has_inputs
        self._marey_joins_steps = asked.joins_steps
        self._keep_bytes = keep_bytes
        self._joined: tuple[tuple[int | None, ...], Trace] | None = None
        self._nothing: Cycles | None = None
        self._is_told = False
        self._hold_nothing()

    # -- their life

    def _hold_nothing(self) -> None:
        self._leaving: Cycle | None = None
        """The last whole one, whose room the one that runs needs behind its first step."""
        self._older = Older()
        self._n_taken_in = 0
        self._whole: deque[Cycle] = deque()
        """Those of them whose records are held, the oldest first."""
        self._pool_bytes = 0  # that they hold
        self._traces = Weight()
        self._wanted: deque[tuple[int, int]] = deque(maxlen=OF_LATE)
        self._next_bytes = 0  # the next cycle is like one of these
        self._first_step_bytes = 0

    def begin(self, n_active: int | None) -> Cycle:
        self._make_room()
        self.running = self._next(n_active)
        return self.running

    def stand_by(self) -> Cycle:
        """One that may become the next. Behind one without steps it probably does, and room for it
        is made."""
        if self.done and not self.done[-1].steps:
            self._make_room()
        return self._next(None)

    def _next(self, n_active: int | None) -> Cycle:
        number = len(self.done) + 1
        return Cycle(self._asked, number, n_active, self.metadata, self.windows, self._traces)

    def end(self) -> Cycle | None:
        cycle = self.running
        if cycle is not None:
            self.done.append(cycle)  # first: who looks meanwhile sees it in one place or the other
            self.running = None
            cycle.resume()  # where it is switched off: else its last gap would have no end
            cycle.pause()
            cycle.tell_losses()
        return cycle

    def nothing(self) -> Cycles:
        """A cycle of no time, for results where nothing was recorded. It is none of these."""
        nothing = self._nothing
        if nothing is None:
            nothing = Cycles(self._asked, self._keep_bytes)
            nothing.metadata, nothing.windows = self.metadata, self.windows
            nothing.begin(None)
            nothing.end()
            self._nothing = nothing
        return nothing

    def take_back(self, cycle: Cycle) -> None:
        """It is none of these, and its records go with whoever still looks at it."""
        self.done.remove(cycle)
        cycle.weigh_apart()

    def begin_step(self) -> None:
        """In the cycle that runs, if one does."""
        if self.running is None:
            return
        if self._leaving is not None and self.running.steps:
            self._let_oldest_go()
            self._leaving = None
        self.running.mark_step()

    def clear(self) -> None:
        self._hold_nothing()
        self.done = []
        self.running = None
        self._joined = self._nothing = None

    def _make_room(self) -> None:
        """The oldest go first. The last one stays if the next has room beside it in the pool,
        where all that is held lies: what finds none is lost. If there is room for the first step it
        stays until the second begins: the step that the last step() of a program begins is none."""
        self._leaving = None
        self._take_in()
        while self._whole and self._is_too_much():
            oldest = self._whole[0]
            oldest.sum_up()  # here, not within the cycle that begins
            usage = oldest.usage
            if len(self._whole) == 1 and usage.held_bytes + self._first_step_bytes <= usage.pool_bytes:
                self._leaving = oldest
                return
            self._let_oldest_go()

    def _take_in(self) -> None:
        """What has ended since the last cycle began. As sums: each cycle is looked at once, however
        many there are."""
        for cycle in self.done[self._n_taken_in :]:
            self._whole.append(cycle)
            self._pool_bytes += cycle.usage.held_bytes
            self._wanted.append((cycle.wanted_bytes, cycle.wanted_by_first_step_bytes))
            cycle.weigh()
        self._n_taken_in = len(self.done)
        self._next_bytes = max((whole for whole, _ in self._wanted), default=0)
        self._first_step_bytes = max((first for _, first in self._wanted), default=0)

    def _is_too_much(self) -> bool:
        """Of the whole ones, before the next."""
        pool_bytes = self._whole[-1].usage.pool_bytes
        bound = pool_bytes // 2 if self._keep_bytes is None else self._keep_bytes
        held_bytes = self._pool_bytes + self._traces.n_bytes
        return (len(self._whole) > 1 and held_bytes > bound) or (
            self._pool_bytes + self._next_bytes > pool_bytes
        )

    def _let_oldest_go(self) -> None:
        oldest = self._whole.popleft()
        self._pool_bytes -= oldest.usage.held_bytes
        self._joined = None
        oldest.let_go()
        n_gone = self._n_taken_in - len(self._whole)
        if n_gone - self._older.n_cycles >= 2 * OF_GONE:
            self._add_up_oldest()

    def _add_up_oldest(self) -> None:
        first = self._older.n_cycles
        oldest = self.done[first : first + OF_GONE]
        averages = [cycle.averages_left for cycle in oldest]
        self._older = self._older.plus([left for left in averages if left is not None])
        for cycle in oldest:
            cycle.forget_averages()

    def forget_traces(self) -> None:
        self._joined = None
        for cycle in self.shown():
            if cycle.is_whole:
                cycle.forget_trace()
        if self._nothing is not None:
            self._nothing.forget_traces()

    # -- results

    def shown(self) -> list[Cycle]:
        """As they are at one moment, for any thread."""
        while True:
            running, done = self.running, [*self.done]
            if running is self.running:
                break
        if running is None or (done and done[-1] is running):  # just now at its end
            return done
        return [*done, running]

    @property
    def recording_numbers(self) -> list[int]:
        return [number for cycle in self.shown() for number in cycle.recording_numbers]

    @property
    def whole_numbers(self) -> list[int]:
        return [number for cycle in self.shown() for number in cycle.whole_numbers]

    @property
    def are_whole(self) -> bool:
        """None was let go."""
        return all(cycle.is_whole for cycle in self.done)

    @property
    def stats(self) -> SessionStats:
        return add_stats([cycle.stats for cycle in self.shown()])

    def own_trace(self) -> Trace:
        while True:
            cycles = self.shown()
            whole = [cycle for cycle in cycles if cycle.is_whole]
            if not whole and cycles != self.shown():
                continue  # they went since they were asked for, and others came
            self._tell_let_go(len(cycles), len(whole))
            try:
                return self._trace_of(whole, len(cycles) - len(whole))
            except (RuntimeError, ValueError):
                if self._are_still(whole):
                    raise

    def last_trace(self) -> Trace:
        """Of the last cycle alone."""
        while True:
            cycles = self.shown()
            if not cycles:
                raise self._nothing_yet()
            try:
                return cycles[-1].own_trace()
            except RuntimeError:
                if cycles == self.shown():
                    raise

    def _tell_let_go(self, n_cycles: int, n_whole: int) -> None:
        """Once; each time if there is nothing left to show."""
        if n_cycles == 0:
            raise self._nothing_yet()
        if n_whole == 0:
            raise RuntimeError(
                f"all cycles ({n_cycles}) were let go for want of memory, their averages are"
                " left; a larger pool_bytes, or fewer active steps, keeps the last one"
            )
        if n_whole < n_cycles and not self._is_told:
            self._is_told = True
            last = "the last is" if n_whole == 1 else f"the last {n_whole} are"
            tell(
                f"of {n_cycles} cycles {last} whole, the others were let go: events and traces"
                " are of what is whole, averages of all; a larger keep_bytes keeps more"
            )

    @staticmethod
    def _nothing_yet() -> RuntimeError:
        return RuntimeError("nothing was recorded: another thread begins anew just now")

    def _are_still(self, whole: list[Cycle]) -> bool:
        """Else another thread's step() has let one go just now."""
        return whole == [cycle for cycle in self.shown() if cycle.is_whole]

    def _trace_of(self, whole: list[Cycle], n_let_go: int) -> Trace:
        """n_let_go: cycles before them, which its ledger tells."""
        if len(whole) == 1 and n_let_go == 0:
            return whole[0].own_trace()
        key = n_let_go, *(cycle.settled for cycle in whole)
        joined = self._joined
        if joined is not None and joined[0] == key:
            return joined[1]
        recordings = [recording for cycle in whole for recording in cycle.recordings]
        trace = trace_of(recordings, self.metadata, about_cycles(whole), n_let_go)
        if None not in key and key[1:] == tuple(cycle.settled for cycle in whole):
            self._joined = key, trace
        return trace

    def own_averages(self, grouping: Grouping) -> ProfileAverages:
        gone, whole = self._gone_and_whole()
        if not gone and whole is not None:
            return ProfileAverages(whole, grouping)
        return joined(grouping, _parts_of(gone, whole), self._has_inputs)

    def own_parts(self) -> Parts:
        """The cycles that were let go, and those that are whole."""
        return _parts_of(*self._gone_and_whole())

    def _gone_and_whole(self) -> tuple[list[LeftAverages], Trace | None]:
        """At one moment, so that each cycle is in one of them."""
        while True:
            older = self._older
            each = [(cycle, cycle.left) for cycle in self.shown()[older.n_cycles :]]
            if self._older is not older:
                continue  # a step() of another thread has added some just now
            averages = [older.averages, *(left.averages for _, left in each if left is not None)]
            gone = [left for left in averages if left is not None]
            whole = [cycle for cycle, left in each if left is None]
            if not gone and not whole:
                raise self._nothing_yet()
            # Averages of what went are there too, so that they need not be told; one trace for both.
            n_told = len(self.shown()) - len(whole) if len(whole) > 1 else 0
            try:
                return gone, self._trace_of(whole, n_told) if whole else None
            except (RuntimeError, ValueError):
                if self._are_still(whole):
                    raise


def _parts_of(gone: list[LeftAverages], whole: Trace | None) -> Parts:
    def parts(grouping: Grouping) -> list[ProfileAverages]:
        of_gone = [part for averages in gone for part in averages.parts(grouping)]
        return of_gone if whole is None else [*of_gone, ProfileAverages(whole, grouping)]

    return parts
