"""Programs to record with torch's own profiler, and the tables to ask it for.

Each case is a function that does some real work on a device; each setting is what the
profiler is asked to collect. `record` runs one of them under the profiler and returns the
trace file and, for a list of table arguments, what torch prints: the right answer for our
view of that file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function


def train_mlp(device: str) -> None:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        with record_function("step"):
            x = torch.randn(32, 64, device=device)
            y = torch.randint(0, 10, (32,), device=device)
            with record_function("forward"):
                loss = nn.functional.cross_entropy(model(x), y)
            with record_function("backward"):
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()


def train_convolution(device: str) -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        loss = model(torch.randn(4, 3, 16, 16, device=device)).square().mean()
        loss.backward()
        optimizer.step()


def transformer_layer(device: str) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).to(device)
    layer(torch.randn(2, 10, 32, device=device)).sum().backward()


def recurrent_inference(device: str) -> None:
    model = nn.LSTM(16, 32, num_layers=2).to(device).eval()
    with torch.no_grad():
        for _ in range(2):
            model(torch.randn(5, 3, 16, device=device))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * gradient


def custom_function(device: str) -> None:
    x = torch.randn(100, device=device, requires_grad=True)
    Cube.apply(x).sum().backward()
    Cube.apply(x * 2).mean().backward()


def two_threads(device: str) -> None:
    def work() -> None:
        for _ in range(20):
            torch.ones(50, device=device) + 1

    thread = threading.Thread(target=work)
    thread.start()
    work()
    thread.join()


def awkward_names(device: str) -> None:
    x = torch.ones(10, device=device)
    for name in ("rf", "_Z3fooi", "aten::ones", "a b", "x" * 60, "ProfilerStep#7", "f(int)::g<x>", ""):
        with record_function(name):
            torch.ones(10, device=device)
            with record_function(name):
                x.add_(1)
    with record_function("only child"), record_function("only child"), record_function("only child"):
        x.mul(2)


def lists_and_scalars(device: str) -> None:
    parts = [torch.ones(2, i + 1, device=device) for i in range(3)]
    torch.cat(parts, dim=1)
    torch.stack([parts[0], parts[0]])
    torch.split(torch.ones(9, device=device), 3)
    torch._foreach_add(parts, 1.0)
    torch.einsum("ij,jk->ik", torch.ones(2, 3, device=device), torch.ones(3, 4, device=device))
    torch.bmm(torch.ones(2, 3, 4, device=device), torch.ones(2, 4, 5, device=device))
    torch.baddbmm(torch.ones(2, 3, 5, device=device), torch.ones(2, 3, 4, device=device),
                  torch.ones(2, 4, 5, device=device))
    torch.ones(3, 1, device=device) * torch.ones(1, 4, device=device) + 1
    torch.empty(0, device=device).sum()


def many_steps(device: str) -> None:
    x = torch.ones(8, device=device)
    for step in range(4):
        with record_function(f"ProfilerStep#{step}"):
            x = x.sin() + step


def nothing(device: str) -> None:
    del device


CASES: dict[str, Callable[[str], None]] = {
    f.__name__: f
    for f in (train_mlp, train_convolution, transformer_layer, recurrent_inference, custom_function,
              two_threads, awkward_names, lists_and_scalars, many_steps, nothing)
}

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "memory": {"profile_memory": True},
    "all": {"record_shapes": True, "profile_memory": True, "with_flops": True},
    "stack": {"with_stack": True, "record_shapes": True},
    "verbose": {"with_stack": True, "with_flops": True, "profile_memory": True,
                "experimental_config": torch._C._profiler._ExperimentalConfig(verbose=True)},
}

TABLES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"sort_by": "cpu_time_total", "row_limit": -1}),
    ({}, {"sort_by": "self_cuda_time_total", "row_limit": -1}),
    ({}, {"sort_by": "cuda_time_total", "row_limit": 7, "time_unit": "ms"}),
    ({}, {"sort_by": "count", "row_limit": 5, "header": "H E A D", "max_name_column_width": 20}),
    ({}, {"sort_by": "cpu_memory_usage", "row_limit": 10, "max_name_column_width": None}),
    ({}, {"sort_by": "self_cpu_time_total", "top_level_events_only": True}),
    ({"group_by_input_shape": True}, {"sort_by": "self_cpu_time_total", "row_limit": 40}),
    ({"group_by_input_shape": True}, {"sort_by": "flops", "max_shapes_column_width": 30}),
    ({"group_by_stack_n": 3}, {"sort_by": "cpu_time_total", "row_limit": 20, "max_src_column_width": 40}),
    ({"group_by_stack_n": 1, "group_by_input_shape": True}, {"row_limit": 15}),
]


@dataclass
class Recording:
    name: str
    path: Path
    flags: dict[str, bool]
    tables: list[tuple[dict[str, Any], dict[str, Any], str]]
    events_table: str


def record(case: str, setting: str, device: str, folder: Path) -> Recording:
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    options = SETTINGS[setting]
    CASES[case](device)  # outside the profile: what is set up once stays out of it
    with profile(activities=activities, **options) as profiler:
        CASES[case](device)
        if device == "cuda":
            torch.cuda.synchronize()
    path = folder / f"{case}-{setting}-{device}.json"
    profiler.export_chrome_trace(str(path))
    tables = []
    for grouping, arguments in TABLES:
        tables.append((grouping, arguments, profiler.key_averages(**grouping).table(**arguments)))
    flags = {
        "profile_memory": bool(options.get("profile_memory", False)),
        "with_flops": bool(options.get("with_flops", False)),
    }
    try:
        events_table = profiler.events().table(row_limit=30)
    except TypeError:  # torch's own fault with FLOPs and unmatched memory records
        events_table = ""
    return Recording(path.stem, path, flags, tables, events_table)


def all_names() -> Iterator[tuple[str, str]]:
    for case in CASES:
        for setting in SETTINGS:
            yield case, setting
