"""Marey as a guest: beside torch.profiler, in compiled models, in workers, and gone after a stop."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.autograd.profiler as torchs
from recordings import warm
from torch.profiler import ProfilerActivity, record_function
from torch.utils.data import DataLoader, TensorDataset

import marey
import marey.autograd_profiler
import marey.profiler
from marey import _core, _live_torch

NATIVE = torch._C._profiler._RecordFunctionFast
CPU = [ProfilerActivity.CPU]


def names(prof: marey.profile) -> list[str | None]:
    return [event.name for event in prof.events()]


def stands_in() -> bool:
    return torch._C._profiler._RecordFunctionFast is _core.OpRange


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """After each test all is torch's own again."""
    functions = [torchs._run_on_profiler_start, torchs._run_on_profiler_stop]
    yield
    assert not marey.is_recording()
    assert torch._C._profiler._RecordFunctionFast is NATIVE
    assert torchs._is_profiler_enabled is False
    assert [torchs._run_on_profiler_start, torchs._run_on_profiler_stop] == functions
    waited_for = {f.name for f in sys.meta_path if isinstance(f, _live_torch._Finder)}
    assert waited_for <= {"torch._dynamo"}


# ---- beside torch.profiler --------------------------------------------------------------------------


def test_torchs_profiler_inside() -> None:
    with marey.profile() as outer:
        torch.ones(2).add(1)
        with torch.profiler.profile(activities=CPU) as inner:
            torch.ones(2).mul(2)
            assert not stands_in()
        assert stands_in()
        torch.ones(2).sub(1)
    keys = {event.key for event in inner.events()}
    assert "aten::mul" in keys
    assert not keys & {"aten::add", "aten::sub"}
    assert {"aten::add", "aten::mul", "aten::sub"} <= set(names(outer))


def test_torchs_profiler_around() -> None:
    with torch.profiler.profile(activities=CPU) as outer:
        torch.ones(2).add(1)
        with marey.profile() as inner:
            torch.ones(2).mul(2)
            assert not stands_in()
            assert torchs._is_profiler_enabled
        assert torchs._is_profiler_enabled
        torch.ones(2).sub(1)
    assert {"aten::add", "aten::mul", "aten::sub"} <= {event.key for event in outer.events()}
    assert "aten::mul" in names(inner)
    assert not set(names(inner)) & {"aten::add", "aten::sub"}


def test_torchs_profiler_crosswise() -> None:
    first, second = torch.profiler.profile(activities=CPU), marey.profile()
    first.start()
    second.start()
    torch.ones(2).mul(2)
    first.stop()
    assert stands_in()
    second.stop()
    second.start()
    first.start()
    second.stop()
    torch.ones(2).mul(2)
    first.stop()
    assert "aten::mul" in {event.key for event in first.events()}


def test_profiles_in_a_profile() -> None:
    with marey.profile() as outer:
        with marey.profile() as inner:
            torch.ones(2).mul(2)
        assert stands_in()
        torch.ones(2).add(1)
    assert "aten::add" not in names(inner)
    assert {"aten::add", "aten::mul"} <= set(names(outer))


# ---- what is asked for -----------------------------------------------------------------------------------


def test_torchs_own_objects_are_taken() -> None:
    delivered: list[marey.profile] = []
    with marey.profile(
        activities=CPU,
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=1),
        on_trace_ready=delivered.append,
    ) as prof:
        for _ in range(3):
            torch.ones(2)
            prof.step()
    assert delivered == [prof]
    assert names(prof)[:2] == ["ProfilerStep#2", "aten::ones"]
    with pytest.raises(marey.CollectorError, match="no CUDA collector yet"):
        marey.profile(activities=[ProfilerActivity.CUDA])


@pytest.mark.parametrize("numbers", [
    {"wait": 1, "warmup": 1, "active": 2, "repeat": 2},
    {"wait": 2, "warmup": 1, "active": 3, "skip_first": 3, "skip_first_wait": 1},
    {"wait": 0, "warmup": 1, "active": 1},
])  # fmt: skip
def test_schedules_are_torchs(numbers: dict[str, int]) -> None:
    ours, theirs = marey.schedule(**numbers), torch.profiler.schedule(**numbers)
    for step in range(40):
        assert ours(step).name == theirs(step).name


def test_only_what_was_asked_for_is_recorded() -> None:
    with marey.profile(record_shapes=True) as with_shapes, marey.profile() as plain:
        torch.ones(2, 3).add(1)
    with_args = [event for event in with_shapes.events() if event.name == "aten::add"]
    assert with_args[0].input_shapes == [[2, 3], [], []]
    without = [event for event in plain.events() if event.name == "aten::add"]
    assert without[0].input_shapes is None


def test_a_collector_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise marey.CollectorError("there is no compiler", "install one")

    monkeypatch.setattr(_live_torch, "attach", fail)
    with pytest.raises(marey.CollectorError, match="there is no compiler, install one"):
        marey.profile(activities=CPU)
    with pytest.warns(UserWarning, match="operators of torch are not recorded: there is no comp"):
        marey.profile()


DROP_INS = [
    lambda: marey.profiler.profile(activities=CPU),
    lambda: marey.profiler.profile(),
    lambda: marey.autograd_profiler.profile(),
]


@pytest.mark.parametrize("profile", DROP_INS)
def test_a_drop_in_goes_on_without_a_collector(
    profile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise marey.CollectorError("there is no compiler", "install one")

    monkeypatch.setattr(_live_torch, "attach", fail)
    with pytest.warns(UserWarning) as said:
        prof = profile()
    told = "operators of torch are not recorded: there is no compiler, install one"
    assert [(str(w.message), w.filename) for w in said] == [(told, __file__)]
    with prof, marey.record_function("ours"):
        torch.ones(2)
    assert "ours" in [event.name for event in prof.events()]


def _worker_without_collector(init: Any) -> None:
    def fail() -> None:
        raise marey.CollectorError("there is no compiler", "install one")

    _live_torch.attach = fail
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        init(0)
    assert ["there is no compiler" in str(w.message) for w in said] == [True]
    with marey.record_function("in the worker"):
        pass


def test_a_worker_goes_on_without_a_collector() -> None:
    with marey.profile(activities=CPU) as prof:
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_worker_without_collector, args=(prof.worker_init(),))
        process.start()
        process.join()
        assert process.exitcode == 0
    assert "in the worker" in names(prof)


# ---- ranges ---------------------------------------------------------------------------------------------------


def test_torchs_and_our_ranges_nest() -> None:
    with marey.profile() as prof, record_function("torchs"), marey.record_function("ours"):
        torch.ones(2)
    found = {event.name: event.parent for event in prof.events()}
    assert found["aten::ones"].name == "ours"  # type: ignore[union-attr]
    assert found["ours"].name == "torchs"  # type: ignore[union-attr]


def test_fast_ranges_are_recorded_by_all_names() -> None:
    module = type(sys)("a_module_that_imports_by_name")
    module._RecordFunctionFast = NATIVE  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    try:
        with marey.profile() as prof:
            for fast in (torch._C._profiler._RecordFunctionFast, module._RecordFunctionFast):  # type: ignore[attr-defined]
                with fast("plain", (torch.ones(1), 3), {"stream": 1}):
                    pass
                with fast("scoped", keyword_values={"scope": "user_scope"}):
                    pass
        assert module._RecordFunctionFast is NATIVE  # type: ignore[attr-defined]
    finally:
        del sys.modules[module.__name__]
    kinds = [(e.name, e.kind) for e in prof.events() if e.name in ("plain", "scoped")]
    assert kinds == [("plain", "op"), ("scoped", "annotation")] * 2


def test_compiled_models_are_recorded_inside_torchs_profiler(compiler: None) -> None:
    compiled = torch.compile(torch.nn.Linear(4, 4))
    points = torch.ones(2, 4)

    def work() -> None:
        compiled(points)

    warm(work, n=3)
    with marey.profile() as prof:
        work()
        with torch.profiler.profile(activities=CPU) as theirs:
            work()
        work()
    regions = [n for n in names(prof) if str(n).startswith("Torch-Compiled Region")]
    graphs = [n for n in names(prof) if "CompiledFxGraph" in str(n)]
    assert (len(regions), len(graphs)) == (3, 3)
    assert any("CompiledFxGraph" in event.key for event in theirs.events())


def test_the_compiler_passes_over_ranges(compiler: None) -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        with marey.record_function("passed over"):
            y = x + 1
        with record_function("torch's own"):
            return y * 2

    compiled = torch.compile(forward, fullgraph=True)
    compiled(torch.ones(2))
    with marey.profile() as prof:
        assert compiled(torch.ones(2)).tolist() == [4, 4]
    assert not {"passed over", "torch's own", "aten::mul"} & set(names(prof))


def test_a_decorated_function_breaks_the_graph(compiler: None) -> None:
    @marey.record_function("inside")
    def inside(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    compiled = torch.compile(lambda x: inside(x) * 2)
    compiled(torch.ones(2))
    with marey.profile() as prof:
        assert compiled(torch.ones(2)).tolist() == [4, 4]
    assert "inside" in names(prof)
    assert "aten::mul" not in names(prof)


def test_an_exception_in_an_operator_leaves_a_whole_trace() -> None:
    with pytest.raises(RuntimeError), marey.profile() as prof:
        torch.ones(2) @ torch.ones(3)
    assert "aten::ones" in names(prof)
    assert not any(event.is_open for event in prof.events())


# ---- processes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(method: str) -> None:
    data = TensorDataset(torch.arange(8.0))
    loader = DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context=method)
    with warnings.catch_warnings(), marey.profile() as prof:
        warnings.simplefilter("ignore")
        assert sum(float(batch.neg().sum()) for (batch,) in loader) == -28
    assert names(prof).count("aten::neg") == 4


def _child(queue: Any) -> None:
    with marey.profile() as prof:
        torch.ones(2).mul(2)
    queue.put((stands_in(), "aten::mul" in names(prof)))


def test_a_forked_child_records_for_itself() -> None:
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with marey.profile() as prof:
        process = context.Process(target=_child, args=(queue,))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        torch.ones(2).add(1)
    assert queue.get() == (False, True)
    assert "aten::add" in names(prof)
    assert "aten::mul" not in names(prof)


def test_a_trace_file_has_all(tmp_path: Path) -> None:
    with marey.profile(record_shapes=True) as prof:
        torch.ones(2, requires_grad=True).sum().backward()
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    read = marey.load(tmp_path / "trace.json.gz")
    assert [event.name for event in read.events()] == [event.name for event in prof.trace.events()]
    assert read.events().args() == prof.trace.events().args()
    table = prof.key_averages(group_by_input_shape=True)
    again = read.key_averages(group_by_input_shape=True)
    assert [(row.key, row.count, row.self_ns) for row in table] == [
        (row.key, row.count, row.self_ns) for row in again
    ]


class Squares(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> torch.Tensor:
        return torch.ones(3).mul(i)


def numbered(worker: int) -> None:
    with marey.record_function(f"worker {worker} begins"):
        pass


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_are_joined_on_request(method: str) -> None:
    with marey.profile() as prof, marey.record_function("epoch"):
        loader = torch.utils.data.DataLoader(
            Squares(), num_workers=2, batch_size=1, multiprocessing_context=method,
            worker_init_fn=prof.worker_init(numbered),
        )
        assert len(list(loader)) == 4
        assert len([event for event in prof.events() if event.name == "epoch"]) == 1
    processes = {event.track.process for event in prof.events()}
    assert len(processes) == 3
    by_name = {event.name: event for event in prof.events()}
    assert {"worker 0 begins", "worker 1 begins", "epoch"} <= set(by_name)
    assert sum(row.count for row in prof.key_averages() if row.key == "aten::mul") == 4
    epoch, mul = by_name["epoch"], by_name["aten::mul"]
    assert epoch.start_ns < mul.start_ns < (epoch.end_ns or 0)
    assert {event.track.rank for event in prof.events()} == {0}
    folder = prof.worker_init().folder
    assert Path(folder).is_dir()
    del prof, by_name, epoch, mul
    gc.collect()
    assert not Path(folder).exists()


def test_averages_have_workers_beside_cycles_that_were_let_go() -> None:
    prof = marey.profile(
        schedule=marey.schedule(wait=0, warmup=0, active=1, repeat=3), keep_bytes=1,
        record_shapes=True,
    )
    with prof:
        for _ in range(3):
            loader = torch.utils.data.DataLoader(
                Squares(), num_workers=2, batch_size=1, multiprocessing_context="fork",
                worker_init_fn=prof.worker_init(),
            )
            for batch in loader:
                batch.neg()
            prof.step()
    assert not all(cycle.is_whole for cycle in prof.cycles)
    for by_shape in (False, True):
        counts = {row.key: row.count for row in prof.key_averages(by_shape)}
        assert (counts["aten::neg"], counts["aten::mul"]) == (12, 12)
    (neg,) = (row for row in prof.key_averages(True) if row.key == "aten::neg")
    assert neg.input_shapes == [[1, 3]]


def test_recordings_have_nothing_that_averages_of_cycles_let_go_would_miss() -> None:
    """They are kept in the groupings of _left.grouping_of_recordings only."""
    rows = {}
    for keep in (1, None):
        prof = marey.profile(
            schedule=marey.schedule(wait=0, warmup=0, active=1, repeat=3), keep_bytes=keep,
            record_shapes=True,
        )
        with prof:
            for _ in range(3):
                (torch.ones(2, 3, requires_grad=True) @ torch.ones(3)).add(1).sum().backward()
                prof.step()
        assert all(cycle.is_whole for cycle in prof.cycles) == (keep is None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows[keep] = sorted(
                (row.key, row.count, str(row.input_shapes), row.stack, row.overload_name)
                for row in prof.key_averages(True, 3, True, True)
            )
    assert rows[1] == rows[None]
