"""Arguments that torch takes, and what is said of those that nobody can take."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import marey
import marey.autograd_profiler
import marey.profiler
from marey._warn import bytes_text

Action = marey.ProfilerAction


def recorded(**options: Any) -> marey.profiler.profile:
    with marey.profiler.profile(activities=None, **options) as prof, marey.record_function("a"):
        pass
    return prof


@pytest.mark.parametrize("one", [1, 1.0, Fraction(1), Decimal(1)])
def test_a_schedule_takes_any_number(one: Any) -> None:
    schedule = marey.schedule(wait=one, warmup=one, active=one, skip_first=0)
    assert [schedule(step) for step in range(3)] == [
        Action.NONE, Action.WARMUP, Action.RECORD_AND_SAVE,
    ]  # fmt: skip
    assert schedule(1.5) is Action.WARMUP
    assert schedule.n_active == 1


def test_a_schedule_takes_numbers_without_bound() -> None:
    assert marey.schedule(wait=10**30, warmup=1, active=1)(5) is Action.NONE
    endless = marey.schedule(wait=float("inf"), warmup=1, active=1)
    assert endless(5) is Action.NONE


@pytest.mark.parametrize("compat", [None, "torch"])
def test_a_depth_below_zero_is_none(compat: Any) -> None:
    prof = recorded(compat=compat)
    assert [r.key for r in prof.key_averages(group_by_stack_n=-1)] == ["a"]
    assert [r.key for r in prof.events().key_averages(group_by_stack_n=-1)] == ["a"]


@pytest.mark.parametrize("compat", [None, "torch"])
def test_a_limit_below_zero_is_all_rows(compat: Any) -> None:
    rows = recorded(compat=compat).key_averages()
    assert rows.table(row_limit=-5) == rows.table(row_limit=-1) == rows.table(row_limit=inf)


@pytest.mark.parametrize("compat", [None, "torch"])
def test_a_limit_is_any_number(compat: Any) -> None:
    """torch compares it with the number of rows that are there: what equals none is no limit."""
    with marey.profiler.profile(compat=compat) as prof:
        for name in "abc":
            with marey.record_function(name):
                pass
    table = prof.key_averages().table
    for two in (2.0, Fraction(2), Decimal(2)):
        assert table(row_limit=two) == table(row_limit=2) != table(row_limit=-1)
    for no_limit in (2.5, nan, -inf, Fraction(5, 2), Decimal("nan")):
        assert table(row_limit=no_limit) == table(row_limit=-1)
    for none in ("2", [2]):
        with pytest.raises(TypeError, match="^no row limit .*: give a whole number$"):
            table(row_limit=none)


@pytest.mark.parametrize("compat", [None, "torch"])
@pytest.mark.parametrize("n", [2**32, 2**40, 2**63, 2**70])
def test_a_number_beyond_all_bounds_is_no_limit(compat: Any, n: int) -> None:
    prof = recorded(compat=compat)
    rows = prof.key_averages()
    assert rows.table(row_limit=n) == rows.table(row_limit=-1)
    for width in ("max_name_column_width", "max_shapes_column_width", "max_src_column_width"):
        assert rows.table(**{width: n}) == rows.table(**{width: None})
    assert [r.key for r in prof.key_averages(group_by_stack_n=n)] == ["a"]


def test_the_strict_tables_take_such_numbers_too() -> None:
    with marey.profile() as prof, marey.record_function("a"):
        pass
    rows = prof.key_averages()
    assert rows.table(row_limit=2**63) == rows.table(row_limit=-1)
    assert rows.table(layout="marey", max_name_column_width=2**70) == rows.table(layout="marey")


@pytest.mark.parametrize("columns", [5, [5], ["name", None], b"name"])
def test_columns_are_names(columns: Any) -> None:
    rows = recorded().key_averages()
    with pytest.raises(TypeError, match="^no columns .*: give names, a text, or None"):
        rows.table(layout="marey", columns=columns)


def test_seconds_are_a_number(tmp_path: Path) -> None:
    for module in (marey.profiler, marey.autograd_profiler):
        with pytest.raises(TypeError, match="^no post_processing_timeout_s 'x': give seconds"):
            module.profile(post_processing_timeout_s="x")
    prof = recorded()
    prof.post_processing_timeout_s = "x"
    with pytest.raises(TypeError, match="^no post_processing_timeout_s 'x': give seconds"):
        prof.start()
    for background in (False, True):
        with pytest.raises(TypeError, match="^no timeout_s 'x': give seconds, or None"):
            prof.export_chrome_trace(tmp_path / "a", timeout_s="x", background=background)


@pytest.mark.parametrize("number", [1.5, "x", None])
def test_a_step_has_a_whole_number(number: Any) -> None:
    prof = marey.profiler.profile(schedule=marey.schedule(wait=0, warmup=1, active=1))
    with pytest.raises(TypeError, match="^no step_num .*: give a whole number"):
        prof.step_num = number
    prof.step_num = 7.0  # type: ignore[assignment]
    assert repr(prof.step_num) == "7"


def test_a_unit_that_there_is_not_is_told() -> None:
    rows = recorded().key_averages()
    with pytest.warns(UserWarning, match="^no time unit 'ns', each cell has its own"):
        assert rows.table(time_unit="ns") == rows.table()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no time unit 'ns'"), marey.profile() as prof:
        prof.key_averages().table(time_unit="ns")  # type: ignore[arg-type]


@pytest.mark.parametrize("compat", [None, "torch"])
@pytest.mark.parametrize("arguments", [{"header": 5}, {"sort_by": ["cpu_time"]}])
def test_a_table_names_the_argument_that_is_no_text(compat: Any, arguments: dict[str, Any]) -> None:
    (name, value), = arguments.items()
    with pytest.raises(TypeError, match=f"^no {name} {re.escape(repr(value))}: give a text, or None"):
        recorded(compat=compat).key_averages().table(**arguments)


@pytest.mark.parametrize("kind", [marey.profile, marey.profiler.profile])
@pytest.mark.parametrize(
    "arguments",
    [{"keep_bytes": "5"}, {"pool_bytes": "5"}, {"first_step": "a"}, {"first_step": None}],
)
def test_a_number_is_checked_when_it_is_given(kind: Any, arguments: dict[str, Any]) -> None:
    (name, value), = arguments.items()
    with pytest.raises(TypeError, match=f"^no {name} {value!r}: give a whole number$"):
        kind(**arguments)


def test_a_small_pool_is_told_in_its_own_unit() -> None:
    assert [bytes_text(n) for n in (1023, 1024, 2**20 - 1, 2**20, 5 * 2**30)] == [
        "1023 bytes", "1 KiB", "1023 KiB", "1 MiB", "5,120 MiB",
    ]  # fmt: skip


@pytest.mark.parametrize("compat", [None, "torch"])
def test_an_event_that_there_is_not(compat: Any) -> None:
    events = recorded(compat=compat).events()
    for index in (100, -2):
        with pytest.raises(IndexError, match=f"^no event {index}: there are 1$"):
            events[index]
