"""Worker processes that sign in with a profile: joined, missed in words, or gone in silence."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import marey
from marey import profiler, record_function

WAIT_S = 120
METHODS = ["fork", "spawn", "forkserver"]
# Forks with a thread of the recorder running, which newer Pythons warn of.
pytestmark = [pytest.mark.forks, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def work(name: str) -> None:
    with record_function(name):
        pass


def worker(init: Any, number: int, end: str, begun: Any, may_end: Any) -> None:
    init(number)
    work(f"in {number}")
    begun.put(number)
    assert may_end.wait(WAIT_S)
    if end == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if end == "exits":
        os._exit(0)


class Crew:
    """Processes that have all recorded when it is made, and end when they are told to."""

    def __init__(self, method: str, prof: Any, ends: list[str]) -> None:
        context: Any = multiprocessing.get_context(method)
        begun = context.SimpleQueue()
        self.may_end = context.Event()
        self.processes = [
            context.Process(target=worker, args=(prof.worker_init(), i, end, begun, self.may_end))
            for i, end in enumerate(ends)
        ]
        for process in self.processes:
            process.start()
        assert sorted(begun.get() for _ in ends) == list(range(len(ends)))

    def end(self) -> list[int]:
        self.may_end.set()
        for process in self.processes:
            process.join(WAIT_S)
        return [process.exitcode for process in self.processes]


def names(prof: Any) -> set[str]:
    return {event.name for event in prof.events()}


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_hands_nothing_over_is_missed(method: str) -> None:
    with marey.profile() as prof:
        crew = Crew(method, prof, ["well", "killed", "exits"])
        assert crew.end() == [0, -signal.SIGKILL, 0]
    with pytest.warns(UserWarning, match="^2 of 3 workers handed nothing over") as said:
        counts = {row.key: row.count for row in prof.key_averages()}
    assert [warning.filename for warning in said] == [__file__]
    assert counts == {"in 0": 1}
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        assert names(prof) == {"in 0"}


def test_a_worker_that_still_runs_is_told_and_comes_in_later() -> None:
    with marey.profile() as prof:
        crew = Crew("fork", prof, ["well", "well"])
        with pytest.warns(UserWarning, match="^2 of 2 workers still run:"):
            assert names(prof) == set()
    assert crew.end() == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names(prof) == {"in 0", "in 1"}


def test_that_workers_run_is_told_once_a_profile(tmp_path: Path) -> None:
    plan = marey.schedule(wait=0, warmup=1, active=1)
    handler = profiler.tensorboard_trace_handler(str(tmp_path))
    prof = profiler.profile(schedule=plan, on_trace_ready=handler)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            with prof:
                crew = Crew("fork", prof, ["well", "well"])
                for _ in range(6):
                    work("step")
                    prof.step()
            assert crew.end() == [0, 0]
    (told,) = [str(warning.message) for warning in said if "still run" in str(warning.message)]
    assert told.startswith("2 of 2 workers still run: what they do is in the results once they have")
    assert told.endswith("a file that is written before, as in on_trace_ready, is without them")
    assert len(list(tmp_path.iterdir())) == 6


def test_workers_of_an_earlier_run_are_not_in_the_next() -> None:
    prof = marey.profile()
    for _ in range(2):
        with prof:
            assert Crew("fork", prof, ["well"]).end() == [0]
        assert [event.name for event in prof.events()] == ["in 0"]


def test_workers_tell_no_rank_that_nobody_told(tmp_path: Path) -> None:
    with marey.profile() as prof:
        assert Crew("fork", prof, ["well", "well"]).end() == [0, 0]
        work("own")
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        prof.export_chrome_trace(file)
    assert "distributedInfo" not in json.loads(files[0].read_text())
    of_one, of_both = marey.load(files[0]).sources, marey.load(files).sources
    assert [(source.rank, source.rank_is_assumed) for source in of_one] == [(0, True)] * 3
    assert [source.rank for source in of_both] == [0, 0, 0, 1, 1, 1]


def test_the_program_itself_is_no_worker() -> None:
    called: list[int] = []
    with marey.profile() as prof:
        prof.worker_init(called.append)(3)
        work("once")
    assert called == [3]
    assert [event.name for event in prof.events()] == ["once"]


def test_who_signs_in_twice_is_recorded_once() -> None:
    with marey.profile() as prof:
        init = prof.worker_init()
        context: Any = multiprocessing.get_context("fork")
        process = context.Process(target=lambda: (init(0), init(0), work("here")))
        process.start()
        process.join(WAIT_S)
        assert process.exitcode == 0
    assert [event.name for event in prof.events()] == ["here"]
    assert len({event.track.process for event in prof.events()}) == 1


def obedient(init: Any, orders: Any, done: Any) -> None:
    """Records what it is told to, when it is told to."""
    init(0)
    for name in iter(orders.get, ""):
        work(name)
        done.put(name)


class Obedient:
    def __init__(self, prof: Any) -> None:
        context: Any = multiprocessing.get_context("fork")
        self.orders, self.done = context.SimpleQueue(), context.SimpleQueue()
        arguments = prof.worker_init(), self.orders, self.done
        self.process = context.Process(target=obedient, args=arguments)
        self.process.start()

    def work(self, name: str) -> None:
        self.orders.put(name)
        assert self.done.get() == name

    def end(self) -> None:
        self.orders.put("")
        self.process.join(WAIT_S)
        assert self.process.exitcode == 0


def of_work(results: Any) -> list[str]:
    return sorted(e.name for e in results.events() if e.name.startswith("step"))


@pytest.mark.parametrize("profile", [marey.profile, profiler.profile])
@pytest.mark.parametrize("keep_bytes", [None, 1])
def test_workers_are_in_the_cycles_in_which_they_worked(profile: Any, keep_bytes: Any) -> None:
    plan = marey.schedule(wait=1, warmup=1, active=1, repeat=3)
    with profile(schedule=plan, keep_bytes=keep_bytes) as prof:
        lasting = Obedient(prof)
        for i in range(10):
            lasting.work(f"step {i}")
            prof.step()
        lasting.work("step 10")
    lasting.end()
    rows = [row for row in prof.key_averages() if row.key.startswith("step")]
    assert {row.key: row.count for row in rows} == {"step 2": 1, "step 5": 1, "step 8": 1}
    table = prof.key_averages().table()
    assert "2 processes of one program)" in table
    assert "apart in time" not in table
    for cycle, step in zip(prof.cycles, ["step 2", "step 5", "step 8"], strict=True):
        rows = [row for row in cycle.key_averages() if row.key.startswith("step")]
        assert [row.key for row in rows] == [step]
        if cycle.is_whole:
            assert of_work(cycle) == [step]
    assert [cycle.is_whole for cycle in prof.cycles] == [keep_bytes is None, True, True]
    whole = [f"step {i}" for i in (2, 5, 8)][keep_bytes is not None :]
    assert of_work(prof) == whole


def test_a_cycle_handed_over_has_its_own_workers_only(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def ready(prof: Any) -> None:
        prof.export_chrome_trace(tmp_path / "cycle.json")
        assert of_work(marey.load(tmp_path / "cycle.json")) == of_work(prof)
        seen.append(of_work(prof))

    plan = marey.schedule(wait=0, warmup=1, active=2, repeat=2)
    with profiler.profile(schedule=plan, on_trace_ready=ready) as prof:
        for i in range(6):
            worker = Obedient(prof)
            worker.work(f"step {i}")
            worker.end()
            prof.step()
    assert seen == [["step 1", "step 2"], ["step 4", "step 5"]]
    assert of_work(prof) == ["step 1", "step 2", "step 4", "step 5"]


def records_too_much(init: Any) -> None:
    init(0)
    for _ in range(200_000):
        work("much")


def test_a_worker_that_found_no_room_is_told() -> None:
    with marey.profile(pool_bytes=1 << 20) as prof:
        process = multiprocessing.get_context("fork").Process(
            target=records_too_much, args=(prof.worker_init(),)
        )
        process.start()
        process.join(WAIT_S)
        assert process.exitcode == 0
    with pytest.warns(UserWarning, match="a worker lost") as said:
        rows = prof.trace.ledger.rows
    (lost,) = (row.count for row in rows if row.reason == "lost")
    assert lost > 0
    assert str(said[0].message) == (
        f"a worker lost {lost:,} records: there was no room in 1 MiB each; a larger pool_bytes keeps all"
    )
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        assert "much" in names(prof)


def test_torchs_view_says_that_it_leaves_workers_out() -> None:
    with profiler.profile(compat="torch") as prof:
        worker = Obedient(prof)
        worker.work("step of a worker")
        worker.end()
        work("step of ours")
    with pytest.warns(UserWarning, match="shows this process alone.* are in prof.trace"):
        assert of_work(prof) == ["step of ours"]
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        assert [row.key for row in prof.key_averages()] == ["step of ours"]
    assert {e.name for e in prof.trace.events()} >= {"step of ours", "step of a worker"}


def test_torchs_table_of_several_processes_is_refused_as_such() -> None:
    with profiler.profile() as prof:
        worker = Obedient(prof)
        worker.work("step of a worker")
        worker.end()
        work("step of ours")
    assert of_work(prof.profiler) == ["step of a worker", "step of ours"]
    with pytest.raises(ValueError, match="torch's view of 2 processes of one rank"):
        prof.key_averages().table(compat="torch")


def test_what_a_worker_does_while_it_is_switched_off_is_not_there() -> None:
    cpu = [marey.ProfilerActivity.CPU]
    with marey.profile() as prof:
        worker = Obedient(prof)
        worker.work("step on")
        prof.toggle_collection_dynamic(False, cpu)
        worker.work("step off")
        prof.toggle_collection_dynamic(True, cpu)
        worker.work("step again")
    worker.work("step after the stop")
    worker.end()
    assert of_work(prof) == ["step again", "step on"]


def without_words(results: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {"ours"} == names(results) == {row.key for row in results.key_averages()}
        results.export_chrome_trace(tmp_path / "trace.json")
    assert "ours" in names(marey.load(tmp_path / "trace.json"))


@pytest.mark.parametrize("profile", [marey.profile, profiler.profile])
def test_the_program_itself_is_there_when_the_folder_of_workers_is_gone(
    profile: Any, tmp_path: Path
) -> None:
    """As whoever cleans /tmp may do within a week."""
    prof = profile()
    with prof:
        init = prof.worker_init()
        assert Crew("fork", prof, ["well"]).end() == [0]
        work("ours")
    shutil.rmtree(init.folder)
    with pytest.warns(UserWarning, match="not in the results, nor will they be") as said:
        assert names(prof) == {"ours"}
    assert [warning.filename for warning in said] == [__file__]
    without_words(prof, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with prof:
            assert Crew("fork", prof, ["well"]).end() == [0]
            work("ours")
    without_words(prof, tmp_path)


def test_a_file_of_a_worker_that_is_gone_costs_that_worker_alone() -> None:
    with marey.profile() as prof:
        init = prof.worker_init()
        assert Crew("fork", prof, ["well"]).end() == [0]
        work("ours")
    (left,) = Path(init.folder).glob("*.json")
    left.unlink()
    left.mkdir()
    with pytest.warns(UserWarning, match="not in the results"):
        assert names(prof) == {"ours"}


OUTLIVED = """
import gc, multiprocessing, os, sys
import marey

def worker(init, begun, may_end):
    init(0)
    with marey.record_function("work"):
        pass
    begun.put(0)
    may_end.get()

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    begun, may_end = context.SimpleQueue(), context.SimpleQueue()
    prof = marey.profile()
    with prof:
        init = prof.worker_init()
        process = context.Process(target=worker, args=(init, begun, may_end))
        process.start()
        begun.get()
    del prof
    gc.collect()
    assert not os.path.exists(init.folder)
    may_end.put(0)
    process.join()
    assert process.exitcode == 0
    assert not os.path.exists(init.folder)
"""


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_outlives_the_profile_ends_in_silence(method: str, tmp_path: Path) -> None:
    script = tmp_path / "outlived.py"
    script.write_text(OUTLIVED)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", script, method],
        capture_output=True, text=True, timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
