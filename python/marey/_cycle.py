"""A cycle: what a profile recorded from one start to its end.

A cycle is one recording, or several with pauses between them, each a session of the core.
It stays in the sessions' own form, which takes no time at its end, and becomes a trace when
it is first asked for.
"""

from __future__ import annotations

import itertools
import json
import os
from typing import NamedTuple

from marey import _core, _live_torch
from marey._averages import Grouping
from marey._company import Company
from marey._left import Left, LeftAverages, Parts
from marey._rank import Rank, find_rank
from marey._results import ProfileAverages, SessionStats, Usage, add_stats
from marey._trace import Trace
from marey._warn import bytes_text, tell
from marey._windows import Windows

LOADER = "enumerate(DataLoader)"
"""What torch's DataLoader records when it is asked for a batch, also for one that there is not."""


MOSTLY_OWN = 0.75
"""A full pool of which a recording has less was taken by others."""


OF_A_STEP = 2
"""Records of a step's own range."""


class Asked(NamedTuple):
    """What a profile records."""

    wants: int
    pool_bytes: int
    with_torch: bool
    joins_steps: bool = False
    """Averages have one row for all steps, as torch's."""

    @property
    def has_inputs(self) -> bool:
        return bool(self.wants & _core.WANT_INPUTS)


_numbers = itertools.count(1)
_settlings = itertools.count(1)


class Recording:
    """A session, with all that is in place while it runs; stopped when nobody holds it."""

    def __init__(self, asked: Asked) -> None:
        self.pid = os.getpid()
        self.number = next(_numbers)
        self._has_ranges = False
        self.is_running = False
        self.has_ended = False  # it takes no record any more, which a stop takes a while for
        self.rank = find_rank()
        self.session = _core.Session(wants=asked.wants, pool_bytes=asked.pool_bytes)
        self.is_running = True
        if asked.with_torch:
            self._has_ranges = True
            try:
                _live_torch.begin_ranges(self)
            except BaseException:
                self.stop()
                raise

    @property
    def is_ours(self) -> bool:
        """It was begun in this process, not in one that this was forked from."""
        return self.pid == os.getpid()

    @property
    def stats(self) -> SessionStats:
        return SessionStats(*self.session.stats())

    @property
    def usage(self) -> Usage:
        return Usage(*self.session.usage())

    def stop(self) -> None:
        if not self.is_running or not self.is_ours:
            return
        self.is_running = False
        try:
            self.session.stop()
        finally:
            if self._has_ranges:
                try:
                    _live_torch.end_ranges(self)
                except BaseException:  # what a signal's handler raises
                    _live_torch.end_ranges(self)
                    raise
        # What torch.distributed says at the end counts, if it still says anything.
        now = find_rank()
        self.rank = now if now.rank is not None else self.rank
        self.has_ended = True

    def drop(self) -> None:
        self.stop()
        if self.is_ours:
            self.session.free()

    def __del__(self) -> None:
        # At the end of the interpreter there may be nothing left to stop with.
        if getattr(self, "is_running", False) and os is not None:
            self.stop()


def trace_of(
    recordings: list[Recording],
    metadata: dict[str, str],
    about: dict[str, str],
    n_let_go: int = 0,
) -> Trace:
    """One trace of them. about: members of its head that say which cycles it is of. What the
    library does not take of the metadata is told, and taken out of it: what was recorded is worth
    more."""
    rank: Rank = recordings[-1].rank
    sessions = [recording.session for recording in recordings]
    members = {**metadata, **about}
    if rank.json is not None:
        members["distributedInfo"] = rank.json
    refused = []
    for key, json_text in members.items():
        try:
            for session in sessions[-1:] if key in about else sessions:  # the last one counts
                session.add_meta(key, json_text)
        except ValueError as error:
            refused.append((key, error))
    if len(sessions) == 1 and n_let_go == 0:
        core = sessions[0].trace(rank.rank, rank.world_size)
    else:
        core = _core.trace_sessions(sessions, rank.rank, rank.world_size, n_let_go)
    for key, reason in refused:
        metadata.pop(key, None)
        tell(f"the trace has no metadata {key!r}: {reason}")
    return Trace(core)


def about_cycles(cycles: list[Cycle]) -> dict[str, str]:
    """Members of the head that say which cycles a trace is of, and which steps they have; the id is
    the last one's."""
    members, last = {}, cycles[-1]
    if last.n_active is not None:
        numbers = [cycle.number for cycle in cycles]
        about: dict[str, Any] = {"cycle": numbers[0]} if len(numbers) == 1 else {"cycles": numbers}
        about["steps"] = [step for cycle in cycles for step in cycle.steps]
        about["n_active"] = last.n_active
        in_part = [step for cycle in cycles for step in cycle.steps_in_part]
        if in_part:
            about["steps_in_part"] = in_part
        members["profiler_cycle"] = json.dumps(about)
    if last.trace_id is not None:
        members["trace_id"] = json.dumps(last.trace_id)
    return members


class Weight:
    """What the traces of all cycles hold. A sum, since there may be thousands of them."""

    def __init__(self) -> None:
        self.n_bytes = 0


_NO_RECORDINGS: list[Recording] = []
"""Of all cycles that are only numbers any more."""


class Cycle(Company):
    """What a profile recorded from a start to its end.

    number counts from 1. steps: numbers of the active steps that it has. steps_in_part: those of
    them in which recording was switched off, for a part or all of it. n_active: how many its
    schedule has, None where that is not known.
    """

    def __init__(
        self,
        asked: Asked,
        number: int,
        n_active: int | None,
        metadata: dict[str, str],
        windows: Windows | None = None,
        traces: Weight | None = None,
    ) -> None:
        """windows: where its recordings are noted, and who its workers are. traces: where the weight
        of its trace is added."""
        self.number = number
        self.n_active = n_active
        self.steps: list[int] = []
        self.steps_in_part: list[int] = []
        self.trace_id: str | None = None
        self._asked = asked
        self._has_inputs = asked.has_inputs
        self._marey_joins_steps = asked.joins_steps
        self._metadata = metadata  # the profile's own, which may still grow
        self.windows = windows or Windows()
        self._recordings: list[Recording] = []
        self._numbers: tuple[int, ...] = ()  # of recordings that are not even objects any more
        self._step_from = 0  # the recording that has the last step's begin, or is all of that step
        self._step_is_marked = False  # the begin is in it
        self._settling = next(_settlings)
        self._kept: tuple[int, Trace] | None = None  # made under that number
        self._trace_bytes = 0
        self._traces = traces or Weight()
        self._usage: tuple[int, Usage] | None = None
        self._summary: Left | None = None  # what would be left of it
        self._left: Left | None = None  # once it was let go
        self._first_step_bytes = 0  # of the pool; all of it if that was too little
        self.resume()

    # -- recording

    @property
    def is_running(self) -> bool:
        recordings = self._recordings
        return bool(recordings) and recordings[-1].is_running

    @property
    def is_ours(self) -> bool:
        return self._recordings[-1].is_ours

    def resume(self) -> None:
        if not self.is_running:
            self._recordings.append(Recording(self._asked))
            self._change()
            self.windows.note(self._recordings[-1])

    def pause(self) -> None:
        """Also the end."""
        if self.is_running:
            self._recordings[-1].stop()
            self.windows.note(self._recordings[-1])

    def drop(self) -> None:
        for recording in self._recordings:
            recording.drop()

    def mark_step(self) -> None:
        """A step begins now."""
        self._step_is_marked = self.is_running
        self._step_from = len(self._recordings) - int(self._step_is_marked)
        if self._step_is_marked:
            self._recordings[-1].session.mark()

    def cut_unused_step(self, step_name: str) -> bool:
        """Of a cycle that has ended: takes out what came after the last step's begin if nothing
        happened there but that it began. The last step() of a loop begins a step that is none."""
        try:
            return self._cut_unused_step(step_name)
        finally:
            self._change()  # also if it was only tried: somebody may have looked meanwhile

    def _cut_unused_step(self, step_name: str) -> bool:
        later = self._recordings[self._step_from + int(self._step_is_marked) :]
        if sum(recording.stats.n_records for recording in later) > OF_A_STEP:
            return False
        if self._step_is_marked and not self._cut_at_mark(step_name):
            return False
        for recording in later:
            recording.session.end_at_mark(True)  # its start
        for recording in self._recordings[self._step_from :]:
            self.windows.note(recording)
        return True

    def _cut_at_mark(self, step_name: str) -> bool:
        session = self._recordings[self._step_from].session
        n_records = session.stats()[0]
        session.end_at_mark(True)
        n_after = n_records - session.stats()[0]
        # The step's own, and a few that may be those of a loader that has no more.
        if n_after <= OF_A_STEP or (n_after <= 64 and self._is_nothing_else(step_name)):
            return True
        session.end_at_mark(False)
        return False

    def _is_nothing_else(self, step_name: str) -> bool:
        recording = self._recordings[self._step_from]
        mark_ns = recording.stats.stop_ns
        assert mark_ns is not None
        session = recording.session
        session.end_at_mark(False)
        names = {e.name for e in Trace(session.trace()).events() if e.start_ns >= mark_ns}
        session.end_at_mark(True)
        return all(name == step_name or (name or "").startswith(LOADER) for name in names)

    # -- what it is

    @property
    def is_partial(self) -> bool:
        """It has fewer steps than its schedule has active ones."""
        return self.n_active is not None and len(self.steps) < self.n_active

    @property
    def is_whole(self) -> bool:
        """Its records are still held; else its averages are all that is left of it."""
        return self._left is None

    @property
    def stats(self) -> SessionStats:
        """What its recording came to."""
        if self._left is None:
            try:
                return add_stats([recording.stats for recording in self._recordings])
            except ValueError:
                if self._left is None:
                    raise  # it is not that another thread's step() has let it go just now
        return self._left.stats

    @property
    def are_whole(self) -> bool:
        return self.is_whole

    @property
    def recording_numbers(self) -> list[int]:
        return [recording.number for recording in self._recordings] or [*self._numbers]

    @property
    def whole_numbers(self) -> list[int]:
        return self.recording_numbers if self.is_whole else []

    @property
    def usage(self) -> Usage:
        """Cheap, since it is asked for where a cycle begins and ends."""
        if self._left is not None:
            return self._left.usage
        settled, known = self.settled, self._usage
        if known is not None and known[0] == settled:
            return known[1]
        each = [recording.usage for recording in self._recordings]
        usage = each[-1]._replace(
            held_bytes=sum(usage.held_bytes for usage in each),
            n_lost=sum(usage.n_lost for usage in each),
            start_ns=each[0].start_ns,
        )
        if settled is not None:
            self._usage = settled, usage
        return usage

    @property
    def wanted_bytes(self) -> int:
        """What a cycle like this one takes of the pool, and an eighth for one that is larger; all
        of it if this one found too little."""
        usage = self.usage
        return usage.pool_bytes if usage.n_lost > 0 else usage.held_bytes * 9 // 8

    @property
    def wanted_by_first_step_bytes(self) -> int:
        """What the first step of a cycle like this one takes, and as much for one that is larger."""
        if not self.steps:
            return self.wanted_bytes
        return min(2 * self._first_step_bytes, self.wanted_bytes)

    def add_step(self, number: int, is_cut: bool) -> None:
        """An active step has ended. is_cut: it was switched off for a part of it."""
        if not self.steps:
            usage = self.usage
            self._first_step_bytes = usage.pool_bytes if usage.n_lost > 0 else usage.held_bytes
        self.steps.append(number)
        if is_cut:
            self.steps_in_part.append(number)
        if not self.is_running:
            self.forget_trace()  # its head has the steps

    def tell_losses(self) -> None:
        """At its end: a table says it too, but who only writes files sees no table."""
        if self.usage.n_lost == 0:
            return
        stats = self.stats
        lost = "1 record" if stats.n_lost == 1 else f"{stats.n_lost:,} records"
        what, less = f"cycle {self.number}", "fewer active steps"
        if self.n_active is None:
            what, less = "the recording", "less at a time"
        room, former = bytes_text(stats.pool_bytes), ""
        if stats.held_bytes < stats.pool_bytes * MOSTLY_OWN:
            room += f", of which it had {bytes_text(stats.held_bytes)}: the rest was of others"
            former = "former profiles and traces let go, "
        tell(
            f"{what} lost {lost} beside the {stats.n_records:,} that it has: there was no room in"
            f" {room}; {former}a larger pool_bytes, or {less}, keeps all"
        )

    # -- results

    @property
    def settled(self) -> int | None:
        """The number under which what is made of its records, and of its head, may be kept. Asked
        for before it is made, since another thread may end the cycle meanwhile: what is kept holds
        while the number is the same. No other cycle ever has it. None: records are still added."""
        number, recordings = self._settling, self._recordings
        return number if recordings and recordings[-1].has_ended else None

    @property
    def recordings(self) -> list[Recording]:
        """RuntimeError: it was let go."""
        recordings = [*self._recordings]
        if self._left is not None:
            raise self._gone()
        return recordings

    def _change(self) -> None:
        """What was known of its records is so no more; called after the change."""
        self._usage = self._summary = None
        self.forget_trace()

    def _keep(self, kept: tuple[int, Trace] | None) -> None:
        self._kept = kept
        self.weigh()

    def weigh(self) -> None:
        """A trace grows with what is asked of it."""
        kept = self._kept
        n_bytes = 0 if kept is None else sum(kept[1].footprint().values())
        self._traces.n_bytes += n_bytes - self._trace_bytes
        self._trace_bytes = n_bytes

    def weigh_apart(self) -> None:
        """From now on no part of what all cycles hold."""
        self._keep(None)
        self._traces = Weight()

    def own_trace(self) -> Trace:
        if self._left is not None:
            raise self._gone()
        settled, kept = self.settled, self._kept
        if kept is not None and kept[0] == settled:
            self.weigh()
            return kept[1]
        try:
            trace = trace_of(self.recordings, self._metadata, about_cycles([self]))
        except ValueError:  # a session was freed
            if self.is_whole:
                raise
            raise self._gone() from None
        if settled is not None and settled == self.settled:
            self._keep((settled, trace))
        return trace

    def _gone(self) -> RuntimeError:
        return RuntimeError(
            f"cycle {self.number} was let go for want of memory, its averages are left;"
            " a larger keep_bytes keeps it"
        )

    def own_averages(self, grouping: Grouping) -> ProfileAverages:
        if self._left is None:
            try:
                return ProfileAverages(self.own_trace(), grouping)
            except RuntimeError:
                if self._left is None:
                    raise  # it is not that another thread's step() has let it go just now
        left = self._left.averages
        if left is None:
            raise RuntimeError(
                f"cycle {self.number} was let go for want of memory, and its averages are added to"
                " those of other cycles: ask the profile for them; a larger keep_bytes keeps it"
            )
        return left.averages(grouping)

    @property
    def left(self) -> Left | None:
        """None: its records are still held."""
        return self._left

    @property
    def averages_left(self) -> LeftAverages | None:
        """Of one that was let go. None: they were added to others."""
        return None if self._left is None else self._left.averages

    def forget_averages(self) -> None:
        """Of one that was let go: numbers are all that stays, since there may be any number of such
        cycles."""
        if self._left is not None:
            self._left = self._left._replace(averages=None)
            self._numbers = tuple(self.recording_numbers)
            self._recordings = _NO_RECORDINGS
            self.steps = [*self.steps]  # without room for more

    def own_parts(self) -> Parts:
        return lambda grouping: [self.own_averages(grouping)]

    def forget_trace(self) -> None:
        """The head of the trace is another one now."""
        self._settling = next(_settlings)
        self._keep(None)

    def sum_up(self) -> None:
        """Makes what would be left of it, which takes a look at each record."""
        if self._summary is None:
            kept = self._kept
            averages = LeftAverages.of_trace(
                self.own_trace(), self._asked.has_inputs, self._marey_joins_steps
            )
            self._summary = Left(self.stats._replace(held_bytes=0), averages)
            self._keep(kept)  # another one would only take memory

    def let_go(self) -> None:
        """Gives the records back. What is kept: averages in all groupings."""
        if self._left is not None:
            return
        self.sum_up()
        self._left = self._summary
        self._change()
        for recording in self._recordings:
            recording.drop()

    def __repr__(self) -> str:
        steps = f"steps {self.steps[0]} to {self.steps[-1]}" if self.steps else "no steps"
        of = f", {len(self.steps)} of {self.n_active} active" if self.is_partial else ""
        return f"<marey.Cycle {self.number}, {steps}{of}>"
