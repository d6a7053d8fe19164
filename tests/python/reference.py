"""The slow way, by other means than the core's sweep: for every elementary interval between
two borders look at all slices of the track."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

KIND_ORDER = {
    "user_annotation": 1,
    "python_function": 2,
    "cpu_op": 3,
    "cuda_runtime": 4,
    "cuda_driver": 4,
}


class Interval(NamedTuple):
    start: int
    end: int
    kind: str
    name: str
    external_id: int


def order(interval: Interval) -> tuple[int, int, int, bytes, int]:
    """Outermost first: earlier start, later end, kind, name, External id."""
    rank = KIND_ORDER.get(interval.kind, 3)
    return (
        interval.start,
        -interval.end,
        rank,
        interval.name.encode(),
        interval.external_id,
    )


def is_tied(a: Interval, b: Interval) -> bool:
    """Times do not tell which is around the other, but ids may: of what is that long at all."""
    return (
        a[:3] == b[:3] and a.start < a.end and a.kind in ("cpu_op", "user_annotation")
    )


def in_order(intervals: Sequence[Interval]) -> list[Interval]:
    """By `order`, but what is tied by the ids that the profiler gave, where each has one."""
    ordered = sorted(intervals, key=order)
    groups: list[list[Interval]] = []
    for interval in ordered:
        if groups and is_tied(groups[-1][-1], interval):
            groups[-1].append(interval)
        else:
            groups.append([interval])
    for group in groups:
        if all(0 <= interval.external_id < 2**63 for interval in group):
            group.sort(key=lambda interval: interval.external_id)
    return [interval for group in groups for interval in group]


def is_open(interval: Interval, at: int) -> bool:
    """Half-open: a slice of length 0 is never open."""
    return interval.start <= at < interval.end


def parents(intervals: Sequence[Interval]) -> list[int | None]:
    """Of each of the intervals, which are in order, the innermost that is open where it
    begins."""
    return [
        max((j for j in range(i) if is_open(intervals[j], intervals[i].start)), default=None)
        for i in range(len(intervals))
    ]


def self_times(intervals: Sequence[Interval]) -> list[int]:
    """Each instant belongs to the innermost open slice."""
    borders = sorted({edge for interval in intervals for edge in (interval.start, interval.end)})
    times = [0] * len(intervals)
    for begin, end in zip(borders, borders[1:]):
        is_in = [i for i, interval in enumerate(intervals) if is_open(interval, begin)]
        if is_in:
            times[is_in[-1]] += end - begin
    return times


def union(spans: Sequence[tuple[int, int]]) -> int:
    """The measure of the union of (start, end) pairs."""
    total = 0
    reach = None
    for start, end in sorted(spans):
        if reach is None or start > reach:
            total += end - start
            reach = end
        elif end > reach:
            total += end - reach
            reach = end
    return total
