"""Loading, and the trace itself."""

from __future__ import annotations

import errno
import os
import re
import stat
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, overload

from marey import _core
from marey._averages import Averages, Grouping, told
from marey._events import (
    NONE,
    TRACK_KINDS,
    UNKNOWN,
    AsyncSpan,
    CounterValue,
    Event,
    Events,
    Instant,
    Track,
    TrackRecord,
    args_at,
)
from marey._json import parse_json
from marey._pickles import packed, unpacked
from marey._torch import TorchView
from marey._warn import warn

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Buffer

    from marey._exports import Export

__all__ = ["NONE", "UNKNOWN", "Ledger", "LedgerRow", "Source", "Trace", "load"]

Path: TypeAlias = "str | os.PathLike[str]"

LEDGER_MAPS = ("quarantined", "repaired", "findings", "info")
CHECKS = ("fields", "all")


# ---- loading ---------------------------------------------------------------------------


def load(
    source: Path | Buffer | IO[bytes] | IO[str] | Iterable[Path],
    *,
    check: Literal["fields", "all"] = "fields",
    threads: int | None = None,
) -> Trace:
    """Read a trace.

    source: a file (.json or .json.gz), a folder (its trace files, one for each rank; what is
    no trace is passed over with a warning, and where any name ends in .pt.trace.json(.gz) all
    others are), a list of files, bytes in memory, or an object with ``read()``.
    check: "fields" looks at what is used; "all" at every byte of every record, so that the
    ledger also tells what is no JSON inside of args.
    threads: how many read, with the same result; None: one for each processor, up to 8.

    Raises FormatError for what is no trace, OSError for what cannot be read.
    """
    if check not in CHECKS:
        raise ValueError(f"no check '{check}': fields or all")
    if threads is not None and threads < 1:
        raise ValueError(f"cannot read with {threads} threads: give 1 or more")
    how = (check == "all", threads or 0)
    if isinstance(source, (str, os.PathLike)):
        return _load_paths([source], *how)
    if _is_buffer(source):
        return Trace(_core.import_bytes(cast("Buffer", source), *how))
    if hasattr(source, "read"):
        return Trace(_core.import_bytes(_read_all(source), *how))
    if isinstance(source, Iterable):
        return _load_paths(source, *how)
    raise TypeError(
        f"cannot load an object of type '{type(source).__name__}': give a path, a list of paths, bytes or a file"
    )


def _is_buffer(source: object) -> bool:
    try:
        memoryview(source)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _read_all(file: Any) -> bytes:
    data = file.read()
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def _load_paths(paths: Iterable[Path], checks_all: bool, n_threads: int) -> Trace:
    files: list[bytes] = []
    found: set[bytes] = set()
    for path in paths:
        names = [os.fsencode(file) for file in _files_of(path)]
        files.extend(names)
        if names != [os.fsencode(path)]:
            found.update(names)
    if not files:
        raise ValueError("cannot load an empty list of paths")
    try:
        return Trace(_core.import_paths(tuple(files), checks_all, n_threads))
    except _core.FormatError as error:
        left = _without_no_traces(files, found) if found and _is_no_trace(error) else []
        if not left or left == files:
            raise
    return Trace(_core.import_paths(tuple(left), checks_all, n_threads))


def _is_no_trace(error: _core.FormatError) -> bool:
    """Not even a damaged one."""
    return error.offset == 0


def _without_no_traces(files: list[bytes], found: set[bytes]) -> list[bytes]:
    """A file in a folder may be anything: what is no trace is passed over, with a warning. A
    damaged trace is not, since the others would be taken for the whole job."""
    left: list[bytes] = []
    for file in files:
        try:
            if file in found:
                _core.import_paths((file,))
        except _core.FormatError as error:
            if _is_no_trace(error):
                warn(f"passed over: {error}")
                continue
        left.append(file)
    return left


def _files_of(path: Path) -> list[str]:
    """The file itself, or those of a folder. The system's own refusals are raised here, as
    Python says them."""
    name = os.fspath(path)
    if name == "-":
        return [name]
    mode = os.stat(name).st_mode
    if not os.access(name, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    if not stat.S_ISDIR(mode):
        return [name]
    files, left_out = _core.list_folder(name), _core.list_left_out(name)
    if left_out:
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        how = "name them to read them" if more else "name it to read it"
        others = "others in the folder end in .pt.trace.json(.gz), as those of torch do"
        warn(f"passed over: '{left_out[0]}'{more}: {others}, {how}")
    if links := _core.list_links(name):
        n_more = len(links) // 2 - 1
        more = f", and {n_more} more link{'s' * (n_more > 1)}" if n_more else ""
        warn(f"passed over: '{links[0]}', a link to '{links[1]}'{more}")
    return files


# ---- parts of a trace --------------------------------------------------------------------


class Strings(Sequence[str]):
    """The interned strings of a trace by id."""

    def __init__(self, core: _core.Trace) -> None:
        self._core = core
        self._texts: dict[int, str] = {}

    def __len__(self) -> int:
        return self._core.n_strings()

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        text = self._texts.get(index)
        if text is None:
            at = index + len(self) if index < 0 else index
            if at < 0:
                raise IndexError(f"no string '{index}' in this trace")
            text = self._texts[index] = self._core.string(at)
        return text

    def __repr__(self) -> str:
        return f"<marey.Strings, {len(self)} of them>"


class Category(NamedTuple):
    """A category as the file spells it, and what it means."""

    name: str | None
    kind: int

    @property
    def kind_name(self) -> str:
        return _core.KINDS[self.kind]


class Source(NamedTuple):
    """One file that went into the trace."""

    path: str | None
    rank: int | None
    world_size: int | None
    rank_is_assumed: bool
    base_ns: int | None
    size_bytes: int
    n_records: int
    n_metadata: int
    is_gzip: bool
    cycle_of: int
    """The index of the first source of the same process; its own if no other is before it."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One reason why records were not used as they are, and how often it was met."""

    map: str
    reason: str
    meaning: str
    effect: str
    """What it does to the numbers."""
    remedy: str | None
    """What can be done, None if nothing need be."""
    count: int
    examples: tuple[int, ...]
    """Source number × 2**48 + byte offset of the first records."""


class Ledger(Mapping[str, dict[str, int]]):
    """The account of a trace: ``ledger["findings"]["crossing"]`` is a count.

    The keys are "quarantined" (set aside, in no number), "repaired" (used after a change),
    "findings" (wrong, and used as it is) and "info" (normal, and counted).
    """

    def __init__(self, n_read: int, n_used: int, checked: str, rows: list[LedgerRow],
                 before: dict[str, int]) -> None:  # fmt: skip
        self.n_read = n_read
        self.n_used = n_used
        self.checked = checked
        """What was looked at: "fields" or "all", as `load` was asked to; a recording is "all"."""
        self.rows = rows
        self.before = before
        """What the files say was left out, mended or missing when Marey wrote them, by reason: counted
        together as "lost_before" among the findings and "mended_before" among "info"."""
        self._counts: dict[str, dict[str, int]] = {name: {} for name in LEDGER_MAPS}
        for row in rows:
            self._counts[row.map][row.reason] = row.count

    @property
    def is_clean(self) -> bool:
        """Nothing was set aside, repaired or found."""
        return not any(self._counts[name] for name in LEDGER_MAPS if name != "info")

    def __getitem__(self, key: str) -> dict[str, int]:
        return self._counts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        parts = [
            f"{row.map} {row.reason}: {row.count}" for row in self.rows if row.map != "info"
        ]
        return f"<marey.Ledger {self.n_used} of {self.n_read} used{''.join(', ' + p for p in parts)}>"


class Grade(NamedTuple):
    """How far the numbers of a trace can be trusted: "A", all that was recorded is there, to
    "D", so much is missing or wrong that they mislead."""

    letter: str
    because: str | None
    """The reason of the ledger that decides."""
    n_operations: int
    n_with_launch: int
    n_launches: int
    n_with_operation: int


class ClockBound(NamedTuple):
    """How far the clocks of a device and its host are apart at the least; None where nothing is
    proved."""

    rank: int | None
    device: int | None
    leads_by_at_least_ns: int | None
    lags_by_at_least_ns: int | None
    first_at_ns: int | None
    """Start of the earliest operation that lags."""


class Gap(NamedTuple):
    """A span in which nothing was recorded: a pause, or what lies between two cycles."""

    start_ns: int
    end_ns: int
    rank: int | None


# ---- the trace ------------------------------------------------------------------------------


class Trace:
    """A trace: read-only, and safe to use from many threads."""

    def __init__(self, core: _core.Trace) -> None:
        self._core = core
        self.strings = Strings(core)
        self._slices = core.slices()
        self._categories = [Category(*row) for row in core.categories()]

    # -- events

    def events(self) -> Events:
        """All slices, track by track, in order of their start."""
        return Events(self, range(len(self._slices["start_ns"])))

    def async_spans(self) -> list[AsyncSpan]:
        """Spans from a "b" to an "e" record."""
        spans = []
        for start_ns, dur_ns, track, name, id_text, cat_id, _, _ in self._core.async_spans():
            where = None if track is None else self._track(track)
            spans.append(
                AsyncSpan(name, id_text, start_ns, dur_ns, where, self._categories[cat_id].name)
            )
        return spans

    def instants(self) -> list[Instant]:
        """Points in time, in order of their time."""
        columns = self._core.instants()
        args = args_at(self, columns["offset"])
        return [
            Instant(*self._point(columns, i), args[i])
            for i in sorted(range(len(args)), key=columns["ts_ns"].__getitem__)
        ]

    def counters(self) -> list[CounterValue]:
        """Values of counters, in order of their time."""
        columns = self._core.counters()
        values = args_at(self, columns["offset"])
        points = []
        for i in sorted(range(len(values)), key=columns["ts_ns"].__getitem__):
            name, ts_ns, track, category = self._point(columns, i)
            points.append(CounterValue(name, ts_ns, values[i], track, category))
        return points

    def _point(
        self, columns: dict[str, memoryview], i: int
    ) -> tuple[str | None, int, Track | None, str | None]:
        name_id, track = columns["name_id"][i], columns["track_idx"][i]
        return (
            None if name_id == NONE else self.strings[name_id],
            columns["ts_ns"][i],
            None if track == NONE else self._track(track),
            self._categories[columns["cat_id"][i]].name,
        )

    @property
    def tracks(self) -> list[Track]:
        """Where slices lie, in an order that does not depend on the file's."""
        return [self._track(i) for i in range(len(self._track_records))]

    @cached_property
    def _track_records(self) -> list[TrackRecord]:
        return [TrackRecord(*row) for row in self._core.tracks()]

    def _track(self, index: int) -> Track:
        """Made when asked for: a track that the trace kept would keep the trace."""
        record = self._track_records[index]
        return Track(self, index, record, self.sources[record.source_idx].rank)

    def to_arrow(self, columns: Iterable[str] | None = None) -> _core.Columns:
        """All events as columns, see `Events.to_arrow`."""
        return self.events().to_arrow(columns)

    def to_pandas(self, columns: Iterable[str] | None = None) -> pandas.DataFrame:
        """All events as a DataFrame, see `Events.to_pandas`."""
        return self.events().to_pandas(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    # -- about the trace

    @cached_property
    def sources(self) -> list[Source]:
        """The files that went into the trace."""
        return [Source(*row) for row in self._core.sources()]

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Members of the head and tail of the file, parsed; of several files the first that
        has a member tells it. A value that is no JSON stays text."""
        members: dict[str, Any] = {}
        for _, key, json_text in self._core.metas():
            if key is not None and key not in members:
                members[key] = _parsed_or_text(json_text)
        return members

    @cached_property
    def ledger(self) -> Ledger:
        """What was read, used, set aside, repaired and found."""
        n_read, n_used, checked, rows, before = self._core.ledger()
        return Ledger(
            n_read,
            n_used,
            CHECKS[checked],
            [
                LedgerRow(LEDGER_MAPS[place], *row) for place, *row in rows
            ],
            before,
        )

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind of record."""
        return {
            "slices": len(self._slices["start_ns"]),
            "metadata": sum(source.n_metadata for source in self.sources),
            "instants": len(self._core.instants()["ts_ns"]),
            "counters": len(self._core.counters()["ts_ns"]),
            "flows": len(self._core.flows()["ts_ns"]),
            "async_spans": len(self._core.async_spans()),
        }

    @cached_property
    def grade(self) -> Grade:
        """How far the numbers can be trusted, in one letter."""
        return Grade(*self._core.grade())

    def clock_bounds(self) -> list[ClockBound]:
        """Devices whose clock is proved to differ from the host's: operations that begin before
        their launch, or end after a call that waited for them."""
        return [
            ClockBound(self.sources[source_idx].rank, *row)
            for source_idx, *row in self._core.clock_bounds()
        ]

    @property
    def gaps(self) -> list[Gap]:
        """Where nothing was recorded between the sessions of the trace, in order of rank and time.
        Their time is in no number."""
        return [
            Gap(start_ns, end_ns, self.sources[source_idx].rank)
            for source_idx, start_ns, end_ns in self._core.gaps()
        ]

    def law_checks(self) -> dict[str, int | None]:
        """Both sides of the laws of conservation, each found in its own way: ``self_sum_ns`` is
        ``union_ns`` (over all tracks), and ``device_sum_ns`` is ``owned_plus_unowned_ns``."""
        return self._core.check_laws()

    def footprint(self) -> dict[str, int]:
        """Bytes of memory that the trace holds."""
        return self._core.footprint()

    # -- columns

    def columns(
        self, of: Literal["slices", "instants", "counters", "flows", "links"] = "slices"
    ) -> dict[str, memoryview]:
        """The trace as columns, for numpy.asarray() and its like.

        They are views of the trace's own memory and keep it alive; only ``kind`` and
        ``track`` of slices are made when first asked for. In a 64-bit column UNKNOWN says
        that a value is not known, in a 32-bit one NONE that there is none.
        """
        if of == "slices":
            columns = dict(self._slices)
            columns["parent"] = columns.pop("parent_idx")
            columns["self_ns"] = self._self_ns
            columns["kind"] = self._kinds
            columns["track"] = self._track_column
            return columns
        if of == "links":
            owners = self._owners
            return {
                **self._links,
                "launch": owners["launch_idx"],
                "owner": owners["owner_idx"],
            }
        if of in ("instants", "counters", "flows"):
            columns = getattr(self._core, of)()
            return dict(columns)
        raise ValueError(f"no columns of '{of}': slices, instants, counters, flows or links")

    @cached_property
    def _self_ns(self) -> memoryview:
        return self._core.self_ns()

    @cached_property
    def _kinds(self) -> memoryview:
        kind_of = bytearray(256)
        for cat_id, category in enumerate(self._categories):
            kind_of[cat_id] = category.kind
        return memoryview(bytes(self._slices["cat_id"]).translate(bytes(kind_of)))

    @cached_property
    def _track_column(self) -> memoryview:
        column = array("I")
        for index, track in enumerate(self._track_records):
            column.extend(array("I", [index]) * track.n_slices)
        return memoryview(column).toreadonly()

    @cached_property
    def _links(self) -> dict[str, memoryview]:
        return self._core.links()

    @cached_property
    def _owners(self) -> dict[str, Any]:
        return self._core.owners()

    @cached_property
    def _owned(self) -> dict[int, list[int]]:
        """Device operations by owner."""
        owned: dict[int, list[int]] = {}
        for slice_idx, owner in zip(
            self._links["slice_idx"], self._owners["owner_idx"], strict=True
        ):
            if owner != NONE:
                owned.setdefault(owner, []).append(slice_idx)
        return owned

    @cached_property
    def _first_ns(self) -> int:
        """When the first slice begins; 0 without one."""
        starts = self._slices["start_ns"]
        return min((starts[t.first_slice] for t in self._track_records if t.n_slices), default=0)

    @cached_property
    def _has_device(self) -> bool:
        return any(track.kind == TRACK_KINDS.index("stream") for track in self._track_records)

    @cached_property
    def _thread_numbers(self) -> list[int]:
        """By track, as torch numbers threads: the main one is 1, others follow in order."""
        numbers: dict[tuple[str | None, str | None], int] = {}
        for track in self._track_records:
            is_main = track.kind == 0 and track.process_id == track.thread_id
            if is_main:
                numbers[track.process_id, track.thread_id] = 1
        next_number = 2
        for track in self._track_records:
            place = track.process_id, track.thread_id
            if track.kind == 0 and place not in numbers:
                numbers[place] = next_number
                next_number += 1
        return [numbers.get((t.process_id, t.thread_id), 0) for t in self._track_records]

    @cached_property
    def _first_slices(self) -> list[int]:
        return [track.first_slice for track in self._track_records]

    def _track_index(self, slice_idx: int) -> int:
        return bisect_right(self._first_slices, slice_idx) - 1

    def _event_or_none(self, index: int) -> Event | None:
        return None if index == NONE else Event(self, index)

    # -- what it comes to

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
        top_level_events_only: bool = False,
    ) -> Averages:
        """Averages by name, and by what else is asked for."""
        grouping = Grouping.asked(
            group_by_input_shape,
            group_by_stack_n,
            group_by_overload_name,
            include_python_functions,
            top_level_events_only,
        )
        return told(Averages(self, grouping))

    def view(
        self,
        compat: str = "torch",
        version: str | None = None,
        profile_memory: bool | None = None,
        with_flops: bool | None = None,
        include_python_functions: bool | None = None,
    ) -> TorchView:
        """The trace as another profiler would show it, with its rules and its text.

        compat: "torch" is torch.profiler. version ("2.13"), profile_memory and with_flops
        tell what a file does not; None takes them from the file.
        """
        if compat != "torch":
            raise ValueError(f"no view '{compat}': the one there is is 'torch'")
        return TorchView(
            self,
            _torch_version(version),
            profile_memory,
            with_flops,
            include_python_functions,
        )

    @overload
    def export_chrome_trace(
        self,
        path: Path,
        overwrite: bool = ...,
        *,
        repair: bool = ...,
        scrub: bool = ...,
        background: Literal[False] = ...,
        timeout_s: float | None = ...,
    ) -> None: ...
    @overload
    def export_chrome_trace(
        self,
        path: Path,
        overwrite: bool = ...,
        *,
        repair: bool = ...,
        scrub: bool = ...,
        background: bool,
        timeout_s: float | None = ...,
    ) -> Export | None: ...
    def export_chrome_trace(
        self,
        path: Path,
        overwrite: bool = False,
        *,
        repair: bool = False,
        scrub: bool = False,
        background: bool = False,
        timeout_s: float | None = None,
    ) -> Export | None:
        """Write Chrome JSON in Kineto's schema, gzip if path ends in ".gz".

        The file appears complete or not at all; an existing one is kept unless overwrite
        is true.

        repair: write what every strict reader takes, as ``marey doctor --repair`` does: without
        the records that were set aside, with args mended; the head counts what was left out and
        mended. What is wrong in args is named there for a trace of ``load(..., check="all")``.
        scrub: repair, and leave out what tells whose trace it is (host, user, paths, unknown
        members and args); docs/scrub.md says what stays.

        background: return at once, with an `Export` to ask, and write on a thread, one file
        after the other; at its end the interpreter waits for them. timeout_s: if it is not
        written in so many seconds from now, nothing is left of it, and TimeoutError is raised,
        in the background by ``result()``.
        """
        from marey._exports import Order, write_later, write_now

        name = os.fspath(path)
        if not overwrite and os.path.isfile(name):
            raise FileExistsError(
                errno.EEXIST, "it exists, pass overwrite=True or choose another name", name
            )
        if background:
            order = Order(os.path.abspath(os.fsdecode(name)), overwrite, repair, scrub)
            return write_later(self, order, timeout_s)
        write_now(self, Order(name, overwrite, repair, scrub), timeout_s)
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        """What it hands out carries it, so that it goes to another process whole."""
        return unpacked, (packed(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        return self  # it never changes

    def __copy__(self) -> Trace:
        return self

    def __repr__(self) -> str:
        sources = self.sources
        where = repr(sources[0].path) if len(sources) == 1 else f"{len(sources)} files"
        if not any(source.path for source in sources):
            where = "of a recording"
        n_slices = len(self._slices["start_ns"])
        return f"<marey.Trace {where}, {n_slices} slices on {len(self._track_records)} tracks>"


def _parsed_or_text(json_text: str | None) -> Any:
    try:
        return None if json_text is None else parse_json(json_text)
    except ValueError:
        return json_text


def _torch_version(version: str | None) -> int:
    """"2.13.0+cpu" is 213, None is 0: to be taken from the file."""
    if version is None:
        return 0
    if not isinstance(version, str):
        raise TypeError(
            f"cannot read the torch version {version!r}, a {type(version).__name__}:"
            " write it as text, '2.13'"
        )
    match = re.fullmatch(r"([1-9])\.(\d\d?)(?:[.+a].*)?", version)
    if match is None:
        raise ValueError(
            f"cannot read the torch version '{version}', write it as '2.13'; '2.4' is the oldest"
        )
    return int(match[1]) * 100 + int(match[2])
