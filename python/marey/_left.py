"""What is left of a cycle whose records were let go: its averages, once for each way to group them.

Averages of a coarser key are not sums of those of a finer one (recursion counts once within a
key), so that each grouping that gives other rows is kept for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

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


class Left:
    """Of one cycle."""

    def __init__(
        self,
        trace: Trace,
        stats: SessionStats,
        usage: Usage,
        has_inputs: bool,
        joins_steps: bool,
    ) -> None:
        self.stats = stats
        self.usage = usage
        self._has_inputs = has_inputs
        self._averages: dict[Grouping, ProfileAverages] = {}
        for by_shape in (False, True) if has_inputs else (False,):
            for top_level in (False, True):
                grouping = Grouping(by_shape, top_level=top_level, join_steps=joins_steps)
                averages = ProfileAverages(trace, grouping)
                self._averages[grouping] = ProfileAverages.joined([averages], grouping)

    def _parts(self, grouping: Grouping) -> list[ProfileAverages]:
        return [self._averages[grouping]]

    def averages(self, grouping: Grouping) -> ProfileAverages:
        return joined(grouping, self._parts, self._has_inputs)
