"""Cycles of a profile: what one costs, when it ends and is handed over, whose it is."""

from __future__ import annotations

import gc
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loops import n_calls, names, work

import marey
from marey import _cycle, _cycles, profiler, record_function
from marey._cycle import Recording

PROFILES = [marey.profile, profiler.profile]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_schedule_goes_on_where_a_stop_left_it(profile: Any) -> None:
    handed: list[tuple[int, list[int]]] = []
    plan = marey.schedule(wait=4, warmup=1, active=1)
    prof = profile(
        schedule=plan, on_trace_ready=lambda prof: handed.append((prof.step_num, prof._marey_focus.steps))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no step was active in the first epoch
        for _epoch in range(4):
            with prof:
                for _batch in range(3):
                    work("batch")
                    prof.step()
    assert prof.step_num == 12
    assert handed == [(6, [5]), (12, [11])]
    assert [cycle.steps for cycle in prof.cycles] == [[5], [11]]
    assert names(prof).count("batch") == 2  # what was recorded before a start is kept


def test_a_profile_without_a_schedule_begins_anew_when_it_is_started_again() -> None:
    prof = marey.profile()
    for name in ("first", "second"):
        with prof:
            work(name)
    assert names(prof) == ["second"]


@pytest.mark.parametrize("keep_bytes", [None, 1])
def test_a_cycle_costs_the_same_behind_any_number_of_them(
    keep_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    usage = Recording.usage.fget

    def counted(recording: Recording) -> Any:
        nonlocal asked
        asked += 1
        return usage(recording)

    monkeypatch.setattr(Recording, "usage", property(counted))
    plan = marey.schedule(wait=0, warmup=0, active=1)
    costs = []
    with marey.profile(schedule=plan, keep_bytes=keep_bytes) as prof:
        for _ in range(60):
            before = asked
            prof.step()
            costs.append(asked - before)
    assert costs[5:] == costs[5:6] * 55
    assert costs[-1] <= 10


def test_averages_of_many_cycles_that_were_let_go_are_added_up() -> None:
    plan = marey.schedule(wait=0, warmup=0, active=1)
    want: dict[str, list[int]] = {}
    kept = []

    def add(prof: Any) -> None:
        """The cycle that has just ended, while its records are there."""
        for row in prof.cycles[-1].key_averages():
            sums = want.setdefault(row.key, [0, 0, 0])
            for i, number in enumerate((row.count, row.total_ns, row.self_ns)):
                sums[i] += number

    with marey.profile(schedule=plan, keep_bytes=1, on_trace_ready=add) as prof:
        for step in range(400):
            with record_function("outer"):
                work("odd" if step % 2 else "even")
            prof.step()
            kept.append(sum(cycle.averages_left is not None for cycle in prof.cycles))
    assert max(kept[:200]) == max(kept[200:]) == 127  # however many there are
    rows = prof.key_averages()
    assert want == {row.key: [row.count, row.total_ns, row.self_ns] for row in rows}
    assert len(rows) == 403
    top = rows.table(format="json", row_limit=-1, top_level_events_only=True)
    assert len(json.loads(top)["rows"]) == 400
    with pytest.raises(RuntimeError, match="its averages are added to those of other cycles"):
        prof.cycles[0].key_averages()
    late = [cycle for cycle in prof.cycles if not cycle.is_whole][-64]
    assert {row.key for row in late.key_averages()} >= {"outer", f"ProfilerStep#{late.steps[0]}"}


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
@pytest.mark.parametrize("profile", PROFILES)
def test_a_trace_tells_the_cycles_that_were_let_go(profile: Any, tmp_path: Path) -> None:
    of_cycles = []
    with profile(
        schedule=marey.schedule(wait=0, warmup=0, active=1),
        keep_bytes=1,
        on_trace_ready=lambda prof: of_cycles.append(prof.cycles[-1].trace.ledger),
    ) as prof:
        for _ in range(20):
            work()
            prof.step()
    n_whole = sum(cycle.is_whole for cycle in prof.cycles)
    with pytest.warns(UserWarning, match=f"of 20 cycles the last {'is' if n_whole == 1 else f'{n_whole} are'} whole"):
        prof.export_chrome_trace(str(tmp_path / "last.json"))
    assert {row.reason: row.count for row in prof.trace.ledger.rows}["let_go"] == 20 - n_whole
    assert prof.trace.grade.letter == "C"
    again = marey.load(tmp_path / "last.json")
    assert {row.reason: row.count for row in again.ledger.rows}["lost_before"] == 20 - n_whole
    # Who looks at a cycle misses nothing, nor do averages, which are of all.
    assert not any(row.reason == "let_go" for ledger in of_cycles for row in ledger.rows)
    assert "let_go" not in prof.key_averages().table(layout="marey")
    assert prof.stats.held_bytes <= prof.stats.pool_bytes
    assert [cycle.stats.held_bytes > 0 for cycle in prof.cycles] == [c.is_whole for c in prof.cycles]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_of_a_cycle_that_went_long_ago_numbers_are_left() -> None:
    def n_recordings() -> int:
        return sum(isinstance(thing, Recording) for thing in gc.get_objects())

    before = n_recordings()
    numbers = []
    with marey.profile(schedule=marey.schedule(wait=0, warmup=0, active=1), keep_bytes=1) as prof:
        for _ in range(300):
            numbers += prof.cycles[-1].recording_numbers
            prof.step()
    assert n_recordings() - before < 150
    assert [number for cycle in prof.cycles for number in cycle.recording_numbers] == numbers
    first = prof.cycles[0]
    assert (first.number, first.steps, first.is_running) == (1, [0], False)
    assert first.stats.n_records == 2
    assert first.usage == tuple(getattr(first.stats, name) for name in first.usage._fields)
    with pytest.raises(RuntimeError, match="cycle 1 was let go"):
        first.events()


def test_a_cycle_that_goes_while_it_is_read_leaves_its_averages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As another thread's step() may let it go."""
    plan = marey.schedule(wait=0, warmup=0, active=1, repeat=2)
    with marey.profile(schedule=plan) as prof:
        for _ in range(2):
            work()
            prof.step()
    first, last = prof.cycles
    trace_of = _cycle.trace_of

    def too_late(recordings: list[Recording], *rest: Any) -> marey.Trace:
        if recordings[0] in first._recordings and first.is_whole:
            monkeypatch.setattr(_cycle, "trace_of", trace_of)
            first.let_go()
        return trace_of(recordings, *rest)

    for module in (_cycle, _cycles):
        monkeypatch.setattr(module, "trace_of", too_late)
    counts = {row.key: row.count for row in prof.key_averages()}
    assert not first.is_whole
    assert counts == {"work": 2, "ProfilerStep#0": 1, "ProfilerStep#1": 1}
    assert {row.key for row in first.key_averages()} == {"work", "ProfilerStep#0"}
    with pytest.warns(UserWarning, match="of 2 cycles the last is whole"):
        assert names(prof) == names(last) == ["ProfilerStep#1", "work"]
    with pytest.raises(RuntimeError, match="cycle 1 was let go"):
        first.events()


class Late:
    """Another thread, which goes on just when a trace is made of what there was before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, goes_on: Callable[[], None]) -> None:
        self._patch = monkeypatch
        self._trace_of = _cycle.trace_of
        self._goes_on = goes_on
        self._set(self)

    def _set(self, trace_of: Any) -> None:
        for module in (_cycle, _cycles):
            self._patch.setattr(module, "trace_of", trace_of)

    def __call__(self, *args: Any) -> marey.Trace:
        self._set(self._trace_of)
        try:
            return self._trace_of(*args)
        finally:
            self._goes_on()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("n_before", [0, 1])
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_what_is_read_while_it_ends_is_not_kept(
    profile: Any, n_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    prof = profile(schedule=marey.schedule(wait=0, warmup=0, active=1) if n_before else None)

    def end() -> None:
        work("late")
        prof.stop()

    prof.start()
    for _ in range(n_before):
        work("before")
        prof.step()
    work("early")
    Late(monkeypatch, end)
    assert "late" not in names(prof)
    assert {"early", "late"} <= set(names(prof))
    cycle = prof.cycles[-1]
    assert {"early", "late"} <= set(names(cycle))
    cycle.let_go()
    assert {"early", "late"} <= {row.key for row in cycle.key_averages()}


class Stopping:
    """A session whose stop takes a while."""

    def __init__(self, session: Any, meanwhile: Callable[[], None]) -> None:
        self._session = session
        self._meanwhile = meanwhile

    def stop(self) -> None:
        self._meanwhile()
        self._session.stop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def test_what_is_read_within_its_stop_is_not_kept() -> None:
    def meanwhile() -> None:
        assert names(prof) == ["early"]
        assert prof.cycles[0].usage.stop_ns is None
        work("late")

    with marey.profile() as prof:
        work("early")
        (recording,) = prof.cycles[0]._recordings
        recording.session = Stopping(recording.session, meanwhile)
    assert names(prof) == ["early", "late"]
    assert prof.cycles[0].usage.stop_ns is not None


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_what_is_read_before_the_last_step_counts_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_step = _cycle.Cycle.add_step

    def read_before(cycle: Any, *args: Any) -> None:
        assert cycle.trace.metadata["profiler_cycle"]["steps"] == [0]
        add_step(cycle, *args)

    with marey.profile(schedule=marey.schedule(wait=0, warmup=0, active=3)) as prof:
        work()
        prof.step()
        work()
        monkeypatch.setattr(_cycle.Cycle, "add_step", read_before)
    assert prof.cycles[0].trace.metadata["profiler_cycle"]["steps"] == [0, 1]


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_averages_read_while_cycles_go_have_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps() -> None:
        for _ in range(2):
            work()
            prof.step()

    with marey.profile(schedule=marey.schedule(wait=0, warmup=0, active=1), keep_bytes=1) as prof:
        for _ in range(5):
            steps()
        trace_of = _cycle.trace_of

        def too_late(*args: Any) -> marey.Trace:
            monkeypatch.undo()
            steps()
            return trace_of(*args)

        for module in (_cycle, _cycles):
            monkeypatch.setattr(module, "trace_of", too_late)
        assert {row.key: row.count for row in prof.key_averages()}["work"] == 12


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_a_cycle_that_comes_to_no_step_may_still_be_read(profile: Any) -> None:
    prof = profile(schedule=marey.schedule(wait=0, warmup=0, active=1), pool_bytes=1 << 16)
    for _ in range(3):  # there is one block, which has to be given back each time
        prof.start()
        work()
        prof.step()
        last = prof.cycles[-1]
        prof.stop()
        assert last not in prof.cycles and last.is_whole
        assert last.stats.n_records == 0 and names(last) == [] and not list(last.key_averages())
        del last
        assert prof._marey_machine.cycles._traces.n_bytes == 0
    assert [cycle.stats.n_lost for cycle in prof.cycles] == [0, 0, 0]


def test_a_profile_may_be_read_while_its_last_cycle_is_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As by another thread, which has just asked for the cycles there are."""
    plan = marey.schedule(wait=0, warmup=1, active=1)
    with profiler.profile(schedule=plan) as prof:
        for _ in range(3):
            work()
            prof.step()
        cycles = prof.cycles
    assert cycles[:-1] == prof.cycles
    monkeypatch.setattr(_cycles.Cycles, "shown", lambda self: [*cycles])
    assert prof.stats.n_records == cycles[0].stats.n_records
    assert n_calls(prof) == 1 and names(prof) == names(cycles[0])


@pytest.mark.parametrize("read", ["own_trace", "last_trace"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_profile_is_read_however_fast_its_cycles_go(
    read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread ends two cycles just when it was asked which there are."""
    shown = _cycles.Cycles.shown

    def too_late(cycles: _cycles.Cycles) -> list[_cycle.Cycle]:
        there = shown(cycles)
        monkeypatch.undo()
        for _ in range(2):
            prof.step()
        work("last")
        return there

    plan = marey.schedule(wait=0, warmup=0, active=1)
    with profiler.profile(schedule=plan, keep_bytes=0) as prof:
        for _ in range(3):
            prof.step()
        monkeypatch.setattr(_cycles.Cycles, "shown", too_late)
        trace = getattr(prof._marey_machine.cycles, read)()
        assert "last" in [event.name for event in trace.events()]


@pytest.mark.parametrize("compat", [None, "torch"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_cycle_that_was_handed_over_and_goes_while_it_is_read_is_not_missed(compat: Any) -> None:
    """A callback of another thread has just ended."""
    handed: list[_cycle.Cycle] = []

    class Late(profiler.profile):
        def _marey_shown(self) -> Any:
            return handed.pop() if handed else super()._marey_shown()

    plan = marey.schedule(wait=0, warmup=0, active=1)
    with Late(schedule=plan, compat=compat, keep_bytes=0) as prof:
        for _ in range(3):
            prof.step()
        work("last")
        handed.append(prof.cycles[0])
        assert "last" in names(prof) and not handed


class Failing:
    """An observer whose file cannot be written."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        raise OSError("no space left")


@pytest.mark.parametrize("plan", [None, marey.schedule(wait=0, warmup=0, active=1)])
def test_a_cycle_ends_also_where_its_observer_fails(plan: Any) -> None:
    handed: list[list[str | None]] = []
    prof = profiler.profile(
        schedule=plan, execution_trace_observer=Failing(), on_trace_ready=lambda prof: handed.append(names(prof))
    )
    prof.start()
    work("ours")
    with pytest.raises(OSError, match="no space left"):
        prof.stop() if plan is None else prof.step()
    assert len(handed) == 1 and "ours" in handed[0]
    if plan is not None:
        work("next")
        with pytest.raises(OSError, match="no space left"):
            prof.stop()
        assert len(handed) == 2 and "next" in handed[1]
    assert not marey.is_recording()
    assert "ours" in names(prof)


def test_a_cycle_that_lost_records_ends_the_keeping_of_others_for_a_while_only() -> None:
    plan = marey.schedule(wait=0, warmup=0, active=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prof = marey.profile(schedule=plan, pool_bytes=2 << 20, keep_bytes=1 << 20)
        with prof:
            for i in range(16):
                for _ in range(100_000 if i == 2 else 1):
                    work()
                prof.step()
    assert prof.cycles[2].usage.n_lost > 0
    kept = [cycle.number for cycle in prof.cycles if cycle.is_whole]
    assert kept[-1] == 16 and len(kept) > 4


@pytest.mark.parametrize("made", ["run-7", b"run-7", 7])
def test_an_id_of_any_kind_is_written_as_text(made: Any) -> None:
    with profiler.profile(custom_trace_id_callback=lambda: made) as prof:
        work()
    assert prof.trace.metadata["trace_id"] == ("7" if made == 7 else "run-7")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_cycle_is_shown_once_while_it_ends(profile: Any) -> None:
    seen: list[list[str | None]] = []

    def look() -> None:
        assert len(prof.cycles) == 1
        seen.append(names(prof))

    class Done(list[Any]):
        def append(self, cycle: Any) -> None:
            look()
            super().append(cycle)
            look()

    class Watched(_cycles.Cycles):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            look()

    with profile() as prof:
        work()
        prof._marey_machine.cycles.done = Done()
        prof._marey_machine.cycles.__class__ = Watched
    assert len(seen) >= 3 and all(each == ["work"] for each in seen)
    assert names(prof) == ["work"]


def test_results_of_nothing_add_no_cycle() -> None:
    prof = profiler.profile(schedule=marey.schedule(wait=2, warmup=1, active=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing was reached
        with prof:
            prof.step()
    for _ in range(2):
        assert names(prof) == list(prof.key_averages()) == []
        assert prof.stats.n_records == 0
    prof.add_metadata("run", "7")
    assert prof.trace.metadata["run"] == "7"
    assert prof.cycles == ()
    with prof:
        for _ in range(3):
            prof.step()
    assert [cycle.number for cycle in prof.cycles] == [1]


@pytest.mark.forks
@pytest.mark.parametrize("again", [True, False])
def test_a_child_goes_on_with_cycles_of_its_own(again: bool) -> None:
    plan = marey.schedule(wait=1, warmup=1, active=1)
    prof = profiler.profile(schedule=plan, keep_bytes=1)
    prof.start()
    for _ in range(6):
        work("parent")
        prof.step()
    if again:
        prof.stop()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if again:
                prof.start()
            for _ in range(7):
                work("child")
                prof.step()
            prof.stop()
            assert {e.name for e in prof.events()} >= {"child"}
            counts = {row.key: row.count for row in prof.key_averages()}
            assert counts["child"] == 2 and "parent" not in counts
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    if not again:
        prof.stop()
    assert {row.key: row.count for row in prof.key_averages()}["parent"] == 2


def unwritable(prof: Any) -> None:
    prof.export_chrome_trace("/there/is/no/such/folder/trace.json")


def test_a_file_that_cannot_be_written_ends_no_training() -> None:
    plan = marey.schedule(wait=0, warmup=0, active=1, repeat=2)
    with pytest.warns(UserWarning) as said:
        with profiler.profile(schedule=plan, on_trace_ready=unwritable) as prof:
            for _ in range(3):
                work("batch")
                prof.step()
    messages = [str(warning.message) for warning in said]
    assert len(messages) == 2
    for number, message in enumerate(messages, 1):
        assert message.startswith(f"cycle {number} is not written: cannot write '/there/is/no")
    assert names(prof).count("batch") == 2  # nothing is lost
    with pytest.raises(OSError, match="no such file"):
        unwritable(prof)
    with pytest.raises(OSError, match="no such file"):  # the strict one
        with marey.profile(schedule=plan, on_trace_ready=unwritable) as prof:
            prof.step()


def read_nothing(prof: Any) -> None:
    pass


def read_all(prof: Any) -> None:
    prof.key_averages()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("ready", [read_nothing, read_all])
def test_a_trace_of_all_cycles_says_so_whatever_was_read_before(
    profile: Any, ready: Any, tmp_path: Path
) -> None:
    plan = marey.schedule(wait=0, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=ready) as prof:
        for step in range(6):
            work()
            if step == 4:
                prof.toggle_collection_dynamic(False, [marey.ProfilerActivity.CPU])
            prof.step()
    of_all = {"cycles": [1, 2], "steps": [1, 2, 4, 5], "n_active": 2, "steps_in_part": [4, 5]}
    for _ in range(2):
        prof.export_chrome_trace(tmp_path / "all.json")
        assert json.loads((tmp_path / "all.json").read_text())["profiler_cycle"] == of_all
        first, second = (cycle.trace.metadata["profiler_cycle"] for cycle in prof.cycles)
        assert first == {"cycle": 1, "steps": [1, 2], "n_active": 2}
        assert second == {"cycle": 2, "steps": [4, 5], "n_active": 2, "steps_in_part": [4, 5]}
        prof.add_metadata("anew", "1")  # all heads are made once more
