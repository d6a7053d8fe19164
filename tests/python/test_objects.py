"""The objects: what they say, how long they live, and that threads may share them."""

from __future__ import annotations

import ast
import gc
import json
import re
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from records import Record, document, kernel, launch

import marey
from marey import _averages, _core, _events, _torch_records, _trace

RECORDS = [
    Record("outer", 0, 100_000, args={"External id": 5, "Input Dims": [[2, 3], []], "n": None}),
    launch(10_000, 5_000, 7),
    kernel("k", 30_000, 8_000, 7),
    Record("inner", 50_000, 10_000),
]


def load() -> marey.Trace:
    return marey.load(document(RECORDS, schemaVersion=1, distributedInfo={"rank": 3}))


# ---- what they say ----------------------------------------------------------------------


def test_events_say_what_the_file_says() -> None:
    outer, call, inner, op = load().events()
    assert (outer.name, outer.kind, outer.category) == ("outer", "op", "cpu_op")
    assert (outer.start_ns, outer.dur_ns, outer.end_ns) == (0, 100_000, 100_000)
    assert outer.self_ns == 85_000
    assert outer.args == {"External id": 5, "Input Dims": [[2, 3], []], "n": None}
    assert list(outer.children) == [call, inner]
    assert call.parent == inner.parent == outer
    assert outer.parent is None
    assert (call.kind, call.correlation, op.correlation) == ("runtime", 7, 7)
    assert (op.launch, op.owner) == (call, outer)
    assert list(outer.owned) == [op]
    assert (inner.correlation, inner.launch, inner.owner) == (None, None, None)
    assert op.parent is None
    assert [track.label for track in load().tracks] == ["r3 p1 t1", "r3 d0 s7"]
    assert not outer.is_open
    assert not outer.crosses


def test_unknown_is_none() -> None:
    text = document(['{"ph": "X", "pid": 1, "ts": 5, "cat": "cpu_op"}'])
    (event,) = marey.load(text).events()
    assert (event.name, event.dur_ns, event.end_ns, event.self_ns) == (None, None, None, None)
    assert event.track.thread is None
    assert event.args == {}
    (row,) = marey.load(text).key_averages()
    assert row.key is None
    assert (row.self_ns, row.total_ns, row.mean_ns, row.cpu_time_total) == (None,) * 4
    assert row.count == 1
    assert row.n_timed == 0


def test_args_know_no_nan() -> None:
    assert _events.parse_json('{"a": NaN, "b": [-Infinity, 1.5]}') == {"a": None, "b": [None, 1.5]}


def test_sequences_slice() -> None:
    events = load().events()
    assert [event.name for event in events[1:3]] == ["cudaLaunchKernel", "inner"]
    assert events[-1] == events[3]
    assert events[0] in events
    assert [event.name for event in events[::-1]][0] == "k"
    with pytest.raises(IndexError):
        events[4]
    averages = load().key_averages()
    assert averages[0] in averages[:2]


def test_args_of_many_are_read_in_their_order() -> None:
    events = load().events()
    alone = [event.args for event in events]
    assert events.args() == alone
    assert events[::-1].args() == alone[::-1]


def test_the_head_is_parsed() -> None:
    assert load().metadata == {"schemaVersion": 1, "distributedInfo": {"rank": 3}}


def test_the_ledger_counts() -> None:
    text = document([Record("p", 0, 10), Record("c", 5, 10), launch(2, 1, 9), "{}"])
    ledger = marey.load(text).ledger
    assert dict(ledger) == {
        "quarantined": {"empty_record": 1},
        "repaired": {},
        "findings": {"crossing": 1, "no_kernel": 1},
        "info": ledger["info"],
    }
    assert not ledger.is_clean
    assert (ledger.n_read, ledger.n_used) == (4, 3)
    assert load().ledger.is_clean


def test_strings_are_a_sequence() -> None:
    strings = load().strings
    assert strings[0] == ""
    assert "outer" in list(strings)
    assert strings[-1] == strings[len(strings) - 1]
    with pytest.raises(IndexError):
        strings[2**32 - 1]
    with pytest.raises(IndexError):
        strings[-(2**33)]


def test_reprs_are_short() -> None:
    trace = load()
    view = trace.view()
    objects = [trace, trace.events(), trace.events()[0], trace.tracks[0], trace.ledger,
               trace.strings, trace.key_averages(), view, view.events(), view.events()[0],
               view.key_averages(), view.key_averages()[0]]
    for thing in objects:
        assert repr(thing).startswith("<marey.")
        assert len(repr(thing)) < 200
        assert "\n" not in repr(thing)
    assert repr(trace.key_averages()[0]).startswith("Row(key='outer'")


# ---- averages and their tables ---------------------------------------------------------------


def test_grouping_by_shape_gives_lists() -> None:
    rows = {row.key: row for row in load().key_averages(group_by_input_shape=True)}
    assert rows["outer"].input_shapes == [[2, 3], []]
    assert load().key_averages()[0].input_shapes is None


def test_row_names_of_torch_are_microseconds() -> None:
    rows = {row.key: row for row in load().key_averages()}
    outer = rows["outer"]
    assert (outer.cpu_time_total, outer.self_cpu_time_total, outer.cpu_time) == (100.0, 85.0, 100.0)
    assert (outer.device_time_total, outer.self_device_time_total) == (8.0, 8.0)
    assert (rows["k"].device_time_total, rows["k"].device_time) == (8.0, 8.0)
    assert outer.first == load().events()[0] or outer.first is not None
    assert outer.first is not None
    assert outer.first.name == "outer"


def test_tables_take_their_arguments() -> None:
    averages = load().key_averages()
    assert averages.table(row_limit=1).count("cudaLaunchKernel") == 0
    assert "HEAD" in averages.table(header="HEAD")
    assert averages.table(columns=["name", "calls"], format="csv").splitlines()[0].endswith(
        "name,calls"
    )
    assert averages.table(columns="name,calls") == averages.table(columns=["name", "calls"])
    assert averages.table(layout="torch") != averages.table()
    assert "inner" not in averages.table(top_level_events_only=True)
    assert averages.table(top_level_events_only=True) == load().key_averages(
        top_level_events_only=True
    ).table()
    by_count = json.loads(averages.table(sort_by="+self", format="json"))["rows"]
    assert by_count[0]["name"] == "cudaLaunchKernel"
    assert str(averages) == averages.table()


@pytest.mark.parametrize(
    "arguments",
    [
        {"sort_by": "selff"},
        {"columns": "nmae"},
        {"format": "xml"},
        {"layout": "mine"},
        {"time_unit": "ns"},
        {"row_limit": 0},
        {"row_limit": -2},
        {"max_name_column_width": -1},
        {"max_shapes_column_width": -3},
        {"max_src_column_width": -4},
    ],
)
def test_tables_refuse_other_words(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(arguments.values())))):
        load().key_averages().table(**arguments)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("row_limit", "^no row limit {}: give a whole number$"),
        ("max_name_column_width", "^no width {}: give a whole number$"),
        ("max_shapes_column_width", "^no width {}: give a whole number$"),
        ("max_src_column_width", "^no width {}: give a whole number$"),
    ],
)
def test_tables_say_what_is_no_number(argument: str, words: str) -> None:
    trace = load()
    ours = trace.key_averages()
    for rows in (ours, trace.view().events(), trace.view().key_averages()):
        assert rows.table(**{argument: 3.0}) == rows.table(**{argument: 3})  # type: ignore[arg-type]
        # torch counts rows until the limit is there, which a number with a fraction never is.
        has_parts = argument == "row_limit" and rows is not ours
        for value in ("3", [3]) if has_parts else ("3", 2.5, [3]):
            with pytest.raises(TypeError, match=words.format(re.escape(repr(value)))):
                rows.table(**{argument: value})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="^no depth of stacks '2': give a whole number$"):
        trace.key_averages(group_by_stack_n="2")  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["sort_by", "columns"])
def test_a_name_that_is_near_none_is_answered_with_all(argument: str) -> None:
    with pytest.raises(ValueError, match="'nonsense' is no (key|column) of the table, use one") as told:
        load().key_averages().table(**{argument: "nonsense"})  # type: ignore[arg-type]
    assert all(name in str(told.value) for name in _core.table_columns())
    with pytest.raises(ValueError, match="nearest") as told:
        load().key_averages().table(**{argument: "selff"})  # type: ignore[arg-type]
    assert "device_operations" not in str(told.value)


def test_views_refuse_other_words() -> None:
    with pytest.raises(ValueError, match="nsys"):
        load().view(compat="nsys")
    with pytest.raises(ValueError, match="two"):
        load().view(version="two")
    with pytest.raises(ValueError, match=r"'1\.13': 2\.4 is the oldest"):
        load().view(version="1.13")
    with pytest.raises(ValueError, match=r"'2\.133'"):
        load().view(version="2.133")
    with pytest.raises(TypeError, match=r"2\.13, a float: write it as text"):
        load().view(version=2.13)  # type: ignore[arg-type]


def test_depths_of_stacks_are_not_negative() -> None:
    with pytest.raises(ValueError, match="-1"):
        load().key_averages(group_by_stack_n=-1)


def test_torchs_view_takes_a_depth_below_zero_as_none() -> None:
    view = load().view()
    for rows in (view, view.events()):
        assert rows.key_averages(group_by_stack_n=-1).table() == rows.key_averages().table()


# ---- columns -----------------------------------------------------------------------------------


def test_columns_are_the_events() -> None:
    trace = load()
    columns = trace.columns()
    events = trace.events()
    assert columns["start_ns"].format == columns["dur_ns"].format == columns["self_ns"].format == "q"
    assert columns["name_id"].format == columns["parent"].format == columns["track"].format == "I"
    assert all(column.readonly for column in columns.values())
    assert columns["start_ns"].tolist() == [event.start_ns for event in events]
    assert columns["self_ns"].tolist() == [event.self_ns for event in events]
    assert [trace.strings[i] for i in columns["name_id"]] == [event.name for event in events]
    assert [_core.KINDS[kind] for kind in columns["kind"]] == [event.kind for event in events]
    assert [trace.tracks[i] for i in columns["track"]] == [event.track for event in events]
    assert columns["parent"].tolist() == [marey.NONE, 0, 0, marey.NONE]
    links = trace.columns("links")
    assert links["correlation"].tolist() == [7, 7]
    assert links["launch"].tolist() == [marey.NONE, 1]
    with pytest.raises(ValueError, match="rows"):
        trace.columns("rows")  # type: ignore[arg-type]


def test_columns_are_read_only() -> None:
    column = load().columns()["start_ns"]
    with pytest.raises(TypeError):
        column[0] = 1


def test_empty_columns_are_empty() -> None:
    columns = marey.load(b'{"traceEvents": []}').columns()
    assert all(len(column) == 0 for column in columns.values())


def test_columns_are_numpy_arrays_without_a_copy() -> None:
    numpy = pytest.importorskip("numpy")
    trace = load()
    starts = numpy.asarray(trace.columns()["start_ns"])
    assert starts.dtype == numpy.int64
    again = numpy.asarray(trace.columns()["start_ns"])
    assert starts.ctypes.data == again.ctypes.data
    del trace
    gc.collect()
    assert starts.tolist() == [0, 10_000, 50_000, 30_000]


# ---- life ------------------------------------------------------------------------------------------


def test_what_a_trace_gave_outlives_it() -> None:
    trace = load()
    view = trace.view()
    kept: list[tuple[Callable[[], Any], Any]] = [
        (call, call())
        for call in (
            trace.events()[0].children[0].__repr__,
            trace.columns()["dur_ns"].tolist,
            trace.key_averages().table,
            view.events()[0].cpu_children.__repr__,
            view.key_averages().table,
            trace.tracks[0].__repr__,
            trace.key_averages()[0].__repr__,
        )
    ]
    del trace, view
    gc.collect()
    noise = [load() for _ in range(20)]
    assert [call() for call, _ in kept] == [value for _, value in kept]
    assert len(noise) == 20


def test_instants_and_counters_are_in_order_of_time() -> None:
    trace = marey.load(
        b'[{"ph":"i","name":"late","pid":1,"tid":2,"ts":5,"s":"t","args":{"why":"x"}},'
        b'{"ph":"C","name":"memory","cat":"c","pid":1,"ts":4,"args":{"used":3,"free":1.5}},'
        b'{"ph":"i","name":"early","pid":1,"tid":2,"ts":2},'
        b'{"ph":"C","name":"memory","cat":"c","pid":1,"ts":1,"args":{"used":NaN}},'
        b'{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":9}]'
    )
    late, early = trace.instants()[::-1]
    assert (early.name, early.ts_ns, early.args) == ("early", 2000, {})
    assert (late.name, late.ts_ns, late.args) == ("late", 5000, {"why": "x"})
    assert late.track is not None and late.track.thread == "2"
    assert [(c.name, c.ts_ns, c.values, c.category) for c in trace.counters()] == [
        ("memory", 1000, {"used": None}, "c"),
        ("memory", 4000, {"used": 3, "free": 1.5}, "c"),
    ]


def test_a_trace_goes_with_its_last_user() -> None:
    """At once, not when the collector of cycles comes by: a trace may be large."""
    gc.collect()
    gc.disable()
    try:
        trace = load()
        view = trace.view()
        used = [view.events()[0].cpu_children, view.key_averages()[0].cpu_parent, view.use_device,
                trace.key_averages()[0].first, trace.events()[0].owned, trace.tracks,
                trace.ledger, trace.columns(), trace.async_spans(), trace.metadata,
                trace.instants(), trace.counters(),
                view.key_averages().table(), view.events()[0].event]  # fmt: skip
        gone = weakref.ref(trace), weakref.ref(view)
        del trace, view, used
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


# ---- threads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("round_", range(8))
def test_threads_may_ask_at_the_same_time(round_: int) -> None:
    records = [Record(f"n{i % 7}", 10 * i, 25, tid=i % 3) for i in range(400)]
    records += [launch(10 * i + 1, 3, i + 1) for i in range(200)]
    records += [kernel("k", 10 * i + 9, 4, i + 1) for i in range(200)]
    text = document(records)
    expected = answers(marey.load(text))
    trace = marey.load(text)
    averages = trace.key_averages()
    barrier = threading.Barrier(4)
    found: list[Any] = [None] * 4

    def ask(place: int) -> None:
        barrier.wait()
        found[place] = (answers(trace), averages.table())

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(expected, averages.table())] * 4


def answers(trace: marey.Trace) -> list[Any]:
    return [
        trace.key_averages(group_by_input_shape=True).table(format="json"),
        trace.columns()["self_ns"].tolist(),
        trace.columns("links")["owner"].tolist(),
        dict(trace.ledger),
        trace.events().args(),
        trace.view().key_averages().table(),
    ]


# ---- the extension against its description ----------------------------------------------------------------


def test_records_have_the_fields_of_the_structs() -> None:
    described = {
        "track": _events.TrackRecord,
        "source": _trace.Source,
        "category": _trace.Category,
        "average": _averages.AverageRecord,
        "totals": _averages.Totals,
        "torch_event": _torch_records.EventRecord,
        "torch_average": _torch_records.AverageRecord,
    }
    renamed = {"path": "path_id", "name": "name_id"}
    for name, record in described.items():
        fields = record._fields  # type: ignore[attr-defined]
        if record in (_trace.Source, _trace.Category):
            fields = tuple(renamed.get(field, field) for field in fields)
        assert fields == _core.FIELDS[name], name
    assert _core.FIELDS["torch_kernel"] == ("name_id", "device", "dur_us")


def test_the_stub_names_what_the_extension_has() -> None:
    stub = ast.parse((Path(marey.__file__).parent / "_core.pyi").read_text())
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            methods |= {
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            }
            if node.bases and not methods:
                continue  # an exception that adds nothing
            have = {name for name in vars(getattr(_core, node.name)) if not name.startswith("_")}
            assert have == {name for name in methods if not name.startswith("_")}, node.name
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert functions == {name for name in vars(_core) if type(vars(_core)[name]).__name__ ==
                         "builtin_function_or_method"}


def test_core_types_are_not_made_by_hand() -> None:
    for name in ("Trace", "Averages", "TorchView", "TorchAverages", "Column"):
        with pytest.raises(TypeError):
            getattr(_core, name)()
