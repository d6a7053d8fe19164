"""When the torch collector calls the recorder, from which threads, and when it stops."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from host import (  # noqa: E402
    BACKWARD,
    FUNCTION,
    USER,
    WANT_CPU,
    WANT_INPUTS,
    WANT_OPS,
    WANT_RANGES,
    Collector,
    Host,
    Sink,
)
from torch_view import EVALUATE  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402



def hooks_are_there() -> bool:
    """at::hasGlobalCallbacks, which has no name in Python."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    ask = getattr(library, "_ZN2at18hasGlobalCallbacksEv")
    ask.restype = ctypes.c_bool
    return ask()


# ---- the contract --------------------------------------------------------------------------


def test_collector_says_what_it_is(host: Host) -> None:
    assert host.collector.version == 1
    assert host.collector.size == ctypes.sizeof(Collector)
    assert host.collector.name == b"torch"
    assert host.collector.built_for.decode() == f"torch {torch.__version__}"
    why = ctypes.create_string_buffer(b"x", 100)
    assert host.collector.probe(why, len(why)) == 0
    assert host.collector.probe(None, 0) == 0


def test_only_the_entry_is_a_plain_name(host: Host) -> None:
    assert ctypes.CDLL(host.library._name).marey_collector
    with pytest.raises(AttributeError):
        ctypes.CDLL(host.library._name).update


def test_nothing_is_recorded_when_nothing_is_wanted(host: Host) -> None:
    for wants in (0, WANT_CPU, WANT_INPUTS):
        with host.recording(wants) as recording, record_function("range"):
            assert not hooks_are_there()
            torch.ones(2).relu()
        assert recording.ops == []


def test_update_refuses_another_sink(host: Host) -> None:
    other = Sink.from_buffer_copy(host.fake.fake_sink().contents)
    other.version += 1
    refused, why = host.update(WANT_OPS, ctypes.pointer(other))
    assert refused != 0
    assert "another version" in why and "--build" in why
    refused, why = host.update(WANT_OPS, ctypes.POINTER(Sink)())
    assert refused != 0
    host.fake.fake_reset()
    torch.ones(2).relu()
    assert host.n_records == 0
    assert host.update(0, ctypes.POINTER(Sink)()) == (0, "")


# ---- what is recorded ----------------------------------------------------------------------


def test_operators_nest_by_their_tokens(host: Host) -> None:
    with host.recording() as recording:
        with record_function("outer"):
            torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3))
    outer = next(op for op in recording.ops if op.name == "outer")
    assert outer.scope == USER
    paths = [op.path for op in recording.ops]
    assert "outer/aten::linear" in paths
    assert "outer/aten::linear/aten::t/aten::transpose/aten::as_strided" in paths
    assert recording.open_ops == []
    assert recording.n_unmatched_ends == recording.n_crossings == 0
    for op in recording.ops:
        above = {other.token for other in recording.ops if op.path.startswith(other.path + "/")}
        assert op.token not in above | {0}


def test_names_are_read_during_the_call(host: Host) -> None:
    """Other names come by the same pointer, one after the other."""
    names = [f"range {i}" for i in range(200)]
    with host.recording() as recording:
        for name in names:
            with record_function(name):
                pass
        torch.ones(3, requires_grad=True).mul(2).exp().sum().backward()
    assert [op.name for op in recording.ops if op.scope == USER] == names
    nodes = [op.name for op in recording.ops if op.scope == BACKWARD]
    assert nodes == ["SumBackward0", "ExpBackward0", "MulBackward0",
                     "torch::autograd::AccumulateGrad"]


def test_ranges_alone_leave_operators_out(host: Host) -> None:
    with host.recording(WANT_RANGES) as recording:
        with record_function("range"):
            torch.ones(2).relu()
    assert recording.names == ["range"]


def test_backward_tells_its_forward_operator(host: Host) -> None:
    with host.recording() as recording:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y.sum().backward()
    forward, node = recording.one("aten::exp"), recording.one("ExpBackward0")
    assert forward.scope == FUNCTION and node.scope == BACKWARD
    assert forward.sequence >= 0 and forward.sequence == node.sequence
    assert forward.forward_thread == node.forward_thread > 0
    assert node.parent and node.parent.name == EVALUATE + "ExpBackward0"
    assert node.parent.sequence == -1
    assert recording.one("aten::ones").sequence >= -1


def test_inputs_come_only_if_wanted(host: Host) -> None:
    for wants, n in ((WANT_OPS, 0), (WANT_OPS | WANT_INPUTS, 1)):
        with host.recording(wants) as recording:
            torch.ones(2, 3).relu()
        assert len(recording.one("aten::relu").inputs) == n


def test_texts_are_asked_once(host: Host) -> None:
    torch.ones(2).relu()
    with host.recording(WANT_OPS | WANT_INPUTS):
        for _ in range(20):
            torch.ones(2, dtype=torch.float64).relu()
        assert host.fake.fake_n_text_calls() <= 2  # the elements' type, the device


# ---- threads -------------------------------------------------------------------------------


def run_threads(works: list[Any]) -> list[int]:
    """The system's numbers of the threads, which live at the same time."""
    numbers: list[int] = []
    barrier = threading.Barrier(len(works))

    def run(work: Any) -> None:
        numbers.append(threading.get_native_id())
        barrier.wait()
        work()
        barrier.wait()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return numbers


def test_plain_threads_are_recorded(host: Host) -> None:
    def work() -> None:
        for _ in range(50):
            torch.ones(4, 4).mm(torch.ones(4, 4))

    with host.recording(WANT_OPS | WANT_INPUTS) as recording:
        numbers = run_threads([work] * 4)
    for number in numbers:
        names = [op.name for op in recording.of_thread(number)]
        assert names.count("aten::mm") == 50
    assert recording.n_unmatched_ends == recording.n_crossings == 0


def test_threads_from_before_are_recorded(host: Host) -> None:
    begin, done = threading.Event(), threading.Event()
    numbers = []

    def work() -> None:
        torch.ones(2).relu()  # this thread has looked for hooks, and found none
        numbers.append(threading.get_native_id())
        done.set()
        begin.wait()
        torch.ones(2).relu()

    thread = threading.Thread(target=work)
    thread.start()
    done.wait()
    with host.recording() as recording:
        begin.set()
        thread.join()
    assert "aten::relu" in [op.name for op in recording.of_thread(numbers[0])]


def test_backward_in_another_thread_knows_the_forward_thread(host: Host) -> None:
    with host.recording() as recording:
        y = torch.ones(3, requires_grad=True).exp().sum()
        (number,) = run_threads([y.backward])
    forward, node = recording.one("aten::exp"), recording.one("ExpBackward0")
    assert node.thread == number != forward.thread
    assert node.sequence == forward.sequence
    assert node.forward_thread == forward.forward_thread > 0


def test_jit_threads_are_recorded(host: Host) -> None:
    @torch.jit.script
    def branch(x: torch.Tensor) -> torch.Tensor:
        return x.exp()

    @torch.jit.script
    def both(x: torch.Tensor) -> torch.Tensor:
        future = torch.jit.fork(branch, x)
        return x.relu() + torch.jit.wait(future)

    both(torch.ones(3))
    with host.recording(WANT_OPS | WANT_INPUTS) as recording:
        both(torch.ones(3))
    assert len({recording.one(name).thread for name in ("aten::exp", "aten::relu")}) == 2
    assert [value.sizes for value in recording.one("aten::relu").inputs] == [(3,)]


def test_stacks_of_interpreters_are_cut_to_the_arguments(host: Host) -> None:
    """At the call of exp, the stack holds the other argument of sub too."""
    @torch.jit.script
    def work(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sub(x, y.exp(), alpha=2)

    x, y = torch.ones(2, 3), torch.ones(3)
    work(x, y)
    with host.recording(WANT_OPS | WANT_INPUTS) as recording:
        work(x, y)
    sizes = {op.name: [value.sizes for value in op.inputs] for op in recording.ops}
    assert sizes["aten::exp"] == [(3,)]
    assert sizes["aten::sub"] == [(2, 3), (3,), ()]


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        return torch.full((2,), float(i))


@pytest.mark.parametrize("n_workers", [0, 2])
def test_data_loaders_are_recorded(host: Host, n_workers: int) -> None:
    """Workers are processes: what they do is theirs, that they live is ours."""
    with host.recording(WANT_OPS | WANT_INPUTS | WANT_RANGES) as recording:
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=n_workers,
                                             multiprocessing_context="fork" if n_workers else None)
        batches = [batch.sum().item() for batch in loader]
    assert batches == [2.0, 10.0]
    assert any(name.startswith("enumerate(DataLoader)#") for name in recording.names)
    assert recording.names.count("aten::stack") == (0 if n_workers else 2)


def test_ranges_may_end_in_any_order(host: Host) -> None:
    with host.recording() as recording:
        outer, inner = record_function("outer"), record_function("inner")
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
    assert {op.name for op in recording.ops if op.is_ended} >= {"outer", "inner"}
    assert recording.n_unmatched_ends == 0
    assert recording.n_crossings == 1


# ---- the end -------------------------------------------------------------------------------


def test_removed_hooks_leave_nothing(host: Host) -> None:
    assert not hooks_are_there()
    with host.recording() as recording:
        assert hooks_are_there()
        torch.ones(2).relu()
    assert not hooks_are_there()
    assert recording.ops
    n = host.n_records
    torch.ones(2).relu()
    run_threads([lambda: torch.ones(2).relu()] * 2)
    assert host.n_records == n


def test_update_is_idempotent(host: Host) -> None:
    with host.recording() as recording:
        assert host.update(WANT_OPS) == (0, "")
        assert host.update(WANT_OPS | WANT_CPU) == (0, "")
        torch.ones(2).relu()
    assert recording.names.count("aten::relu") == 1


def test_wants_may_change(host: Host) -> None:
    with host.recording(WANT_OPS) as recording:
        torch.ones(2).relu()
        assert host.update(WANT_OPS | WANT_INPUTS) == (0, "")
        torch.ones(2).exp()
        assert host.update(WANT_RANGES) == (0, "")
        torch.ones(2).sin()
    assert recording.one("aten::relu").inputs == []
    assert len(recording.one("aten::exp").inputs) == 1
    assert "aten::sin" not in recording.names


def test_range_that_outlives_its_hook_ends_without_harm(host: Host) -> None:
    outer = record_function("outer")
    with host.recording() as recording:
        outer.__enter__()
    assert [op.name for op in recording.open_ops] == ["outer"]
    n = host.n_records
    outer.__exit__(None, None, None)
    # The end still comes, from a hook that is no longer there; the sink may drop it.
    assert host.n_records <= n + 1


def test_hooks_come_and_go_while_threads_run(host: Host) -> None:
    stop = threading.Event()

    def work() -> None:
        x = torch.ones(2, 2)
        while not stop.is_set():
            x.mm(x).relu_()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(100):
        assert host.update((WANT_OPS, WANT_OPS | WANT_INPUTS, 0, WANT_RANGES)[i % 4],
                           host.fake.fake_empty_sink()) == (0, "")
    assert host.update(0) == (0, "")
    stop.set()
    for thread in threads:
        thread.join()


# ---- beside torch.profiler -------------------------------------------------------------------


def test_torch_profiler_works_beside(host: Host, tmp_path: Path) -> None:
    def names_of_torch() -> list[str]:
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
            torch.ones(2, 3).relu().sum()
        return sorted(event.name for event in prof.events())

    alone = names_of_torch()
    with host.recording(WANT_OPS | WANT_INPUTS) as recording:
        beside = names_of_torch()
        torch.ones(2).exp()
    assert alone == beside == names_of_torch()
    assert set(alone) <= set(recording.names) | {"[memory]"}
    assert recording.names.count("aten::exp") == 1


def test_child_process_lives(host: Host) -> None:
    with host.recording():
        child = os.fork()
        if child == 0:
            host.update(0)
            torch.ones(2)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
