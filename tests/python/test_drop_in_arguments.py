"""Arguments that torch takes, and what is said of those that nobody can take."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

import pytest

import marey
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
