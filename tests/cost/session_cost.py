"""session_cost.py MARKS - the program behind tools/check_hooks.py: torch's operators and ranges
before the first session, while one records, and after it. MARKS is callgrind_marks.c, built."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable

import torch

N_TIMES = 1000
N_FIRST = 2000  # until the interpreter and torch have settled

marks = ctypes.CDLL(sys.argv[1])
x, y = torch.zeros(4), torch.ones(4)


def operators(n: int) -> None:
    for _ in range(n):
        x.add_(y)


def ranges(n: int) -> None:
    for _ in range(n):
        with torch._C._profiler._RecordFunctionFast("x"):
            pass


def own_ranges(n: int) -> None:
    import marey

    for _ in range(n):
        with marey.record_function("own"):
            pass


def count(when: str, *works: Callable[[int], None]) -> None:
    for work in works or (operators, ranges, own_ranges):
        work(N_FIRST)
        marks.count_begin()
        work(N_TIMES)
        marks.count_end(f"{when} {work.__name__}".encode())


def sessions() -> None:
    import marey

    count("before", own_ranges)
    for record_shapes in (False, True):
        when = "with shapes" if record_shapes else "recording"
        with marey.profile(record_shapes=record_shapes) as prof:
            count(when)
        names = [row.key for row in prof.key_averages()]
        assert names.count("aten::add_") == 1 and "x" in names and "own" in names
        count(f"after {when}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    gc.disable()
    operators(N_FIRST)
    count("unused", operators, ranges)
    count("before", operators, ranges)
    sessions()
