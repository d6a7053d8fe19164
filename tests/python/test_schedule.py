"""Cycles of a schedule: which steps they have, what is handed over, what all of them came to."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import loops
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import n_calls, run, work

import marey
from marey import ProfilerAction as Action
from marey import _core, _cycle, _machine, profiler, record_function

PROFILES = [marey.profile, profiler.profile]


@pytest.fixture(params=PROFILES, ids=["marey.profile", "marey.profiler.profile"])
def profile(request: pytest.FixtureRequest) -> Any:
    return request.param


# ---- what is recorded of a schedule (S1 to S11) ----------------------------------------------------


def test_averages_are_those_of_all_cycles(profile: Any) -> None:
    """S1"""
    prof = profile(schedule=marey.schedule(wait=1, warmup=1, active=2, repeat=3))
    run(prof, 12)
    assert n_calls(prof) == 6
    assert [n_calls(cycle) for cycle in prof.cycles] == [2, 2, 2]
    assert [cycle.steps for cycle in prof.cycles] == [[2, 3], [6, 7], [10, 11]]
    assert [cycle.number for cycle in prof.cycles] == [1, 2, 3]
    assert not any(cycle.is_partial for cycle in prof.cycles)
    assert len([event for event in prof.events() if event.name == "work"]) == 6
    assert len(prof.trace.gaps) == 2


def test_no_cycle_is_made_of_a_step_that_is_none(profile: Any) -> None:
    """S2"""
    seen: list[int] = []
    prof = profile(
        schedule=marey.schedule(wait=0, warmup=0, active=2, repeat=0),
        on_trace_ready=lambda prof: seen.append(n_calls(prof)),
    )
    run(prof, 6)
    assert seen == [2, 2, 2]
    assert n_calls(prof) == 6


def test_no_step_that_was_reached_is_no_call(profile: Any) -> None:
    """S3"""
    seen: list[Any] = []
    prof = profile(
        schedule=marey.schedule(wait=1, warmup=1, active=2), on_trace_ready=seen.append
    )
    with pytest.warns(UserWarning, match="^0 of 2 active steps were reached in 2 steps") as said:
        run(prof, 2)
    assert said[0].filename == loops.__file__
    assert seen == []
    assert prof.cycles == ()


def test_a_part_of_a_cycle_is_marked(profile: Any, tmp_path: Path) -> None:
    """S4"""
    seen: list[str] = []
    path = tmp_path / "trace.json"

    def ready(prof: Any) -> None:
        seen.append(repr(prof.cycles[-1]))
        prof.export_chrome_trace(path)

    prof = profile(schedule=marey.schedule(wait=1, warmup=1, active=2), on_trace_ready=ready)
    with pytest.warns(UserWarning, match="^cycle 1 has 1 of 2 active steps: ") as said:
        run(prof, 3)
    assert said[0].filename == loops.__file__
    assert seen == ["<marey.Cycle 1, steps 2 to 2, 1 of 2 active>"]
    (cycle,) = prof.cycles
    assert (cycle.is_partial, cycle.steps, cycle.n_active) == (True, [2], 2)
    loaded = marey.load(path)
    assert [e.name for e in loaded.events() if e.kind == "annotation"] == ["ProfilerStep#2", "work"]
    assert loaded.metadata["profiler_cycle"] == {"cycle": 1, "steps": [2], "n_active": 2}


def test_what_a_loader_records_at_its_end_makes_no_step(profile: Any) -> None:
    prof = profile(schedule=marey.schedule(wait=0, warmup=1, active=2))
    with prof:
        for _ in range(2):
            work("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
            work()
            prof.step()
        work("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    assert prof.cycles[0].steps == [1]
    assert {e.name for e in prof.events() if e.name.startswith("Prof")} == {"ProfilerStep#1"}


def test_what_comes_after_the_last_step_is_kept(profile: Any) -> None:
    """A loop that calls step() at its head ends its last step by stop()."""
    prof = profile(schedule=marey.schedule(wait=0, warmup=1, active=3))
    with prof:
        for _ in range(3):
            prof.step()
            work()
    assert prof.cycles[0].steps == [1, 2, 3]
    assert n_calls(prof) == 3


def test_a_loop_without_step_is_recorded(profile: Any) -> None:
    """S6"""
    seen: list[int] = []
    for plan in (
        marey.schedule(wait=1, warmup=1, active=2),
        marey.schedule(wait=0, warmup=1, active=2),
        marey.schedule(wait=0, warmup=0, active=2),
    ):
        prof = profile(schedule=plan, on_trace_ready=lambda prof: seen.append(n_calls(prof)))
        with pytest.warns(UserWarning, match=r"step\(\) was never called") as said, prof:
            for _ in range(3):
                work()
        assert [warning.filename for warning in said] == [__file__]
        assert n_calls(prof) == 3
        assert not marey.is_recording()
    assert seen == [3, 3, 3]


def test_what_is_recorded_for_that_case_is_dropped_otherwise(profile: Any) -> None:
    prof = profile(schedule=marey.schedule(wait=1, warmup=1, active=1, repeat=1))
    with prof:
        assert marey.is_recording()
        work("waiting")
        prof.step()
        assert marey.is_recording()  # the warm-up
        prof.step()
        work("active")
        prof.step()
        assert not marey.is_recording()
    assert {event.name for event in prof.events()} == {"ProfilerStep#2", "active"}


def test_a_run_that_is_resumed_keeps_its_numbers(profile: Any) -> None:
    """S11: the schedule counts from where the run goes on."""
    plan = marey.schedule(wait=1, warmup=1, active=2, repeat=1)
    prof = profile(schedule=plan, first_step=1000)
    run(prof, 5)
    assert prof.cycles[0].steps == [1002, 1003]
    assert {e.name for e in prof.events()} == {"ProfilerStep#1002", "ProfilerStep#1003", "work"}
    assert prof.step_num == 1005


def test_step_num_may_be_set() -> None:
    prof = profiler.profile(schedule=marey.schedule(wait=1, warmup=1, active=1, repeat=1))
    prof.step_num = 70
    run(prof, 3)
    assert prof.cycles[0].steps == [72]


def test_a_step_keeps_the_number_that_it_began_with() -> None:
    prof = profiler.profile(schedule=marey.schedule(wait=0, warmup=1, active=3, repeat=1))
    with prof:
        for step in range(4):
            if step == 1:
                prof.step_num = 1000
            if step == 2:
                prof.toggle_collection_dynamic(False, CPU)
                prof.step_num = 2000
                prof.toggle_collection_dynamic(True, CPU)
            work()
            prof.step()
    (cycle,) = prof.cycles
    assert cycle.trace.metadata["profiler_cycle"]["steps"] == [1, 1001, 2001]
    names = [event.name for event in prof.events() if event.name != "work"]
    assert names == [f"ProfilerStep#{number}" for number in cycle.steps]
    assert prof.step_num == 2002


# ---- many cycles --------------------------------------------------------------------------------------


def test_cycles_that_found_no_room_are_left_in_averages() -> None:
    plan = marey.schedule(wait=0, warmup=0, active=1)
    prof = marey.profile(schedule=plan, keep_bytes=1, record_shapes=True)
    run(prof, 5)
    assert [cycle.is_whole for cycle in prof.cycles] == [False, False, False, False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert n_calls(prof) == 5
    assert [n_calls(cycle) for cycle in prof.cycles] == [1] * 5
    assert sum(r.count for r in prof.key_averages(group_by_input_shape=True) if r.key == "work") == 5
    (row,) = (row for row in prof.key_averages() if row.key == "work")
    each = [next(r for r in cycle.key_averages() if r.key == "work") for cycle in prof.cycles]
    assert row.self_ns == sum(r.self_ns for r in each)
    assert row.min_ns == min(r.min_ns for r in each)
    assert row.max_ns == max(r.max_ns for r in each)
    assert "work" in prof.key_averages().table()
    with pytest.warns(UserWarning, match="of 5 cycles the last is whole"):
        assert len([e for e in prof.events() if e.name == "work"]) == 1
    with pytest.raises(ValueError, match="larger keep_bytes keeps"):
        prof.key_averages().table(compat="torch")
    with pytest.raises(RuntimeError, match="cycle 1 was let go for want of memory"):
        prof.cycles[0].events()
    assert prof.cycles[0].stats.n_records > 0


GROUPINGS = list(itertools.product((False, True), (0, 2), (False, True), (False, True)))


def test_averages_of_what_was_let_go_are_whole_in_each_grouping(profile: Any) -> None:
    plan = marey.schedule(wait=0, warmup=0, active=1, repeat=4)
    left, whole = (profile(schedule=plan, keep_bytes=keep) for keep in (1, None))
    for prof in (left, whole):
        with prof:
            for i in range(4):
                with record_function(f"outer {i}"):
                    work()
                prof.step()
    assert not all(cycle.is_whole for cycle in left.cycles)
    for grouping in GROUPINGS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there are no stacks and overloads
            of_left, of_whole = left.key_averages(*grouping), whole.key_averages(*grouping)
        rows = [
            sorted((r.key, r.kind, r.count, str(r.input_shapes), r.stack, r.overload_name) for r in a)
            for a in (of_left, of_whole)
        ]
        assert rows[0] == rows[1]
        for top in (False, True):
            columns = {"format": "csv", "top_level_events_only": top, "columns": "name,calls"}
            tables = [a.table(**columns).splitlines() for a in (of_left, of_whole)]
            assert sorted(tables[0]) == sorted(tables[1])
            assert any(line.startswith("work,") for line in tables[0]) != top


def test_a_table_of_the_top_level_is_of_the_records_that_the_averages_are_of() -> None:
    prof = marey.profile(schedule=marey.schedule(wait=0, warmup=0, active=1), keep_bytes=1)
    with prof:
        for _ in range(3):
            work()
            prof.step()
        averages = prof.key_averages()
        for _ in range(3):
            work("later")
            prof.step()
    assert "later" not in averages.table(top_level_events_only=True)
    assert "later" in prof.key_averages().table()


def test_memory_of_many_cycles_is_bounded() -> None:
    pool = 4 << 20
    prof = marey.profile(
        schedule=marey.schedule(wait=0, warmup=0, active=1), pool_bytes=pool, keep_bytes=1 << 20
    )
    with prof:
        for _ in range(40):
            for _ in range(5000):
                work()
            prof.step()
    assert prof.stats.n_lost == 0
    assert sum(c.stats.held_bytes for c in prof.cycles if c.is_whole) <= 2 << 20


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_cycle_of_more_than_half_the_pool_leaves_room_for_the_next(
    profile: Any, warmup: int
) -> None:
    n_of_cycle = 70_000  # ranges of 32 bytes: 5/8 of the pool
    delivered: list[int] = []
    prof = profile(
        schedule=marey.schedule(wait=0, warmup=warmup, active=1, repeat=4),
        on_trace_ready=lambda prof: delivered.append(n_calls(prof)),
        pool_bytes=4 << 20,
    )
    with warnings.catch_warnings(), prof:
        warnings.simplefilter("error")
        for _ in range(4 * (1 + warmup)):
            for _ in range(n_of_cycle):
                work()
            prof.step()
    assert [cycle.stats.n_lost for cycle in prof.cycles] == [0] * 4
    assert delivered == [n_of_cycle] * 4
    assert [cycle.is_whole for cycle in prof.cycles] == [False, False, False, True]
    assert n_calls(prof) == 4 * n_of_cycle


@pytest.mark.parametrize("n_blocks", [1, 4])
def test_what_warms_up_takes_no_room_of_its_cycle(profile: Any, n_blocks: int) -> None:
    """It fills its thread's block, and in a later cycle finds no other beside the former one's."""
    n_of_cycle = n_blocks * 2000  # ranges of 32 bytes: 62 of the 64 KiB of each block
    delivered: list[int] = []
    prof = profile(
        schedule=marey.schedule(wait=1, warmup=1, active=1, repeat=3),
        on_trace_ready=lambda prof: delivered.append(n_calls(prof)),
        pool_bytes=n_blocks << 16,
    )
    with warnings.catch_warnings(), prof:
        warnings.simplefilter("error")
        for _ in range(9):
            for _ in range(n_of_cycle):
                work()
            prof.step()
    assert [cycle.stats.n_lost for cycle in prof.cycles] == [0] * 3
    assert delivered == [n_of_cycle] * 3


def test_a_cycle_that_finds_no_room_says_so() -> None:
    prof = marey.profile(
        schedule=marey.schedule(wait=0, warmup=1, active=1, repeat=2), pool_bytes=1 << 20
    )
    lost = "^cycle [12] lost .* no room in 1 MiB; a larger pool_bytes, or fewer active steps"
    with warnings.catch_warnings(record=True) as said, prof:
        warnings.simplefilter("always")
        for _ in range(4):
            for _ in range(40_000):
                work()
            prof.step()
    assert len([w for w in said if re.match(lost, str(w.message))]) == 2
    n_lost = sum(cycle.stats.n_lost for cycle in prof.cycles)
    assert 0 < n_lost == prof.stats.n_lost
    # Also of the cycle whose averages are all that is left.
    assert [cycle.is_whole for cycle in prof.cycles] == [False, True]
    assert prof.key_averages().table().startswith("not clean")
    assert f"{n_lost:,}" in prof.key_averages().table()


def test_no_record_is_looked_at_where_cycles_begin_and_end(
    profile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a cycle of a GiB would stop the program for a tenth of a second."""
    def fail(self: Any) -> Any:
        raise AssertionError("looks at each record")

    prof = profile(schedule=marey.schedule(wait=0, warmup=1, active=1, repeat=3))
    with monkeypatch.context() as patch, prof:
        patch.setattr(_cycle.Recording, "stats", property(fail))
        for _ in range(6):
            work()
            prof.step()
    assert prof.stats.n_records == 12
    assert all(c.usage.held_bytes == c.stats.held_bytes for c in prof.cycles)


OF_A_STEP = 15_000
"""Ranges of 32 bytes of which five steps take 4/7 of the pool."""


def large_cycles(profile: Any) -> Any:
    return profile(schedule=marey.schedule(wait=0, warmup=0, active=5), pool_bytes=4 << 20)


def run_large_steps(prof: Any, n_steps: int) -> None:
    for _ in range(n_steps):
        for _ in range(OF_A_STEP):
            work()
        prof.step()


@pytest.mark.parametrize("n_cycles", [1, 2])
def test_no_cycle_is_let_go_for_the_step_that_the_last_step_begins(
    profile: Any, n_cycles: int
) -> None:
    """The schedule goes on, the loop does not."""
    prof = large_cycles(profile)
    with prof:
        run_large_steps(prof, 5 * n_cycles)
        # One more may follow, and would find its room.
        assert [cycle.is_whole for cycle in prof.cycles[-2:]] == [True, True]
    prof.add_metadata("late", "yes")
    *gone, last = prof.cycles
    assert [cycle.is_whole for cycle in gone] == [False] * (n_cycles - 1)
    assert last.is_whole and len(last.steps) == 5
    assert len(last.events()) == 5 * (OF_A_STEP + 1)
    assert last.trace.metadata["late"] == "yes"
    assert n_calls(prof) == 5 * n_cycles * OF_A_STEP
    assert prof.stats.n_lost == 0


def test_a_cycle_is_let_go_where_the_next_has_a_second_step(profile: Any) -> None:
    prof = large_cycles(profile)
    with prof:
        for n_steps in (5, 1, 1):
            run_large_steps(prof, n_steps)
            assert prof.cycles[0].is_whole == (prof.step_num == 5)
            assert n_calls(prof) == prof.step_num * OF_A_STEP
        work("later")
    assert [cycle.is_whole for cycle in prof.cycles] == [False, True]
    assert n_calls(prof) == 7 * OF_A_STEP
    assert prof.stats.n_lost == 0


def test_a_cycle_stays_beside_what_comes_after_the_last_step(profile: Any) -> None:
    prof = large_cycles(profile)
    with prof:
        run_large_steps(prof, 5)
        work("after")
    assert [(cycle.is_whole, cycle.steps) for cycle in prof.cycles] == [
        (True, [0, 1, 2, 3, 4]),
        (True, [5]),
    ]
    assert len(prof.events()) == 5 * (OF_A_STEP + 1) + 2


def test_where_no_cycle_is_whole_averages_are_left() -> None:
    """The last step() begins a cycle of which one step would take all the room, and nothing
    follows."""
    prof = marey.profile(schedule=marey.schedule(wait=0, warmup=0, active=1), pool_bytes=1 << 20)
    with prof:
        for _ in range(20_000):
            work()
        prof.step()
    assert [cycle.is_whole for cycle in prof.cycles] == [False]
    assert n_calls(prof) == 20_000
    assert prof.stats.n_lost == 0
    with pytest.raises(RuntimeError, match=r"^all cycles \(1\) were let go .* larger pool_bytes"):
        prof.events()


# ---- started again ---------------------------------------------------------------------------------------


def test_with_acc_events_a_profile_without_a_schedule_keeps_earlier_runs(profile: Any) -> None:
    prof = profile(acc_events=True)
    for _ in range(3):
        with prof:
            work()
    assert n_calls(prof) == 3
    assert [(cycle.number, n_calls(cycle)) for cycle in prof.cycles] == [(1, 1), (2, 1), (3, 1)]
    assert len(prof.trace.gaps) == 2


def test_with_acc_events_torchs_own_numbers_are_of_all_runs() -> None:
    for acc_events in (False, True):
        prof = profiler.profile(acc_events=acc_events, compat="torch")
        for _ in range(3):
            with prof:
                work()
        assert n_calls(prof) == len(prof.events()) == (3 if acc_events else 1)


def test_a_run_that_was_switched_off_says_so_behind_others(profile: Any) -> None:
    prof = profile(acc_events=True)
    with prof:
        work()
    with pytest.warns(UserWarning, match="recording was switched off by toggle"), prof:
        prof.toggle_collection_dynamic(False, CPU)
        work()
    assert n_calls(prof) == 1


def test_runs_that_are_kept_leave_room_for_the_next(profile: Any) -> None:
    prof = profile(acc_events=True, pool_bytes=1 << 20)
    for _ in range(4):
        with prof:
            for _ in range(20_000):  # 5/8 of the pool
                work()
    assert prof.stats.n_lost == 0
    assert n_calls(prof) == 80_000


def test_an_exception_in_the_first_step_is_not_told_as_a_step_that_was_forgotten(
    profile: Any,
) -> None:
    prof = profile(schedule=marey.schedule(wait=1, warmup=1, active=1))
    for error, why in ((KeyError, "KeyError ended the block before step() was called: "),
                       (None, "step() was never called, ")):
        with pytest.warns(UserWarning) as said, contextlib.suppress(KeyError), prof:
            work()
            if error is not None:
                raise error
        assert [str(told.message).startswith(why) for told in said] == [True]
        assert n_calls(prof) >= 1


@pytest.mark.filterwarnings("ignore:step. was never called")
def test_epochs_without_step_are_cycles_of_their_own(profile: Any) -> None:
    prof = profile(schedule=marey.schedule(wait=1, warmup=0, active=1))
    run(prof, 2)
    for _ in range(2):
        with prof:
            work()
    assert [(c.number, c.steps, n_calls(c)) for c in prof.cycles] == [
        (1, [1], 1),
        (2, [], 1),
        (3, [], 1),
    ]
    weight = prof._marey_machine.cycles._traces
    assert weight.n_bytes == sum(sum(c.trace.footprint().values()) for c in prof.cycles)


@pytest.mark.filterwarnings("ignore:step. was never called")
def test_epochs_without_step_leave_room_for_the_next(profile: Any) -> None:
    prof = profile(schedule=marey.schedule(wait=1, warmup=1, active=1), pool_bytes=1 << 20)
    for _ in range(12):
        with prof:
            for _ in range(3_000):
                work()
    assert prof.stats.n_lost == 0
    assert n_calls(prof) == 36_000
    assert [cycle.is_whole for cycle in prof.cycles][0] is False


# ---- switching on and off ----------------------------------------------------------------------------------


@pytest.mark.parametrize("has_something", [False, True])
def test_a_profile_that_is_off_to_its_end_says_so_if_it_has_nothing(
    profile: Any, has_something: bool
) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with profile() as prof:
            if has_something:
                work()
            prof.toggle_collection_dynamic(False, [marey.ProfilerActivity.CPU])
            work("off")
    told = [w.filename for w in said if "recording was switched off by toggle" in str(w.message)]
    assert told == ([] if has_something else [__file__])


def test_recording_is_switched_off_and_on(profile: Any) -> None:
    cpu = [marey.ProfilerActivity.CPU]
    with profile() as prof:
        work("before")
        with record_function("across"):
            prof.toggle_collection_dynamic(False, cpu)
            prof.toggle_collection_dynamic(False, cpu)
            assert not marey.is_recording()
            work("off")
            prof.toggle_collection_dynamic(True, cpu)
            prof.toggle_collection_dynamic(True, cpu)
            work("on")
        work("after")
    by_name = {event.name: event for event in prof.events()}
    assert set(by_name) == {"before", "across", "on", "after"}
    assert by_name["across"].is_open
    (gap,) = prof.trace.gaps
    assert by_name["across"].end_ns <= gap.start_ns < gap.end_ns <= by_name["on"].start_ns
    assert prof.trace.ledger["info"]["not_recorded"] == 1


def test_each_cycle_begins_switched_on(profile: Any) -> None:
    delivered: list[int] = []
    prof = profile(
        schedule=marey.schedule(wait=0, warmup=0, active=2),
        on_trace_ready=lambda prof: delivered.append(n_calls(prof)),
    )
    with prof:
        for i in range(6):
            if i == 1:
                prof.toggle_collection_dynamic(False, CPU)
            work()
            prof.step()
    assert delivered == [1, 2, 2]
    assert [cycle.steps_in_part for cycle in prof.cycles] == [[1], [], []]


@pytest.mark.parametrize("n_warmup", [0, 1])
@pytest.mark.parametrize("is_on", [False, True])
def test_switching_where_nothing_is_recorded_changes_nothing(
    profile: Any, n_warmup: int, is_on: bool
) -> None:
    """In a step that waits, the first or a later one, or that warms up, or in on_trace_ready."""
    prof = profile(
        schedule=marey.schedule(wait=1, warmup=n_warmup, active=1),
        on_trace_ready=lambda prof: prof.toggle_collection_dynamic(is_on, CPU),
    )
    prof.toggle_collection_dynamic(is_on, CPU)
    with prof:
        for _ in range(3):
            for _ in range(1 + n_warmup):
                prof.toggle_collection_dynamic(is_on, CPU)
                prof.step()
            work()
            prof.step()
    assert [n_calls(cycle) for cycle in prof.cycles] == [1, 1, 1]
    assert [cycle.steps_in_part for cycle in prof.cycles] == [[], [], []]


def test_a_loop_without_step_is_switched_off_and_on(profile: Any) -> None:
    prof = profile(schedule=marey.schedule(wait=1, warmup=1, active=1))
    with pytest.warns(UserWarning, match=r"step\(\) was never called"), prof:
        prof.toggle_collection_dynamic(False, CPU)
        work("off")
        prof.toggle_collection_dynamic(True, CPU)
        work("on")
    assert {event.name for event in prof.events()} == {"ProfilerStep#0", "on"}


CPU = [marey.ProfilerActivity.CPU]


def steps_of(results: Any) -> list[Any]:
    return [e for e in results.trace.events() if (e.name or "").startswith("ProfilerStep#")]


def test_each_step_has_one_range_where_it_is_switched_off_across_its_end(
    profile: Any, tmp_path: Path
) -> None:
    prof = profile(schedule=marey.schedule(wait=0, warmup=1, active=4, repeat=1))
    with prof:
        prof.step()
        work("one")
        prof.toggle_collection_dynamic(False, CPU)
        work("off")
        prof.step()
        work("off")
        prof.toggle_collection_dynamic(True, CPU)
        work("two")
        prof.step()
        work("three")
        prof.toggle_collection_dynamic(False, CPU)
        prof.toggle_collection_dynamic(True, CPU)
        work("three")
        prof.step()
        work("four")
        prof.step()
    one, two, three, four = steps_of(prof)
    assert [e.name for e in steps_of(prof)] == [f"ProfilerStep#{i}" for i in range(1, 5)]
    assert [e.is_open for e in (one, two, three, four)] == [True, False, True, False]
    first, second = prof.trace.gaps
    assert one.end_ns <= first.start_ns < first.end_ns <= two.start_ns
    assert two.end_ns <= three.start_ns < three.end_ns <= second.start_ns
    assert second.end_ns <= four.start_ns
    assert {e.name for e in prof.events()} >= {"one", "two", "three", "four"}
    assert "off" not in {e.name for e in prof.events()}
    by_name = {e.name: e for e in prof.trace.events()}
    assert by_name["two"].parent == two
    (cycle,) = prof.cycles
    assert (cycle.steps, cycle.steps_in_part) == ([1, 2, 3, 4], [1, 2, 3])
    cycle.export_chrome_trace(tmp_path / "cycle.json")
    head = json.loads((tmp_path / "cycle.json").read_text())["profiler_cycle"]
    assert head["steps_in_part"] == [1, 2, 3]


def test_a_step_that_is_switched_off_to_its_end_is_none_that_never_was(profile: Any) -> None:
    delivered: list[int] = []
    prof = profile(
        schedule=marey.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=lambda prof: delivered.append(n_calls(prof)),
    )
    prof.start()
    prof.step()
    work()
    prof.toggle_collection_dynamic(False, CPU)
    prof.stop()
    assert delivered == [1]
    assert [(cycle.steps, cycle.steps_in_part) for cycle in prof.cycles] == [([1], [1])]


@pytest.mark.parametrize("ends_off", [False, True])
def test_a_step_that_never_was_is_none_behind_a_pause(profile: Any, ends_off: bool) -> None:
    prof = profile(schedule=marey.schedule(wait=0, warmup=1, active=3, repeat=1))
    prof.start()
    prof.step()
    work()
    prof.toggle_collection_dynamic(False, CPU)
    prof.step()
    if not ends_off:
        prof.toggle_collection_dynamic(True, CPU)
    with pytest.warns(UserWarning, match="cycle 1 has 1 of 3 active steps"):
        prof.stop()
    assert [(cycle.steps, cycle.steps_in_part) for cycle in prof.cycles] == [([1], [1])]
    assert [e.name for e in steps_of(prof)] == ["ProfilerStep#1"]


def test_a_session_around_sees_each_moment_of_a_step_once(profile: Any) -> None:
    """The step's range is not doubled for who records beside and is not switched off."""
    with marey.profile() as around:
        prof = profile(schedule=marey.schedule(wait=0, warmup=1, active=2, repeat=1))
        with prof:
            prof.step()
            prof.toggle_collection_dynamic(False, CPU)
            prof.step()
            prof.toggle_collection_dynamic(True, CPU)
            work()
            prof.step()
    ends = [(e.start_ns, e.end_ns) for e in steps_of(around)]
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
    assert not any(e.is_open for e in steps_of(around))


def test_switched_on_by_another_thread_the_step_keeps_its_range(profile: Any) -> None:
    prof = profile(schedule=marey.schedule(wait=0, warmup=1, active=2, repeat=1))
    with prof:
        prof.step()
        prof.toggle_collection_dynamic(False, CPU)
        prof.step()
        thread = threading.Thread(target=prof.toggle_collection_dynamic, args=(True, CPU))
        thread.start()
        thread.join()
        work()
        prof.step()
    assert [e.name for e in steps_of(prof)] == ["ProfilerStep#1"]
    assert n_calls(prof) == 1
    assert prof.cycles[0].steps_in_part == [1, 2]


def test_a_profile_that_ends_switched_off(profile: Any) -> None:
    with profile() as prof:
        work("on")
        prof.toggle_collection_dynamic(False, [marey.ProfilerActivity.CPU])
        work("off")
    assert [event.name for event in prof.events()] == ["on"]
    (gap,) = prof.trace.gaps
    assert prof.events()[0].end_ns <= gap.start_ns < gap.end_ns <= prof.stats.stop_ns


# ---- transitions, and torch's own schedule ----------------------------------------------------------------

# torch-profiler 2.2: calls from one action to the next, P prepare, S start, E stop, R ready.
TORCHS = {
    "NONE": {"NONE": "", "WARMUP": "P", "RECORD": "PS", "RECORD_AND_SAVE": "PS", "": ""},
    "WARMUP": {"NONE": "!SE", "WARMUP": "", "RECORD": "S", "RECORD_AND_SAVE": "S", "": "SE"},
    "RECORD": {"NONE": "!E", "WARMUP": "!E", "RECORD": "", "RECORD_AND_SAVE": "", "": "ER"},
    "RECORD_AND_SAVE": {"NONE": "ER", "WARMUP": "ERP", "RECORD": "ERPS", "RECORD_AND_SAVE": "ERPS",
                        "": "ER"},
}  # fmt: skip


class Spy:
    """An execution trace observer, which sees cycles begin and end."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("S")

    def stop(self) -> None:
        self.calls.append("E")

    def cleanup(self) -> None:
        self.calls.append("C")


@pytest.mark.parametrize("former", Action)
@pytest.mark.parametrize("action", [*Action, None])
@pytest.mark.filterwarnings("ignore:Incorrect schedule")
@pytest.mark.filterwarnings("ignore:step. was never called")
def test_each_transition_does_what_torchs_does(former: Action, action: Action | None) -> None:
    spy = Spy()
    prof = profiler.profile(
        schedule=lambda step: former if step == 0 else action,
        execution_trace_observer=spy,
        on_trace_ready=lambda prof: spy.calls.append("R"),
    )
    prof.start()
    work()
    before = len(spy.calls)
    if action is None:
        prof._marey_machine.n_ended = 1  # a step was ended before
        prof.stop()
    else:
        prof.step()
    calls = "".join(spy.calls[before:])
    torchs = TORCHS[former.name][action.name if action else ""].replace("P", "").replace("!", "")
    if former is Action.WARMUP and "SE" in torchs:
        torchs = ""  # torch records a warm-up that comes to nothing, and throws it away
    assert calls == torchs
    assert marey.is_recording() == (action not in (None, Action.NONE))
    assert ("!" in TORCHS[former.name][action.name if action else ""]) == (
        "!" in _machine.TRANSITIONS[former, action]
    )


numbers = st.fixed_dictionaries(
    {
        "wait": st.integers(0, 5),
        "warmup": st.integers(0, 4),
        "active": st.integers(1, 5),
        "repeat": st.integers(0, 4),
        "skip_first": st.integers(0, 6),
        "skip_first_wait": st.integers(0, 2),
    }
)


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
@settings(max_examples=300, deadline=None)
@given(numbers=numbers)
def test_schedules_are_torchs(numbers: dict[str, int]) -> None:
    torchs = pytest.importorskip("torch.profiler", reason="torch is not installed")
    try:
        theirs = torchs.schedule(**numbers)
    except TypeError:  # before 2.7
        del numbers["skip_first_wait"]
        theirs = torchs.schedule(**numbers)
    ours = profiler.schedule(**numbers)
    for step in range(60):
        assert ours(step).name == theirs(step).name


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
@pytest.mark.filterwarnings("ignore:0 of")
@pytest.mark.filterwarnings("ignore:cycle . has")
@pytest.mark.filterwarnings("ignore:step. was never called")
@settings(max_examples=60, deadline=None)
@given(numbers=numbers, n_steps=st.integers(0, 30))
def test_each_active_step_is_in_one_cycle(numbers: dict[str, int], n_steps: int) -> None:
    """Whatever the numbers: the steps of the cycles are the active ones that were ended, and the
    callback is called once for each cycle."""
    plan = profiler.schedule(**numbers)
    seen: list[list[int]] = []
    prof = profiler.profile(
        schedule=plan, on_trace_ready=lambda prof: seen.append(list(prof.cycles[-1].steps))
    )
    run(prof, n_steps)
    active = [s for s in range(n_steps) if plan(s) in _machine.RECORDING]
    if n_steps == 0:
        assert seen == [[]]
        return
    assert list(itertools.chain.from_iterable(seen)) == active
    assert [cycle.steps for cycle in prof.cycles] == seen
    assert all(len(steps) == numbers["active"] for steps in seen[:-1])
    for cycle in prof.cycles:
        marks = [e.name for e in cycle.events() if (e.name or "").startswith("ProfilerStep#")]
        assert marks == [f"ProfilerStep#{step}" for step in cycle.steps]


def test_torchs_schedule_tells_how_many_steps_are_active() -> None:
    torchs = pytest.importorskip("torch.profiler", reason="torch is not installed")
    prof = profiler.profile(schedule=torchs.schedule(wait=0, warmup=1, active=3, repeat=1))
    run(prof, 2)
    assert (prof.cycles[0].n_active, prof.cycles[0].is_partial) == (3, True)
    assert marey.profile(schedule=lambda step: Action.RECORD)  # nobody knows


parts = st.sampled_from([0, 1, 2, 3.0, 0.5, 1.5, 2.25])


@given(wait=parts, warmup=parts, active=st.sampled_from([1, 2.0, 0.5, 1.5]),
       repeat=st.sampled_from([0, 1, 2.0, 1.5]), skip_first=parts,
       skip_first_wait=st.sampled_from([0, 1, 1.0]))  # fmt: skip
def test_numbers_with_a_fraction_are_torchs(**numbers: Any) -> None:
    torchs = pytest.importorskip("torch.profiler", reason="torch is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = torchs.schedule(**numbers)
        except TypeError:  # before 2.7
            del numbers["skip_first_wait"]
            theirs = torchs.schedule(**numbers)
        ours = profiler.schedule(**numbers)
    assert [ours(i).name for i in range(40)] == [theirs(i).name for i in range(40)]


def test_floats_without_a_fraction_are_integers() -> None:
    whole: dict[str, Any] = {"wait": 1.0, "warmup": 2 / 2, "active": 4 / 2, "repeat": 1.0}
    plan = profiler.schedule(**whole)
    prof = profiler.profile(schedule=plan)
    run(prof, 4)
    assert prof.cycles[0].steps == [2, 3]
    assert (prof.cycles[0].n_active, prof.cycles[0].is_partial) == (2, False)
    assert "wait=1, warmup=1, active=2, repeat=1" in repr(plan)
    assert profiler.schedule(wait=1.5, warmup=1, active=2).n_active is None  # type: ignore[arg-type]


def test_wrong_numbers_are_errors_of_both_kinds() -> None:
    for error in (ValueError, AssertionError):
        with pytest.raises(error, match="Invalid profiler schedule arguments"):
            profiler.schedule(wait=-1, warmup=1, active=1)


# ---- metadata of cycles ----------------------------------------------------------------------------------


def test_each_cycle_has_its_trace_id(tmp_path: Path) -> None:
    ids = iter("abc")
    seen: list[tuple[str | None, Any]] = []

    def ready(prof: Any) -> None:
        path = tmp_path / f"{len(seen)}.json"
        prof.export_chrome_trace(path)
        seen.append((prof.get_trace_id(), json.loads(path.read_text())["trace_id"]))

    prof = profiler.profile(
        schedule=marey.schedule(wait=0, warmup=1, active=1),
        on_trace_ready=ready,
        custom_trace_id_callback=lambda: next(ids),
    )
    assert prof.get_trace_id() is None
    run(prof, 4)
    assert seen == [("a", "a"), ("b", "b")]


def test_files_for_tensorboard_have_torchs_names(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    handler = profiler.tensorboard_trace_handler(folder, use_gzip=True)
    assert not folder.exists()
    plan = marey.schedule(wait=0, warmup=1, active=1, repeat=2)
    run(profiler.profile(schedule=plan, on_trace_ready=handler), 5)
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 2
    for name in names:
        worker, ns, rest = name.rsplit(".", 5)[0], name.split(".")[-5], name.split(".", 2)[-1]
        assert worker and ns.isdigit() and rest.endswith("pt.trace.json.gz")
        assert f"_{os.getpid()}." in name
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(RuntimeError, match="Can't create directory: .*file"):
        run(profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(in_the_way)), 1)


def test_constants_of_the_core_fit() -> None:
    assert [action.value for action in Action] == [0, 1, 2, 3]
    assert _core.schedule_action(0, 0, 1, 0, 0, False, 0) == Action.RECORD_AND_SAVE.value


@pytest.mark.parametrize("name", ["wait", "warmup", "active", "repeat", "skip_first"])
@pytest.mark.parametrize("value", ["1", None, [1]])
def test_a_schedule_says_what_is_no_number(name: str, value: Any) -> None:
    given: dict[str, Any] = {"wait": 1, "warmup": 1, "active": 1, name: value}
    with pytest.raises(TypeError) as said:
        profiler.schedule(**given)
    assert str(said.value) == f"schedule({name}={value!r}): give a number of steps"
