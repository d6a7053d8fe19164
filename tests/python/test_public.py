"""Real traces of others, and what two independent algorithms found in them: every figure of
golden.json about windows, unions and counts, to the nanosecond.

MAREY_PUBLIC_TRACES names the folder, which is not a part of the project; without it nothing
here runs. Shares and the split of idle times by cause belong to analyses that do not exist yet.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import reference

import marey

if "MAREY_PUBLIC_TRACES" not in os.environ:
    pytest.skip("MAREY_PUBLIC_TRACES is not set", allow_module_level=True)

FOLDER = Path(os.environ["MAREY_PUBLIC_TRACES"])
GOLDEN: dict[str, dict[str, Any]] = {
    name: figures
    for name, figures in json.loads((FOLDER / "golden.json").read_text("utf-8")).items()
    if not name.startswith("_") and "memory_timeline" not in name  # which is no trace
}


class Operation:
    """A device operation, from the columns."""

    __slots__ = ("end", "kind", "name", "start", "stream")

    def __init__(self, kind: str, name: str | None, stream: int, start: int, end: int) -> None:
        self.kind, self.name, self.stream = kind, name, stream
        self.start, self.end = start, end


@lru_cache(maxsize=1)
def load(name: str) -> marey.Trace:
    return marey.load(FOLDER / name)


def operations(trace: marey.Trace) -> dict[int, list[Operation]]:
    """By device."""
    columns, strings = trace.columns(), trace.strings
    kinds = {marey._core.KINDS.index(kind): kind for kind in ("kernel", "memcpy", "memset")}
    found: dict[int, list[Operation]] = defaultdict(list)
    tracks = trace.tracks
    rows = zip(*(columns[key] for key in ("kind", "name_id", "track", "start_ns", "dur_ns")), strict=True)
    for kind, name_id, track, start, dur in rows:
        if kind in kinds:
            device = tracks[track].device
            found[device].append(Operation(kinds[kind], strings[name_id], track, start, start + dur))
    return found


def union(found: Iterable[Operation]) -> int:
    return reference.union([(one.start, one.end) for one in found])


def overlaps(found: list[Operation]) -> int:
    """Pairs of neighbours on a stream of which the second begins before all others end."""
    count = 0
    ends: dict[int, int] = {}
    for one in sorted(found, key=lambda one: (one.start, one.end)):
        count += one.start < ends.get(one.stream, one.start)
        ends[one.stream] = max(one.end, ends.get(one.stream, one.end))
    return count


DEVICE: dict[str, Callable[[list[Operation]], int]] = {
    "window_ns": lambda found: max(one.end for one in found) - min(one.start for one in found),
    "busy_ns": union,
    "sum_of_durations_ns": lambda found: sum(one.end - one.start for one in found),
    "memops_ns": lambda found: union(one for one in found if one.kind != "kernel"),
    "streams": lambda found: len({one.stream for one in found}),
    "same_stream_overlaps": overlaps,
    "kernels": lambda found: sum(one.kind == "kernel" for one in found),
    "distinct_kernel_names": lambda found: len({one.name for one in found if one.kind == "kernel"}),
    "kernels_shorter_than_10us": lambda found: sum(
        one.kind == "kernel" and one.end - one.start < 10_000 for one in found
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_windows_and_unions(name: str) -> None:
    golden = GOLDEN[name]
    found = operations(load(name))
    assert sum(map(len, found.values())) == golden["gpu_ops"]
    got = {str(device): {key: of(ops) for key, of in DEVICE.items()} for device, ops in found.items()}
    want = {device: {key: figures[key] for key in DEVICE} for device, figures in golden["devices"].items()}
    assert got == want


@pytest.mark.parametrize("name", GOLDEN)
def test_counts_of_records(name: str) -> None:
    golden, trace = GOLDEN[name], load(name)
    columns = trace.columns()
    window = marey._core.KINDS.index("window")  # the profiler's own span is not counted there
    assert sum(kind != window for kind in columns["kind"]) == golden["complete_events"]
    # In 2021 a step was an operator.
    of_host = {marey._core.KINDS.index(kind) for kind in ("annotation", "op")}
    steps = [
        {"name": trace.strings[name_id], "dur_ns": dur}
        for kind, name_id, dur in zip(columns["kind"], columns["name_id"], columns["dur_ns"], strict=True)
        if kind in of_host and trace.strings[name_id].startswith("ProfilerStep#")
    ]
    assert steps == golden["host_profiler_steps"]


@pytest.mark.parametrize("name", GOLDEN)
def test_launches(name: str) -> None:
    golden, trace = GOLDEN[name], load(name)
    calls = {marey._core.KINDS.index(kind) for kind in ("runtime", "driver")}
    columns = trace.columns()
    counts = Counter(
        trace.strings[name_id]
        for kind, name_id in zip(columns["kind"], columns["name_id"], strict=True)
        if kind in calls
    )
    assert {key: counts[key] for key in golden["launch_calls"]} == golden["launch_calls"]
    links = trace.columns("links")
    tracks, kinds = trace.tracks, columns["kind"]
    orphans: Counter[str] = Counter()
    of_operations = {marey._core.KINDS.index(kind) for kind in ("kernel", "memcpy", "memset")}
    for index, launch in zip(links["slice_idx"], links["launch"], strict=True):
        if kinds[index] in of_operations:
            orphans[str(tracks[columns["track"][index]].device)] += launch == marey._trace.NONE
    want = {device: figures["gpu_ops_without_launch"] for device, figures in golden["devices"].items()}
    assert {device: orphans[device] for device in want} == want
