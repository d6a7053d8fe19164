"""profile: what it records when, what it hands out, and what it refuses."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loops import names, work

import marey
from marey import ProfilerAction as Action
from marey import _machine, _profile, profiler, record_function


# ---- without a schedule ------------------------------------------------------------------------


def test_a_block_is_recorded() -> None:
    work("before")
    with marey.profile() as prof:
        work("inside")
    work("after")
    assert names(prof) == ["inside"]
    (row,) = prof.key_averages()
    assert (row.key, row.count, row.kind) == ("inside", 1, "annotation")
    assert prof.stats.n_records == 2
    assert prof.stats.n_lost == 0
    assert prof.stats.range_cost_ns is not None and prof.stats.range_cost_ns > 0
    assert repr(prof) == "<marey.profile, stopped, step 0, RECORD>"


def test_steps_are_counted_and_not_annotated() -> None:
    with marey.profile() as prof:
        for _ in range(3):
            work()
            prof.step()
    assert prof.step_num == 3
    assert names(prof) == ["work"] * 3


def test_while_it_records_the_trace_is_what_there_is_so_far() -> None:
    with marey.profile() as prof:
        work("one")
        assert names(prof) == ["one"]
        assert prof.stats.stop_ns is None
        work("two")
    assert names(prof) == ["one", "two"]
    assert prof.trace is prof.trace
    assert prof.stats.stop_ns is not None


def test_it_starts_again_after_a_stop() -> None:
    prof = marey.profile()
    for name in ("first", "second"):
        prof.start()
        work(name)
        prof.stop()
        assert names(prof) == [name]


@pytest.mark.parametrize("call", ["step", "stop"])
def test_a_profiler_that_does_not_run_says_so(call: str) -> None:
    prof = marey.profile()
    with pytest.raises(RuntimeError, match="does not run, start it before"):
        getattr(prof, call)()


def test_a_second_start_says_so() -> None:
    with marey.profile() as prof, pytest.raises(RuntimeError, match="runs already, stop it before"):
        prof.start()
    assert not marey.is_recording()


def test_it_may_be_stopped_inside_its_block() -> None:
    with marey.profile() as prof:
        work()
        prof.stop()
        work("after")
    assert names(prof) == ["work"]


def test_without_a_result_it_says_so() -> None:
    prof = marey.profile()
    for call in (prof.events, prof.key_averages, lambda: prof.trace, lambda: prof.stats):
        with pytest.raises(RuntimeError, match="the profiler was not started"):
            call()


def test_an_exception_passes_and_the_trace_is_whole() -> None:
    with pytest.raises(KeyError, match="gone"), marey.profile() as prof, record_function("work"):
        raise KeyError("gone")
    assert [(event.name, event.is_open) for event in prof.events()] == [("work", False)]
    assert not marey.is_recording()


def test_profiles_nest_and_overlap() -> None:
    outer, inner = marey.profile(), marey.profile()
    outer.start()
    work("outer")
    inner.start()
    work("both")
    outer.stop()
    work("inner")
    inner.stop()
    assert names(outer) == ["outer", "both"]
    assert names(inner) == ["both", "inner"]


PROFILES = [marey.profile, profiler.profile]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_that_is_dropped_stops_and_says_what_is_lost(profile: Any) -> None:
    prof = profile()
    prof.start()
    with pytest.warns(UserWarning, match="^a profiler was dropped while .* call stop") as said:
        del prof
    assert [warning.filename for warning in said] == [__file__]
    assert not marey.is_recording()


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_whose_name_is_given_to_another_is_handed_over(profile: Any) -> None:
    delivered: list[list[str | None]] = []
    plan = marey.schedule(wait=0, warmup=1, active=2)
    for name in ("first", "second"):
        prof = profile(schedule=plan, on_trace_ready=lambda prof: delivered.append(names(prof)))
        prof.start()
        prof.step()
        work(name)
    with pytest.warns(UserWarning, match="^a profiler was dropped while .*: it is stopped now"):
        del prof
    assert delivered == [["ProfilerStep#1", "first"], ["ProfilerStep#1", "second"]]
    assert not marey.is_recording()


def test_a_dropped_profile_in_a_circle_is_handed_over_by_the_collector() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.prof = marey.profile(on_trace_ready=self.ready)
            self.prof.start()

        def ready(self, prof: marey.profile) -> None:
            delivered.append(names(prof))
            raise OSError("disk full")

    delivered: list[list[str | None]] = []
    Trainer()
    work()
    with pytest.warns(UserWarning) as said:
        gc.collect()
    assert delivered == [["work"]]
    assert "its on_trace_ready failed: OSError('disk full')" in [str(w.message) for w in said]
    assert not marey.is_recording()


def test_another_view_of_a_profile_may_be_dropped() -> None:
    with profiler.profile() as prof:
        work("before")
        assert [event.name for event in prof.profiler.events()] == ["before"]
        gc.collect()
        work("after")
    assert [event.name for event in prof.events()] == ["before", "after"]


@pytest.mark.forks
@pytest.mark.parametrize("wait", [0, 2])
def test_what_a_forked_child_drops_is_its_parents(wait: int) -> None:
    code = f"""
import marey, os
prof = marey.profile(schedule=marey.schedule(wait={wait}, warmup=1, active=1, repeat=1),
                     on_trace_ready=lambda prof: print("ready", flush=True))
prof.start()
prof.step()
child = os.fork()
if child == 0:
    del prof
    raise SystemExit
assert os.waitpid(child, 0)[1] == 0
for _ in range({wait} + 1):
    prof.step()
prof.stop()
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")


def test_threads_that_end_are_recorded() -> None:
    with marey.profile() as prof:
        for i in range(5):
            thread = threading.Thread(target=work, args=(f"thread {i}",))
            thread.start()
            thread.join()
    assert sorted(str(name) for name in names(prof)) == [f"thread {i}" for i in range(5)]


# ---- schedules ---------------------------------------------------------------------------------------


def run(prof: marey.profile, steps: int) -> None:
    with prof:
        for i in range(steps):
            work(f"work {i}")
            prof.step()


def test_a_schedule_records_its_active_steps() -> None:
    delivered: list[tuple[int, list[str | None]]] = []
    prof = marey.profile(
        schedule=marey.schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda prof: delivered.append((prof.step_num, names(prof))),
    )
    run(prof, 10)
    assert delivered == [
        (4, ["ProfilerStep#2", "work 2", "ProfilerStep#3", "work 3"]),
        (8, ["ProfilerStep#6", "work 6", "ProfilerStep#7", "work 7"]),
    ]
    assert names(prof) == delivered[0][1] + delivered[1][1]  # afterwards: all of them


def test_cycles_follow_each_other_without_a_wait() -> None:
    delivered: list[list[str | None]] = []
    prof = marey.profile(
        schedule=marey.schedule(wait=0, warmup=1, active=1, repeat=0),
        on_trace_ready=lambda prof: delivered.append(names(prof)),
    )
    run(prof, 4)
    assert delivered == [["ProfilerStep#1", "work 1"], ["ProfilerStep#3", "work 3"]]


def test_a_cycle_cut_short_is_handed_over() -> None:
    delivered: list[list[str | None]] = []
    prof = marey.profile(
        schedule=marey.schedule(wait=1, warmup=1, active=5),
        on_trace_ready=lambda prof: delivered.append(names(prof)),
    )
    run(prof, 3)
    # The last step() has begun a step in which nothing happened: it is none.
    assert delivered == [["ProfilerStep#2", "work 2"]]
    assert not any(event.is_open for event in prof.events())


def test_a_run_that_ends_in_warm_up_hands_nothing_over() -> None:
    delivered: list[Any] = []
    prof = marey.profile(
        schedule=marey.schedule(wait=1, warmup=5, active=1), on_trace_ready=delivered.append
    )
    with pytest.warns(UserWarning, match="^0 of 1 active steps were reached in 3 steps"):
        run(prof, 3)
    assert delivered == []
    assert not marey.is_recording()
    with pytest.raises(RuntimeError, match="nothing was recorded yet"):
        prof.events()


def test_results_are_those_of_all_cycles_so_far() -> None:
    prof = marey.profile(schedule=marey.schedule(wait=1, warmup=1, active=1))
    with prof:
        for i in range(3):
            work(f"work {i}")
            prof.step()
        kept = prof.trace
        assert names(prof) == ["ProfilerStep#2", "work 2"]
        prof.step()
        assert prof.trace is kept
        prof.step()
        work("work 5")
        assert names(prof) == ["ProfilerStep#2", "work 2", "ProfilerStep#5", "work 5"]
        assert [len(cycle.events()) for cycle in prof.cycles] == [2, 2]
    assert [event.name for event in kept.events()][:2] == ["ProfilerStep#2", "work 2"]


def test_a_ready_callback_may_raise() -> None:
    def fail(prof: marey.profile) -> None:
        raise OSError("disk full")

    prof = marey.profile(
        schedule=marey.schedule(wait=0, warmup=1, active=1), on_trace_ready=fail
    )
    prof.start()
    prof.step()
    with pytest.raises(OSError, match="disk full"):
        prof.step()
    assert marey.is_recording()  # the next cycle goes on: its warm-up has begun
    prof.step()
    work()
    assert marey.is_recording()
    with pytest.raises(OSError, match="disk full"):
        prof.stop()
    assert not marey.is_recording()


# torch-profiler: prepare P, start S, stop E, ready R, and the warning; by (former, action).
TORCHS_CALLS = {
    ("NONE", "WARMUP"): "P", ("NONE", "RECORD"): "PS", ("NONE", "RECORD_AND_SAVE"): "PS",
    ("WARMUP", "NONE"): "!SE", ("WARMUP", "RECORD"): "S", ("WARMUP", "RECORD_AND_SAVE"): "S",
    ("WARMUP", None): "SE",
    ("RECORD", "NONE"): "!E", ("RECORD", "WARMUP"): "!E", ("RECORD", None): "ER",
    ("RECORD_AND_SAVE", "NONE"): "ER", ("RECORD_AND_SAVE", "WARMUP"): "ERP",
    ("RECORD_AND_SAVE", "RECORD"): "ERPS", ("RECORD_AND_SAVE", "RECORD_AND_SAVE"): "ERPS",
    ("RECORD_AND_SAVE", None): "ER",
}  # fmt: skip


def test_transitions_are_torchs() -> None:
    for former, action in itertools.product(Action, [*Action, None]):
        torchs = TORCHS_CALLS.get((former.name, action.name if action else None), "")
        ours = _machine.TRANSITIONS[former, action]
        assert ("!" in ours) == ("!" in torchs)
        assert ("R" in ours) == ("R" in torchs)
        # torch turns a warm-up that is not used into a recording to get rid of it.
        is_recorded = former is not Action.WARMUP or action in (Action.RECORD, Action.RECORD_AND_SAVE)
        assert ("S" in ours) == ("S" in torchs and is_recorded)
        assert ("E" in ours) == ("E" in torchs and is_recorded)


@pytest.mark.parametrize(
    ("actions", "warning", "n_delivered"),
    [
        ([Action.WARMUP, Action.NONE], "WARMUP followed by NONE", 0),
        ([Action.RECORD, Action.NONE], "RECORD followed by NONE", 0),
        ([Action.RECORD, Action.WARMUP, Action.RECORD_AND_SAVE], "RECORD followed by WARMUP", 1),
    ],
)
def test_a_wrong_schedule_is_told(actions: list[Action], warning: str, n_delivered: int) -> None:
    delivered: list[Any] = []
    prof = marey.profile(
        schedule=lambda step: actions[step] if step < len(actions) else Action.NONE,
        on_trace_ready=delivered.append,
    )
    with pytest.warns(UserWarning, match=f"Incorrect schedule: {warning}"):
        run(prof, len(actions))
    assert len(delivered) == n_delivered
    assert not marey.is_recording()


@pytest.mark.parametrize("former", Action)
@pytest.mark.parametrize("action", Action)
def test_a_warning_that_is_an_error_leaves_nothing_half_done(former: Action, action: Action) -> None:
    """The transition is made, and a second one from there on."""
    prof = marey.profile(schedule=lambda step: former if step == 0 else action)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prof.start()
        work("first")
        is_wrong = "!" in _machine.TRANSITIONS[former, action]
        with pytest.raises(UserWarning, match="Incorrect") if is_wrong else contextlib.nullcontext():
            prof.step()
        assert marey.is_recording() == (action is not Action.NONE)
        work("second")
        prof.stop()
    assert not marey.is_recording()
    recording = (Action.RECORD, Action.RECORD_AND_SAVE)
    if action in recording:
        assert "second" in names(prof)
    elif former in recording:
        assert "first" in names(prof)


def test_a_warning_of_torch_that_is_an_error_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Distributed:
        @staticmethod
        def is_available() -> bool:
            raise FutureWarning("soon to be gone")

    monkeypatch.setitem(sys.modules, "torch.distributed", Distributed)
    with marey.profile() as prof:
        work()
    assert names(prof) == ["work"]


def slow_action(step: int, numbers: dict[str, int]) -> Action:
    """The definition, a step at a time."""
    phases = itertools.count()
    position = step - numbers["skip_first"]
    if position < 0:
        return Action.NONE
    cycle: list[tuple[int, Action]] = []
    for n_cycle in phases:
        if numbers["repeat"] and n_cycle == numbers["repeat"]:
            return Action.NONE
        wait = 0 if n_cycle == 0 and numbers["skip_first_wait"] else numbers["wait"]
        cycle = [(wait, Action.NONE), (numbers["warmup"], Action.WARMUP),
                 (numbers["active"] - 1, Action.RECORD), (1, Action.RECORD_AND_SAVE)]  # fmt: skip
        for length, action in cycle:
            if position < length:
                return action
            position -= length
    raise AssertionError


small = st.integers(0, 4)


@given(
    numbers=st.fixed_dictionaries(
        {"wait": small, "warmup": st.integers(1, 3), "active": st.integers(1, 3),
         "repeat": small, "skip_first": small, "skip_first_wait": st.integers(0, 1)}
    ),
    step=st.integers(0, 60),
)  # fmt: skip
def test_schedule_by_its_definition(numbers: dict[str, int], step: int) -> None:
    assert marey.schedule(**numbers)(step) is slow_action(step, numbers)


def test_schedule_checks_its_numbers() -> None:
    with pytest.raises(ValueError, match=r"Invalid profiler schedule arguments\. Got wait=-1"):
        marey.schedule(wait=-1, warmup=1, active=1)
    with pytest.raises(ValueError, match="active=0"):
        marey.schedule(wait=1, warmup=1, active=0)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        marey.schedule(wait=1, warmup=0, active=1)
    with pytest.raises(ValueError, match="no step -1"):
        marey.schedule(wait=1, warmup=1, active=1)(-1)
    assert marey.schedule(wait=0, warmup=1, active=2**64 + 1)(1) is Action.RECORD
    assert marey.schedule(wait=10**30, warmup=1, active=1)(0) is Action.NONE
    assert marey.schedule(wait=0, warmup=1, active=1)(2**64) is Action.WARMUP
    assert marey.schedule(wait=0, warmup=1, active=2**63)(2**63 - 1) is Action.RECORD
    assert "skip_first_wait=1" in repr(
        marey.schedule(wait=1, warmup=1, active=1, skip_first_wait=1)
    )


# ---- what cannot be had ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", _profile.NOT_BUILT)
def test_what_is_not_built_is_an_error(name: str) -> None:
    for value in (True, 1, "x", object()):
        with pytest.raises(marey.UnsupportedError, match=f"yet, leave out {name}$"):
            marey.profile(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError):
        marey.profile(**{name: True})  # type: ignore[arg-type]


def test_torchs_arguments_that_ask_for_nothing_are_taken() -> None:
    for nothing in (None, False, 0):
        with marey.profile(**dict.fromkeys(_profile.NOT_BUILT, nothing)) as prof:  # type: ignore[arg-type]
            work()
        assert names(prof) == ["work"]
    with pytest.raises(TypeError, match="no_such_argument"):
        marey.profile(no_such_argument=None)  # type: ignore[call-arg]


def test_a_gpu_in_use_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = types.ModuleType("torch.cuda")
    cuda.is_initialized = lambda: True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.cuda", cuda)
    monkeypatch.setattr(_profile, "_is_told", False)
    with pytest.warns(UserWarning, match="uses a GPU, whose kernels and copies cannot") as said:
        for _ in range(2):
            with marey.profile():
                work()
    assert [warning.filename for warning in said] == [__file__]


def test_cuda_is_not_to_be_had() -> None:
    with pytest.raises(marey.CollectorError, match="there is no CUDA collector yet"):
        marey.profile(activities=[marey.ProfilerActivity.CPU, marey.ProfilerActivity.CUDA])
    with pytest.raises(marey.UnsupportedError, match="without its filter"):
        marey.profile(activities=[{marey.ProfilerActivity.CPU: ["CPU_OP"]}])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"activities": []}, ValueError, "no activity to record"),
        ({"activities": ["cpu"]}, TypeError, "an activity is a ProfilerActivity, not str"),
        ({"clock": "cpu"}, ValueError, "no clock 'cpu'"),
        ({"pool_bytes": 0}, ValueError, "no pool of 0 bytes"),
    ],
)
def test_wrong_arguments_are_told(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        marey.profile(**arguments)


# ---- results ---------------------------------------------------------------------------------------------------


def test_tables_have_torchs_layout_and_our_numbers() -> None:
    with marey.profile() as prof:
        with record_function("outer"):
            work("inner")
            work("inner")
    averages = prof.key_averages()
    assert "Self CPU %" in averages.table()
    assert "CPU time avg" in str(averages)
    assert "self %" in averages.table(layout="marey")
    assert averages.table(sort_by="cpu_time_total", row_limit=1).count("outer") == 1
    assert "a header" in averages.table(header="a header")
    rows = json.loads(averages.table(layout="marey", format="json"))
    assert rows
    by_key = {row.key: row for row in averages}
    assert by_key["inner"].count == 2
    outer, inner = by_key["outer"], by_key["inner"]
    assert outer.self_ns is not None and outer.total_ns is not None and inner.total_ns is not None
    assert outer.self_ns == outer.total_ns - inner.total_ns
    assert outer.cpu_time_total == outer.total_ns / 1000
    assert outer.device_time_total == 0


def test_stacks_that_are_not_there_are_told() -> None:
    with marey.profile() as prof:
        work()
    for averages in (prof.key_averages, prof.events().key_averages, prof.trace.key_averages):
        with pytest.warns(UserWarning, match="the trace has no stacks") as said:
            rows = averages(group_by_stack_n=3)
        assert said[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows.table(top_level_events_only=True)
            averages()
        with pytest.raises(ValueError, match="no depth of stacks '-1'"):
            averages(group_by_stack_n=-1)


def test_shapes_that_are_not_there_are_told() -> None:
    with marey.profile() as prof:
        work()
    by_shape = {"group_by_input_shape": True}
    for averages, asked in (
        (prof.key_averages, by_shape),
        (prof.events().key_averages, {"group_by_input_shapes": True}),
        (prof.trace.key_averages, by_shape),
    ):
        with pytest.warns(UserWarning, match="the trace has no shapes of inputs, so that") as said:
            averages(**asked)
        assert said[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            averages()


def test_operators_without_an_input_have_shapes_that_were_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    text = '{"record_shapes": %d, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", %s}]}'
    place = '"ts": 1, "dur": 2, "pid": 1, "tid": 1'
    path.write_text(text % (1, place))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = marey.load(path).key_averages(group_by_input_shape=True)
    assert [row.input_shapes for row in rows] == [None]
    path.write_text(text % (0, place))
    with pytest.warns(UserWarning, match="no shapes of inputs"):
        marey.load(path).key_averages(group_by_input_shape=True)


def test_what_is_no_attribute_is_told() -> None:
    with marey.profile() as prof:
        work()
    (event,), (row,) = prof.events(), prof.key_averages()
    for thing in (event, row):
        with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'$"):
            thing.nothing_of_the_kind  # noqa: B018
        assert not hasattr(thing, "nothing_of_the_kind")


def test_nothing_recorded_says_why() -> None:
    prof = marey.profile()
    with pytest.raises(RuntimeError, match="^nothing was recorded: the profiler was not started$"):
        prof.key_averages()
    with (
        pytest.warns(UserWarning, match="0 of 1 active steps were reached in 1 step: "),
        marey.profile(schedule=marey.schedule(wait=3, warmup=1, active=1)) as prof,
    ):
        prof.step()
    with pytest.raises(RuntimeError, match=r"step\(\) has ended 1 step, and by the schedule none"):
        prof.events()


def test_events_have_torchs_names() -> None:
    with marey.profile() as prof, record_function("outer"):
        work("inner")
    outer, inner = prof.events()
    assert outer.dur_ns is not None and inner.dur_ns is not None
    assert (outer.key, outer.count) == ("outer", 1)
    assert outer.cpu_time_total == outer.cpu_time == outer.dur_ns / 1000
    assert outer.self_cpu_time_total == (outer.dur_ns - inner.dur_ns) / 1000
    assert outer.device_time_total == outer.self_device_time_total == 0
    assert inner.cpu_parent == outer
    assert list(outer.cpu_children) == [inner]
    assert inner.time_range.elapsed_us() == pytest.approx(inner.dur_ns / 1000)
    assert 0 <= outer.time_range.start <= inner.time_range.start
    assert inner.input_shapes is None
    assert inner.sequence_nr == -1


def test_a_trace_takes_the_place_of_an_earlier_one_as_with_torch(tmp_path: Path) -> None:
    target = tmp_path / "trace.json.gz"
    with marey.profile() as prof:
        work()
    target.write_text("of the run before")
    with pytest.raises(OSError, match="overwrite"):
        prof.export_chrome_trace(target, overwrite=False)
    assert target.read_text() == "of the run before"
    prof.export_chrome_trace(target)
    assert marey.load(target).events()[0].name == "work"


def test_metadata_is_in_the_head() -> None:
    prof = marey.profile(record_shapes=True)
    prof.add_metadata("before", 'a "quoted" text')
    with prof:
        prof.add_metadata_json("inside", "[1, 2]")
    prof.add_metadata("after", "x")
    metadata = prof.trace.metadata
    assert metadata["before"] == 'a "quoted" text'
    assert (metadata["inside"], metadata["after"]) == ([1, 2], "x")
    assert metadata["record_shapes"] == 1
    for text in ("{", "NaN", "1 2"):
        with pytest.raises(ValueError, match="metadata 'k' is not one JSON value: "):
            prof.add_metadata_json("k", text)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("k", "[" * 257 + "]" * 257, "metadata 'k' is not one JSON value: containers nested"),
        ("k", '{"a":' * 600 + "1" + "}" * 600, "nested deeper than 256"),
        ("k", "[" * 100_000 + "]" * 100_000, "nested deeper than 256"),
        ("k", '"\ud800"', "surrogates not allowed"),
        ("k", r'{"a\ud800": 1}', "an escape of half a character"),
        ("a\udfff", "1", "surrogates not allowed"),
        ("traceEvents", "[]", "'traceEvents' is what the trace itself says there"),
        ("baseTimeNanoseconds", "1", "take another key"),
    ],
)
def test_metadata_that_no_file_can_hold_is_refused(key: str, value: str, words: str) -> None:
    prof = marey.profile()
    with prof:
        work()
        with pytest.raises(ValueError, match=words):
            prof.add_metadata_json(key, value)
    assert names(prof) == ["work"]


def test_metadata_may_be_as_deep_as_it_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with marey.profile() as prof:
        prof.add_metadata_json("deep", "[" * 256 + "]" * 256)
        prof.add_metadata_json("long", "1" * 5000)
    prof.export_chrome_trace(path)
    assert "deep" in marey.load(path).metadata
    with pytest.raises(ValueError, match="surrogates not allowed"):
        prof.add_metadata("k", "a\ud800")


def test_metadata_that_the_library_refuses_costs_no_results() -> None:
    """It may be stricter than we are."""
    with marey.profile() as prof:
        work()
    prof.add_metadata("kept", "x")
    prof._marey_machine.cycles.metadata["refused"] = "no JSON"
    with pytest.warns(UserWarning, match="the trace has no metadata 'refused': "):
        assert prof.trace.metadata["kept"] == "x"
    assert names(prof) == ["work"]


def test_the_rank_is_in_the_trace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    with marey.profile() as prof:
        work()
    prof.export_chrome_trace(tmp_path / "rank.json")
    for trace in (prof.trace, marey.load(tmp_path / "rank.json")):
        (source,) = trace.sources
        assert (source.rank, source.world_size) == (3, 8)
        assert trace.metadata["distributedInfo"] == {"rank": 3, "world_size": 8}


def test_losses_are_said_first() -> None:
    prof = marey.profile(pool_bytes=1 << 20)
    prof.start()
    for _ in range(100_000):
        work()
    with pytest.warns(UserWarning, match="^the recording lost .* no room in 1 MiB") as said:
        prof.stop()
    n_lost = prof.stats.n_lost
    assert f" lost {n_lost:,} records " in str(said[0].message)
    assert n_lost > 0
    assert ", of which it had " not in str(said[0].message)
    for layout in ("torch", "marey"):
        table = prof.key_averages().table(layout=layout)  # type: ignore[arg-type]
        first, *others = table.splitlines()[:3]
        assert first.startswith("not clean")
        # The range that was open when the first record was lost has no end.
        assert any(f"{n_lost:,}" in line for line in others)


def test_a_pool_that_others_fill_is_told_as_theirs() -> None:
    former = marey.profile(pool_bytes=1 << 20)
    with former:
        for _ in range(28_000):
            work()
    prof = marey.profile(pool_bytes=1 << 20)
    prof.start()
    for _ in range(28_000):
        work()
    with pytest.warns(UserWarning, match="^the recording lost .* no room in 1 MiB, of which it had ") as said:
        prof.stop()
    assert "; former profiles and traces let go, a larger pool_bytes" in str(said[0].message)
    assert former.stats.n_lost == 0


def test_the_cpu_clock_tells_waiting_from_working() -> None:
    with marey.profile(clock="wall+cpu") as prof:
        with record_function("waits"):
            time.sleep(0.01)
        with record_function("works"):
            until = time.thread_time_ns() + 5_000_000
            while time.thread_time_ns() < until:
                pass
    waits, works = (args["Thread CPU ns"] for args in prof.events().args())
    assert waits < 5_000_000 <= works


# ---- fork, spawn, the end of the interpreter -----------------------------------------------------------------------


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def check_python(code: str) -> str:
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


FORK = """
import os, marey
with marey.profile() as prof:
    with marey.record_function("before"):
        pass
    pid = os.fork()
    if pid == 0:
        assert not marey.is_recording()
        with marey.record_function("in child"):
            pass
        with marey.profile() as own:
            with marey.record_function("child's own"):
                pass
        assert [e.name for e in own.events()] == ["child's own"], list(own.events())
        {leave}
    assert os.waitpid(pid, 0)[1] == 0
    with marey.record_function("after"):
        pass
print([e.name for e in prof.events()])
"""


@pytest.mark.forks
@pytest.mark.parametrize("leave", ["os._exit(0)", "raise SystemExit(0)"])
def test_a_fork_leaves_the_parents_records_alone(leave: str) -> None:
    assert check_python(FORK.format(leave=leave)) == "['before', 'after']\n"


@pytest.mark.forks
def test_a_forked_child_that_leaves_the_block_hands_nothing_over() -> None:
    code = """
import os, marey
prof = marey.profile(on_trace_ready=lambda prof: os.write(1, b"ready\\n"))
with prof:
    pid = os.fork()
if pid == 0:
    try:
        prof.trace
    except (RuntimeError, ValueError) as error:
        os.write(1, f"{error}\\n".encode())
    os._exit(0)
os.waitpid(pid, 0)
"""
    out = check_python(code).splitlines()
    assert sorted(out) == ["nothing was recorded in this process", "ready"]


@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=pytest.mark.forks), "spawn", "forkserver"]
)
def test_multiprocessing_works_inside(method: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"""
import multiprocessing, marey
def child(queue):
    with marey.record_function("in child"):
        queue.put(marey.is_recording())
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    with marey.profile() as prof:
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        assert queue.get() is False
        process.join()
        assert process.exitcode == 0
    assert list(prof.events()) == []
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "end",
    ["", "raise SystemExit(0)", "import threading; threading.Thread(target=busy).start()",
     "import threading; threading.Thread(target=busy, daemon=True).start()",
     "import atexit; atexit.register(lambda: work())", "del prof",
     "keep = marey.record_function('open'); keep.__enter__()"],
)  # fmt: skip
def test_the_interpreter_ends_with_a_running_session(end: str) -> None:
    code = f"""
import marey, time
def work():
    with marey.record_function("work"):
        pass
def busy():
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        work()
prof = marey.profile()
prof.start()
work()
{end}
"""
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, "")
    is_told = "a profiler was still running at the end of the program" in done.stderr
    assert is_told == (end != "del prof")


@pytest.mark.forks
def test_a_program_that_forgets_to_stop_hands_over_all_the_same() -> None:
    code = """
import marey, os
def ready(prof):
    print([event.name for event in prof.events()], flush=True)
    raise OSError("disk full")
prof = marey.profile(on_trace_ready=ready)
prof.start()
with marey.record_function("work"):
    pass
if os.fork() == 0:
    raise SystemExit
os.wait()
"""
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, "['work']\n")
    assert "still running at the end of the program: it is stopped now" in done.stderr
    assert "its on_trace_ready failed: OSError('disk full')" in done.stderr


def test_a_profile_on_another_thread_works_for_itself() -> None:
    seen: list[list[str | None]] = []

    def profiled() -> None:
        with marey.profile() as prof:
            work("thread")
        seen.append(names(prof))

    with marey.profile() as prof:
        thread = threading.Thread(target=profiled)
        thread.start()
        thread.join()
    assert seen == [["thread"]]
    assert names(prof) == ["thread"]


def test_a_profile_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with marey.profile() as prof:
            work()
        prof.key_averages().table()
