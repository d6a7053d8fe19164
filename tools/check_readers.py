"""check_readers.py - files of marey.profiler's tensorboard_trace_handler load in what people look at
them with: HolisticTraceAnalysis, and TensorBoard's torch plug-in (its loader, without a browser).
Each must see as many operators and labels of each name as were recorded, the plug-in the steps too.

Exit status 77 (skipped) if torch is not there, or neither reader.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

N_CYCLES, N_ACTIVE = 2, 3


class Recorded(NamedTuple):
    path: Path
    seen: Counter
    """Operators and labels by category and name."""
    operators: dict[str, int]
    """As torch counts them: a child alone of its parent's name is none."""
    steps: list[str]



def record(folder: Path) -> list[Recorded]:
    """A small training by a schedule, as the recipes have it."""
    import torch
    from marey import profiler

    recorded: list[Recorded] = []
    write = profiler.tensorboard_trace_handler(str(folder), "worker0")
    network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))

    def ready(prof: Any) -> None:
        before = set(folder.iterdir())
        write(prof)
        (path,) = set(folder.iterdir()) - before
        seen = Counter((event.category, event.name) for event in prof.events())
        names = {name for category, name in seen if category == "cpu_op"}
        rows = prof.trace.view(compat="torch").key_averages()
        operators = {row.key: row.count for row in rows if row.key in names}
        steps = [str(step) for step in prof.cycles[-1].steps]
        recorded.append(Recorded(path, seen, operators, steps))

    plan = profiler.schedule(wait=1, warmup=1, active=N_ACTIVE, repeat=N_CYCLES)
    with profiler.profile(schedule=plan, on_trace_ready=ready, record_shapes=True) as prof:
        for _ in range(N_CYCLES * (2 + N_ACTIVE)):
            with profiler.record_function("forward"):
                loss = network(torch.ones(3, 4)).sum()
            loss.backward()
            prof.step()
    return recorded


def differ(what: str, wanted: Any, seen: Any) -> bool:
    """Says what differs."""
    if isinstance(wanted, dict):
        keys = {key for key in wanted.keys() | seen.keys() if wanted.get(key) != seen.get(key)}
        wanted, seen = ({key: of.get(key) for key in keys} for of in (wanted, seen))
    if wanted == seen:
        return False
    print(f"{what}: wanted {wanted}, seen {seen}")
    return True


def check_hta(of: Recorded) -> bool:
    from check_hta import count

    found = count(of.path)
    return differ("HolisticTraceAnalysis", dict(of.seen), {key: found[key] for key in of.seen})


def check_tensorboard(of: Recorded) -> bool:
    from torch_tb_profiler.profiler.data import RunProfileData

    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("worker0", "1", str(of.path), cache)
    calls = {row.name: row.calls for row in data.op_list_groupby_name if row.name in of.operators}
    is_wrong = differ("TensorBoard's plug-in, operators", of.operators, calls)
    return differ("TensorBoard's plug-in, steps", of.steps, data.steps_names) or is_wrong


READERS: dict[str, Callable[[Recorded], bool]] = {
    "hta": check_hta,
    "torch_tb_profiler": check_tensorboard,
}


def main() -> int:
    readers = [name for name in READERS if importlib.util.find_spec(name) is not None]
    if not readers or importlib.util.find_spec("torch") is None:
        print("skipped: neither 'HolisticTraceAnalysis' nor 'torch-tb-profiler' is installed, or not"
              " torch")
        return 77
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    is_wrong = False
    with tempfile.TemporaryDirectory() as folder:
        recorded = record(Path(folder))
        is_wrong |= differ("files", N_CYCLES, len(recorded))
        for of in recorded:
            is_wrong |= differ("active steps", N_ACTIVE, len(of.steps))
            is_wrong |= differ("labels", N_ACTIVE, of.seen["user_annotation", "forward"])
            for name in readers:
                is_wrong |= READERS[name](of)
                print(f"{name}: {of.path.name}, {sum(of.seen.values())} operators and labels")
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
