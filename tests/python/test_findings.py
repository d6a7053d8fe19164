"""What a trace as a whole shows, from Python: raw durations, grade, clocks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import DATA

import marey

WILD = DATA / "fixtures/T07_wild_duration.json"


def wild(trace: marey.Trace) -> marey.Event:
    return next(event for event in trace.events() if event.name == "wild")


def test_a_wild_duration_is_kept_raw(tmp_path: Path) -> None:
    """torch believes it, and what is written is what was read."""
    trace = marey.load(WILD)
    assert wild(trace).dur_ns == 60_000_000
    assert wild(trace).raw_dur_ns == 2_000_000_000
    shown = {event.name: event for event in trace.view(compat="torch").events()}
    assert shown["wild"].time_range.elapsed_us() == pytest.approx(2_000_000)
    trace.export_chrome_trace(str(tmp_path / "again.json"))
    again = marey.load(tmp_path / "again.json")
    assert wild(again).raw_dur_ns == 2_000_000_000
    assert again.ledger["repaired"] == {"wild_duration": 1}


def test_a_repaired_trace_has_what_was_used(tmp_path: Path, command: Path) -> None:
    out = tmp_path / "repaired.json"
    subprocess.run([command, "doctor", "--repair", out, WILD], check=False, capture_output=True)
    trace = marey.load(out)
    assert (wild(trace).dur_ns, wild(trace).raw_dur_ns) == (60_000_000, 60_000_000)
    assert trace.ledger["repaired"] == {}
    assert trace.ledger["findings"] == {"lost_before": 1}
    assert trace.ledger.before == {"wild_duration": 1}


@pytest.mark.parametrize(("name", "grade"), [
    ("D01_annotation_is_not_work", ("A", None)), ("N01_crossing_siblings", ("A", None)),
    ("F09_no_final_bracket", ("C", "truncated")), ("F17b_empty_array", ("D", "no_events")),
    ("T07_wild_duration", ("B", "wild_duration")), ("D09_kernel_without_launch", ("D", "no_launch")),
])  # fmt: skip
def test_a_grade_says_why(name: str, grade: tuple[str, str | None]) -> None:
    trace = marey.load(DATA / f"fixtures/{name}.json")
    assert (trace.grade.letter, trace.grade.because) == grade


def test_a_grade_counts_what_belongs_together() -> None:
    grade = marey.load(DATA / "fixtures/D09_kernel_without_launch.json").grade
    assert (grade.n_operations, grade.n_with_launch) == (2, 1)
    assert (grade.n_launches, grade.n_with_operation) == (1, 1)


def test_clocks_that_agree_have_no_bound() -> None:
    assert marey.load(DATA / "fixtures/D01_annotation_is_not_work.json").clock_bounds() == []


def test_arrows_are_counted_where_all_is_checked() -> None:
    path = DATA / "fixtures/D11_loose_flows.json"
    assert "flow_end_alone" not in marey.load(path).ledger["info"]
    info = marey.load(path, check="all").ledger["info"]
    assert (info["flow_start_alone"], info["flow_end_alone"]) == (1, 2)
