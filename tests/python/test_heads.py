"""Heads with slips: which rank and which base time a file is of is what its writer meant, and what
any number of writings leave of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import marey

RECORD = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'

TEXT, ODD = "number_as_text", "bad_number"
COMMA, TWICE = "punctuation", "duplicate_key"

# The head, rank, size of the world, base time, what was mended, whether it is no JSON beyond that.
HEADS: list[tuple[str, int | None, int | None, int | None, dict[str, int], bool]] = [
    ('"distributedInfo": {"rank": "1", "world_size": "2"}', 1, 2, 0, {TEXT: 2}, False),
    ('"distributedInfo": {"rank": 01, "world_size": 2}', 1, 2, 0, {ODD: 1}, False),
    ('"distributedInfo": {"rank": "01"}', 1, None, 0, {TEXT: 1}, False),
    ('"distributedInfo": {"rank": "\\u0031", "world_size": "\\u00310"}', 1, 10, 0, {TEXT: 2}, False),
    ('"distributedInfo": {"rank": "\\u00e9"}', None, None, 0, {}, True),
    ('"baseTimeNanoseconds": "5\\u003000"', None, None, 5000, {TEXT: 1}, False),
    ('"distributedInfo": {"rank": 1.0, "world_size": 2e0}', 1, 2, 0, {}, False),
    ('"distributedInfo": {"backend": "x",, "rank": 1,}', 1, None, 0, {COMMA: 2}, False),
    ('"distributedInfo": {,"rank": 1 "world_size": 2}', 1, 2, 0, {COMMA: 2}, False),
    ('"distributedInfo": {"rank": 0, "r\\u0061nk": 1}', 1, None, 0, {TWICE: 1}, False),
    ('"distributedInfo": {"rank": 1, "backend": "x", "backend": "y"}', 1, None, 0, {TWICE: 1}, False),
    ('"distributedInfo": {"rank": 1, "rank": null}', None, None, 0, {TWICE: 1}, False),
    ('"distributedInfo": {"rank": "first"}', None, None, 0, {}, True),
    ('"distributedInfo": {"rank": 1.5, "world_size": 2}', None, 2, 0, {}, True),
    ('"distributedInfo": {"rank": 1, nothing}', None, None, 0, {}, True),
    ('"distributedInfo": {"world_size": 2, "rank" 0, "x": 1}', None, 2, 0, {}, True),
    ('"distributedInfo": {"rank"a 0, "world_size": 4}', None, None, 0, {}, True),
    ('"distributedInfo": {"rank": 1: "world_size": 4}', None, None, 0, {}, True),
    ('"distributedInfo": 1', None, None, 0, {}, True),
    ('"distributedInfo": null', None, None, 0, {}, False),
    ('"distributedInfo": {"rank": 1}, "distributedInfo": {"backend": "x"}', None, None, 0, {TWICE: 1}, False),
    ('"distributedInfo": {"world_size": 4}, "distributedInfo": {"rank": 1}', 1, None, 0, {TWICE: 1}, False),
    ('"displayTimeUnit": "ns", "displayTimeUnit": "ms"', None, None, 0, {TWICE: 1}, False),
    ('"distributedInfo": {"rank": 1},, "baseTimeNanoseconds": 5000', 1, None, 5000, {COMMA: 1}, False),
    (', "distributedInfo": {"rank": 1}', 1, None, 0, {COMMA: 1}, False),
    ('"baseTimeNanoseconds": "5000"', None, None, 5000, {TEXT: 1}, False),
    ('"baseTimeNanoseconds": 05000', None, None, 5000, {ODD: 1}, False),
    ('"baseTimeNanoseconds": "0"', None, None, 0, {TEXT: 1}, False),
    ('"baseTimeNanoseconds": 5e3', None, None, 5000, {}, False),
    ('"baseTimeNanoseconds": 2000, "baseTimeNanoseconds": "x"', None, None, 2000, {TWICE: 1}, True),
    ('"baseTimeNanoseconds": 2000, "baseTimeNanoseconds": 9e18', None, None, 2000, {TWICE: 1}, True),
    ('"baseTimeNanoseconds": 2000, "baseTimeNanoseconds": null', None, None, 2000, {TWICE: 1}, False),
    ('"baseTimeNanoseconds": "x", "baseTimeNanoseconds": 2000', None, None, 2000, {TWICE: 1}, True),
    ('"baseTimeNanoseconds": "x"', None, None, 0, {}, True),
]  # fmt: skip


def head_of(trace: marey.Trace) -> tuple[int | None, int | None, int | None]:
    source = trace.sources[0]
    return None if source.rank_is_assumed else source.rank, source.world_size, source.base_ns


def write(command: Path, how: tuple[str, ...], path: Path, out: Path) -> Path:
    words = ("doctor", "--repair", out, path) if how == ("repair",) else ("convert", *how, path, out)
    done = subprocess.run([command, *map(str, words)], capture_output=True, check=False, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return out


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), "a key stands twice"
    return dict(pairs)


@pytest.mark.parametrize("place", ["head", "tail"])
@pytest.mark.parametrize("check", ["fields", "all"])
@pytest.mark.parametrize(("head", "rank", "world", "base", "mended", "is_broken"), HEADS)
def test_a_head_is_read_as_it_was_meant(
    place: str, check: Any, head: str, rank: int | None, world: int | None, base: int | None,
    mended: dict[str, int], is_broken: bool,
) -> None:  # fmt: skip
    records = f'"traceEvents": [{RECORD}]'
    text = f"{{{head}, {records}}}" if place == "head" else f"{{{records}, {head}}}"
    ledger = (trace := marey.load(text.encode(), check=check)).ledger
    assert head_of(trace) == (rank, world, base)
    assert ledger["repaired"] == mended
    assert ledger["findings"] == ({"bad_metadata": 1} if is_broken else {})
    assert ledger["quarantined"] == {}


@pytest.mark.parametrize("how", [("repair",), (), ("--scrub",)], ids=" ".join)
@pytest.mark.parametrize(("head", "rank", "world", "base", "mended", "is_broken"), HEADS)
def test_a_head_stays_as_it_was_read(
    how: tuple[str, ...], head: str, rank: int | None, world: int | None, base: int | None,
    mended: dict[str, int], is_broken: bool, command: Path, tmp_path: Path,
) -> None:  # fmt: skip
    broken = tmp_path / "broken.json"
    broken.write_text(f'{{{head}, "traceEvents": [{RECORD}]}}', encoding="utf-8")
    before = marey.load(broken, check="all")
    written = write(command, how, broken, tmp_path / "written.json")
    json.loads(written.read_text("utf-8"), object_pairs_hook=None if how == () else once)
    trace = marey.load(written, check="all")
    assert head_of(trace) == (rank, world, base)
    assert trace.ledger["quarantined"] == {}
    # convert writes a key that stands twice as it is
    assert set(trace.ledger["repaired"]) <= ({TWICE} if how == () else set())
    assert trace.grade.letter >= before.grade.letter
    again = write(command, how, written, tmp_path / "again.json")
    assert again.read_bytes() == written.read_bytes()


def test_ranks_in_quotes_are_ranks_beside_others(tmp_path: Path) -> None:
    files = [tmp_path / f"{i}.json" for i in range(3)]
    for file, info in zip(files, ('{"rank": "1"}', "{}", '{"rank": 0,}'), strict=True):
        file.write_text(f'{{"distributedInfo": {info}, "traceEvents": [{RECORD}]}}', encoding="utf-8")
    assert [source.rank for source in marey.load(files).sources] == [1, 2, 0]


@pytest.mark.parametrize("surplus", [",", ", ,", ",}"])
def test_a_comma_too_many_costs_no_member(surplus: str) -> None:
    end = "" if surplus.endswith("}") else "}"
    text = f'{{"traceEvents": [{RECORD}], "distributedInfo": {{"rank": 1}}{surplus}{end}'
    trace = marey.load(text.encode())
    assert head_of(trace) == (1, None, 0)
    assert trace.ledger["repaired"] == {COMMA: 1}
    assert trace.ledger["findings"] == {}
    assert trace.grade.letter == "A"


def test_of_two_accounts_of_a_recording_the_last_stands() -> None:
    head = '"marey": {"lost": 5, "open": 3}, "marey": {"lost": 2}'
    ledger = marey.load(f'{{{head}, "traceEvents": [{RECORD}]}}'.encode()).ledger
    assert ledger["findings"] == {"lost": 2}
    assert ledger["repaired"] == {TWICE: 1}


@pytest.mark.parametrize("how", [("repair",), (), ("--scrub",)], ids=" ".join)
def test_a_member_that_is_no_json_costs_no_other(how: tuple[str, ...], command: Path, tmp_path: Path) -> None:
    joined, written = tmp_path / "joined.json", tmp_path / "written.json"
    odd = '"x": [{"a": 1}"b"{"c": 2}], "y": NaN'
    joined.write_text(
        f'{{"traceEvents": [{RECORD}]}}'
        f'{{{odd}, "distributedInfo": {{"rank": 3}}, "traceEvents": [{RECORD}]}}',
        encoding="utf-8",
    )
    assert [source.rank for source in marey.load(joined).sources] == [0, 3]
    write(command, how, joined, written)
    trace = marey.load(written, check="all")
    assert [source.rank for source in trace.sources] == [0, 3]
    assert trace.ledger["findings"].keys() <= {"lost_before"}
    json.loads(written.read_text("utf-8"))
