"""bench_cold.py PACKAGES CACHE - what recording adds to operators that find the caches emptied.

    turn HOOK    some rounds of OPERATORS under HOOK, a name of bench_hooks.HOOKS

A loop of one operator has all of it, and of what records it, in the first caches. A program that
works between its operators has not: a step of training runs through megabytes. So before each
operator the caches are filled with other things (empty_caches.cpp), and the operator alone is timed.
"ns" is of a record: an operator that calls others makes several. Of the rounds of a turn the slowest
third is not counted, which is what else the machine does.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_hooks import HOOKS, compiled, marey, now_ns, torch  # finds the package in PACKAGES

N_FIRST, N_ROUNDS = 2, 10  # of a turn; the first ones are not counted
empty_caches = compiled(Path(__file__).resolve().with_name("empty_caches.cpp")).empty_caches


def operators() -> list[Callable[[], Any]]:
    """With inputs as they mostly are: tensors of one to four dimensions, numbers, lists, none."""
    x, y, image = torch.randn(2, 8, 16), torch.randn(2, 8, 16), torch.randn(1, 2, 4, 8)
    weight, other, ones = torch.randn(16, 16), torch.randn(16, 16), torch.ones(16)
    leaf = torch.randn(16, 16, requires_grad=True)
    return [
        lambda: x.add_(y, alpha=0.001),
        lambda: x.view(16, 16),
        lambda: image.transpose(1, 2),
        lambda: torch.mm(weight, other),
        lambda: torch.nn.functional.layer_norm(x, (16,), ones, ones),
        lambda: torch.nn.functional.gelu(x),
        lambda: x * y,
        lambda: x.sum(),
        lambda: weight.t(),
        lambda: x.unsqueeze(0),
        lambda: torch.empty_like(x),
        lambda: torch.nn.functional.linear(x, weight, ones),
        lambda: x.select(0, 1),
        lambda: (leaf * leaf).sum().backward(),
    ]


OPERATORS = operators()


def count_records() -> int:
    with marey.profile() as prof:
        for operator in OPERATORS:
            operator()
    return len(prof.events())


def one_round() -> int:
    ns = 0
    for operator in OPERATORS:
        empty_caches()
        start = now_ns()
        operator()
        ns += now_ns() - start
    return ns


def turn(hook: str) -> dict[str, float]:
    gc.collect()
    with HOOKS[hook]():
        for _ in range(N_FIRST):
            one_round()
        rounds = sorted(one_round() for _ in range(N_ROUNDS))
    return {"ns": statistics.mean(rounds[:2 * N_ROUNDS // 3]) / N_RECORDS}


if __name__ == "__main__":
    N_RECORDS = count_records()
    gc.disable()  # it would fall into some rounds and not into others
    for line in sys.stdin:
        _, hook = line.rstrip("\n").split("\t")
        print(json.dumps(turn(hook)), flush=True)
