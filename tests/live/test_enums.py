"""Enums of torch: what a drop-in hands out is torch's own, and what anything of ours hands out is equal
to torch's on whichever side it stands, as programs that add up profiles need it."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.autograd.profiler
import torch.profiler

import marey.autograd_profiler
import marey.profiler

Torchs: Any = torch.autograd.DeviceType
CPU = [torch.profiler.ProfilerActivity.CPU]


def run(program: str) -> str:
    """In a process of its own: what is imported first counts."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def results(path: Path) -> Iterator[Any]:
    with marey.profiler.profile(activities=CPU) as prof:
        torch.ones(2).add(1)
    prof.export_chrome_trace(path)
    trace = marey.load(path)
    view = trace.view(compat="torch")
    for shown in (prof, trace, view):
        yield shown.events()
        yield shown.key_averages()


def test_events_and_rows_are_found_by_torchs_device_type(tmp_path: Path) -> None:
    for shown in results(tmp_path / "a.json"):
        assert [item for item in shown if item.device_type == Torchs.CPU] == list(shown) != []
        assert [item for item in shown if Torchs.CPU == item.device_type] == list(shown)  # noqa: SIM300
        assert [item for item in shown if item.device_type != Torchs.CPU] == []
        assert [item for item in shown if Torchs.CPU != item.device_type] == []  # noqa: SIM300
        assert [item for item in shown if item.device_type == Torchs.CUDA] == []
        assert {item.device_type for item in shown} == {Torchs.CPU}
        found = shown[0].device_type
        assert found in {Torchs.CPU}
        assert Torchs.CPU in {found}
        assert {Torchs.CPU: 1}[found] == {found: 1}[Torchs.CPU] == 1


def test_device_types_look_as_torchs_and_are_ours_too(tmp_path: Path) -> None:
    for shown in results(tmp_path / "a.json"):
        found = shown[0].device_type
        assert isinstance(found, Torchs)
        for theirs, ours in ((Torchs.CPU, found), (Torchs.CUDA, marey.DeviceType.CUDA)):
            assert (str(ours), repr(ours), f"{ours}") == (str(theirs), repr(theirs), f"{theirs}")
            assert (hash(ours), int(ours), ours.name) == (hash(theirs), int(theirs), theirs.name)
            assert pickle.loads(pickle.dumps(ours)) == copy.deepcopy(ours) == ours
        assert found == marey.DeviceType.CPU == found
        assert not found != marey.DeviceType.CPU  # noqa: SIM202
        assert found < marey.DeviceType.CUDA


@pytest.mark.parametrize("name", sorted(Torchs.__members__))
def test_our_device_types_are_equal_to_torchs(name: str) -> None:
    ours, theirs = marey.DeviceType[name], Torchs.__members__[name]
    assert ours == theirs
    assert not ours != theirs  # noqa: SIM202
    assert ours != Torchs(1 - (int(theirs) == 1))
    assert int(ours) == int(theirs)


def test_names_of_the_drop_ins_are_torchs() -> None:
    for module, theirs in (
        (marey.profiler, torch.profiler), (marey.autograd_profiler, torch.autograd.profiler),
    ):  # fmt: skip
        assert module.DeviceType is Torchs
        assert module.ProfilerActivity is theirs.ProfilerActivity
    assert marey.profiler.ProfilerAction is torch.profiler.ProfilerAction


def test_what_a_profile_says_of_itself_is_torchs() -> None:
    prof = marey.profiler.profile(activities=[{CPU[0]: ["CPU_OP"]}])
    assert prof.activities == marey.profiler.supported_activities() == set(CPU)
    assert list(prof.activity_filters) == CPU
    assert prof.current_action is torch.profiler.ProfilerAction.RECORD
    assert prof.schedule(0) is torch.profiler.ProfilerAction.RECORD
    with prof:
        assert prof.current_action is torch.profiler.ProfilerAction.RECORD


@pytest.mark.parametrize("schedule", [marey.profiler.schedule, marey.schedule])
def test_torchs_profiler_goes_by_our_schedule(schedule: Callable[..., Any]) -> None:
    n_events = []
    with torch.profiler.profile(
        activities=CPU,
        schedule=schedule(wait=1, warmup=1, active=1, repeat=1),
        on_trace_ready=lambda prof: n_events.append(len(prof.events())),
    ) as prof:
        for _ in range(4):
            torch.ones(2).add(1)
            prof.step()
    assert len(n_events) == 1
    assert n_events[0] > 0


def test_actions_of_the_drop_ins_schedule_are_of_torchs_class() -> None:
    plan = marey.profiler.schedule(wait=1, warmup=1, active=1)
    assert [plan(step) for step in range(3)] == [
        torch.profiler.ProfilerAction.NONE,
        torch.profiler.ProfilerAction.WARMUP,
        torch.profiler.ProfilerAction.RECORD_AND_SAVE,
    ]
    assert isinstance(plan(0), torch.profiler.ProfilerAction)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(plan).startswith("marey.schedule(wait=1, warmup=1, active=1")


def test_our_own_enums_are_equal_to_torchs() -> None:
    for ours, theirs in (
        (marey.ProfilerAction, torch.profiler.ProfilerAction),
        (marey.ProfilerActivity, torch.profiler.ProfilerActivity),
    ):
        for name in set(ours.__members__) & set(theirs.__members__):
            assert ours[name] == theirs.__members__[name]
            assert ours[name] != theirs.__members__["CPU" if name == "CUDA" else next(
                other for other in theirs.__members__ if other != name
            )]  # fmt: skip
    assert torch.profiler.ProfilerAction.RECORD == marey.ProfilerAction.RECORD
    assert torch.profiler.ProfilerActivity.CUDA in {marey.ProfilerActivity.CUDA}


def test_it_does_not_matter_whether_torch_is_imported_later() -> None:
    assert run("""
import sys
import marey.profiler
from marey.profiler import profile, schedule
with profile(activities=None) as prof, marey.record_function("a"): pass
plan = schedule(wait=1, warmup=1, active=1)
marey.DeviceType, marey.ProfilerAction, marey.ProfilerActivity
event = prof.events()[0]
early = event.device_type
assert plan(0) is marey.ProfilerAction.NONE, plan(0)
assert early is marey.DeviceType.CPU
import torch
assert plan(0) is torch.profiler.ProfilerAction.NONE
assert early == torch.autograd.DeviceType.CPU == event.device_type == early
assert torch.profiler.ProfilerActivity.CPU in prof.activities
from marey.profiler import ProfilerActivity
assert ProfilerActivity is torch.profiler.ProfilerActivity
print("done")
""") == "done"


def test_names_of_the_drop_in_are_torchs_if_they_are_asked_for_first() -> None:
    """A sorter of imports puts marey before torch."""
    assert run("""
from marey.profiler import DeviceType, ProfilerAction, ProfilerActivity
import torch
assert ProfilerActivity is torch.profiler.ProfilerActivity
assert ProfilerAction is torch.profiler.ProfilerAction
assert DeviceType is torch.autograd.DeviceType
print("done")
""") == "done"


def test_our_own_names_import_no_torch() -> None:
    assert run("""
import sys
import marey, marey.profiler, marey.autograd_profiler
from marey import DeviceType, ProfilerAction, ProfilerActivity
marey.schedule(wait=1, warmup=1, active=1)(0)
print("torch" in sys.modules)
""") == "False"
