"""One piece of work recorded by torch.profiler and by Marey, as lists that can be compared."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

import marey

KINDS = ("op", "annotation")


class Recorded(NamedTuple):
    """What both profilers must agree on."""

    depth: int
    name: str | None
    category: str | None
    parent: str | None
    dims: Any
    strides: Any
    types: Any
    concrete: Any
    sequence: int | None
    forward_thread: int | None


def _depth(event: marey.Event) -> int:
    parent = event.parent
    return 0 if parent is None or parent.kind not in KINDS else 1 + _depth(parent)


def _types(types: Any) -> Any:
    """torch leaves the type of a device empty; Marey tells it."""
    return types and ["" if name == "Device" else name for name in types]


def threads_of(trace: marey.Trace) -> list[list[Recorded]]:
    """The events of each thread in order of their start; sequence numbers count from the
    first of the recording."""
    events = [event for event in trace.events() if event.kind in KINDS]
    args = {event: args for event, args in zip(trace.events(), trace.events().args(), strict=True)}
    numbers = [args[event]["Sequence number"] for event in events if "Sequence number" in args[event]]
    first = min(numbers, default=0)
    threads: dict[marey.Track, list[Recorded]] = {}
    for event in events:
        given = args[event]
        parent = event.parent
        sequence = given.get("Sequence number")
        threads.setdefault(event.track, []).append(
            Recorded(
                _depth(event),
                event.name,
                event.category,
                parent.name if parent is not None and parent.kind in KINDS else None,
                given.get("Input Dims"),
                given.get("Input Strides"),
                _types(given.get("Input type")),
                given.get("Concrete Inputs"),
                None if sequence is None else sequence - first,
                given.get("Fwd thread id"),
            )
        )
    return sorted(threads.values(), key=repr)


def by_torch(work: Callable[[], Any], **options: Any) -> marey.Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "torch.json"
        activities = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=activities, **options) as prof:
            work()
        prof.export_chrome_trace(str(path))
        return marey.load(path.read_bytes())


def by_marey(work: Callable[[], Any], **options: Any) -> marey.Trace:
    with marey.profile(**options) as prof:
        work()
    return prof.trace


def warm(work: Callable[[], Any], n: int = 2) -> Callable[[], Any]:
    """What happens only once must have happened; nothing is collected while one records."""
    for _ in range(n):
        work()
    gc.collect()
    return work
