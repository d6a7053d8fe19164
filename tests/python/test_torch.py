"""torch's own view: the bytes of its tables, the members of its events.

tests/data/torch holds the tables that torch printed for traces of tests/data and what its
events held; tables follow a line that says how they were asked for.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import DATA
from records import Record, document, kernel, launch

import marey

FOLDER = DATA / "torch"


def read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def case_of(path: Path) -> str:
    return path.name.split(".")[0]


HEAD = re.compile(r"^### key_averages\((\{.*?\})\)\.table\((\{.*\})\)\n", re.MULTILINE)


class Table(NamedTuple):
    case: str
    grouping: dict[str, Any]
    arguments: dict[str, Any]
    text: str


def tables() -> list[Table]:
    found = []
    for path in sorted(FOLDER.glob("*.txt*")):
        parts = HEAD.split(read(path))
        if len(parts) > 1:
            for grouping, arguments, text in zip(parts[1::3], parts[2::3], parts[3::3]):
                found.append(Table(case_of(path), ast.literal_eval(grouping),
                                   ast.literal_eval(arguments), text))
    return found


def trace_of(case: str) -> Path:
    return DATA / f"{case}.json.gz"


# torch.autograd.profiler's files do not say what was recorded.
TOLD: dict[str, dict[str, Any]] = {"torch213_autograd_profile": {"profile_memory": True, "with_flops": True}}  # fmt: skip
TABLES = tables()


@pytest.mark.parametrize("table", TABLES, ids=[f"{t.case}-{i}" for i, t in enumerate(TABLES)])
def test_tables_are_torchs_to_the_byte(table: Table) -> None:
    view = marey.load(trace_of(table.case)).view(compat="torch", **TOLD.get(table.case, {}))
    text = view.key_averages(**table.grouping).table(**table.arguments)
    assert text == table.text[: len(text)]
    assert table.text[len(text) :].strip("\n") == ""


EVENT_FILES = sorted(FOLDER.glob("*_events.jsonl*"))


@pytest.mark.parametrize("path", EVENT_FILES, ids=[case_of(path) for path in EVENT_FILES])
def test_events_are_torchs(path: Path) -> None:
    case = case_of(path).removesuffix("_events")
    case = "cpu_mlp_train" if case == "cpu_mlp" else case
    events = marey.load(trace_of(case)).view(**TOLD.get(case, {})).events()
    lines = [json.loads(line) for line in read(path).splitlines()]
    assert len(events) == len(lines)
    place = {event: i for i, event in enumerate(events)}
    for event, line in zip(events, lines, strict=True):
        parent = event.cpu_parent
        members = {
            "id": event.id,
            "name": event.name,
            "start": event.time_range.start,
            "end": event.time_range.end,
            "thread": event.thread,
            "parent": None if parent is None else parent.id,
            "self": event.self_cpu_time_total,
            "total": event.cpu_time_total,
            "shapes": str(event.input_shapes),
            "cpu_mem": event.cpu_memory_usage,
            "self_cpu_mem": event.self_cpu_memory_usage,
            "seq": event.sequence_nr,
            "flops": event.flops,
            "overload": event.overload_name,
            "is_async": event.is_async,
            "python_id": event.python_id,
            "parent_line": None if parent is None else place[parent],
            "stack": event.stack,
        }
        assert {key: members[key] for key in line} == line


METRICS = {"verbose_sync": "self_cuda_time_total"}


def metric_of(path: Path) -> str:
    """<case>.<metric>.stacks.gz, or <case>.stacks.gz with the one that the case has."""
    part = path.name.split(".")[1]
    default = METRICS.get(case_of(path), "self_cpu_time_total")
    return part if part.startswith("self_") else default


STACK_FILES = sorted(FOLDER.glob("*.stacks*"))


@pytest.mark.parametrize("path", STACK_FILES, ids=[case_of(path) for path in STACK_FILES])
def test_stacks_are_torchs(path: Path, tmp_path: Path) -> None:
    view = marey.load(trace_of(case_of(path))).view()
    view.export_stacks(tmp_path / "out", metric_of(path))
    assert (tmp_path / "out").read_bytes() == read(path).encode()


# ---- members, without a file of torch's ---------------------------------------------------------


def view() -> marey.TorchView:
    records = [
        Record("Trace", 0, 200_000, "Trace"),
        Record("aten::mm", 10_000, 100_000, args={"External id": 1, "Sequence number": 4,
                                                 "Input Dims": [[2, 3], [3, 4]]}),
        launch(20_000, 5_000, 7),
        Record("aten::add", 50_000, 10_000, args={"External id": 2}),
        kernel("k", 60_000, 8_500, 7),
    ]
    return marey.load(document(records)).view(version="2.11")


def test_events_have_torchs_members() -> None:
    events = view().events()
    mm, add = (next(e for e in events if e.name == n) for n in ("aten::mm", "aten::add"))
    assert (mm.key, mm.trace_name, mm.count) == ("aten::mm", "aten::mm", 1)
    assert mm.time_range.elapsed_us() == mm.cpu_time_total == mm.cpu_time == 100.0
    assert mm.input_shapes == [[2, 3], [3, 4]]
    assert mm.sequence_nr == 4
    assert add.cpu_parent == mm
    assert add in mm.cpu_children
    assert all(child.cpu_parent == mm for child in mm.cpu_children)
    assert mm.device_type == marey.DeviceType.CPU
    assert int(mm.device_type) == 0
    assert mm.stack == []
    assert not mm.is_async
    assert not mm.is_remote
    assert mm.cpu_time_total_str == "100.000us"
    assert mm.event is not None
    assert mm.event.name == "aten::mm"
    op = next(e for e in events if e.name == "k")
    assert op.device_type == marey.DeviceType.CUDA
    assert op.self_device_time_total == op.device_time_total == 8.5
    assert op.use_device == mm.use_device == "cuda"


def test_a_begin_without_end_is_asynchronous() -> None:
    op = {"cat": "cpu_op", "pid": 1, "tid": 2}
    records = [
        {"ph": "X", "name": "before", "ts": 0, "dur": 5, **op},
        {"ph": "B", "name": "open", "ts": 10, **op},
        {"ph": "X", "name": "inside", "ts": 20, "dur": 5, **op},
    ]
    events = marey.load(json.dumps({"traceEvents": records}).encode()).view(compat="torch").events()
    assert [(e.name, e.is_async, e.cpu_parent) for e in events] == [
        ("before", False, None), ("open", True, None), ("inside", False, None),
    ]  # fmt: skip
    is_open = events[1]
    assert (is_open.cpu_time_total, is_open.self_cpu_time_total) == (15.0, 0.0)
    assert is_open.cpu_children == []


def test_averages_have_torchs_members() -> None:
    rows = {row.key: row for row in view().key_averages()}
    assert rows["aten::mm"].count == 1
    assert rows["aten::mm"].cpu_time_total == 100.0
    assert rows["aten::mm"].input_shapes == ""
    assert rows["aten::add"].cpu_parent is not None
    assert rows["k"].device_time == 8.5
    by_shape = {row.key: row for row in view().key_averages(group_by_input_shape=True)}
    assert by_shape["aten::mm"].input_shapes == [[2, 3], [3, 4]]


def test_the_sum_is_that_of_the_table() -> None:
    averages = view().key_averages()
    last = averages.table().splitlines()[-2]
    assert last == f"Self CPU time total: {averages.self_cpu_time_total:.3f}us"
    assert view().events().self_cpu_time_total == averages.self_cpu_time_total


def test_what_is_told_is_kept() -> None:
    trace = marey.load(document([Record("a", 0, 10)]))
    options = trace.view(version="2.13.0+cpu", profile_memory=True, with_flops=False).options
    assert options[:3] == ("2.13", True, False)
    assert trace.view(include_python_functions=False).options.include_python_functions is False


def test_an_unknown_metric_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="self_gpu"):
        view().events().export_stacks(tmp_path / "out", "self_gpu")
    assert not (tmp_path / "out").exists()


def test_a_negative_width_is_a_value_error() -> None:
    """In torch it cuts names from their end, and the columns no longer meet."""
    with pytest.raises(ValueError, match="-1"):
        view().key_averages().table(max_name_column_width=-1)


def test_a_negative_row_limit_is_all_rows() -> None:
    rows = view().key_averages()
    assert rows.table(row_limit=-5) == rows.table(row_limit=-1) == rows.table(row_limit=None)
    assert rows.table(row_limit=inf) == rows.table(row_limit=None)


@pytest.mark.parametrize("error", [ValueError, AttributeError])
def test_an_unknown_sort_key_is_torchs_error_and_ours(error: type[Exception]) -> None:
    for rows in (view().key_averages(), view().events()):
        with pytest.raises(error, match="no attribute 'nonsense'"):
            rows.table(sort_by="nonsense")
