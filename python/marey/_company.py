"""What a process recorded, and what its worker processes did meanwhile."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from marey._averages import Grouping
from marey._left import Parts, joined
from marey._results import ProfileAverages, Results

if TYPE_CHECKING:
    from marey._trace import Trace
    from marey._windows import Windows


class Company(Results):
    """Recordings, shown with what workers did in them."""

    windows: Windows
    """Of the profile; it has the workers too."""
    _has_inputs: bool

    @property
    @abstractmethod
    def recording_numbers(self) -> list[int]: ...

    @property
    @abstractmethod
    def whole_numbers(self) -> list[int]:
        """Of the recordings whose records are still held."""

    @property
    @abstractmethod
    def are_whole(self) -> bool:
        """They all are."""

    @abstractmethod
    def own_trace(self) -> Trace:
        """Of this process alone."""

    @abstractmethod
    def own_averages(self, grouping: Grouping) -> ProfileAverages: ...

    @abstractmethod
    def own_parts(self) -> Parts:
        """The same in parts, some of which may have nothing left but averages. What is asked of it
        later is of the same records."""

    def _marey_trace_now(self) -> Trace:
        trace, workers = self.own_trace(), self.windows.workers
        if workers is None:
            return trace
        workers.tell_missing()
        return workers.join(trace, self.whole_numbers)

    def _trace_if_whole(self) -> Trace | None:
        """None: something was let go, if only by another thread's step() just now."""
        if not self.are_whole:
            return None
        try:
            trace = self._marey_trace_now()
        except RuntimeError:
            if self.are_whole:
                raise
            return None
        return trace if self.are_whole else None

    def _marey_averages_now(self, grouping: Grouping) -> ProfileAverages:
        workers = self.windows.workers
        if workers is None:
            return self.own_averages(grouping)
        if not workers.files(self.recording_numbers):
            workers.tell_missing()
            return self.own_averages(grouping)
        trace = self._trace_if_whole()
        if trace is not None:
            return ProfileAverages(trace, grouping)
        workers.tell_missing()
        own, trace = self.own_parts(), workers.trace(self.recording_numbers)

        def parts(grouping: Grouping) -> list[ProfileAverages]:
            of_workers = [] if trace is None else [ProfileAverages(trace, grouping)]
            return own(grouping) + of_workers

        return joined(grouping, parts, self._has_inputs)
