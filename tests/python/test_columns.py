"""Events as a sequence, and as columns."""

from __future__ import annotations

import gc
import weakref
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import Record, document, kernel, launch

import marey
from marey import _columns, _core

RECORDS = [
    Record("outer", 0, 100_000),
    launch(10_000, 5_000, 7),
    kernel("k", 30_000, 8_000, 7),
    Record("inner", 50_000, 10_000),
    Record("other", 0, 100, tid=2),
]


def load() -> marey.Trace:
    return marey.load(document(RECORDS, schemaVersion=1, distributedInfo={"rank": 3}))


# ---- a sequence -------------------------------------------------------------------------


@given(st.slices(40))
def test_a_slice_is_what_a_list_gives_and_stays_a_range(part: slice) -> None:
    events = marey.load(document([Record(f"op {i}", i, 1) for i in range(40)])).events()
    assert list(events[part]) == list(events)[part]
    assert isinstance(events[part]._indices, range)
    gathered = marey.Events(events._trace, list(range(39, -1, -1)))
    assert isinstance(gathered[part]._indices, array)
    assert list(gathered[part]) == list(events)[::-1][part]


def test_it_is_searched_like_a_list() -> None:
    trace = load()
    events = trace.events()
    for of in (events, events[::-1], marey.Events(trace, [0, 1, 2, 3, 4])):
        in_list = list(of)
        for event in events:
            assert event in of
            assert of.index(event) == in_list.index(event)
            assert of.count(event) == 1
        assert list(reversed(of)) == in_list[::-1]
    assert events.index(events[2], 1, 3) == 2
    assert events.index(events[2], -4, -1) == 2
    for start, stop in ((3, None), (0, 2)):
        with pytest.raises(ValueError, match="is not among these events"):
            events.index(events[2], start, stop)
    part = events[:2]
    assert events[3] not in part
    assert part.count(events[3]) == 0
    with pytest.raises(ValueError, match="not among"):
        part.index(events[3])
    assert load().events()[0] not in events, "an event of another trace"
    assert "outer" not in events


def test_equal_is_the_same_events_in_the_same_order() -> None:
    trace = load()
    events = trace.events()
    gathered = marey.Events(trace, [0, 1, 2, 3, 4])
    assert events == trace.events() == gathered
    assert hash(events) == hash(gathered)
    assert events != gathered[::-1]
    assert events[:3] != events[1:4]
    assert events[:0] == events[5:]
    assert hash(events[:0]) == hash(events[5:])
    assert events != load().events()
    assert events != list(events)


def test_an_index_that_is_none_is_refused() -> None:
    trace = load()
    for index in (-1, 5, 2**40):
        with pytest.raises(IndexError, match="no slice"):
            marey.Event(trace, index)
    with pytest.raises(TypeError, match="a slice is of a trace"):
        marey.Event(type("Other", (), {"_core": 1})(), 0)


def test_the_name_of_many_events_is_one_object() -> None:
    events = marey.load(document([Record("op", i, 1) for i in range(3)])).events()
    assert events[0].name is events[2].name


def test_a_trace_that_holds_its_own_event_is_collected() -> None:
    trace = load()
    trace.favourite = trace.events()[0]  # type: ignore[attr-defined]
    gone = weakref.ref(trace)
    del trace
    gc.collect()
    assert gone() is None


@given(st.lists(st.sampled_from(["op", "window", "kernel"]), max_size=20))
def test_all_but_a_kind(kinds: list[str]) -> None:
    numbers = bytes(_core.KINDS.index(kind) for kind in kinds)
    expected = [i for i, kind in enumerate(kinds) if kind != "window"]
    found = _columns.all_but(memoryview(numbers), "window")
    assert list(found) == expected
    if "window" not in kinds[1:-1]:
        assert isinstance(found, range)
