"""torch's own view of a trace: FunctionEvents, averages and tables as torch.profiler has
them, with its rules and its text instead of ours.

Times are floats in microseconds and memory is integers in bytes, as in torch. The lists
are read-only; the objects look into the view when asked.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

from marey import _core
from marey._averages import TIME_UNITS, depth_of, text_or_none, torch_limit_of, torch_width_of
from marey._events import Event, parse_json
from marey._torch_enums import DeviceType
from marey._torch_records import (
    AverageRecord,
    EventRecord,
    Interval,
    Kernel,
    Timed,
    TorchOptions,
)

if TYPE_CHECKING:
    from marey._trace import Trace

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "TorchAverages",
    "TorchView",
]

STACK_METRICS = (
    "self_cpu_time_total",
    "self_cuda_time_total",
    "self_xpu_time_total",
    "self_privateuse1_time_total",
)


NO_SEPARATORS = str.maketrans(" ;\t\n", "____")

OF_SLICE = frozenset({
    "activity_type", "device_resource_id", "event_metadata", "external_id",
    "flow_id", "flow_start", "flow_type", "input_dtypes", "kwinputs", "linked_correlation_id",
    "metadata_json", "python_module_id", "python_parent_id", "scope", "self_cpu_percent",
    "self_cuda_memory_usage", "structured_input_shapes", "structured_input_strides",
    "total_cpu_percent", "total_device_percent",
})  # fmt: skip
"""Attributes of torch's events that are not torch's own view of numbers."""


def stacks_text(rows: Iterable[Any], metric: str) -> str:
    """One line a stack with the metric's microseconds, outermost entry first. Source:
    torch.autograd.profiler_util 2.13. ValueError: no such metric."""
    if metric not in STACK_METRICS:
        raise ValueError(f"no metric '{metric}': it is one of {', '.join(STACK_METRICS)}")
    name = metric if "cpu" in metric else "self_device_time_total"
    lines = []
    for row in rows:
        time_us = int(getattr(row, name) or 0)
        if row.stack and time_us > 0:
            entries = [entry.translate(NO_SEPARATORS) for entry in reversed(row.stack)]
            lines.append(f"{';'.join(entries)} {time_us}\n")
    return "".join(lines)


def value_of(text: Any) -> Any:
    """torch's value of an input, of the text in a trace; None for a tensor and what else has none."""
    if not text:
        return None
    if text in ("inf", "-inf", "nan"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


# ---- events --------------------------------------------------------------------------------------


class FunctionEvent(Timed):
    """One event as torch's events() has it. Compare them by ==: asking twice for the same
    event gives two objects."""

    __slots__ = ("_cached", "_index", "_view")

    def __init__(self, view: TorchView, index: int) -> None:
        self._view = view
        self._index = index
        self._cached: EventRecord | None = None

    @property
    def _record(self) -> EventRecord:
        if self._cached is None:
            self._cached = EventRecord(*self._view._core.event(self._index))
        return self._cached

    @property
    def id(self) -> int:
        """The correlation id; 0 for Python functions."""
        return self._record.id

    @property
    def name(self) -> str:
        return self._record.name_id

    @property
    def trace_name(self) -> str:
        return self._record.trace_name_id

    @property
    def thread(self) -> int:
        """A logical thread from 1; of a device event its stream."""
        return self._record.thread

    @property
    def fwd_thread(self) -> int | None:
        """0: none; None for "[memory]" events, as in torch."""
        is_memory = self._record.slice_idx is None and self.name == "[memory]"
        return None if is_memory else self._record.forward_thread or 0

    @property
    def time_range(self) -> Interval:
        return Interval(self._record.start_us, self._record.end_us)

    @property
    def sequence_nr(self) -> int:
        return self._record.sequence

    @property
    def python_id(self) -> int:
        return self._record.python_id

    @property
    def is_python_function(self) -> bool:
        return self._record.is_python_function

    @property
    def device_index(self) -> int:
        return self._record.device_index

    @property
    def flops(self) -> int | None:
        """None for "[memory]" events, as in torch."""
        is_memory = self._record.slice_idx is None and self.name == "[memory]"
        return None if is_memory else self._record.flops

    @property
    def input_shapes(self) -> list[Any]:
        shapes: list[Any] = parse_json(self._record.shapes_id or "[]")
        return shapes

    @property
    def stack(self) -> list[str]:
        """Innermost first."""
        return self._view._core.stack(self._record.first_stack, self._record.n_stack)

    @property
    def kernels(self) -> list[Kernel]:
        rows = self._view._core.kernels(self._record.first_kernel, self._record.n_kernels)
        return [Kernel(*row) for row in rows]

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        parent = self._record.parent_idx
        return None if parent is None else FunctionEvent(self._view, parent)

    @property
    def cpu_children(self) -> list[FunctionEvent]:
        children = self._view._children.get(self._index, ())
        return [FunctionEvent(self._view, i) for i in children]

    @property
    def use_device(self) -> str | None:
        return self._view.use_device

    @property
    def cuda_time_total(self) -> float:
        """The older name of device_time_total."""
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        """The older name of self_device_time_total."""
        return self.self_device_time_total

    @property
    def concrete_inputs(self) -> list[Any]:
        """Values where a trace has texts; None for a tensor and what else has no text."""
        event = self.event
        return [] if event is None else [value_of(text) for text in event.concrete_inputs]

    @property
    def event(self) -> Event | None:
        """The slice of the trace that this is; None for what has none."""
        index = self._record.slice_idx
        return None if index is None else Event(self._view.trace, index)

    def __getattr__(self, name: str) -> Any:
        """What newer torches have beside, of the slice that this is."""
        event = self.event if name in OF_SLICE else None
        if event is None:
            raise AttributeError(f"'FunctionEvent' has no attribute {name!r}")
        return getattr(event, name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionEvent):
            return NotImplemented
        return self._index == other._index and self._view._is_as(other._view)

    def __hash__(self) -> int:
        return hash((id(self._view.trace), self._index))

    def __reduce__(self) -> tuple[Any, ...]:
        return FunctionEvent, (self._view, self._index)

    def __repr__(self) -> str:
        span = self.time_range
        return (
            f"<marey.FunctionEvent id={self.id} {self.name!r} thread={self.thread}"
            f" {span.start:.3f}us to {span.end:.3f}us>"
        )


class FunctionEventAvg(Timed):
    """One row as torch's key_averages() has it."""

    __slots__ = ("_row", "_view")

    def __init__(self, view: TorchView, row: AverageRecord) -> None:
        self._view = view
        self._row = row

    @property
    def _record(self) -> AverageRecord:
        return self._row

    @property
    def count(self) -> int:
        return self._row.count

    @property
    def flops(self) -> int:
        return self._row.flops

    @property
    def input_shapes(self) -> Any:
        """A list where it was grouped by shapes, else ""."""
        return parse_json(self._row.shapes_id) if self._row.shapes_id else ""

    @property
    def stack(self) -> list[str]:
        return self._view._core.stack(self._row.first_stack, self._row.n_stack)

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """The parent of the first event of the row."""
        first = self._row.first_event
        return None if first is None else FunctionEvent(self._view, first).cpu_parent

    @property
    def use_device(self) -> str | None:
        return self._view.use_device

    def __reduce__(self) -> tuple[Any, ...]:
        return FunctionEventAvg, (self._view, self._row)

    def __repr__(self) -> str:
        return (
            f"<marey.FunctionEventAvg {self.key!r} count={self.count}"
            f" self_cpu_time={self.self_cpu_time_total_str}"
            f" self_device_time={self.self_device_time_total_str}>"
        )


# ---- sums -------------------------------------------------------------------------------------------

_NOTHING = AverageRecord(
    name_id="", overload_id="", shapes_id="", first_stack=0, n_stack=0, first_event=None, count=0,
    cpu_total_us=0.0, self_cpu_us=0.0, device_total_us=0.0, self_device_us=0.0, cpu_memory=0,
    device_memory=0, self_cpu_memory=0, self_device_memory=0, flops=0, device_type=0,
    has_parent=False, is_async=False, is_user_annotation=False,
)  # fmt: skip


def _plus(total: AverageRecord, item: Timed) -> AverageRecord:
    record = item._record
    last = item._index if isinstance(item, FunctionEvent) else getattr(record, "first_event", None)
    flops = getattr(item, "flops", None)
    return AverageRecord(
        name_id=record.name_id,
        overload_id=record.overload_id,
        shapes_id=record.shapes_id,
        first_stack=record.first_stack,
        n_stack=record.n_stack,
        first_event=last,
        count=total.count + item.count,
        cpu_total_us=total.cpu_total_us + record.cpu_total_us,
        self_cpu_us=total.self_cpu_us + record.self_cpu_us,
        device_total_us=total.device_total_us + record.device_total_us,
        self_device_us=total.self_device_us + record.self_device_us,
        cpu_memory=total.cpu_memory + record.cpu_memory,
        device_memory=total.device_memory + record.device_memory,
        self_cpu_memory=total.self_cpu_memory + record.self_cpu_memory,
        self_device_memory=total.self_device_memory + record.self_device_memory,
        flops=total.flops + (flops or 0),
        device_type=record.device_type,
        has_parent=last is not None,
        is_async=record.is_async,
        is_user_annotation=record.is_user_annotation,
    )


# ---- lists ------------------------------------------------------------------------------------------

_Item = TypeVar("_Item", bound=Timed)


class NoSortKeyError(AttributeError, ValueError):
    """Rows have no such attribute to sort by: torch's AttributeError, and ours."""


class _TableList(Sequence[_Item]):
    """A read-only list with torch's table(). No item refers to it, so that no cycle keeps a
    trace alive."""

    _view: TorchView
    _core: _core.TorchView | _core.TorchAverages

    @property
    def self_cpu_time_total(self) -> float:
        """The sum over all of them, added up as torch does."""
        total = 0.0
        for item in self:
            total += item.self_cpu_time_total
        return total

    def total_average(self) -> FunctionEventAvg:
        """All of them added up under the key "Total", as torch does: what cannot be added is
        that of the last one."""
        total = _NOTHING
        for item in self:
            total = _plus(total, item)
        return FunctionEventAvg(self._view, total._replace(name_id="Total"))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int | None = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
        compat: str | None = "torch",
    ) -> str:
        """torch's own table, byte for byte. row_limit: None, or below 0, is all rows. compat: for
        who asks averages of either kind.

        AttributeError, which is a ValueError too: the rows have nothing called sort_by.
        """
        # torch takes any other unit for "choose one for each cell".
        unit = TIME_UNITS.get(time_unit, 0)
        try:
            return self._core.table(
                sort_by=text_or_none("sort_by", sort_by),
                row_limit=torch_limit_of(row_limit),
                src_width=torch_width_of(max_src_column_width),
                name_width=torch_width_of(max_name_column_width),
                shapes_width=torch_width_of(max_shapes_column_width),
                header=text_or_none("header", header),
                top_level=top_level_events_only,
                time_unit=unit,
            )
        except ValueError as error:
            if "has no attribute" not in str(error):
                raise
            raise NoSortKeyError(str(error)) from None

    def __add__(self, others: Iterable[Any]) -> list[Any]:
        """A list, as those of several profiles have no trace in common."""
        return [*self, *others]

    def __radd__(self, others: Iterable[Any]) -> list[Any]:
        return [*others, *self]

    def supported_export_stacks_metrics(self) -> list[str]:
        return list(STACK_METRICS)

    def __mul__(self, n: int) -> list[_Item]:
        return list(self) * n

    __rmul__ = __mul__

    def __str__(self) -> str:
        return self.table()


class EventList(_TableList[FunctionEvent]):
    """What torch's events() returns."""

    _core: _core.TorchView

    def __init__(self, view: TorchView) -> None:
        self._view = view
        self._core = view._core

    def __len__(self) -> int:
        return self._core.n_events()

    @overload
    def __getitem__(self, index: int) -> FunctionEvent: ...
    @overload
    def __getitem__(self, index: slice) -> list[FunctionEvent]: ...
    def __getitem__(self, index: int | slice) -> FunctionEvent | list[FunctionEvent]:
        if isinstance(index, slice):
            return [FunctionEvent(self._view, i) for i in range(len(self))[index]]
        try:
            return FunctionEvent(self._view, range(len(self))[index])
        except IndexError:
            raise IndexError(f"no event {index}: there are {len(self)}") from None

    def __iter__(self) -> Iterator[FunctionEvent]:
        return (FunctionEvent(self._view, i) for i in range(len(self)))

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> TorchAverages:
        """Averages by name, and by what else is asked for."""
        return TorchAverages(
            self._view, group_by_input_shapes, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the trace that they are of, as Chrome JSON."""
        self._view.trace.export_chrome_trace(path, overwrite=True)

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Write one line a stack, as torch does: for flame graphs."""
        text = self._core.stacks_text(metric)
        with open(path, "wb") as file:
            file.write(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return EventList, (self._view,)

    def __eq__(self, other: object) -> bool:
        """The same events, also of another view of them."""
        if not isinstance(other, EventList):
            return NotImplemented
        return self._view._is_as(other._view)

    def __hash__(self) -> int:
        return hash((id(self._view.trace), len(self)))

    def __repr__(self) -> str:
        return f"<marey.EventList, {len(self)} events>"


class TorchAverages(_TableList[FunctionEventAvg]):
    """What torch's key_averages() returns."""

    _core: _core.TorchAverages

    def __init__(self, view: TorchView, by_shape: bool, by_stack: int, by_overload: bool) -> None:
        self._view = view
        self._grouping = by_shape, by_stack, by_overload
        self._core = view._core.averages(
            by_shape=by_shape, by_stack=depth_of(by_stack, as_torch=True), by_overload=by_overload
        )
        self._rows = [FunctionEventAvg(view, AverageRecord(*row)) for row in self._core.rows()]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> FunctionEventAvg: ...
    @overload
    def __getitem__(self, index: slice) -> list[FunctionEventAvg]: ...
    def __getitem__(self, index: int | slice) -> FunctionEventAvg | list[FunctionEventAvg]:
        return self._rows[index]

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchAverages, (self._view, *self._grouping)

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Write one line for each row that has a stack, as torch does."""
        text = stacks_text(self, metric)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def __repr__(self) -> str:
        return f"<marey.TorchAverages, {len(self)} rows>"


# ---- the view -----------------------------------------------------------------------------------------


class TorchView:
    """A trace as torch.profiler shows it; made by Trace.view()."""

    def __init__(
        self,
        trace: Trace,
        version: int,
        profile_memory: bool | None,
        with_flops: bool | None,
        include_python_functions: bool | None,
    ) -> None:
        self.trace = trace
        self._asked = version, profile_memory, with_flops, include_python_functions
        self._core = trace._core.torch_view(
            version=version,
            memory=_known(profile_memory),
            flops=_known(with_flops),
            python_functions=_known(include_python_functions),
        )

    @property
    def options(self) -> TorchOptions:
        """What was given, and what was taken from the file."""
        version, memory, flops, python_functions = self._core.options()
        return TorchOptions(
            f"{version // 100}.{version % 100}", memory == 2, flops == 2, python_functions == 2
        )

    def _is_as(self, other: TorchView) -> bool:
        """Another view of the same: a profile makes one each time that it is asked."""
        return self is other or (self.trace is other.trace and self.options == other.options)

    @cached_property
    def use_device(self) -> str | None:
        """"cuda" where the trace has events of such a device."""
        names = {1: "cuda", 12: "xpu", 20: "privateuseone"}
        found = [names[number] for number in self._core.device_types() if number in names]
        return found[0] if found else None

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for i, parent in enumerate(self._core.parents()):
            if parent is not None:
                children.setdefault(parent, []).append(i)
        return children

    def events(self) -> EventList:
        """The FunctionEvents, in torch's order."""
        return EventList(self)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> TorchAverages:
        """Averages by name, and by what else is asked for."""
        return TorchAverages(self, group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write one line a stack, as torch does: for flame graphs."""
        self.events().export_stacks(path, metric)

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchView, (self.trace, *self._asked)

    def __repr__(self) -> str:
        return f"<marey.TorchView of {self.trace!r} as torch {self.options.version}>"


def _known(value: bool | None) -> int:
    """None is "take it from the file"."""
    return 0 if value is None else 2 if value else 1
