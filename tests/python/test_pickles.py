"""Results in a pickle, which is how they go to another rank or out of a process, in copies and in sums."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import marey
from marey import profiler


def recorded(**options: Any) -> Any:
    with profiler.profile(**options) as prof, marey.record_function("outer"):
        for _ in range(2):
            with marey.record_function("inner"):
                pass
    return prof


def sent(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def body(table: str) -> str:
    """Without the line that says whether it is of a file or of a recording."""
    return table[table.index("-----") :]


def events_of(trace: marey.Trace) -> list[Any]:
    return [(e.name, e.kind, e.start_ns, e.dur_ns, e.self_ns, e.track.label) for e in trace.events()]


def traces(data: Path) -> list[Path]:
    found = [*data.glob("*.json.gz"), *(data / "fixtures").glob("**/*.json")]
    return sorted(path for path in found if path.stat().st_size < 200_000)


def test_a_trace_is_sent_whole(data: Path) -> None:
    """With each event in its place, damaged ones too."""
    n_traces = 0
    for path in traces(data):
        try:
            trace = marey.load(path)
        except marey.MareyError:
            continue
        got = sent(trace)
        n_traces += 1
        assert events_of(got) == events_of(trace), path
        assert list(got.key_averages(True)) == list(trace.key_averages(True)), path
    assert n_traces > 10


@pytest.mark.parametrize("again", [sent, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("compat", [None, "torch"])
def test_results_are_sent_and_copied(again: Callable[[Any], Any], compat: Any) -> None:
    prof = recorded(compat=compat)
    for shown in (prof.key_averages(), prof.events()):
        got = again(shown)
        assert type(got) is type(shown)
        assert [(e.key, e.count, e.cpu_time_total, e.device_type) for e in got] == [
            (e.key, e.count, e.cpu_time_total, e.device_type) for e in shown
        ]
        assert body(got.table(sort_by="cpu_time_total")) == body(shown.table(sort_by="cpu_time_total"))
        assert again(shown[1]).key == shown[1].key
        assert again(shown.total_average()).cpu_time_total == shown.total_average().cpu_time_total
    (outer, *_) = (e for e in again(list(prof.events())) if e.name == "outer")
    assert [e.name for e in outer.cpu_children] == ["inner", "inner"]
    assert again(prof.trace).view().key_averages()[0].key == "outer"


def test_a_row_is_sent_by_value(data: Path) -> None:
    """The trace that it is of would be half a megabyte."""
    for row in marey.load(data / "resnet18_train.json.gz").key_averages(group_by_input_shape=True):
        assert len(pickle.dumps(row)) < 2000
        assert sent(row) == row == copy.deepcopy(row)
        assert sent(row).cpu_parent is None


def test_averages_come_out_of_another_process() -> None:
    program = (
        "import pickle, sys, marey.profiler as p\n"
        "with p.profile() as prof, p.record_function('there'): pass\n"
        "sys.stdout.buffer.write(pickle.dumps(prof.key_averages()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    averages = pickle.loads(done.stdout)
    assert [row.key for row in averages] == ["there"]
    assert "there" in averages.table()


def test_what_has_no_trace_any_more_says_what_can_be_sent() -> None:
    with pytest.warns(UserWarning, match="using warmup"):
        plan = marey.schedule(wait=0, warmup=0, active=1)
    prof = marey.profile(schedule=plan, keep_bytes=1)
    with prof:
        for _ in range(3):
            with marey.record_function("work"):
                pass
            prof.step()
    averages = prof.key_averages()
    with pytest.raises(TypeError, match="let go cannot be pickled, their rows can: list"):
        pickle.dumps(averages)
    assert sent(list(averages)) == list(averages) != []


@pytest.mark.parametrize("dropped_first", ["the copy", "the original"])
@pytest.mark.parametrize("copied", ["before the start", "while it runs"])
@pytest.mark.parametrize("profile", [marey.profile, profiler.profile])
def test_a_profile_runs_until_the_last_copy_is_dropped(
    profile: Any, copied: str, dropped_first: str
) -> None:
    handed: list[list[str | None]] = []

    def ready(prof: Any) -> None:
        handed.append([event.name for event in prof.events()])

    handles = [profile(on_trace_ready=ready)]
    if copied == "before the start":
        handles.append(copy.copy(handles[0]))
    handles[0].start()
    if copied == "while it runs":
        handles.append(copy.copy(handles[0]))
    del handles[dropped_first == "the copy"]
    gc.collect()
    assert marey.is_recording()
    with marey.record_function("late"):
        pass
    with pytest.warns(UserWarning, match="a profiler was dropped while it was running"):
        handles.clear()
        gc.collect()
    assert not marey.is_recording()
    assert handed == [["late"]]


@pytest.mark.parametrize("compat", [None, "torch"])
def test_results_are_added_up_as_lists(compat: Any) -> None:
    one, other = recorded(compat=compat), recorded(compat=compat)
    for mine, others in (
        (one.events(), other.events()), (one.key_averages(), other.key_averages()),
    ):  # fmt: skip
        both = mine + others
        assert [e.key for e in both] == [e.key for e in (*mine, *others)]
        assert [e.key for e in [] + mine] == [e.key for e in mine + []] == [e.key for e in mine]
        both += mine
        assert len(both) == 3 * len(mine)
    assert sum(e.count for e in sum([one.events(), other.events()], [])) == 6
