"""What a profile hands out: its trace, its events, its averages."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from marey._averages import TIME_UNITS, Averages, Grouping, Row, Width, told, torch_limit_of
from marey._columns import all_but
from marey._drop_in import EventsAsTorch, drop_in_row
from marey._events import Events
from marey._torch import STACK_METRICS, EventList, FunctionEventAvg, TorchAverages, stacks_text
from marey._torch_args import torch_version
from marey._trace import Path, Trace
from marey._warn import tell

if TYPE_CHECKING:
    from marey._exports import Export


class SessionStats(NamedTuple):
    """What recording came to."""

    n_records: int
    n_lost: int
    """Records for which there was no room."""
    held_bytes: int
    pool_bytes: int
    """The bound of the recorder's memory."""
    start_ns: int
    """Since the Unix epoch."""
    stop_ns: int | None
    """None while it runs."""
    first_lost_ns: int | None
    """From here on not all was recorded; None: all was."""
    clock_error_ns: int
    """How far a time may be off from the system's clock."""
    n_threads: int
    is_tsc: bool
    """The clock is the time stamp counter, else CLOCK_MONOTONIC."""
    range_cost_ns: int | None
    """Of a begin and its end, measured in a loop at the start; None: not measured."""


class Usage(NamedTuple):
    """Of the stats what takes no look at each record."""

    held_bytes: int
    n_lost: int
    pool_bytes: int
    start_ns: int
    stop_ns: int | None


def add_stats(all_stats: list[SessionStats]) -> SessionStats:
    """Those of several recordings, one after the other, as if they were one."""
    first, last = all_stats[0], all_stats[-1]
    losses = [stats.first_lost_ns for stats in all_stats if stats.first_lost_ns is not None]
    return SessionStats(
        n_records=sum(stats.n_records for stats in all_stats),
        n_lost=sum(stats.n_lost for stats in all_stats),
        held_bytes=sum(stats.held_bytes for stats in all_stats),
        pool_bytes=last.pool_bytes,
        start_ns=first.start_ns,
        stop_ns=last.stop_ns,
        first_lost_ns=min(losses, default=None),
        clock_error_ns=max(stats.clock_error_ns for stats in all_stats),
        n_threads=max(stats.n_threads for stats in all_stats),
        is_tsc=first.is_tsc,
        range_cost_ns=first.range_cost_ns,
    )


def _torchs_width(width: Width) -> int | None:
    """torch has no "..." for its default; None is unlimited."""
    return width if isinstance(width, int) else None


def _as_torch_takes(row_limit: Any, time_unit: Any) -> tuple[Any, Any]:
    """What is an error elsewhere: a limit below 0 is none, and a unit that there is not is that of
    each cell, which is told."""
    if time_unit not in TIME_UNITS:
        tell(f"no time unit {time_unit!r}, each cell has its own: it is one of 'us', 'ms', 's'")
        time_unit = None
    return None if row_limit is None else torch_limit_of(row_limit), time_unit


def _write_stacks(trace: Trace, path: Path, metric: str) -> None:
    trace.view(compat="torch").export_stacks(path, metric)
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        tell(f"no stacks were recorded, so that {os.fspath(path)!r} is empty")


class ProfileAverages(Averages):
    """Averages of a profile: tables are laid out as torch's, with the numbers of Marey."""

    @cached_property
    def _shown_rows(self) -> list[Row]:
        return [self._shown_row(row) for row in self._rows]

    def _shown_row(self, row: Row) -> Row:
        """Those of a drop-in are as torch has them."""
        return drop_in_row(row, self._grouping.by_shape) if self._grouping.join_steps else row

    def total_average(self) -> Row:
        """All rows added up, see Averages.total_average."""
        return self._shown_row(super().total_average())

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int | None = 100,
        max_src_column_width: Width = 75,
        max_name_column_width: Width = 55,
        max_shapes_column_width: Width = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: Literal["us", "ms", "s"] | None = None,
        layout: Literal["marey", "torch"] = "torch",
        columns: str | Iterable[str] | None = None,
        format: Literal["table", "csv", "json"] = "table",
        compat: Literal["torch"] | None = None,
    ) -> str:
        """The rows as text; see Averages.table. layout: "torch", or "marey" for its own.
        compat="torch": torch's own table, with torch's numbers; it takes only torch's arguments."""
        if compat is not None:
            return self._torchs().table(
                sort_by=sort_by,
                row_limit=row_limit,
                max_src_column_width=_torchs_width(max_src_column_width),
                max_name_column_width=_torchs_width(max_name_column_width),
                max_shapes_column_width=_torchs_width(max_shapes_column_width),
                header=header,
                top_level_events_only=top_level_events_only,
                time_unit=time_unit,
            )
        if self._grouping.join_steps:
            row_limit, time_unit = _as_torch_takes(row_limit, time_unit)
        rest: tuple[Any, ...] = (
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
            layout,
            columns,
            format,
        )
        try:
            return super().table(sort_by, *rest)
        except ValueError:
            if sort_by is None or not self._is_torchs_key(sort_by):
                raise
        text = super().table(None, *rest)
        order = "start" if self._grouping.by_event else "the time of devices, or of CPUs where there is none"
        is_recorded = "memory" not in sort_by and sort_by not in ("flops", "stack")
        why = "by which its rows have no order" if is_recorded else "which is not recorded"
        tell(f"the table is not sorted by '{sort_by}', {why}: it is sorted by {order}")
        return text

    def supported_export_stacks_metrics(self) -> list[str]:
        return list(STACK_METRICS)

    def export_stacks(self, path: Path, metric: str) -> None:
        """Write one line for each row that has a stack, see key_averages(group_by_stack_n=...)."""
        text = stacks_text(self, metric)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def __mul__(self, n: int) -> list[Row]:
        return list(self) * n

    __rmul__ = __mul__

    def _is_torchs_key(self, sort_by: str) -> bool:
        """A drop-in takes what a row of torch's has, also where there is no such column here."""
        for device in ("cuda", "xpu", "privateuse1"):
            sort_by = sort_by.replace(device, "device")
        of_row = getattr(FunctionEventAvg, sort_by, None)
        return self._grouping.join_steps and isinstance(of_row, property)

    def _torchs(self) -> TorchAverages | EventList:
        by = self._grouping
        if self._trace is None:
            raise ValueError(
                'compat="torch": of the cycles that were let go only our own averages are left, a'
                " larger keep_bytes keeps more"
            )
        view = self._trace.view(compat="torch", version=torch_version())
        if by.by_event:
            return view.events()
        return view.key_averages(by.by_shape, by.by_stack, by.by_overload)


class ProfileEvents(Events):
    """The events of a profile."""

    __slots__ = ()

    _joins_steps = False

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> ProfileAverages:
        """Averages by name, and by what else is asked for."""
        grouping = Grouping.asked(
            group_by_input_shapes,
            group_by_stack_n,
            group_by_overload_name,
            include_python_functions,
            join_steps=self._joins_steps,
        )
        return told(ProfileAverages(self._trace, grouping))

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of their self times, in microseconds."""
        return self.key_averages(include_python_functions=True).self_cpu_time_total

    def total_average(self) -> Row:
        """All of them added up, under the key "Total"."""
        return self.key_averages(include_python_functions=True).total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """A row for each of them, in order of their starts, with shapes where they were recorded;
        the arguments are those of the averages' table."""
        grouping = Grouping(
            by_shape=True, include_python=True, join_steps=self._joins_steps, by_event=True
        )
        return ProfileAverages(self._trace, grouping).table(*args, **kwargs)

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: Path) -> None:
        """Write the trace that they are of, as Chrome JSON."""
        self._trace.export_chrome_trace(path, overwrite=True)

    def export_stacks(self, path: Path, metric: str = "self_cpu_time_total") -> None:
        """Write one line a stack, as torch does: for flame graphs. Without stacks an empty file,
        which is told."""
        _write_stacks(self._trace, path, metric)

    def supported_export_stacks_metrics(self) -> list[str]:
        return list(STACK_METRICS)


class DropInEvents(EventsAsTorch, ProfileEvents):
    """The events of a drop-in for torch's profiler."""

    __slots__ = ()

    _joins_steps = True


class Results(ABC):
    """What one or more recordings came to.

    Members of it and of profilers that are their own begin with _marey: a class of the program that
    is derived from them, as from torch's, has names of its own.
    """

    _marey_joins_steps = False

    @abstractmethod
    def _marey_trace_now(self) -> Trace:
        """Of what is shown; while it is recorded, of what there is so far."""

    def _marey_averages_now(self, grouping: Grouping) -> ProfileAverages:
        return ProfileAverages(self._marey_trace_now(), grouping)

    @property
    def trace(self) -> Trace:
        """What was recorded; while it is, what there is so far."""
        return self._marey_trace_now()

    def events(self) -> ProfileEvents:
        """All that was recorded, track by track, in order of its start."""
        trace = self._marey_trace_now()
        events = DropInEvents if self._marey_joins_steps else ProfileEvents
        return events(trace, all_but(trace._kinds, "window"))

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> ProfileAverages:
        """Averages by name, and by what else is asked for."""
        grouping = Grouping.asked(
            group_by_input_shape,
            group_by_stack_n,
            group_by_overload_name,
            include_python_functions,
            join_steps=self._marey_joins_steps,
        )
        return told(self._marey_averages_now(grouping))

    def export_chrome_trace(
        self,
        path: Path,
        overwrite: bool = True,
        use_python_export: bool = False,
        *,
        repair: bool = False,
        scrub: bool = False,
        background: bool = False,
        timeout_s: float | None = None,
    ) -> Export | None:
        """Write Chrome JSON in Kineto's schema, gzip if path ends in ".gz".

        The file appears complete or not at all. As torch does, it takes the place of an
        earlier one, unless overwrite is false. use_python_export is torch's, whose handler
        for TensorBoard hands it over; there is one exporter here. What was recorded stays:
        it may be written many times, also from on_trace_ready. repair, scrub,
        background and timeout_s: see Trace.export_chrome_trace.
        """
        return self._marey_trace_now().export_chrome_trace(
            path,
            overwrite,
            repair=repair,
            scrub=scrub,
            background=background,
            timeout_s=timeout_s,
        )

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write one line a stack, as torch does: for flame graphs. Without stacks an empty file,
        which is told."""
        _write_stacks(self._marey_trace_now(), path, metric)
