"""The same work recorded by torch.profiler and by Marey: same operators, in the same order,
nested alike, with the same inputs, annotations and sequence numbers."""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from recordings import by_marey, by_torch, threads_of, warm
from torch import nn
from torch.profiler import record_function

import marey

Work = Callable[[], Any]


def mlp() -> Work:
    network = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(network.parameters())
    points, labels = torch.randn(8, 16), torch.randint(0, 4, (8,))

    def work() -> None:
        with record_function("forward"):
            loss = nn.functional.cross_entropy(network(points), labels)
        optimizer.zero_grad()
        with record_function("backward"):
            loss.backward()
        optimizer.step()

    return work


def convolutional_net() -> Work:
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, stride=2, groups=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 4),
    )  # fmt: skip
    images = torch.randn(2, 3, 16, 16)
    return lambda: network(images).square().mean().backward()


def transformer_layer() -> Work:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    words = torch.randn(2, 5, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    return lambda: layer(words, src_mask=mask).sum().backward()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def custom_function() -> Work:
    x = torch.randn(4, requires_grad=True)
    return lambda: Square.apply(x).sum().backward()


def data_loader() -> Work:
    data = torch.utils.data.TensorDataset(torch.randn(12, 3), torch.arange(12))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    return lambda: [points.sum() for points, _ in loader]


def no_grad_and_views() -> Work:
    x = torch.randn(4, 6)

    def work() -> None:
        with torch.no_grad():
            y = x.t()[1:3].reshape(2, 2, 2)
            torch.cat([y, y], dim=-1).split(2, dim=2)
            torch.einsum("ijk,ljk->il", y, y)
            y.to(torch.float64).masked_fill_(y > 0, 1.5)

    return work


WORKS = [
    mlp, convolutional_net, transformer_layer, custom_function, data_loader, no_grad_and_views,
]  # fmt: skip


@pytest.mark.parametrize("make", WORKS, ids=lambda make: str(make.__name__))
@pytest.mark.parametrize("record_shapes", [False, True], ids=["plain", "shapes"])
def test_the_same_is_recorded(make: Callable[[], Work], record_shapes: bool) -> None:
    # Adam's numbers change from step to step, so each profiler has the same steps.
    torchs = by_torch(warm(make()), record_shapes=record_shapes)
    ours = by_marey(warm(make()), record_shapes=record_shapes)
    assert threads_of(ours) == threads_of(torchs)


@pytest.mark.parametrize("make", WORKS, ids=lambda make: str(make.__name__))
def test_the_same_is_counted(make: Callable[[], Work]) -> None:
    """By torch's own averages, which merge an operator that only calls its namesake."""
    work = warm(make())
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    ) as torchs:
        work()
    ours = by_marey(work, record_shapes=True).view(compat="torch")
    for by_shape in (False, True):
        counts = {
            (row.key, str(row.input_shapes)): row.count
            for row in ours.key_averages(group_by_input_shape=by_shape)
        }
        assert counts == {
            (row.key, str(row.input_shapes)): row.count
            for row in torchs.key_averages(group_by_input_shape=by_shape)
        }


def test_compiled_models_have_their_ranges(compiler: None) -> None:
    network = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    compiled = torch.compile(network)
    points = torch.randn(8, 16)

    def work() -> None:
        compiled(points).sum().backward()

    warm(work, n=3)
    torchs = by_torch(work, record_shapes=True)
    ours = by_marey(work, record_shapes=True)
    assert threads_of(ours) == threads_of(torchs)
    names = {event.name for event in ours.events()}
    assert any("CompiledFxGraph" in str(name) for name in names)
    assert any(str(name).startswith("Torch-Compiled Region") for name in names)


def two_threads() -> Work:
    network = nn.Linear(8, 8)

    def work() -> None:
        def forward() -> None:
            with record_function("in thread"):
                network(torch.ones(2, 8)).sum().backward()

        thread = threading.Thread(target=forward)
        thread.start()
        with record_function("in main"):
            torch.ones(3).add(1)
        thread.join()

    return work


def test_threads_of_python_are_recorded_too() -> None:
    """torch sees the thread that started it only, unless it is asked for all."""
    work = warm(two_threads())
    config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    torchs = by_torch(work, experimental_config=config)
    ours = by_marey(work)

    def recorded(trace: marey.Trace) -> Counter[Any]:
        """Numbers of threads and of sequences depend on who was first."""
        return Counter(
            event._replace(sequence=None, forward_thread=None)
            for thread in threads_of(trace)
            for event in thread
        )

    assert recorded(ours) == recorded(torchs)
    assert len(threads_of(ours)) == 2


SUMS = (
    "key", "count", "cpu_time_total", "self_cpu_time_total", "device_time_total",
    "self_device_time_total", "cpu_time", "device_time", "cpu_memory_usage",
    "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops",
)  # fmt: skip


@pytest.mark.parametrize("make", WORKS, ids=lambda make: str(make.__name__))
def test_sums_are_torchs(make: Callable[[], Work], tmp_path: Path) -> None:
    """Of events, and of averages, with torch's own view and with our own numbers."""
    work = warm(make())
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, with_flops=True,
        record_shapes=True,
    ) as prof:  # fmt: skip
        work()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = marey.load(tmp_path / "trace.json")
    view = trace.view(version=torch.__version__, with_flops=True)
    for torchs, ours in ((prof.events(), view.events()), (prof.key_averages(), view.key_averages())):
        assert ours.self_cpu_time_total == pytest.approx(torchs.self_cpu_time_total)
        total = torchs.total_average()
        assert {name: getattr(ours.total_average(), name) for name in SUMS} == pytest.approx(
            {name: getattr(total, name) for name in SUMS}
        )
        assert ours.total_average().device_type == total.device_type.value
        assert ours.total_average().is_async == total.is_async
    averages = trace.key_averages()
    total = averages.total_average()
    assert (total.key, total.self_cpu_time_total) == ("Total", averages.self_cpu_time_total)
    assert total.count == sum(row.count for row in averages)
    assert total.cpu_time_total == pytest.approx(sum(row.cpu_time_total for row in averages))


def test_sums_of_a_profile() -> None:
    work = warm(mlp())
    with marey.profile() as prof:
        work()
    averages, events = prof.key_averages(), prof.events()
    total = averages.total_average()
    assert (total.key, total.count) == ("Total", len(events))
    assert total.self_ns == sum(event.self_ns or 0 for event in events)
    assert total.self_cpu_time_total == averages.self_cpu_time_total == events.self_cpu_time_total
    assert events.total_average() == total
    us = total.self_cpu_time_total
    shown = (f"{us:.3f}us", f"{us / 1e3:.3f}ms", f"{us / 1e6:.3f}s")  # whichever suits how long it took
    assert any(f"Self CPU time total: {text}\n" in averages.table() for text in shown)


def test_all_arguments_of_torch_are_known() -> None:
    """With torch's own defaults, so that who takes torch's profiler's place is told in words."""
    torchs = inspect.signature(torch.profiler.profile).parameters
    ours = inspect.signature(marey.profile).parameters
    assert set(torchs) <= set(ours)
    assert {name: ours[name].default for name in torchs} == {
        name: parameter.default for name, parameter in torchs.items()
    }
