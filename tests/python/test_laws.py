"""The laws of the numbers, through the package, on traces made up by Hypothesis."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable

import pytest
import reference
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from records import Record, document, host_traces, kernel, launch, traces

import marey

DEVICE_KINDS = {"kernel", "memcpy", "memset"}


def device_operations(trace: marey.Trace) -> list[marey.Event]:
    return [event for event in trace.events() if event.kind in DEVICE_KINDS]


def spans(events: Iterable[marey.Event]) -> list[tuple[int, int]]:
    return [
        (event.start_ns, event.end_ns) for event in events if event.end_ns is not None
    ]


@given(traces)
def test_self_times_of_a_track_add_up_to_its_union(records: list[Record]) -> None:
    trace = marey.load(document(records))
    assert sum(track.n_slices for track in trace.tracks) == len(records)
    for track in trace.tracks:
        events = track.events()
        assert sum(event.self_ns or 0 for event in events) == reference.union(spans(events))


@given(traces)
def test_self_times_of_rows_add_up_to_those_of_host_slices(records: list[Record]) -> None:
    trace = marey.load(document(records))
    averages = trace.key_averages(include_python_functions=True)
    host = [event for event in trace.events() if event.kind not in DEVICE_KINDS]
    rows = [row for row in averages if not row.is_device]
    assert sum(row.self_ns or 0 for row in rows) == sum(event.self_ns or 0 for event in host)
    assert sum(row.count for row in rows) == len(host)


@given(traces)
def test_owned_and_unowned_device_time_is_all_of_it(records: list[Record]) -> None:
    trace = marey.load(document(records))
    operations = device_operations(trace)
    total = sum(event.dur_ns or 0 for event in operations)
    averages = trace.key_averages(include_python_functions=True)
    owned = sum(row.device_self_ns or 0 for row in averages if not row.is_device)
    unowned = sum(event.dur_ns or 0 for event in operations if event.owner is None)
    assert averages.totals.device_sum_ns == total
    assert averages.totals.unowned_ns == unowned
    assert owned + unowned == total
    by_owner = sum(op.dur_ns or 0 for event in trace.events() for op in event.owned)
    assert by_owner == owned


@given(traces)
def test_busy_is_the_union_of_each_device(records: list[Record]) -> None:
    trace = marey.load(document(records))
    operations = device_operations(trace)
    busy = 0
    for device in {event.track.device for event in operations}:
        busy += reference.union(spans(e for e in operations if e.track.device == device))
    assert trace.key_averages().totals.device_busy_ns == busy


@given(traces, st.randoms(use_true_random=False))
def test_shuffled_records_give_the_same_bytes(records: list[Record], rng: random.Random) -> None:
    shuffled = list(records)
    rng.shuffle(shuffled)
    one = marey.load(document(records)).key_averages()
    other = marey.load(document(shuffled)).key_averages()
    for form in ("json", "csv", "table"):
        assert one.table(format=form) == other.table(format=form)


@pytest.mark.parametrize("name", ["dataparallel_infer", "gpt_compiled_cudagraph", "sched9",
                                  "torch211_streams_sync", "torch213_encoder_stack"])
def test_shuffled_records_of_torch_give_the_same_bytes(name: str) -> None:
    trace = json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))
    rng = random.Random(name)

    def tables() -> list[str]:
        loaded = marey.load(json.dumps(trace).encode())
        shown = []
        stacks = {"group_by_stack_n": 3} if "stack" in name else {}
        for grouping in ({}, {"group_by_input_shape": True, **stacks}):
            averages = loaded.key_averages(include_python_functions=True, **grouping)
            shown += [averages.table(format=form) for form in ("json", "csv", "table")]
        return shown

    written = tables()
    for _ in range(3):
        rng.shuffle(trace["traceEvents"])
        assert tables() == written


@given(traces)
def test_times_are_exact(records: list[Record]) -> None:
    trace = marey.load(document(records, baseTimeNanoseconds=1_732_107_142_997_066_682))
    read = sorted(
        (event.name, event.start_ns - 1_732_107_142_997_066_682, event.dur_ns)
        for event in trace.events()
    )
    assert read == sorted((record.name, record.start_ns, record.dur_ns) for record in records)


@given(host_traces)
def test_nesting_and_self_time_are_those_of_the_slow_way(records: list[Record]) -> None:
    trace = marey.load(document(records))
    for track in trace.tracks:
        here = [record for record in records if str(record.tid) == track.thread]
        intervals = reference.in_order([
            reference.Interval(
                record.start_ns,
                record.start_ns + record.dur_ns,
                record.cat,
                record.name,
                record.args.get("External id", -1),
            )
            for record in here
        ])  # fmt: skip
        events = track.events()
        first = events[0].index
        assert [(event.start_ns, event.end_ns, event.name) for event in events] == [
            (interval.start, interval.end, interval.name) for interval in intervals
        ]
        ours = [None if e.parent is None else e.parent.index - first for e in events]
        assert ours == reference.parents(intervals)
        assert [event.self_ns for event in events] == reference.self_times(intervals)


@given(host_traces)
def test_children_are_the_other_way_round_of_parents(records: list[Record]) -> None:
    events = marey.load(document(records)).events()
    for event in events:
        assert list(event.children) == [other for other in events if other.parent == event]


def everything(trace: marey.Trace) -> tuple[object, ...]:
    """What a trace says, but for where its records lie in the file."""
    columns = {}
    for of in ("slices", "instants", "counters", "flows", "links"):
        for name, column in trace.columns(of).items():
            if name not in ("offset", "name_id", "cat_id", "label_idx"):
                columns[of, name] = column.tolist()
    events = trace.events()
    names = [(event.name, event.category) for event in events]
    tracks = [track.label for track in trace.tracks]
    args = [json.dumps(args, sort_keys=True) for args in events.args()]
    return columns, names, tracks, args, trace.async_spans() == [], dict(trace.ledger)


@given(traces)
def test_writing_and_reading_gives_the_same_trace(records: list[Record]) -> None:
    trace = marey.load(document(records))
    text = trace._core.export_chrome_text()
    again = marey.load(text)
    assert everything(again) == everything(trace)
    assert again._core.export_chrome_text() == text


@given(traces)
def test_rows_are_those_of_the_json(records: list[Record]) -> None:
    averages = marey.load(document(records)).key_averages()
    rows = json.loads(averages.table(format="json"))["rows"]
    assert len(rows) == len(averages)
    for ours, theirs in zip(averages, rows, strict=True):
        assert ours.key == theirs["name"]
        assert ours.kind == theirs["kind"]
        assert ours.count == theirs["calls"]
        assert ours.n_timed == theirs["timed"]
        assert ours.n_device_operations == theirs["device_operations"]
        for name in ("self_ns", "total_ns", "mean_ns", "min_ns", "max_ns", "p50_ns", "p99_ns",
                     "device_self_ns", "device_total_ns"):
            assert getattr(ours, name) == theirs[name], name


def test_percentiles_are_of_the_nearest_rank() -> None:
    records = [Record("a", 1000 * i, i + 1) for i in range(200)]
    (row,) = marey.load(document(records)).key_averages()
    assert (row.p50_ns, row.p99_ns, row.min_ns, row.max_ns) == (100, 198, 1, 200)
    assert row.mean_ns == 101  # 100.5, a half goes up
    assert row.sum_ns == row.total_ns == row.self_ns == 20100


def test_recursion_counts_once_in_totals() -> None:
    records = [Record("a", 0, 100), Record("a", 10, 50), launch(20, 5, 1), kernel("k", 90, 7, 1)]
    rows = {row.key: row for row in marey.load(document(records)).key_averages()}
    assert rows["a"].total_ns == 100
    assert rows["a"].sum_ns == 150
    assert rows["a"].self_ns == 95
    assert rows["a"].device_self_ns == rows["a"].device_total_ns == 7
    assert rows["k"].self_device_time_total == 0.007
    assert rows["k"].cpu_time_total == 0.0
