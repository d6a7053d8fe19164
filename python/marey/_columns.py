"""Events and averages as columns: for Arrow and pandas, and to choose events by."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from marey import _core

if TYPE_CHECKING:
    import pandas

    from marey._averages import Row
    from marey._trace import Trace

Rows: TypeAlias = "range | array[int]"
Wanted: TypeAlias = "str | Iterable[str]"


def all_but(kinds: memoryview, kind: str) -> Rows:
    """The indices of all slices that are not of this kind: a range, if they are one."""
    number = _core.KINDS.index(kind)
    indices: Rows = range(len(kinds))
    for found in reversed(list(re.finditer(re.escape(bytes([number])), kinds))):
        at = found.start()
        if isinstance(indices, range) and at in (indices.start, indices.stop - 1):
            indices = indices[1:] if at == indices.start else indices[:-1]
            continue
        if isinstance(indices, range):
            indices = array("I", indices)
        indices.remove(at)
    return indices


def _rows_for_core(rows: Rows) -> tuple[int, int] | array[int]:
    if not isinstance(rows, range):
        return rows
    if rows.step == 1 or not rows:
        return (rows.start, len(rows)) if rows else (0, 0)
    return array("I", rows)


def _tracks(trace: Trace) -> list[tuple[Any, ...]]:
    """What the columns say of a track."""
    return [
        (track.label, track.process, track.thread, track.device, track.stream, track.rank)
        for track in trace.tracks
    ]


def event_columns(trace: Trace, rows: Rows, names: Iterable[str] | None) -> _core.Columns:
    """Columns of a trace at these rows; None: all columns."""
    if isinstance(names, str):
        raise TypeError(f"columns are a list of names: write [{names!r}]")
    chosen = _core.EVENT_COLUMNS if names is None else tuple(names)
    return trace._core.batch(chosen, _tracks(trace), _rows_for_core(rows))


def choose(trace: Trace, rows: Rows, wanted: dict[str, Wanted | None]) -> Rows:
    """Those of the rows whose texts, column by column, are among the wanted ones."""
    tracks = _tracks(trace)
    for name, texts in wanted.items():
        if texts is None:
            continue
        asked = {texts} if isinstance(texts, str) else set(texts)
        mask = bytes(word in asked for word in trace._core.words(name, tracks))
        found = trace._core.select(name, tracks, _rows_for_core(rows), mask)
        rows = array("I")
        rows.frombytes(found)
    return rows


# ---- averages ------------------------------------------------------------------------------

_TIMES = (
    "self_ns", "total_ns", "sum_ns", "mean_ns", "min_ns", "max_ns", "p50_ns", "p99_ns",
    "device_self_ns", "device_total_ns",
)


def average_columns(rows: Iterable[Row]) -> _core.Columns:
    """A row each; shapes as JSON text, stacks with ";" between their entries."""
    rows = list(rows)

    def column(name: str, kind: str = "l") -> tuple[str, str, list[Any]]:
        return name, kind, [getattr(row, name) for row in rows]

    shapes = [None if row.input_shapes is None else json.dumps(row.input_shapes) for row in rows]
    stacks = [None if row.stack is None else ";".join(row.stack) for row in rows]
    firsts = [None if row.first is None else row.first.index for row in rows]
    return _core.columns_of([
        column("key", "u"),
        column("kind", "i"),
        column("count"),
        column("n_timed"),
        *(column(name) for name in _TIMES),
        column("n_device_operations"),
        ("input_shapes", "u", shapes),
        ("stack", "u", stacks),
        column("overload_name", "u"),
        ("first", "l", firsts),
    ])


# ---- pandas --------------------------------------------------------------------------------

_DTYPES = {
    "l": "int64", "L": "uint64", "i": "int32", "I": "uint32", "s": "int16", "c": "int8",
    "g": "float64",
}
_NEVER_NULL = frozenset({"index", "start_ns", "count", "n_timed"})


def data_frame(columns: _core.Columns) -> pandas.DataFrame:
    """Integers that may be unknown are pandas' nullable ones, so that no time goes through a
    float; texts that repeat are categories."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "to_pandas() needs pandas, which is not installed: pip install pandas, or take"
            " to_arrow() for polars, DuckDB or pyarrow"
        ) from error
    return pandas.DataFrame(
        {
            name: _series(name, len(columns), *columns.parts(i))
            for i, name in enumerate(columns.names)
        },
        index=pandas.RangeIndex(len(columns)),
    )


def _bits(bits: memoryview, first: int, n: int) -> Any:
    import numpy

    return numpy.unpackbits(numpy.asarray(bits), bitorder="little")[first : first + n].astype(bool)


def _series(
    name: str,
    n: int,
    kind: str,
    first: int,
    values: memoryview | None,
    validity: memoryview | None,
    words: list[str] | None,
) -> Any:
    import numpy
    import pandas

    is_known = None if validity is None else _bits(validity, first, n)
    if values is None:
        texts = numpy.array(words, dtype=object)
        if is_known is not None:
            texts[~is_known] = None
        return pandas.array(texts, dtype="str" if pandas.__version__ >= "3" else "object")
    if kind == "b":
        return _bits(values, first, n)
    numbers = numpy.asarray(values).view(_DTYPES[kind])[first : first + n]
    if words is not None:
        return pandas.Categorical.from_codes(numbers, categories=words)
    if name in _NEVER_NULL:
        return numbers
    missing = numpy.zeros(n, dtype=bool) if is_known is None else ~is_known
    return pandas.arrays.IntegerArray(numbers, missing)
