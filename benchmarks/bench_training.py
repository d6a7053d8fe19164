"""bench_training.py PACKAGES CACHE - what a profiler with shapes adds to a step of training.

    step resnet|gpt none|marey|torch    a step of a small model on one thread of the CPU, recorded by
                                        that profiler; its start and stop are not counted, nor is
                                        a step before it

All of a contest ask the same process in turns, so that they meet the same model at the same
moment. The models are written out here: a residual network with the blocks of ResNet-18, on images
of 32 x 32 in batches of 8, and a transformer of 4 layers that predicts the next of 64 tokens.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

PACKAGES, CACHE = sys.argv[1:3]
sys.path.insert(0, PACKAGES)
os.environ["MAREY_CACHE"] = CACHE

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.profiler import ProfilerActivity  # noqa: E402

import marey  # noqa: E402

now_ns = time.process_time_ns if "cpu" in sys.argv[3:] else time.perf_counter_ns
N_FIRST = 3  # until the model is warm
torch.set_num_threads(1)
torch.manual_seed(0)


class Block(nn.Module):
    """Two convolutions and what leads around them."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out),
        )
        self.around = nn.Identity() if n_in == n_out else nn.Sequential(
            nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.body(x) + self.around(x))


def resnet() -> Callable[[], Tensor]:
    widths = (64, 64, 128, 256, 512)
    blocks: list[nn.Module] = []
    for i in range(1, len(widths)):
        blocks += [Block(widths[i - 1], widths[i], 1 if i == 1 else 2),
                   Block(widths[i], widths[i], 1)]
    model = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                          *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    images, labels = torch.randn(8, 3, 32, 32), torch.randint(10, (8,))
    return trainer(model, lambda: functional.cross_entropy(model(images), labels))


class Layer(nn.Module):
    """Attention to what came before, then two linear layers."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.heads, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        shape = (n, length, self.n_heads, width // self.n_heads)
        query, key, value = (part.view(shape).transpose(1, 2)
                             for part in self.heads(self.before(x)).chunk(3, dim=-1))
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(n, length, width))
        return x + self.mlp(self.after(x))


def gpt() -> Callable[[], Tensor]:
    n_tokens, width, length = 1000, 192, 64
    model = nn.Sequential(nn.Embedding(n_tokens, width), *(Layer(width, 6) for _ in range(4)),
                          nn.LayerNorm(width), nn.Linear(width, n_tokens))
    tokens = torch.randint(n_tokens, (8, length + 1))

    def loss() -> Tensor:
        shown = model(tokens[:, :-1])
        return functional.cross_entropy(shown.flatten(0, 1), tokens[:, 1:].flatten())

    return trainer(model, loss)


def trainer(model: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], Tensor]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> Tensor:
        optimizer.zero_grad()
        found = loss()
        found.backward()
        optimizer.step()
        return found

    return step


PROFILERS: dict[str, Callable[[], Any]] = {
    "marey": lambda: marey.profile(record_shapes=True),
    "torch": lambda: torch.profiler.profile(activities=[ProfilerActivity.CPU],
                                            record_shapes=True),
}
MODELS = {"resnet": resnet, "gpt": gpt}
steps: dict[str, Callable[[], Tensor]] = {}


def trained(model: str) -> Callable[[], Tensor]:
    """The step of a model, which is made and warmed up when it is first asked for."""
    if model not in steps:
        steps[model] = MODELS[model]()
        for _ in range(N_FIRST):
            steps[model]()
    return steps[model]


def step(model: str, who: str) -> dict[str, int]:
    run = trained(model)
    gc.collect()
    prof = PROFILERS[who]() if who != "none" else None
    if prof is not None:
        prof.start()
    run()
    start = now_ns()
    run()
    ns = now_ns() - start
    if prof is not None:
        prof.stop()
    return {"ns": ns}


if __name__ == "__main__":
    gc.disable()  # it would fall into some steps and not into others
    for line in sys.stdin:
        _, model, who = line.rstrip("\n").split("\t")
        print(json.dumps(step(model, who)), flush=True)
