"""Events and tracks of a trace: light objects that look into its columns."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import eq
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

from marey import _core
from marey._columns import choose, data_frame, event_columns
from marey._json import parse_json
from marey._torch_names import TorchEventNames
from marey._torch_records import Interval

if TYPE_CHECKING:
    import pandas
    from typing_extensions import TypeGuard

    from marey._columns import Wanted
    from marey._trace import Trace

UNKNOWN = -(2**63)
"""In a 64-bit column: the value is not known."""

NONE = 2**32 - 1
"""In a 32-bit column: there is none."""

FLAG_OPEN = 1
FLAG_FROM_BEGIN = 2
FLAG_CROSSES = 4
FLAG_UNKNOWN_DUR = 8

DEVICE_KINDS = frozenset({"kernel", "memcpy", "memset"})
TRACK_KINDS = ("thread", "stream", "stream_note", "stream_sync")


def us_of(ns: int | None) -> float | None:
    """Nanoseconds as microseconds, as torch has all times."""
    return None if ns is None else ns / 1000


def missing(instance: object, name: str, torchs: type, call: str) -> AttributeError:
    """What to raise for an attribute that there is not: where torch's is to be had."""
    words = f"{type(instance).__name__!r} object has no attribute {name!r}"
    if not name.startswith("_") and hasattr(torchs, name):
        words += f"; torch's is that of trace.view(compat=\"torch\").{call}"
    return AttributeError(words, name=name, obj=instance)


def sum_ns(times: Iterable[int | None]) -> int | None:
    """None if one of them is not known."""
    total = 0
    for ns in times:
        if ns is None:
            return None
        total += ns
    return total


def args_at(trace: Trace, offsets: Iterable[int]) -> list[dict[str, Any]]:
    """The args of records, by their place in the file, in one pass over it."""
    offsets = list(offsets)
    wanted = sorted(set(offsets))
    by_offset = dict(zip(wanted, trace._core.walk_args(array("Q", wanted)), strict=True))
    return [
        {} if (text := by_offset[offset]) is None else parse_json(text) for offset in offsets
    ]


class TrackRecord(NamedTuple):
    """struct marey_track."""

    kind: int
    source_idx: int
    process_id: str | None
    thread_id: str | None
    device: int | None
    context: int | None
    stream: int | None
    first_slice: int
    n_slices: int
    process_name_id: str | None
    thread_name_id: str | None
    n_crossings: int


class Track:
    """Where slices lie: a thread of a process, or a stream of a device."""

    __slots__ = ("_record", "_trace", "index", "rank")

    def __init__(self, trace: Trace, index: int, record: TrackRecord, rank: int | None) -> None:
        self._trace = trace
        self._record = record
        self.index = index
        self.rank = rank

    @property
    def kind(self) -> str:
        """"thread", "stream", "stream_note" or "stream_sync"."""
        return TRACK_KINDS[self._record.kind]

    @property
    def process(self) -> str | None:
        """The pid as the file writes it."""
        return self._record.process_id

    @property
    def thread(self) -> str | None:
        """The tid as the file writes it."""
        return self._record.thread_id

    @property
    def device(self) -> int | None:
        return self._record.device

    @property
    def context(self) -> int | None:
        return self._record.context

    @property
    def stream(self) -> int | None:
        return self._record.stream

    @property
    def process_name(self) -> str | None:
        return self._record.process_name_id

    @property
    def thread_name(self) -> str | None:
        return self._record.thread_name_id

    @property
    def source_index(self) -> int:
        return self._record.source_idx

    @property
    def n_slices(self) -> int:
        return self._record.n_slices

    @property
    def n_crossings(self) -> int:
        """Slices that outlive their parent."""
        return self._record.n_crossings

    @property
    def label(self) -> str:
        """"r0 p1 t1" or "r0 d0 s7": what the track is, in short; "?" where it is not known."""

        def text(value: object) -> str:
            return "?" if value is None else str(value)

        if self.kind == "thread":
            return f"r{text(self.rank)} p{text(self.process)} t{text(self.thread)}"
        note = self.kind.removeprefix("stream").replace("_", " ")
        return f"r{text(self.rank)} d{text(self.device)} s{text(self.stream)}{note}"

    def events(self) -> Events:
        """The slices of the track, in order."""
        first = self._record.first_slice
        return Events(self._trace, range(first, first + self._record.n_slices))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Track):
            return NotImplemented
        return self._trace is other._trace and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self._trace), self.index))

    def __repr__(self) -> str:
        return f"<marey.Track {self.label}, {self.n_slices} slices>"


class Event(_core.Slice, TorchEventNames):
    """One slice of a trace. Compare them by ==: asking twice for the same one gives two objects.

    The extension has what is read most often: ``name``, ``kind``, ``is_device``, ``start_ns``,
    ``dur_ns``, ``end_ns``, ``self_ns``, ``is_open``, ``crosses``, ``is_async`` and ``self_cpu_time_total``.
    """

    __slots__ = ()

    @property
    def category(self) -> str | None:
        """The category as the file spells it."""
        return self._trace._categories[self._trace._slices["cat_id"][self.index]].name

    @property
    def track(self) -> Track:
        return self._trace._track(self._trace._track_index(self.index))

    @property
    def raw_dur_ns(self) -> int | None:
        """As the file gives it, where ``dur_ns`` ends at the next operation's start because
        that cannot be (wild_duration)."""
        return self._trace._core.raw_dur_ns(self.index)

    @property
    def parent(self) -> Event | None:
        """The innermost slice that was open on the track when this one began."""
        return self._trace._event_or_none(self._trace._slices["parent_idx"][self.index])

    @property
    def children(self) -> Events:
        """The slices whose parent this is, in order."""
        end_ns = self.end_ns
        parents = self._trace._slices["parent_idx"]
        starts = self._trace._slices["start_ns"]
        track = self._trace._track_records[self._trace._track_index(self.index)]
        found: list[int] = []
        # Whatever begins inside this slice lies behind it on the track.
        for i in range(self.index + 1, track.first_slice + track.n_slices):
            if end_ns is None or starts[i] >= end_ns:
                break
            if parents[i] == self.index:
                found.append(i)
        return Events(self._trace, found)

    @property
    def args(self) -> dict[str, Any]:
        """The args of the record, read from the file when asked for."""
        return Events(self._trace, [self.index]).args()[0]

    @property
    def correlation(self) -> int | None:
        """The id that ties a runtime call to what it launched."""
        link = self._link()
        return None if link is None else self._trace._links["correlation"][link]

    @property
    def launch(self) -> Event | None:
        """Of a device operation: the call that launched it."""
        link = self._link()
        if link is None:
            return None
        return self._trace._event_or_none(self._trace._owners["launch_idx"][link])

    @property
    def owner(self) -> Event | None:
        """Of a device operation: the op that it belongs to."""
        link = self._link()
        if link is None:
            return None
        return self._trace._event_or_none(self._trace._owners["owner_idx"][link])

    @property
    def owned(self) -> Events:
        """The device operations that belong to this event."""
        return Events(self._trace, self._trace._owned.get(self.index, []))

    # -- as torch's FunctionEvent has it; times are microseconds

    @property
    def key(self) -> str | None:
        """The name."""
        return self.name

    @property
    def count(self) -> int:
        return 1

    @property
    def time_range(self) -> Interval:
        """From the first slice of the trace; of unknown duration: empty."""
        start_us = (self.start_ns - self._trace._first_ns) / 1000
        return Interval(start_us, start_us + (self.dur_ns or 0) / 1000)

    @property
    def cpu_time_total(self) -> float | None:
        return 0.0 if self.is_device else us_of(self.dur_ns)

    @property
    def cpu_time(self) -> float | None:
        return self.cpu_time_total

    @property
    def self_device_time_total(self) -> float | None:
        """Of the device operations that belong to this event."""
        if self.is_device:
            return us_of(self.dur_ns)
        return us_of(sum_ns(operation.dur_ns for operation in self.owned))

    @property
    def device_time_total(self) -> float | None:
        """With those of the events inside it."""
        return us_of(self.dur_ns if self.is_device else self._device_ns())

    @property
    def device_time(self) -> float | None:
        return self.device_time_total

    @property
    def cpu_parent(self) -> Event | None:
        return None if self.is_device else self.parent

    @property
    def cpu_children(self) -> Events:
        return self.children

    @property
    def input_shapes(self) -> list[Any] | None:
        """None where no shapes were recorded."""
        return self.args.get("Input Dims")

    @property
    def sequence_nr(self) -> int:
        """autograd's sequence number; -1: none."""
        number = self.args.get("Sequence number")
        return number if isinstance(number, int) else -1

    def _device_ns(self) -> int | None:
        """Of the device operations of this event and of all inside it."""
        end_ns, found = self.end_ns, [self]
        track = self._trace._track_records[self._trace._track_index(self.index)]
        starts = self._trace._slices["start_ns"]
        # Whatever begins inside this slice lies behind it on the track.
        for i in range(self.index + 1, track.first_slice + track.n_slices):
            if end_ns is None or starts[i] >= end_ns:
                break
            found.append(Event(self._trace, i))
        return sum_ns(operation.dur_ns for event in found for operation in event.owned)

    def _trace_of(self) -> Trace:
        return self._trace

    def _link(self) -> int | None:
        slices = self._trace._links["slice_idx"]
        at = bisect_left(slices, self.index)
        return at if at < len(slices) and slices[at] == self.index else None

    def __getattr__(self, name: str) -> Any:
        from marey._torch import FunctionEvent

        raise missing(self, name, FunctionEvent, "events()")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self._trace is other._trace and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self._trace), self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._trace, self.index)

    def __repr__(self) -> str:
        dur_ns = self.dur_ns
        dur = "unknown" if dur_ns is None else f"{dur_ns} ns"
        return f"<marey.Event {self.name!r} {self.kind} at {self.start_ns} ns, {dur}>"


class Events(Sequence[Event]):
    """A sequence of events; the objects are made as they are asked for.

    Indices are a range, which a slice keeps one, or 4 bytes each.
    """

    __slots__ = ("_indices", "_trace")

    _event: ClassVar[type[Event]] = Event

    def __init__(self, trace: Trace, indices: Sequence[int]) -> None:
        self._trace = trace
        is_kept = isinstance(indices, (range, array))
        self._indices: range | array[int] = indices if is_kept else array("I", indices)

    def _part(self, indices: Sequence[int]) -> Events:
        """Some of them."""
        return Events(self._trace, indices)

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Events: ...
    def __getitem__(self, index: int | slice) -> Event | Events:
        if isinstance(index, slice):
            return self._part(self._indices[index])
        try:
            return self._event(self._trace, self._indices[index])
        except IndexError:
            raise IndexError(f"no event {index}: there are {len(self)}") from None

    def __iter__(self) -> Iterator[Event]:
        return map(self._event, repeat(self._trace), self._indices)

    def __reversed__(self) -> Iterator[Event]:
        return map(self._event, repeat(self._trace), reversed(self._indices))

    def __contains__(self, event: object) -> bool:
        return self._is_ours(event) and event.index in self._indices

    def index(self, event: Any, start: int = 0, stop: int | None = None) -> int:
        """Where the event stands, as `list.index` tells it; ValueError: it is not among them."""
        if self._is_ours(event) and event.index in self._indices:
            at = self._indices.index(event.index)
            if at in range(*slice(start, stop).indices(len(self))):
                return at
        raise ValueError(f"{event!r} is not among these events")

    def count(self, event: Any) -> int:
        return self._indices.count(event.index) if self._is_ours(event) else 0

    def _is_ours(self, event: object) -> TypeGuard[Event]:
        return isinstance(event, Event) and event._trace is self._trace

    def __eq__(self, other: object) -> bool:
        """The same events of the same trace, in the same order."""
        if not isinstance(other, Events):
            return NotImplemented
        ours, theirs = self._indices, other._indices
        if self._trace is not other._trace or len(ours) != len(theirs):
            return False
        return ours == theirs if type(ours) is type(theirs) else all(map(eq, ours, theirs))

    def __hash__(self) -> int:
        ends = (self._indices[0], self._indices[-1]) if len(self) else None
        return hash((id(self._trace), len(self), ends))

    def __add__(self, others: Iterable[Any]) -> list[Any]:
        """A list, as those of several profiles have no trace in common."""
        return [*self, *others]

    def __radd__(self, others: Iterable[Any]) -> list[Any]:
        return [*others, *self]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._trace, self._indices)

    def __mul__(self, n: int) -> list[Event]:
        return list(self) * n

    __rmul__ = __mul__

    def args(self) -> list[dict[str, Any]]:
        """The args of all of them, in one pass over the file."""
        offsets = self._trace._slices["offset"]
        return args_at(self._trace, [offsets[index] for index in self._indices])

    def where(
        self,
        *,
        name: Wanted | None = None,
        kind: Wanted | None = None,
        category: Wanted | None = None,
        track: Wanted | None = None,
        process: Wanted | None = None,
        thread: Wanted | None = None,
    ) -> Events:
        """Those of which all that is asked for is true, in the same order; of several texts one
        must be met: ``where(kind=("kernel", "memcpy"))``. track: its label."""
        wanted = {
            "name": name, "kind": kind, "category": category,
            "track": track, "process": process, "thread": thread,
        }
        return self._part(choose(self._trace, self._indices, wanted))

    def to_arrow(self, columns: Iterable[str] | None = None) -> _core.Columns:
        """Columns for whoever speaks Arrow: pyarrow, polars, DuckDB; docs/columns.md says what
        they hold. They share the memory of the trace and keep it; of events that do not follow
        one another they are copies. columns: names of those that are wanted, None is all."""
        return event_columns(self._trace, self._indices, columns)

    def to_pandas(self, columns: Iterable[str] | None = None) -> pandas.DataFrame:
        """The same as a DataFrame, a copy. Needs pandas."""
        return data_frame(self.to_arrow(columns))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.to_arrow().__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<marey.Events, {len(self)} of them>"


class Instant(NamedTuple):
    """A point in time, such as `marey.mark` makes."""

    name: str | None
    ts_ns: int
    track: Track | None
    category: str | None
    args: dict[str, Any]


class CounterValue(NamedTuple):
    """What a counter was at a moment: one value, or some by name."""

    name: str | None
    ts_ns: int
    values: dict[str, Any]
    """By name; of `marey.counter` one, of the counter's own name. None: not a number."""
    track: Track | None
    category: str | None


class AsyncSpan(NamedTuple):
    """A span from a "b" to an "e" record; it lies on no stack and takes no CPU time."""

    name: str | None
    id: str | None
    start_ns: int
    dur_ns: int | None
    """None where the end is missing."""
    track: Track | None
    category: str | None
