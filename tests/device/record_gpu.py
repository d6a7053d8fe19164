"""record_gpu.py FOLDER | --only-train - a training step on a GPU, recorded by torch's profiler and
by Marey in turn: the same operators, as often, in the same shapes. Exits with 1 if not."""

from __future__ import annotations

import collections
import sys
import time
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

import marey


def make_step() -> Callable[[], None]:
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(256, 8, 512, batch_first=True).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.randn(16, 64, 256, device="cuda")

    def step() -> None:
        with torch.profiler.record_function("forward"):
            loss = model(data).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def counts(path: str) -> collections.Counter[str]:
    """Operators and annotations of a file; torch's events() leaves out those that hold nothing but
    one of the same name."""
    kinds = ("op", "annotation")
    return collections.Counter(e.name for e in marey.load(path).events() if e.kind in kinds)


def main(argument: str) -> int:
    step = make_step()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    if argument == "--only-train":
        for _ in range(20):
            step()
        return 0

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as theirs:
        step()
    with marey.profile(record_shapes=True) as ours:
        step()
    began = time.perf_counter()
    table = ours.key_averages().table(row_limit=12)
    took = time.perf_counter() - began
    print(table)
    print(f"table after {took * 1e3:.1f} ms; {ours.stats}")
    ours.export_chrome_trace(f"{argument}/marey_gpu.json.gz", overwrite=True)
    theirs.export_chrome_trace(f"{argument}/torch_gpu.json")
    wanted = counts(f"{argument}/torch_gpu.json")
    found = counts(f"{argument}/marey_gpu.json.gz")
    missing = {n: (wanted[n], found[n]) for n in set(wanted) | set(found) if wanted[n] != found[n]}
    print("differences from torch:", missing or "none")
    try:
        marey.profile(activities=[ProfilerActivity.CUDA])
    except marey.CollectorError as error:
        print("CUDA:", error)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
