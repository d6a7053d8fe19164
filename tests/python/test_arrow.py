"""Columns for Arrow and pandas say what the objects say, share memory, and outlive the trace."""

from __future__ import annotations

import gc
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import Record, document, kernel, launch

import marey
from marey import _core

pa = pytest.importorskip("pyarrow")
numpy = pytest.importorskip("numpy")

FILES = ("resnet18_train.json.gz", "torch211_streams_sync.json.gz", "sched5.json.gz")
SHARED = ("start_ns", "dur_ns", "self_ns", "parent")
PAGE = Path(__file__).parents[2] / "docs/columns.md"


def load() -> marey.Trace:
    records: list[Record | str] = [
        Record("outer", 0, 100_000),
        launch(10_000, 5_000, 7),
        kernel("k", 30_000, 8_000, 7),
        Record("inner", 50_000, 10_000),
        '{"ph": "X", "pid": 1, "ts": 5, "cat": "cpu_op"}',
        '{"ph": "B", "pid": 1, "tid": 2, "ts": 7, "cat": "other", "name": "open"}',
    ]
    return marey.load(document(records, schemaVersion=1, distributedInfo={"rank": 3}))


def said_by(event: marey.Event) -> dict[str, Any]:
    """A row, by way of the object."""
    track = event.track
    others = {"parent": event.parent, "owner": event.owner, "launch": event.launch}
    return {
        "index": event.index, "name": event.name, "category": event.category,
        "kind": event.kind, "track": track.label, "process": track.process,
        "thread": track.thread, "device": track.device, "stream": track.stream,
        "rank": track.rank, "start_ns": event.start_ns, "dur_ns": event.dur_ns,
        "self_ns": event.self_ns, "correlation": event.correlation, "is_open": event.is_open,
        "crosses": event.crosses,
        **{name: None if other is None else other.index for name, other in others.items()},
    }


def check(events: marey.Events) -> Any:
    table = pa.table(events)
    table.validate(full=True)
    assert table.column_names == list(_core.EVENT_COLUMNS)
    assert table.to_pylist() == [said_by(event) for event in events]
    return table


# ---- what they say -------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_columns_say_what_the_objects_say(data: Path, name: str) -> None:
    trace = marey.load(data / name)
    check(trace.events())
    check(trace.events()[len(trace.events()) // 3 : 100][::-7])


@given(st.slices(5), st.lists(st.integers(0, 4)))
def test_parts_are_those_rows(part: slice, chosen: list[int]) -> None:
    trace = load()
    events = trace.events()
    assert len(events) == 6
    check(events[part])
    check(marey.Events(trace, chosen))
    check(marey.Events(trace, chosen)[part])


def test_what_is_not_known_is_null() -> None:
    table = check(load().events())
    assert table["name"].null_count == table["dur_ns"].null_count == 1
    assert table["device"].null_count == 5
    assert table["start_ns"].null_count == 0


def test_an_empty_part_has_all_columns() -> None:
    events = load().events()
    for part in (events[:0], events[3:3], events.where(name="nobody"), marey.Events(events._trace, [])):
        assert check(part).num_rows == 0
        assert list(part.to_pandas().columns) == list(_core.EVENT_COLUMNS)


def test_names_that_are_shown_alike_are_one_word() -> None:
    template = '{"ph": "X", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "cat": "cpu_op", "name": "%s"}'
    texts = [template % (i, name) for i, name in enumerate(("aX", "aY", "b"))]
    text = document(texts).replace(b"aX", b"a\xff").replace(b"aY", b"a\xfe")
    events = marey.load(text).events()
    table = check(events)
    assert table["name"].chunk(0).dictionary.to_pylist() == ["a\ufffd", "b"]
    assert list(events.where(name="a\ufffd")) == list(events[:2])


def test_chosen_columns() -> None:
    events = load().events()
    table = pa.table(events.to_arrow(["self_ns", "name"]))
    assert table.column_names == ["self_ns", "name"]
    assert len(events.to_arrow([])) == len(events)
    with pytest.raises(ValueError, match="no column 'colour'"):
        events.to_arrow(["colour"])
    with pytest.raises(TypeError, match=r"write \['name'\]"):
        events.to_arrow("name")


def test_averages() -> None:
    for averages in (load().key_averages(), load().key_averages(group_by_input_shape=True)):
        table = pa.table(averages)
        table.validate(full=True)
        for row, said in zip(averages, table.to_pylist(), strict=True):
            for name, value in said.items():
                expected = getattr(row, name)
                if name == "first":
                    expected = row.first and row.first.index
                elif name == "input_shapes" and expected is not None:
                    expected = json.dumps(expected)
                assert value == expected, name


# ---- choosing ---------------------------------------------------------------------------------


def test_where_keeps_what_is_asked_for() -> None:
    trace = load()
    events = trace.events()

    def names(**wanted: Any) -> list[str | None]:
        return [event.name for event in events.where(**wanted)]

    assert names(name="inner") == ["inner"]
    assert names(kind=("op", "kernel"), thread="1") == ["outer", "inner"]
    assert names(kind="kernel") == ["k"]
    assert names(category="cuda_runtime") == ["cudaLaunchKernel"]
    assert names(track="r3 d0 s7") == ["k"]
    assert names(process="1", thread="2") == ["open"]
    assert names(name="k", kind="op") == []
    assert names() == [event.name for event in events]
    assert events.where() == events
    assert [e.name for e in events[::-1].where(kind="op")] == [None, "inner", "outer"]
    with pytest.raises(TypeError):
        events.where(colour="red")  # type: ignore[call-arg]


# ---- memory ---------------------------------------------------------------------------------------


def address(table: Any, name: str) -> int:
    column: int = table[name].chunk(0).buffers()[-1].address
    return column


def test_what_lies_in_the_trace_is_not_copied() -> None:
    trace = load()
    core = trace.columns()
    table, part = pa.table(trace), pa.table(trace.events()[2:5])
    for name in SHARED:
        assert address(table, name) == numpy.asarray(core[name]).ctypes.data, name
    for name in _core.EVENT_COLUMNS:
        assert address(part, name) == address(table, name), f"{name} was copied for a part"
    assert address(pa.table(trace.events()[::2]), "start_ns") != address(table, "start_ns")


def test_it_is_read_when_the_trace_is_gone() -> None:
    trace = load()
    expected = [said_by(event) for event in trace.events()]
    whole, part = pa.table(trace.events()), pa.table(trace.events()[::-1])
    self_ns = pa.table(trace.events())["self_ns"]
    del trace
    gc.collect()
    assert whole.to_pylist() == expected
    assert part.to_pylist() == expected[::-1]
    del whole, part
    assert self_ns.to_pylist() == [row["self_ns"] for row in expected]


def test_the_last_reference_may_go_on_another_thread() -> None:
    tables = [pa.table(load())]
    thread = threading.Thread(target=tables.clear)
    thread.start()
    thread.join()
    assert not tables


def test_threads_ask_at_the_same_time() -> None:
    trace = marey.load(document([Record(f"op {i % 7}", i, 1) for i in range(5000)]))
    found: list[Any] = []
    barrier = threading.Barrier(4)

    def ask() -> None:
        barrier.wait()
        found.append(pa.table(trace))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(table.equals(found[0]) for table in found)
    assert len({address(table, "index") for table in found}) == 1


def test_what_nobody_consumes_is_released() -> None:
    events = load().events()
    schema, array = events.to_arrow().__arrow_c_array__()
    assert schema is not array
    events.to_arrow().__arrow_c_schema__()
    stream = pa.RecordBatchReader.from_stream(events)
    assert stream.schema.names == list(_core.EVENT_COLUMNS)
    column = pa.record_batch(events.to_arrow()).column("dur_ns")
    del schema, array, stream, events
    gc.collect()
    assert column[0].as_py() == 100_000


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def test_nothing_is_left_behind() -> None:
    trace = marey.load(document([Record(f"op {i}", i, 1) for i in range(5000)]))

    def use() -> None:
        pa.table(trace.events()[::-1])
        trace.events()[::2].to_arrow().__arrow_c_stream__()
        pa.table(trace.key_averages())
        trace.events().where(kind="op").to_arrow()
        _core.columns_of([("a", "u", ["x" * 1000] * 100), ("b", "l", [1] * 100)])

    for _ in range(20):
        use()
    before = resident_bytes()
    for _ in range(300):
        use()  # 0.7 MB of copies each time
    assert resident_bytes() - before < 30_000_000


def test_the_core_checks_what_it_is_handed() -> None:
    trace = load()
    core, tracks = trace._core, [(t.label, None, None, None, None, None) for t in trace.tracks]
    for rows in ((0, 7), (6, 1), (-1, 2), (7, 0)):
        with pytest.raises(IndexError, match="not in the trace"):
            core.batch(("name",), tracks, rows)
    with pytest.raises(IndexError, match="not in the trace"):
        core.batch(("name",), tracks, numpy.array([0, 6], dtype="u4"))
    for wrong in ([], tracks[1:]):
        with pytest.raises(TypeError, match="tracks are a list"):
            core.batch(("track",), wrong, (0, 1))
    with pytest.raises(TypeError, match="tuples of label"):
        core.batch(("rank",), [()] * len(tracks), (0, 1))
    with pytest.raises(ValueError, match="has no texts"):
        core.words("start_ns", tracks)
    for column in (("a", "l", [1]), ("a", "x", [1, 2]), ("a", "l", [1, "b"])):
        with pytest.raises((ValueError, TypeError)):
            _core.columns_of([("first", "l", [1, 2]), column])


# ---- other libraries ------------------------------------------------------------------------------------


def test_polars_and_duckdb_take_them(data: Path) -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    trace = marey.load(data / FILES[0])
    events = trace.events()
    part = events[5:200:3]
    frame = polars.DataFrame(trace)
    assert frame["self_ns"].to_list() == [event.self_ns for event in events]
    assert polars.DataFrame(part.to_arrow())["name"].to_list() == [event.name for event in part]
    rows = duckdb.sql("select name, dur_ns, parent from part").fetchall()
    assert rows == [
        (e.name, e.dur_ns, None if e.parent is None else e.parent.index) for e in part
    ]
    middle = events[7:90]
    rows = duckdb.sql("select name, is_open, parent from middle").fetchall()
    assert rows == [
        (e.name, e.is_open, None if e.parent is None else e.parent.index) for e in middle
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_data_frame_is_exact(data: Path, name: str) -> None:
    pytest.importorskip("pandas")
    for events in (marey.load(data / name).events(), load().events(), load().events()[4:1:-1]):
        frame = events.to_pandas()
        for column in frame.columns:
            values = [None if value is None or value != value else value
                      for value in frame[column].astype(object).where(frame[column].notna(), None)]
            assert values == [said_by(event)[column] for event in events], column
        assert frame["start_ns"].dtype == "int64"
        assert str(frame["dur_ns"].dtype) == "Int64"


def test_a_data_frame_of_averages() -> None:
    pandas = pytest.importorskip("pandas")
    averages = load().key_averages()
    frame = averages.to_pandas()
    assert [None if pandas.isna(key) else key for key in frame["key"]] == [row.key for row in averages]
    assert frame["self_ns"].tolist() == [pandas.NA if row.self_ns is None else row.self_ns
                                         for row in averages]


def test_a_data_frame_is_the_users_own() -> None:
    pytest.importorskip("pandas")
    trace = load()
    frame = trace.to_pandas()
    frame.loc[0, "start_ns"] = 5
    frame.loc[0, "dur_ns"] = 5
    assert (trace.events()[0].start_ns, trace.events()[0].dur_ns) == (0, 100_000)


def test_without_pandas_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        load().events().to_pandas()


def examples() -> list[str]:
    return [block.split("```")[0] for block in PAGE.read_text("utf-8").split("```python\n")[1:]]


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not here")
def test_the_examples_of_the_manual_run(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars", "duckdb"):
        pytest.importorskip(name)
    path = data / "resnet18_train.json.gz"
    assert len(examples()) >= 5
    real_load = marey.load
    monkeypatch.setattr(marey, "load", lambda _: real_load(path))
    names: dict[str, Any] = {}
    for example in examples():
        exec(compile(example, str(PAGE), "exec"), names)
