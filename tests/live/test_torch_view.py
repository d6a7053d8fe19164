"""profile(compat="torch") beside torch's own profiler: what its events and averages say of the
same run, recorded by both at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.profiler

import marey.profiler

pytestmark = pytest.mark.filterwarnings("ignore:CUDA is not available")

ONES = torch.ones(3)


def cpu(profiler: Any) -> list[Any]:
    """On a machine with a GPU torch would record its calls and kernels too."""
    return [profiler.ProfilerActivity.CPU]


def by_both(
    work: Callable[[], Any], compat: Any = "torch", **options: Any
) -> tuple[Any, Any]:
    """torch's profile and ours of one run. Ours ends first, so that it has nothing of torch's."""
    work()
    with (
        torch.profiler.profile(activities=cpu(torch.profiler), **options) as theirs,
        marey.profiler.profile(
            activities=cpu(marey.profiler), compat=compat, **options
        ) as ours,
    ):
        work()
    return theirs, ours


@pytest.mark.parametrize("compat", [None, "torch"])
def test_concrete_inputs_are_values(compat: Any) -> None:
    def work() -> None:
        x = ONES.add(ONES, alpha=2.5).clamp(0.1, None).view(1, -1).sum(dim=1, keepdim=True)
        torch.empty(2, 3, device="cpu").copy_(x.to(torch.float64)).fill_(0)
        ONES.masked_fill(ONES > 0, float("-inf")).add_(float("nan"))

    def inputs_of(prof: Any) -> set[Any]:
        return {(e.name, repr(e.concrete_inputs)) for e in prof.events()}

    theirs, ours = by_both(work, compat, record_shapes=True)
    assert inputs_of(ours) == inputs_of(theirs)


# ---- ranges without an end on their thread ---------------------------------------------------------


def shape_of(events: Any) -> Counter[Any]:
    return Counter(
        (e.name, e.is_async, e.cpu_parent and e.cpu_parent.name, len(e.cpu_children),
         e.is_async and e.self_cpu_time_total)
        for e in events
    )  # fmt: skip


def end_elsewhere(name: str) -> None:
    elsewhere = torch.profiler.record_function(name)
    elsewhere.__enter__()
    thread = threading.Thread(target=elsewhere.__exit__, args=(None, None, None))
    thread.start()
    thread.join()


def test_a_range_that_ends_on_another_thread_is_asynchronous() -> None:
    def work() -> None:
        end_elsewhere("alone")
        with torch.profiler.record_function("outer"):
            end_elsewhere("inner")
            ONES.add(1)
        ONES.mul(2)

    theirs, ours = by_both(work)
    assert shape_of(ours.events()) == shape_of(theirs.events())
    assert {e.name for e in ours.events() if e.is_async} == {"alone", "inner"}
    ends = {e.name: e.time_range.end for e in ours.events()}
    assert ends["inner"] == ends["outer"] < ends["alone"]
    row = next(row for row in ours.key_averages() if row.key == "alone")
    assert row.is_async and row.self_cpu_time_total == 0 < row.cpu_time_total


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """A process group of this process alone."""
    dist = pytest.importorskip("torch.distributed")
    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this torch has no gloo")
    dist.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1
    )
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("group")
def test_a_collective_is_asynchronous() -> None:
    """torch marks it so, though it begins and ends on a thread of the back end."""

    def work() -> None:
        torch.distributed.all_reduce(torch.ones(100_000))

    theirs, ours = by_both(work)
    assert shape_of(ours.events()) == shape_of(theirs.events())
    row = next(row for row in ours.key_averages() if row.key == "gloo:all_reduce")
    assert row.is_async and row.self_cpu_time_total == 0 < row.cpu_time_total
    assert ours.key_averages().self_cpu_time_total < sum(
        e.cpu_time_total for e in ours.events() if e.cpu_parent is None
    )

    with marey.profiler.profile(activities=cpu(marey.profiler)) as prof:
        work()
    assert {e.name for e in prof.events() if e.is_async} == {"gloo:all_reduce"}
    assert [r.key for r in prof.key_averages() if r.is_async] == ["gloo:all_reduce"]
    is_whole = [e for e in prof.events() if e.is_async and not e.is_open]
    assert all(e.self_ns == e.dur_ns for e in is_whole) and is_whole


def test_a_range_that_is_open_at_the_end_is_asynchronous() -> None:
    still_open = []

    def work() -> None:
        still_open.append(torch.profiler.record_function("open"))
        still_open[-1].__enter__()
        ONES.add(1)

    theirs, ours = by_both(work)
    for each in still_open:
        each.__exit__(None, None, None)
    assert shape_of(ours.events()) == shape_of(theirs.events())
    assert [e.name for e in ours.events() if e.is_async] == ["open"]
