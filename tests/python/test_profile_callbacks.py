"""on_trace_ready that raises, or stops the profiler: no cycle is lost or handed over twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import marey


def steps_of(prof: marey.profile) -> list[str]:
    return sorted(e.name for e in prof.events() if e.name.startswith("ProfilerStep"))


def test_an_exception_in_the_callback_loses_no_cycle() -> None:
    seen: list[list[str]] = []

    def ready(prof: marey.profile) -> None:
        seen.append(steps_of(prof))
        if len(seen) == 1:
            raise ValueError("not this one")

    plan = marey.schedule(wait=0, warmup=0, active=1, repeat=3)
    prof = marey.profile(schedule=plan, on_trace_ready=ready)
    prof.start()
    with pytest.raises(ValueError, match="not this one"):
        prof.step()
    prof.step()
    prof.step()
    prof.stop()
    assert seen == [["ProfilerStep#0"], ["ProfilerStep#1"], ["ProfilerStep#2"]]


def test_a_callback_may_stop_the_profiler() -> None:
    seen: list[list[str]] = []

    def ready(prof: marey.profile) -> None:
        seen.append(steps_of(prof))
        prof.stop()

    plan = marey.schedule(wait=0, warmup=0, active=1)
    with marey.profile(schedule=plan, on_trace_ready=ready) as prof:
        prof.step()
    assert seen == [["ProfilerStep#0"]]
    with marey.profile() as another:
        pass
    assert another.stats.n_records == 0


@pytest.mark.parametrize(
    ("warmup", "active", "cycles"),
    [
        (0, 1, [[0], [2], [3], [4]]),
        (1, 1, [[1], [3], [5]]),
        (0, 2, [[0, 1], [3], [4, 5]]),
        (1, 2, [[1, 2], [4, 5]]),
    ],
)
def test_a_step_in_the_callback_has_one_range(
    warmup: int, active: int, cycles: list[list[int]]
) -> None:
    was_called: list[bool] = []

    def ready(prof: marey.profile) -> None:
        if not was_called:
            was_called.append(True)
            prof.step()

    plan = marey.schedule(wait=0, warmup=warmup, active=active)
    with marey.profile(schedule=plan, on_trace_ready=ready, keep_bytes=1 << 20) as prof:
        while prof.step_num <= cycles[-1][-1]:
            with marey.record_function("work"):
                pass
            prof.step()
    assert [cycle.steps for cycle in prof.cycles] == cycles
    for cycle in prof.cycles:
        names = [e.name for e in cycle.events() if e.name != "work"]
        assert names == [f"ProfilerStep#{step}" for step in cycle.steps]
    assert not marey.is_recording()


def test_torchs_handler_for_tensorboard_writes_a_file(tmp_path: Path) -> None:
    profiler = pytest.importorskip("torch.profiler", reason="torch is not installed")
    handler = profiler.tensorboard_trace_handler(str(tmp_path), "worker")
    with marey.profile(on_trace_ready=handler), marey.record_function("work"):
        pass
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("worker.") and file.name.endswith(".pt.trace.json")
    assert [e.name for e in marey.load(file).events() if e.kind == "annotation"] == ["work"]
