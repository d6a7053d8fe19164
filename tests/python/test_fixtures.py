"""Tiny inputs with right answers: tests/data/fixtures/expected.json says what each file
must come to. A key that no function below computes is of an analysis that does not exist
yet.

Keys: `rows` are all slices with parent and track; `by_name` and `top_level` host rows by
name; `owner` the launch of each operation; `owned`, `owned_total` device time by op;
`law_checks` sums over the whole trace; `quarantined`, `repaired`, `findings` the whole
ledger, `info` a part of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import reference
from conftest import DATA

import marey

FOLDER = DATA / "fixtures"
CASES: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))
DEVICE_KINDS = {"kernel", "memcpy", "memset"}

SCOPE = list(CASES)


def load(case: dict[str, Any]) -> marey.Trace:
    names = case["file"] if isinstance(case["file"], list) else [case["file"]]
    return marey.load([FOLDER / name for name in names], check="all")


# ---- what a trace says, in the words of expected.json -----------------------------------------


def place(event: marey.Event | None) -> str | None:
    return None if event is None else f"{event.name or '?'}@{event.start_ns}"


def device_operations(trace: marey.Trace) -> list[marey.Event]:
    return [event for event in trace.events() if event.kind in DEVICE_KINDS]


def union(events: Iterable[marey.Event]) -> int:
    return reference.union([(e.start_ns, e.end_ns) for e in events if e.end_ns is not None])


def rows(trace: marey.Trace) -> list[dict[str, Any]]:
    return [
        {
            "name": event.name,
            "start_ns": event.start_ns,
            "dur_ns": event.dur_ns,
            "self_ns": event.self_ns,
            "parent": place(event.parent),
            "track": event.track.label,
        }
        for event in trace.events()
    ]


def tracks(trace: marey.Trace) -> dict[str, Any]:
    return {
        track.label: {"slices": track.n_slices, "union_ns": union(track.events())}
        for track in trace.tracks
        if track.n_slices > 0
    }


def law_checks(trace: marey.Trace) -> dict[str, int]:
    averages = trace.key_averages(include_python_functions=True)
    owned = sum(row.device_self_ns or 0 for row in averages if not row.is_device)
    return {
        "self_sum_ns": sum(event.self_ns or 0 for event in trace.events()),
        "union_ns": sum(union(track.events()) for track in trace.tracks),
        "device_sum_ns": sum(event.dur_ns or 0 for event in device_operations(trace)),
        "owned_plus_unowned_ns": owned + (averages.totals.unowned_ns or 0),
    }


def host_rows(trace: marey.Trace, **grouping: bool) -> dict[str, dict[str, int | None]]:
    averages = trace.key_averages(include_python_functions=True, **grouping)
    return {
        str(row.key): {"calls": row.count, "total_ns": row.total_ns, "self_ns": row.self_ns}
        for row in averages
        if not row.is_device
    }


def top_level(trace: marey.Trace) -> dict[str, dict[str, int | None]]:
    found = host_rows(trace, top_level_events_only=True)
    return {
        name: {"calls": row["calls"], "total_ns": row["total_ns"]} for name, row in found.items()
    }


def shares(trace: marey.Trace) -> dict[str, float | None]:
    table = json.loads(trace.key_averages(include_python_functions=True).table(format="json"))
    return {
        row["name"]: None if row["self_percent"] is None else round(row["self_percent"], 2)
        for row in table["rows"]
    }


def devices(trace: marey.Trace) -> dict[str, dict[str, int]]:
    found: dict[str, list[marey.Event]] = {}
    for event in device_operations(trace):
        found.setdefault(f"r{event.track.rank} d{event.track.device}", []).append(event)
    table = {
        name: {
            "ops": len(events),
            "busy_ns": union(events),
            "sum_ns": sum(event.dur_ns or 0 for event in events),
            "raw_sum_ns": sum(event.raw_dur_ns or 0 for event in events),
        }
        for name, events in found.items()
    }
    totals = trace.key_averages().totals
    assert totals.device_busy_ns == sum(row["busy_ns"] for row in table.values())
    assert totals.device_sum_ns == sum(row["sum_ns"] for row in table.values())
    assert totals.n_devices == len(table)
    return table


def counted(pairs: Iterable[tuple[str, int]]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for name, dur_ns in pairs:
        row = table.setdefault(name, {"count": 0, "sum_ns": 0})
        row["count"] += 1
        row["sum_ns"] += dur_ns
    return table


def kernels(trace: marey.Trace) -> dict[str, dict[str, int | None]]:
    return {
        str(row.key): {"count": row.count, "sum_ns": row.total_ns}
        for row in trace.key_averages()
        if row.is_device
    }


def kernels_of(trace: marey.Trace) -> dict[str, dict[str, int]]:
    return counted(
        (str(event.owner.name), event.dur_ns or 0)
        for event in device_operations(trace)
        if event.owner is not None
    )


def graph_nodes(trace: marey.Trace) -> dict[str, dict[str, int]]:
    return counted(
        (str(event.args["graph node id"]), event.dur_ns or 0)
        for event in device_operations(trace)
        if "graph node id" in event.args
    )


def owned(trace: marey.Trace) -> dict[str, int]:
    averages = trace.key_averages(include_python_functions=True)
    return {str(row.key): row.device_self_ns for row in averages if row.device_self_ns}


def owned_total(trace: marey.Trace) -> dict[str, int]:
    averages = trace.key_averages(include_python_functions=True)
    return {str(row.key): row.device_total_ns for row in averages if row.device_total_ns}


def unknown(trace: marey.Trace) -> list[str]:
    found = []
    for event in trace.events():
        for name in ("name", "dur_ns"):
            if getattr(event, name) is None:
                found.append(f"{place(event)}.{name}")
    return sorted(found)


def async_spans(trace: marey.Trace) -> list[dict[str, Any]]:
    return [
        {"name": span.name, "id": span.id, "start_ns": span.start_ns, "dur_ns": span.dur_ns}
        for span in trace.async_spans()
    ]


def counts(trace: marey.Trace) -> dict[str, int]:
    found = dict(trace.counts)
    found.pop("slices")
    return found


def syncs(trace: marey.Trace) -> dict[str, int]:
    events = [e for track in trace.tracks if track.kind == "stream_sync" for e in track.events()]
    return {name: row["sum_ns"] for name, row in counted((str(e.name), e.dur_ns or 0)
                                                        for e in events).items()}


def launch_delay(trace: marey.Trace) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for event in device_operations(trace):
        delay = None if event.launch is None else event.start_ns - event.launch.start_ns
        found[str(place(event))] = None if delay is None or delay < 0 else delay
    return found


def args(trace: marey.Trace, wanted: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of the slices and keys that are asked for."""
    events = {str(place(event)): event.args for event in trace.events()}
    return {name: {key: events[name].get(key) for key in keys} for name, keys in wanted.items()}


def clock(trace: marey.Trace) -> dict[str, dict[str, int]]:
    return {
        f"r{bound.rank} d{bound.device}": {
            name: ns for name, ns in bound._asdict().items()
            if name.endswith("_ns") and ns is not None
        }
        for bound in trace.clock_bounds()
    }


def ranks(trace: marey.Trace) -> dict[str, Any]:
    cut = {trace.sources[offset >> 48].rank for row in trace.ledger.rows
           if row.reason == "truncated" for offset in row.examples}
    there = {source.rank for source in trace.sources}
    expected = max(source.world_size or 1 for source in trace.sources)
    assert trace.ledger["findings"].get("missing_ranks", 0) == expected - len(there)
    return {
        "expected": expected,
        "whole": sorted(there - cut),
        "cut": sorted(cut),
        "missing": sorted(set(range(expected)) - there),
    }


COMPUTED: dict[str, Callable[[marey.Trace], Any]] = {
    "slices": lambda trace: len(trace.events()),
    "rows": rows,
    "names": lambda trace: sorted({str(event.name) for event in trace.events()}),
    "tracks": tracks,
    "law_checks": law_checks,
    "by_name": host_rows,
    "top_level": top_level,
    "shares": shares,
    "kernels": kernels,
    "kernels_of": kernels_of,
    "graph_nodes": graph_nodes,
    "owner": lambda trace: {place(e): place(e.launch) for e in device_operations(trace)},
    "owned": owned,
    "owned_total": owned_total,
    "unowned_ns": lambda trace: trace.key_averages().totals.unowned_ns,
    "unknown": unknown,
    "async_spans": async_spans,
    "counts": counts,
    "syncs": syncs,
    "clock": clock,
    "ranks": ranks,
    "launch_delay": launch_delay,
    "meta": lambda trace: {key: trace.metadata.get(key) for key in ("note",)},
    "quarantined": lambda trace: trace.ledger["quarantined"],
    "repaired": lambda trace: trace.ledger["repaired"],
    "findings": lambda trace: trace.ledger["findings"],
}

LATER = {
    "launches", "classes", "notes", "rank_clock", "steps", "memory",
    "collectives", "setup", "waits", "typical", "scope", "stacks",
}  # fmt: skip
"""Keys of analyses that do not exist yet."""

LATER_INFO = {"born_before"}
"""Counts of such analyses."""

OTHERWISE = {"args", "loads", "exit", "device", "info", "order", "track_names"}
"""Keys that tests of their own look at; `exit` is that of `marey doctor`."""


def canonical(value: Any) -> Any:
    """Lists of rows are compared as sets of rows."""
    if isinstance(value, list):
        return Counter(json.dumps(item, sort_keys=True) for item in value)
    return value


def cases_with(key: str) -> list[str]:
    return [name for name in SCOPE if key in CASES[name]["expect"]]


@pytest.mark.parametrize("name", SCOPE)
def test_answers_are_right(name: str) -> None:
    expect = CASES[name]["expect"]
    if not expect["loads"]:
        with pytest.raises(marey.FormatError):
            load(CASES[name])
        return
    trace = load(CASES[name])
    assert trace.law_checks() == law_checks(trace)
    for key, value in expect.items():
        if key in COMPUTED:
            assert canonical(COMPUTED[key](trace)) == canonical(value), key
        else:
            assert key in LATER or key in OTHERWISE
    if "args" in expect:
        assert args(trace, expect["args"]) == expect["args"]
    if "unknown" not in expect:
        assert unknown(trace) == []


@pytest.mark.parametrize("name", cases_with("device"))
def test_device_times_are_right(name: str) -> None:
    ours = devices(load(CASES[name]))
    for device, values in CASES[name]["expect"]["device"].items():
        for key in ours[device].keys() & values.keys():
            assert ours[device][key] == values[key], (device, key)


@pytest.mark.parametrize("name", cases_with("info"))
def test_what_is_normal_is_counted(name: str) -> None:
    info = load(CASES[name]).ledger["info"]
    for reason, count in CASES[name]["expect"]["info"].items():
        if reason not in LATER_INFO:
            assert info[reason] == count


@pytest.mark.parametrize("name", cases_with("track_names"))
def test_the_first_name_of_a_thread_stands(name: str) -> None:
    names = {track.label: track.thread_name for track in load(CASES[name]).tracks}
    for label, all_names in CASES[name]["expect"]["track_names"].items():
        assert names[label] == all_names[0]


@pytest.mark.parametrize("name", cases_with("order"))
def test_rows_are_sorted(name: str) -> None:
    averages = load(CASES[name]).key_averages()
    for key, names in CASES[name]["expect"]["order"].items():
        column, way = key.split()
        sort = ("-" if way == "down" else "+") + column.removesuffix("_ns")
        table = json.loads(averages.table(sort_by=sort, format="json"))
        assert [row["name"] for row in table["rows"]] == names


def test_every_case_is_known() -> None:
    files = {file for case in CASES.values()
             for file in ([case["file"]] if isinstance(case["file"], str) else case["file"])}
    assert files == {path.name for path in Path(FOLDER).iterdir()} - {"expected.json"}
