"""Averages by our own rules: rows, sums, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Number
from operator import index
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

from marey import _core
from marey._columns import average_columns, data_frame
from marey._events import DEVICE_KINDS, Event, missing, parse_json, us_of
from marey._torch_names import BACKWARD_SCOPE, EVALUATE, TorchRowNames
from marey._warn import warn

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Self

    from marey._trace import Trace

FORMATS = {"table": 0, "csv": 1, "json": 2}
LAYOUTS = {"marey": 0, "torch": 1}
TIME_UNITS = {None: 0, "us": 1, "ms": 2, "s": 3}
UNLIMITED = 2**32 - 1
MOST_ROWS = 2**63 - 1

Width: TypeAlias = "int | None | EllipsisType"


def choice(what: str, value: Any, choices: dict[Any, int]) -> int:
    """The number of a word; ValueError tells the words there are."""
    if value not in choices:
        words = ", ".join(repr(word) for word in choices)
        raise ValueError(f"no {what} '{value}': it is one of {words}")
    return choices[value]


def width_of(width: Width) -> int:
    """A width as the core takes it: 0 is the default."""
    if width is ...:
        return 0
    return UNLIMITED if width == 0 else torch_width_of(width)


def whole_number(what: str, value: Any) -> int:
    """An integer, or a float without a fraction. TypeError: it is none."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"no {what} {value!r}: give a whole number") from None


def check_seconds(what: str, value: Any) -> None:
    """TypeError: it is neither a number nor None."""
    try:
        _ = value is None or value > 0
    except TypeError:
        raise TypeError(f"no {what} {value!r}: give seconds, or None") from None


def text_or_none(what: str, value: Any) -> str | None:
    """TypeError: it is neither."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"no {what} {value!r}: give a text, or None")


def torch_width_of(width: int | None) -> int:
    """The same where 0 is a width."""
    if width is None:
        return UNLIMITED
    width = whole_number("width", width)
    if width < 0:
        raise ValueError(f"no width '{width}': give 0 or more, or None for no limit")
    return min(width, UNLIMITED)


def torch_limit_of(row_limit: Any) -> int:
    """A number of rows as torch takes it, which counts until it is there: None, infinity, what is
    below 0 and what has a fraction are all. TypeError: it is no number."""
    if row_limit is None:
        return -1
    if not isinstance(row_limit, Number):
        row_limit = whole_number("row limit", row_limit)
    try:
        n_rows = int(row_limit)
    except (OverflowError, ValueError):  # infinite, or nan
        return -1
    return min(n_rows, MOST_ROWS) if n_rows == row_limit and n_rows >= 0 else -1


def limit_of(row_limit: int | None) -> int:
    """A number of rows as the core takes it: 0 is the default."""
    if row_limit is None:
        return 0
    row_limit = whole_number("row limit", row_limit)
    if row_limit == 0 or row_limit < -1:
        raise ValueError(f"no row limit '{row_limit}': give a number of rows, or -1 for all")
    return min(row_limit, MOST_ROWS)


def depth_of(group_by_stack_n: int, as_torch: bool = False) -> int:
    """How many entries of a stack are part of the key. as_torch: below 0 is none."""
    group_by_stack_n = whole_number("depth of stacks", group_by_stack_n)
    if group_by_stack_n < 0:
        if as_torch:
            return 0
        raise ValueError(f"no depth of stacks '{group_by_stack_n}': give 0 or more")
    return min(group_by_stack_n, UNLIMITED)


def columns_of(columns: Any) -> str | None:
    """Their names with commas between them. TypeError: they are neither names nor a text."""
    if columns is None or isinstance(columns, str):
        return columns
    try:
        return ",".join(columns)
    except TypeError:
        raise TypeError(f"no columns {columns!r}: give names, a text, or None") from None


class Grouping(NamedTuple):
    """The arguments of key_averages()."""

    by_shape: bool = False
    by_stack: int = 0
    by_overload: bool = False
    include_python: bool = False
    top_level: bool = False
    join_steps: bool = False
    by_event: bool = False

    @classmethod
    def asked(
        cls,
        group_by_input_shape: bool,
        group_by_stack_n: int,
        group_by_overload_name: bool,
        include_python_functions: bool,
        top_level_events_only: bool = False,
        join_steps: bool = False,
    ) -> Self:
        """As a program names them. ValueError: no such depth of stacks."""
        return cls(
            group_by_input_shape,
            depth_of(group_by_stack_n, as_torch=join_steps),
            group_by_overload_name,
            include_python_functions,
            top_level_events_only,
            join_steps,
        )


class AverageRecord(NamedTuple):
    """struct marey_average."""

    name_id: str | None
    kind: int
    shapes_id: str | None
    stack_id: str | None
    overload_id: str | None
    first_slice: int | None
    n_calls: int
    n_timed: int
    self_ns: int | None
    total_ns: int | None
    sum_ns: int | None
    min_ns: int | None
    max_ns: int | None
    p50_ns: int | None
    p99_ns: int | None
    device_self_ns: int | None
    device_total_ns: int | None
    n_device_operations: int


class Totals(NamedTuple):
    """Sums over all rows, in nanoseconds."""

    host_self_ns: int | None
    python_self_ns: int | None
    """The part of host_self_ns in Python functions."""
    device_sum_ns: int | None
    device_busy_ns: int | None
    """The union of device operations per device, added over the devices."""
    unowned_ns: int | None
    """Of device operations whose launch is not in the trace."""
    overhead_ns: int | None
    """Of the profiler's own overhead records."""
    n_devices: int


@dataclass(frozen=True, slots=True)
class Row(TorchRowNames):
    """The calls of one key. Host slices and device operations have rows of their own.

    Names that end in ``_ns`` are nanoseconds; those that torch has too are microseconds.
    What is not known is None.
    """

    key: str | None
    kind: str
    count: int
    n_timed: int
    """Calls of known duration: what mean and percentiles are of."""
    self_ns: int | None
    total_ns: int | None
    """Recursion counted once."""
    sum_ns: int | None
    """Of all timed calls, nested ones too."""
    min_ns: int | None
    max_ns: int | None
    p50_ns: int | None
    p99_ns: int | None
    device_self_ns: int | None
    """Of the device operations that belong to these calls; None in a row of such."""
    device_total_ns: int | None
    """With those of the ops inside them."""
    n_device_operations: int | None
    input_shapes: list[Any] | None
    stack: list[str] | None
    overload_name: str | None
    _left_scope: int | None = field(repr=False, compare=False)
    """Where the earliest call is gone."""
    first: Event | None = field(repr=False, compare=False)
    """The earliest call."""

    def _trace_of(self) -> Trace | None:
        return None if self.first is None else self.first._trace

    def __reduce__(self) -> tuple[Any, ...]:
        """By value, without the earliest call, which would carry the whole trace."""
        own = "_left_scope", "first"
        values = [getattr(self, each.name) for each in fields(self) if each.name not in own]
        return Row, (*values, self.scope, None)

    def __getattr__(self, name: str) -> Any:
        from marey._torch import FunctionEventAvg

        raise missing(self, name, FunctionEventAvg, "key_averages()")

    @property
    def is_device(self) -> bool:
        """It is a row of device operations."""
        return self.kind in DEVICE_KINDS

    @property
    def mean_ns(self) -> int | None:
        """Rounded, a half up."""
        if self.sum_ns is None or self.n_timed == 0:
            return None
        return (2 * self.sum_ns + self.n_timed) // (2 * self.n_timed)

    @property
    def self_cpu_time_total(self) -> float | None:
        return 0.0 if self.is_device else us_of(self.self_ns)

    @property
    def cpu_time_total(self) -> float | None:
        return 0.0 if self.is_device else us_of(self.total_ns)

    @property
    def self_device_time_total(self) -> float | None:
        return us_of(self.self_ns if self.is_device else self.device_self_ns)

    @property
    def device_time_total(self) -> float | None:
        return us_of(self.total_ns if self.is_device else self.device_total_ns)

    @property
    def cpu_time(self) -> float | None:
        total = self.cpu_time_total
        return None if total is None else total / self.count

    @property
    def device_time(self) -> float | None:
        total = self.device_time_total
        return None if total is None else total / self.count


def _row(trace: Trace | None, record: AverageRecord) -> Row:
    kind = _core.KINDS[record.kind]
    is_device = kind in DEVICE_KINDS
    shapes = record.shapes_id
    stack = record.stack_id
    return Row(
        key=record.name_id,
        kind=kind,
        count=record.n_calls,
        n_timed=record.n_timed,
        self_ns=record.self_ns,
        total_ns=record.total_ns,
        sum_ns=record.sum_ns,
        min_ns=record.min_ns,
        max_ns=record.max_ns,
        p50_ns=record.p50_ns,
        p99_ns=record.p99_ns,
        device_self_ns=None if is_device else record.device_self_ns,
        device_total_ns=None if is_device else record.device_total_ns,
        n_device_operations=None if is_device else record.n_device_operations,
        input_shapes=parse_json(shapes) if shapes else None,
        stack=stack.split(";") if stack else None,
        overload_name=record.overload_id,
        _left_scope=None,
        first=None
        if trace is None or record.first_slice is None
        else Event(trace, record.first_slice),
    )


def _with_nodes(rows: list[Row]) -> list[Row]:
    """Nodes of autograd are told by the engine's rows, where their calls are gone."""
    names = {row.key for row in rows}
    return [
        replace(row, _left_scope=BACKWARD_SCOPE) if f"{EVALUATE}{row.key}" in names else row
        for row in rows
    ]


def _sum(times_ns: Iterable[int | None]) -> int:
    """Of those that are known."""
    return sum(time_ns or 0 for time_ns in times_ns)


class Averages(Sequence[Row]):
    """What key_averages() returns: rows, their sums, and tables of them."""

    def __init__(
        self, trace: Trace | None, grouping: Grouping, core: _core.Averages | None = None
    ) -> None:
        """core: of what has no trace any more."""
        self._trace = trace
        self._grouping = grouping
        self._regrouped: Callable[[Grouping], Averages] | None = None
        if core is None:
            assert trace is not None
            core = trace._core.averages(percentiles=not grouping.by_event, **grouping._asdict())
        self._core = core

    @cached_property
    def _rows(self) -> list[Row]:
        """Made when they are asked for: a table needs none of them."""
        rows = [_row(self._trace, AverageRecord(*record)) for record in self._core.rows()]
        if self._trace is None:
            rows = _with_nodes(rows)
        if not self._grouping.by_overload:
            return rows
        # Also where they are of parts that were grouped without: "" is no name, as in a trace.
        return [
            row if row.overload_name is not None else replace(row, overload_name="")
            for row in rows
        ]

    @property
    def _shown_rows(self) -> list[Row]:
        """What a program gets to see of them."""
        return self._rows

    @classmethod
    def joined(
        cls,
        parts: Sequence[Averages],
        grouping: Grouping,
        regrouped: Callable[[Grouping], Averages] | None = None,
    ) -> Self:
        """Those of several traces, all grouped alike, added up. They need the traces no longer:
        calls, times, least and largest are exact, p50 and p99 of several are not known.

        grouping: what was asked for, where what the parts have in common gives the same rows.
        regrouped: gives the same averages grouped otherwise."""
        core = _core.join_averages([part._core for part in parts])
        made = cls(None, grouping, core)
        made._regrouped = regrouped
        return made

    def _of_top_level(self) -> Averages:
        grouping = self._grouping._replace(top_level=True)
        if self._regrouped is not None:
            return self._regrouped(grouping)
        return Averages(self._trace, grouping)

    @property
    def totals(self) -> Totals:
        """Sums over all rows, shown in a table or not."""
        return Totals(*self._core.totals())

    @property
    def self_cpu_time_total(self) -> float:
        """The sum over the rows, in microseconds, as torch has it below its table."""
        return sum(row.self_ns or 0 for row in self._rows if not row.is_device) / 1000

    def to_arrow(self) -> _core.Columns:
        """The rows for whoever speaks Arrow, see docs/columns.md."""
        return average_columns(self._rows)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a DataFrame. Needs pandas."""
        return data_frame(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def total_average(self) -> Row:
        """All rows added up, under the key "Total". Device time is counted once: that of the
        device operations, while torch adds that of the ops which launched them to it."""
        host = [row for row in self._rows if not row.is_device]
        device = [row for row in self._rows if row.is_device]
        return Row(
            key="Total",
            kind="total",
            count=sum(row.count for row in self._rows),
            n_timed=sum(row.n_timed for row in self._rows),
            self_ns=_sum(row.self_ns for row in host),
            total_ns=_sum(row.total_ns for row in host),
            sum_ns=_sum(row.sum_ns for row in self._rows),
            min_ns=min((row.min_ns for row in self._rows if row.min_ns is not None), default=None),
            max_ns=max((row.max_ns for row in self._rows if row.max_ns is not None), default=None),
            p50_ns=None,
            p99_ns=None,
            device_self_ns=_sum(row.self_ns for row in device),
            device_total_ns=_sum(row.total_ns for row in device),
            n_device_operations=sum(row.count for row in device),
            input_shapes=None,
            stack=None,
            overload_name=None,
            _left_scope=None,
            first=None,
        )

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int | None = None,
        max_src_column_width: Width = 75,
        max_name_column_width: Width = ...,
        max_shapes_column_width: Width = ...,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: Literal["us", "ms", "s"] | None = None,
        layout: Literal["marey", "torch"] = "marey",
        columns: str | Iterable[str] | None = None,
        format: Literal["table", "csv", "json"] = "table",
    ) -> str:
        """The rows as text.

        sort_by: a column, or a name of torch's; "+name" goes up, "-name" down. row_limit:
        rows of a block, -1 is all, None is 40 in a table and all in csv and json. A width
        of None is unlimited, "..." the default. layout: "marey", or "torch" for torch's
        columns with our numbers. columns: their names, "all", or None for those that fit.
        """
        shown: Averages = self
        if top_level_events_only and not self._grouping.top_level:
            shown = self._of_top_level()
        options: dict[str, Any] = {
            "format": choice("format", format, FORMATS),
            "layout": choice("layout", layout, LAYOUTS),
            "sort": text_or_none("sort_by", sort_by),
            "limit": limit_of(row_limit),
            "columns": columns_of(columns),
            "header": text_or_none("header", header),
            "time_unit": choice("time unit", time_unit, TIME_UNITS),
            "name_width": width_of(max_name_column_width),
            "shapes_width": width_of(max_shapes_column_width),
            "src_width": width_of(max_src_column_width),
        }
        return shown._core.table(**options)

    def __add__(self, others: Iterable[Any]) -> list[Any]:
        """A list of rows."""
        return [*self, *others]

    def __radd__(self, others: Iterable[Any]) -> list[Any]:
        return [*others, *self]

    def __reduce__(self) -> tuple[Any, ...]:
        """With the trace: a table may be asked for."""
        if self._trace is None:
            raise TypeError(
                "averages of cycles that were let go cannot be pickled, their rows can:"
                " list(averages)"
            )
        return type(self), (self._trace, self._grouping)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self._shown_rows[index]

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        n_device = sum(row.is_device for row in self._rows)
        return f"<marey.Averages, {len(self) - n_device} host rows, {n_device} device rows>"


def _lacks_shapes(averages: Averages) -> bool:
    """Operators without an input have none either: then the trace says that they were recorded."""
    if len(averages) == 0 or any(row.input_shapes is not None for row in averages):
        return False
    trace = averages._trace
    return trace is None or trace.metadata.get("record_shapes") != 1


_Averages = TypeVar("_Averages", bound=Averages)


def told(averages: _Averages) -> _Averages:
    """The same, after a warning if they were asked for by what the trace does not have: else
    an empty column is all that shows it. For functions that a program calls."""
    grouping = averages._grouping
    if grouping.by_shape and _lacks_shapes(averages):
        warn(
            "the trace has no shapes of inputs, so that group_by_input_shape changes nothing;"
            " they are recorded with record_shapes=True",
        )
    if grouping.by_stack > 0 and len(averages) and not any(row.stack for row in averages):
        warn(
            "the trace has no stacks, so that group_by_stack_n changes nothing; torch.profiler"
            " records them with with_stack=True",
        )
    if grouping.by_overload and len(averages) and not any(row.overload_name for row in averages):
        warn(
            "the trace has no names of overloads, so that group_by_overload_name changes nothing;"
            " torch.profiler records them if its experimental_config says"
            " capture_overload_names=True",
        )
    return averages
