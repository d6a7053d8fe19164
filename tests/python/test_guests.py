"""A recorder is a guest: with it in the process, all else goes on as without.

What needs no torch is in test_profile.py, and torch.profiler under `marey run` in test_run.py.
"""

from __future__ import annotations

import collections
import ctypes
import gc
import itertools
import os
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

if os.environ.get("MAREY_WITHOUT_TORCH"):  # torch is not built for sanitizers
    pytest.skip("MAREY_WITHOUT_TORCH is set", allow_module_level=True)
torch = pytest.importorskip("torch", reason="torch is not installed")

import torch.autograd.profiler as autograd_profiler  # noqa: E402
from torch.profiler import ProfilerActivity  # noqa: E402

import marey  # noqa: E402
from marey import CollectorError, _live_torch  # noqa: E402

Names = collections.Counter[str | None]
WAIT_S = 60
# Python 3.12 and newer warn of a fork among threads, which torch has; torch of its own future.
QUIET = ("-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning")
# Its profiler tells when it starts and stops, that its events are of one cycle, and, if it was built
# for CUDA, that this machine has no driver.
TORCH_SAYS = re.compile("^USDT:|set acc_events=True|gpuGetDeviceCount failed with code 35$")
FAST = torch._C._profiler._RecordFunctionFast


@pytest.fixture(scope="module", autouse=True)
def collector() -> None:
    try:
        _live_torch.attach()
    except CollectorError as error:
        pytest.skip(error.reason)


def hooks_are_there() -> bool:
    """at::hasGlobalCallbacks, which has no name in Python."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    ask = library["_ZN2at18hasGlobalCallbacksEv"]
    ask.restype = ctypes.c_bool
    return bool(ask())


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Whatever a test does, at its end the process is as it was."""
    yield
    gc.collect()
    assert not marey.is_recording()
    assert not hooks_are_there()
    assert not autograd_profiler._is_profiler_enabled
    assert torch._C._profiler._RecordFunctionFast is FAST
    for name in ("_run_on_profiler_start", "_run_on_profiler_stop"):
        assert getattr(autograd_profiler, name).__module__ == autograd_profiler.__name__


# ---- what is recorded ------------------------------------------------------------------------------------


def network() -> None:
    """Operators, backward nodes, a range, a fast range."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 4)
    with torch.profiler.record_function("forward"):
        loss = layer(torch.ones(2, 3)).relu().sum()
    if autograd_profiler._is_profiler_enabled:  # as compiled models do
        with torch._C._profiler._RecordFunctionFast("compiled"):
            loss.backward()
    else:
        loss.backward()


def torch_profiler(**options: Any) -> Any:
    return torch.profiler.profile(activities=[ProfilerActivity.CPU], **options)


def of(prof: Any) -> Names:
    """Names and how often, of ours or of torch's."""
    events = prof.events() if hasattr(prof, "events") else prof.function_events
    names = (event.name for event in events)
    # torch's profiler tells of itself.
    return collections.Counter(n for n in names if not n.startswith(("[memory]", "ProfilerStep")))


class Alone(NamedTuple):
    ours: Names
    theirs: Names


@pytest.fixture(scope="module")
def alone() -> Alone:
    """What each records of the network when it is alone."""
    network()
    with torch_profiler() as theirs:
        network()
    with marey.profile() as ours:
        network()
    names = Alone(of(ours), of(theirs))
    assert {"aten::addmm", "AddmmBackward0", "forward", "compiled"} <= set(names.ours)
    # torch leaves out an operator that is the only child of one of its own name.
    assert names.ours - names.theirs == collections.Counter({"aten::sum": 1})
    assert not names.theirs - names.ours
    return names


def times(n: int, names: Names) -> Names:
    return collections.Counter({name: n * count for name, count in names.items()})


# ---- torch.profiler beside ours ----------------------------------------------------------------------------


def test_torchs_profiler_works_inside(alone: Alone) -> None:
    with marey.profile() as ours:
        network()
        with torch_profiler() as theirs:
            network()
        network()
    assert of(theirs) == alone.theirs
    assert of(ours) == times(3, alone.ours)


def test_torchs_profiler_works_around(alone: Alone) -> None:
    with torch_profiler() as theirs:
        network()
        with marey.profile() as ours:
            network()
        network()
    assert of(ours) == alone.ours
    assert of(theirs) == times(3, alone.theirs)


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_torchs_profiler_crosses(first: str, alone: Alone) -> None:
    ours, theirs = marey.profile(), torch_profiler()
    one, other = (ours, theirs) if first == "ours" else (theirs, ours)
    one.start()
    network()
    other.start()
    network()
    one.stop()
    network()
    other.stop()
    assert of(ours) == times(2, alone.ours)
    assert of(theirs) == times(2, alone.theirs)


def test_torchs_profiler_is_used_again_and_again(alone: Alone) -> None:
    with marey.profile() as ours:
        for _ in range(3):
            with torch_profiler(record_shapes=True, profile_memory=True) as theirs:
                network()
            assert of(theirs) == alone.theirs
    assert of(ours) == times(3, alone.ours)


def test_torchs_schedules_go_on(alone: Alone) -> None:
    """Both at once, each with its own."""
    ours = marey.profile(schedule=marey.schedule(wait=1, warmup=1, active=2))
    theirs = torch_profiler(schedule=torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1))
    with ours, theirs:
        for _ in range(4):
            network()
            ours.step()
            theirs.step()
    assert of(ours) == times(2, alone.ours)
    assert of(theirs) == alone.theirs


def test_torchs_older_profiler_works_inside(alone: Alone) -> None:
    with marey.profile() as ours, torch.autograd.profiler.profile() as theirs:
        network()
    assert of(theirs) == alone.theirs
    assert of(ours) == alone.ours


def test_shapes_are_ours_alone(alone: Alone) -> None:
    """One who asks for shapes gives none to one who does not."""
    with torch_profiler() as theirs, marey.profile(record_shapes=True) as ours:
        network()
    assert {str(event.input_shapes) for event in theirs.events()} == {"[]"}
    assert [[2, 3], [4, 3], [4]] in [event.input_shapes for event in ours.events()]


@pytest.mark.parametrize("order", ["inside", "around"])
def test_an_exception_ends_both(order: str, alone: Alone) -> None:
    ours, theirs = marey.profile(), torch_profiler()
    one, other = torch.ones(2, 3), torch.ones(2, 3)
    outer, inner = (ours, theirs) if order == "inside" else (theirs, ours)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), outer, inner:
        network()
        one.mm(other)
    refused = collections.Counter(["aten::mm"])
    assert of(ours) == alone.ours + refused
    assert of(theirs) == alone.theirs + refused
    assert not any(event.is_open for event in ours.events() if event.name == "aten::mm")


# ---- exceptions --------------------------------------------------------------------------------------------


class Refuses(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("refused")


def test_an_exception_in_backward_passes(alone: Alone) -> None:
    with marey.profile() as ours:
        with pytest.raises(KeyError, match="refused"):
            Refuses.apply(torch.ones(2, requires_grad=True)).sum().backward()
        network()
    names = of(ours)
    assert names["RefusesBackward"] == 1
    assert names["AddmmBackward0"] == 1
    with marey.profile() as again:
        network()
    assert of(again) == alone.ours


# ---- threads -----------------------------------------------------------------------------------------------


def in_threads(*works: Callable[[], None]) -> None:
    """Runs them at the same time; an exception of one is that of the test."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(works), timeout=WAIT_S)

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait()
            work()
        except BaseException as error:  # noqa: BLE001 - handed on
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_threads_that_end_leave_their_records(alone: Alone) -> None:
    with marey.profile() as ours:
        for _ in range(3):
            in_threads(network, network)
    assert of(ours) == times(6, alone.ours)


def test_a_thread_may_outlive_the_recording(alone: Alone) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        network()
        begun.set()
        assert go_on.wait(WAIT_S)
        network()

    thread = threading.Thread(target=work)
    with marey.profile() as ours:
        thread.start()
        assert begun.wait(WAIT_S)
    go_on.set()
    thread.join(WAIT_S)
    assert of(ours) == alone.ours


def test_two_threads_profile_at_once(alone: Alone) -> None:
    """A profile sees all threads, so each sees its own work, and of the other's what falls in."""
    profs = [marey.profile(), marey.profile(record_shapes=True)]
    both_run = threading.Barrier(2, timeout=WAIT_S)

    def profiled(prof: marey.profile) -> Callable[[], None]:
        def work() -> None:
            with prof:
                both_run.wait()
                network()
                both_run.wait()

        return work

    in_threads(*map(profiled, profs))
    assert [of(prof) for prof in profs] == [times(2, alone.ours)] * 2
    (shapes,) = {str(e.input_shapes) for e in profs[0].events() if e.name == "aten::addmm"}
    assert shapes in ("[]", "None")


def test_profiles_of_many_threads_come_and_go() -> None:
    def work() -> None:
        for i in range(20):
            with marey.profile(record_shapes=i % 2 == 0) as prof:
                torch.ones(2).relu()
            assert of(prof)["aten::relu"] >= 1

    in_threads(*[work] * 4)


# ---- objects -----------------------------------------------------------------------------------------------


def test_a_running_profile_is_collected() -> None:
    class Holder:
        pass

    holder = Holder()
    holder.prof, holder.me = marey.profile(), holder  # type: ignore[attr-defined]
    holder.prof.start()  # type: ignore[attr-defined]
    torch.ones(2).relu()
    assert hooks_are_there()
    del holder
    gc.collect()
    assert not hooks_are_there()


def test_a_trace_outlives_its_profile(alone: Alone) -> None:
    prof = marey.profile()
    with prof:
        network()
    trace, events = prof.trace, prof.events()
    del prof
    gc.collect()
    with marey.profile():
        network()
    assert collections.Counter(event.name for event in events) == alone.ours
    assert sum(row.count for row in trace.key_averages()) == alone.ours.total()


def test_a_profile_that_was_made_only_costs_nothing() -> None:
    prof = marey.profile(record_shapes=True)
    assert not hooks_are_there()
    del prof


# ---- processes ---------------------------------------------------------------------------------------------


def python(code: str, folder: Path, told: str = "") -> str:
    """Output of a script that must end well, tell what is told and say nothing else."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, *QUIET, script], capture_output=True, text=True,
                          timeout=300, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
    # Below a warning stands the line that it is of.
    said = [
        line for line in done.stderr.splitlines()
        if not line.startswith("  ") and not TORCH_SAYS.search(line)
    ]
    assert done.returncode == 0
    assert [line for line in said if not told or told not in line] == []
    assert told in done.stderr
    return done.stdout


LOADER = """
    import marey, torch

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            assert not marey.is_recording()
            return torch.full((2,), float(i)).mul(2)

    def main():
        with marey.profile() as prof:
            loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2,
                                                 multiprocessing_context={method!r})
            assert [batch.neg().sum().item() for batch in loader] == [-4, -20, -36, -52]
        counts = {{row.key: row.count for row in prof.key_averages()}}
        ranges = [name for name in counts if name.startswith("enumerate(DataLoader)#")]
        print(len(ranges), "aten::mul" in counts, counts["aten::neg"])

    if __name__ == "__main__":
        main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader_live(method: str, tmp_path: Path) -> None:
    assert python(LOADER.format(method=method), tmp_path) == "1 False 4\n"


def test_a_forked_child_records_its_own_session(tmp_path: Path) -> None:
    out = python("""
        import marey, os, torch
        with marey.profile() as prof:
            torch.ones(2).relu()
            child = os.fork()
            if child == 0:
                torch.ones(2).tanh()
                with marey.profile(record_shapes=True) as own:
                    torch.ones(3).exp()
                (event,) = [e for e in own.events() if e.name == "aten::exp"]
                assert event.input_shapes == [[3]], event.input_shapes
                names = {e.name for e in own.events()}
                assert "aten::relu" not in names and "aten::tanh" not in names, names
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            torch.ones(2).sigmoid()
        names = {e.name for e in prof.events()}
        print(sorted(names & {"aten::relu", "aten::tanh", "aten::exp", "aten::sigmoid"}))
    """, tmp_path)
    assert out == "['aten::relu', 'aten::sigmoid']\n"


@pytest.mark.parametrize("profile", ["marey.profile", "marey.profiler.profile"])
@pytest.mark.parametrize("copied", ["copy", "deepcopy"])
def test_a_copied_profile_records_a_torch_that_comes_later(
    profile: str, copied: str, tmp_path: Path
) -> None:
    out = python(f"""
        import copy, gc, marey.profiler
        prof = {profile}()
        other = copy.{copied}(prof)
        del other
        gc.collect()
        prof.start()
        import torch
        torch.ones(2).mul(2)
        prof.stop()
        print("aten::mul" in [row.key for row in prof.key_averages()])
    """, tmp_path)
    assert out == "True\n"


def test_a_forked_child_runs_unrecorded(tmp_path: Path) -> None:
    """It has the hook of its parent, which must find nothing to write to."""
    python("""
        import marey, os, torch
        with marey.profile(record_shapes=True):
            child = os.fork()
            if child == 0:
                x = torch.ones(3, requires_grad=True)
                x.mul(2).sum().backward()
                with torch.profiler.record_function("range"):
                    pass
                assert not torch.autograd.profiler._is_profiler_enabled
                with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:
                    torch.ones(2).relu()
                assert "aten::relu" in [row.key for row in p.key_averages()]
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    """, tmp_path)


ENDS = {
    "of itself": "",
    "with a thread that computes": "threading.Thread(target=busy).start()",
    # One that computes is the end of torch with or without a recorder.
    "with a daemon that has computed":
        "threading.Thread(target=idle, daemon=True).start(); begun.wait()",
    "beside torch's profiler": "theirs = torch.profiler.profile(); theirs.start(); theirs.stop()",
    "with work at exit": "atexit.register(torch.ones(2).relu)",
    "with a range open": "keep = torch.profiler.record_function('x'); keep.__enter__()",
    "with a workers' pool": "keep = iter(loader); next(keep)",
}


@pytest.mark.parametrize("end", list(ENDS))
def test_the_interpreter_ends_while_it_records(end: str, tmp_path: Path) -> None:
    code = f"""
import atexit, marey, threading, time, torch
def busy():
    x, until = torch.ones(8, 8), time.monotonic() + 0.3
    while time.monotonic() < until:
        x.mm(x)
def idle():
    torch.ones(2).relu()
    begun.set()
    time.sleep(1000)
begun = threading.Event()
loader = torch.utils.data.DataLoader(torch.arange(8.0), num_workers=2)
prof = marey.profile(record_shapes=True, on_trace_ready=lambda prof: print(len(prof.events()) > 5))
prof.start()
torch.ones(2, requires_grad=True).relu().sum().backward()
{ENDS[end]}
"""
    told = "a profiler was still running at the end of the program: it is stopped now"
    assert python(code, tmp_path, told) == "True\n"


class Interrupt:
    """Raises KeyboardInterrupt where the n-th function of marey's begins, once. A signal's handler
    runs there too."""

    def __init__(self, n: int) -> None:
        self.n_left = n

    def __call__(self, frame: Any, event: str, arg: object) -> None:
        if "/marey/" in frame.f_code.co_filename:
            self.n_left -= 1
            if self.n_left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt


def is_interrupted(prof: Any, n: int) -> bool:
    """At the n-th call of three steps and the stop; it is stopped all the same. False: there are
    not as many."""
    interrupt = Interrupt(n)
    try:
        sys.settrace(interrupt)
        with prof:
            for _ in range(3):
                prof.step()
    except KeyboardInterrupt:
        if prof._marey_machine.is_running:
            prof.stop()
    finally:
        sys.settrace(None)
    return interrupt.n_left <= 0


@pytest.mark.filterwarnings("ignore:step.. was never called", "ignore:0 of 1 active steps")
@pytest.mark.filterwarnings("ignore:cycle . has 0 of 1", "ignore:Exception ignored in:")
def test_an_interrupt_leaves_nothing_behind_the_stop() -> None:
    for n in itertools.count(1):
        prof = marey.profile(schedule=marey.schedule(wait=0, warmup=1, active=1))
        was_interrupted = is_interrupted(prof, n)
        assert not marey.is_recording(), n
        assert not autograd_profiler._is_profiler_enabled, n
        assert torch._C._profiler._RecordFunctionFast is FAST, n
        if not was_interrupted:
            break
    assert n > 100


# ---- silence -----------------------------------------------------------------------------------------------


def test_nobody_warns(alone: Alone) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with marey.profile(record_shapes=True) as ours:
            network()
        assert ours.key_averages().table()
    assert of(ours) == alone.ours
