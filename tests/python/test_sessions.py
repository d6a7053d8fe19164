"""One trace of several sessions, as _core makes it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import marey
from marey import _core
from marey._trace import Trace


def recorded(name: str) -> _core.Session:
    session = _core.Session()
    with marey.record_function(name):
        pass
    session.stop()
    return session


def names(trace: Trace) -> list[str | None]:
    return [event.name for event in trace.events() if event.kind != "window"]


def test_sessions_become_one_trace(tmp_path: Path) -> None:
    sessions = [recorded(name) for name in "abc"]
    trace = Trace(_core.trace_sessions(iter(sessions), 3, 8))
    for session in sessions:
        session.free()
    assert names(trace) == ["a", "b", "c"]
    assert trace.sources[0].rank == 3
    starts = [event.start_ns for event in trace.events() if event.name in ("b", "c")]
    for gap, start_ns in zip(trace.gaps, starts, strict=True):
        assert gap.rank == 3
        assert gap.start_ns < gap.end_ns <= start_ns
    assert trace.ledger["info"]["not_recorded"] == 2
    assert "not recorded: " in trace.key_averages().table()

    trace.export_chrome_trace(tmp_path / "a.json")
    again = marey.load(tmp_path / "a.json")
    assert [gap[:2] for gap in again.gaps] == [gap[:2] for gap in trace.gaps]


def test_a_trace_of_one_session_has_no_gap() -> None:
    trace = Trace(_core.trace_sessions([recorded("a")]))
    assert trace.gaps == []
    assert names(trace) == ["a"]


def test_what_is_no_session_is_refused() -> None:
    session = recorded("a")
    gone = recorded("b")
    gone.free()
    with pytest.raises(TypeError, match="a trace is made of sessions, not of int"):
        _core.trace_sessions([session, 1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="the session was freed"):
        _core.trace_sessions([session, gone])
    with pytest.raises(ValueError, match="a trace of no session"):
        _core.trace_sessions([])
    with pytest.raises(ValueError, match="begins before the one in front of it has stopped"):
        _core.trace_sessions([session, session])
    session.free()


def test_sessions_may_be_freed_by_another_thread() -> None:
    """Who comes first wins: the whole trace, or the sessions are gone."""
    for _ in range(20):
        sessions = [recorded(f"r{i}") for i in range(20)]
        thread = threading.Thread(target=lambda some: [one.free() for one in some], args=(sessions,))
        thread.start()
        try:
            trace = Trace(_core.trace_sessions(sessions))
        except ValueError as error:
            assert "the session was freed" in str(error)
        else:
            assert names(trace) == [f"r{i}" for i in range(20)]
        thread.join()
    last = recorded("last")
    assert names(Trace(_core.trace_sessions([last]))) == ["last"]


def test_averages_outlive_what_they_were_joined_of() -> None:
    parts = []
    for name in ("a", "b", "a"):
        session = recorded(name)
        parts.append(session.trace().averages(percentiles=True))
        session.free()
    joined = _core.join_averages(parts)
    calls = [sum(row[6] for row in part.rows()) for part in parts]
    del parts
    rows = {row[0]: row for row in joined.rows()}
    assert {name: row[6] for name, row in rows.items()} == {"a": 2, "b": 1}
    assert sum(calls) == 3
    assert rows["a"][5] is None  # the earliest slice, which is of no trace
    assert rows["a"][13] is None and rows["b"][13] is not None  # p50
    assert "not recorded: " in joined.table()
    again = _core.join_averages(iter([joined, joined]))
    assert {row[0]: row[6] for row in again.rows()} == {"a": 4, "b": 2}
    with pytest.raises(TypeError, match="averages are joined, not int"):
        _core.join_averages([joined, 1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="averages of no part"):
        _core.join_averages([])
