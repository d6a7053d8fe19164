"""What is left of a cycle whose records were let go: its averages, once for each way to group them.

Averages of a coarser key are not sums of those of a finer one (recursion counts once within a
key), so that each grouping that gives other rows is kept for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from marey._averages import Grouping
from marey._results import ProfileAverages, SessionStats, Usage

if TYPE_CHECKING:
    from marey._trace import Trace


def grouping_of_recordings(grouping: Grouping, has_inputs: bool) -> Grouping:
    """The plainest grouping with the same rows for what we record: there are no stacks, names of
    overloads or Python functions in it, and shapes only where they were asked for."""
    return Grouping(
        by_shape=grouping.by_shape and has_inputs,
        top_level=grouping.top_level,
        join_steps=grouping.join_steps,
    )


Parts: TypeAlias = "Callable[[Grouping], list[ProfileAverages]]"
"""From a grouping to the averages of each span."""


def joined(grouping: Grouping, parts: Parts, has_inputs: bool) -> ProfileAverages:
    """Averages of spans one after another, as those of one."""
    return ProfileAverages.joined(
        parts(grouping_of_recordings(grouping, has_inputs)),
        grouping,
        lambda other: joined(other, parts, has_inputs),
    )


class LeftAverages:
    """Of one cycle, or of several added up. It does not change."""

    def __init__(self, each: dict[Grouping, ProfileAverages], has_inputs: bool) -> None:
        self._each = each
        self._has_inputs = has_inputs

    @classmethod
    def of_trace(cls, trace: Trace, has_inputs: bool, joins_steps: bool) -> LeftAverages:
        each = {}
        for by_shape in (False, True) if has_inputs else (False,):
            for top_level in (False, True):
                grouping = Grouping(by_shape, top_level=top_level, join_steps=joins_steps)
                averages = ProfileAverages(trace, grouping)
                each[grouping] = ProfileAverages.joined([averages], grouping)
        return cls(each, has_inputs)

    @classmethod
    def sum(cls, all_averages: Sequence[LeftAverages]) -> LeftAverages:
        """Of one or more cycles, recorded alike."""
        first = all_averages[0]
        each = {
            grouping: ProfileAverages.joined([of._each[grouping] for of in all_averages], grouping)
            for grouping in first._each
        }
        return cls(each, first._has_inputs)

    def parts(self, grouping: Grouping) -> list[ProfileAverages]:
        return [self._each[grouping]]

    def averages(self, grouping: Grouping) -> ProfileAverages:
        return joined(grouping, self.parts, self._has_inputs)


class Left(NamedTuple):
    """Of one cycle."""

    stats: SessionStats
    averages: LeftAverages | None
    """None: they were added to those of other cycles."""

    @property
    def usage(self) -> Usage:
        return Usage(*(getattr(self.stats, name) for name in Usage._fields))


class Older(NamedTuple):
    """The first cycles of a profile, when so many were let go that not each keeps its own averages: a
    program that runs for weeks grows by what Cycle.forget_averages leaves of each, some numbers."""

    n_cycles: int = 0
    averages: LeftAverages | None = None

    def plus(self, averages: Sequence[LeftAverages]) -> Older:
        """With those of the next cycles."""
        parts = [*averages] if self.averages is None else [self.averages, *averages]
        return Older(self.n_cycles + len(averages), LeftAverages.sum(parts))
