"""bench_hooks.py PACKAGES CACHE - what recording adds to a program, on request.

    block HOOK           x.add_(y) of four floats under HOOK, a name of HOOKS
    range KIND off|on    `with KIND("x")`, a name of RANGES, while its profiler is off or on

PACKAGES is the folder of the package marey, CACHE one for what is compiled here. All hooks
are measured in this one process. A block is some batches, of which the fastest counts; who asks for
blocks in turns compares those of one round. For a range a request is one round: batches without
it, batches with it, batches without it again; "ns" is the fastest batch with it less the
fastest without it, "best_ns" the same of all rounds so far. A batch is shorter
than a slice of the scheduler, so that some are free of what else the machine does. Nothing of a
profiler's start or stop is in a batch, and the first batch of each session is not counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PACKAGES, CACHE = sys.argv[1:3]
sys.path.insert(0, PACKAGES)
os.environ["MAREY_CACHE"] = CACHE

import torch  # noqa: E402
from torch.profiler import ProfilerActivity  # noqa: E402

import marey  # noqa: E402
from marey import _toolchain  # noqa: E402

# Of the thread, where others use the processor too.
now_ns = time.thread_time_ns if "cpu" in sys.argv[3:] else time.perf_counter_ns
N_OPS, N_RANGES, N_BATCHES, N_IN_BLOCK = 400, 500, 6, 4
FLOOR = Path(__file__).resolve().with_name("floor_hook.cpp")

Batch = Callable[[], float]
fastest: dict[str, float] = {}


# ---- hooks ----------------------------------------------------------------------------------


def compiled(source: Path) -> ctypes.CDLL:
    """As the collector is, so that the two differ in nothing else."""
    found = _toolchain.find_torch()
    path = Path(CACHE) / f"{source.stem}-{found.version}.so"
    if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
        path.parent.mkdir(parents=True, exist_ok=True)
        _toolchain.compile_collector(found, source, source.parent, path, path.with_suffix(".log"))
    return ctypes.CDLL(str(path))


floor = compiled(FLOOR)


# What floor_hook.cpp calls them.
EMPTY, CLOCK, SIZES = range(3)


@contextlib.contextmanager
def floor_hook(with_inputs: bool, kind: int = EMPTY) -> Iterator[None]:
    floor.floor_add(int(with_inputs), kind)
    try:
        yield
    finally:
        floor.floor_remove()


def torch_profiler(**options: Any) -> Any:
    return torch.profiler.profile(activities=[ProfilerActivity.CPU], **options)


HOOKS: dict[str, Callable[[], Any]] = {
    "off": contextlib.nullcontext,
    "floor": lambda: floor_hook(False),
    "floor_clock": lambda: floor_hook(False, CLOCK),
    "marey": lambda: marey.profile(),
    "torch": lambda: torch_profiler(),
    "floor_inputs": lambda: floor_hook(True),
    "floor_inputs_clock": lambda: floor_hook(True, CLOCK),
    "floor_inputs_sizes": lambda: floor_hook(True, SIZES),
    "marey_shapes": lambda: marey.profile(record_shapes=True),
    "torch_shapes": lambda: torch_profiler(record_shapes=True),
}

torch.set_num_threads(1)
x, y = torch.zeros(4), torch.ones(4)


def operators() -> float:
    """Nanoseconds of one."""
    start = now_ns()
    for _ in range(N_OPS):
        x.add_(y)
    return (now_ns() - start) / N_OPS


# ---- ranges ---------------------------------------------------------------------------------


def no_ranges() -> float:
    start = now_ns()
    for _ in range(N_RANGES):
        pass
    return (now_ns() - start) / N_RANGES


def ranges_of(of_module: Any, name: str) -> Batch:
    """Looks the type up in each batch: Marey puts another in its place while it records."""

    def ranges() -> float:
        kind = getattr(of_module, name)
        start = now_ns()
        for _ in range(N_RANGES):
            with kind("x"):
                pass
        return (now_ns() - start) / N_RANGES

    return ranges


def decorated() -> float:
    start = now_ns()
    for _ in range(N_RANGES):
        nothing()
    return (now_ns() - start) / N_RANGES


@marey.record_function("x")
def nothing() -> None:
    pass


# By name: the batch, and the profiler that it is on with.
RANGES: dict[str, tuple[Batch, str]] = {
    "marey": (ranges_of(marey, "record_function"), "marey"),
    "marey_decorator": (decorated, "marey"),
    "marey_fast": (ranges_of(torch._C._profiler, "_RecordFunctionFast"), "marey"),
    "torch": (ranges_of(torch.profiler, "record_function"), "torch"),
    "torch_fast": (ranges_of(torch._C._profiler, "_RecordFunctionFast"), "torch"),
}


# ---- requests -------------------------------------------------------------------------------


def quickest(batch: Batch, n_batches: int = N_BATCHES) -> float:
    return min(batch() for _ in range(n_batches))


def keep(key: str, value: float) -> float:
    """The least of all values of that key so far."""
    fastest[key] = min(value, fastest.get(key, value))
    return fastest[key]


def compare(key: str, plain: Batch, batch: Batch, recorder: Any) -> dict[str, float]:
    gc.collect()
    before = quickest(plain, N_BATCHES // 2)
    with recorder:
        batch()
        on = quickest(batch)
    off = min(before, quickest(plain, N_BATCHES // 2))
    best_ns = keep(f"on {key}", on) - keep(f"off {plain.__name__}", off)
    return {"ns": on - off, "best_ns": best_ns}


def block(hook: str) -> dict[str, float]:
    gc.collect()
    with HOOKS[hook]():
        operators()
        return {"ns": quickest(operators, N_IN_BLOCK)}


def range_(kind: str, state: str) -> dict[str, float]:
    batch, profiler = RANGES[kind]
    recorder = HOOKS[profiler]() if state == "on" else contextlib.nullcontext()
    return compare(f"{kind} {state}", no_ranges, batch, recorder)


REQUESTS: dict[str, Callable[..., dict[str, float]]] = {"block": block, "range": range_}

if __name__ == "__main__":
    gc.disable()  # it would fall into some batches and not into others
    for line in sys.stdin:
        name, *words = line.rstrip("\n").split("\t")
        print(json.dumps(REQUESTS[name](*words)), flush=True)
