"""What a profile is given is checked where it is given, and asked no oftener than torch asks it."""

from __future__ import annotations

from typing import Any

import pytest
from loops import n_calls, run, work

import marey
from marey import ProfilerAction as Action
from marey import autograd_profiler, profiler

PROFILES = [marey.profile, profiler.profile]


@pytest.fixture(params=PROFILES, ids=["marey.profile", "marey.profiler.profile"])
def profile(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_schedule_is_asked_once_for_each_step(profile: Any) -> None:
    """Of the first where it is given, and not again at a start."""
    asked: list[int] = []

    def plan(step: int) -> Action:
        asked.append(step)
        return Action.RECORD_AND_SAVE

    prof = profile(schedule=plan)
    assert asked == [0]
    assert prof.current_action.name == "RECORD_AND_SAVE"
    run(prof, 1)
    assert asked == [0, 1]
    run(prof, 1)
    assert asked == [0, 1, 2]
    assert [cycle.steps for cycle in prof.cycles] == [[0], [1]]


@pytest.mark.filterwarnings("ignore:step. was never called")
def test_a_profile_tells_what_its_next_step_is(profile: Any) -> None:
    assert profile().current_action.name == "RECORD"
    prof = profile(schedule=marey.schedule(wait=1, warmup=1, active=1))
    for _ in range(2):
        assert prof.current_action.name == "NONE"
        with prof:
            assert prof.current_action.name == "NONE"
    with prof:
        prof.step()
    assert prof.current_action.name == "WARMUP"


def test_a_schedule_that_fails_leaves_the_step_as_it_is(profile: Any) -> None:
    given = [Action.RECORD, None, Action.RECORD]
    prof = profile(schedule=lambda step: given.pop(0))
    with prof:
        work()
        with pytest.raises(ValueError, match="a schedule gave None"):
            prof.step()
        assert prof.step_num == 0
        work()
        prof.step()
    assert [e.name for e in prof.events() if e.name != "work"] == ["ProfilerStep#0"]
    assert (n_calls(prof), prof.cycles[0].steps) == (2, [0])


@pytest.mark.parametrize("name", ["schedule", "on_trace_ready"])
def test_what_is_false_is_none(profile: Any, name: str) -> None:
    """As of `rank == 0 and handler`."""
    for value in (None, False, 0, ""):
        prof = profile(**{name: value})
        with prof:
            work()
        assert n_calls(prof) == 1


@pytest.mark.parametrize("name", ["schedule", "on_trace_ready"])
@pytest.mark.parametrize("value", [1, "x", [print]])
def test_what_cannot_be_called_is_refused_where_it_is_given(
    profile: Any, name: str, value: Any
) -> None:
    for give in (lambda: profile(**{name: value}), lambda: setattr(profiler.profile(), name, value)):
        with pytest.raises(TypeError, match=f"^{name}=.*: give a function, or None"):
            give()


def test_an_observer_that_is_none_is_refused_where_it_is_given() -> None:
    with pytest.raises(TypeError, match="^execution_trace_observer=5: give an object with start"):
        profiler.profile(execution_trace_observer=5)
    assert profiler.profile(execution_trace_observer=False).execution_trace_observer is None


def test_a_schedule_that_gives_no_action_is_refused_where_it_is_given(profile: Any) -> None:
    with pytest.raises(ValueError, match="a schedule gave 7, which is no ProfilerAction"):
        profile(schedule=lambda step: 7)


def test_a_schedule_that_is_set_counts_from_the_start() -> None:
    prof = profiler.profile()
    prof.schedule = marey.schedule(wait=1, warmup=1, active=1)
    assert prof.current_action.name == "NONE"
    with pytest.raises(ValueError, match="no ProfilerAction"):
        prof.schedule = lambda step: None
    run(prof, 3)
    assert n_calls(prof) == 1


def test_bounds_of_memory_are_checked_where_they_are_given(profile: Any) -> None:
    for name in ("pool_bytes", "keep_bytes"):
        with pytest.raises(ValueError, match=r"^no .*-5"):
            profile(**{name: -5})
        with pytest.raises(TypeError, match=f"^no {name} 1.5: give a whole number"):
            profile(**{name: 1.5})
    with profile(keep_bytes=0) as prof:
        work()
    assert n_calls(prof) == 1


@pytest.mark.parametrize(("given", "bound"), [(10, 1 << 16), (3 << 16, 3 << 16), (200_000, 3 << 16)])
def test_a_pool_is_of_whole_blocks(profile: Any, given: int, bound: int) -> None:
    with profile(pool_bytes=given) as prof:
        pass
    assert prof.stats.pool_bytes == bound


@pytest.mark.parametrize("given", [1 << 60, 1 << 70])
def test_a_pool_beyond_all_bounds_is_what_there_is(profile: Any, given: int) -> None:
    with profile(pool_bytes=given) as prof:
        work()
    assert 1 << 20 <= prof.stats.pool_bytes <= 1 << 40


def test_a_trace_id_may_be_bytes_of_any_kind() -> None:
    prof = profiler.profile(custom_trace_id_callback=lambda: b"a\xff")  # type: ignore[arg-type]
    with prof:
        work()
    assert prof.get_trace_id() == prof.trace.metadata["trace_id"] == "a\\xff"


def test_what_makes_no_trace_id_is_refused_where_it_is_given() -> None:
    for module in (profiler, autograd_profiler):
        with pytest.raises(TypeError, match="^custom_trace_id_callback=5: give a function"):
            module.profile(custom_trace_id_callback=5)
    with pytest.raises(TypeError, match="^custom_trace_id_callback=5: give a function"):
        profiler.profile().set_custom_trace_id_callback(5)  # type: ignore[arg-type]
