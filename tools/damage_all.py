"""damage_all.py PROGRAM TRACE… - each trace cut at random bytes and with single bits turned over, in full.

PROGRAM is tests/import/damage-all, best of a build with sanitizers: it reads each damaged text by one
thread and by several, compares the traces and checks the laws. As many traces at a time as there are
processors. MAREY_CUTS and MAREY_FLIPS change how often a trace is damaged, MAREY_TEST_SEED where.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CUTS = os.environ.get("MAREY_CUTS", "200")
FLIPS = os.environ.get("MAREY_FLIPS", "1000")


def damage(program: str, trace: str) -> int:
    began = time.monotonic()
    done = subprocess.run([program, trace, CUTS, FLIPS], capture_output=True, text=True, check=False)
    print(f"{done.stdout.strip()} ({time.monotonic() - began:.0f} s)", flush=True)
    if done.returncode != 0:
        print(f"exit {done.returncode}: {trace}\n{done.stderr[-3000:]}", flush=True)
    return done.returncode


def main() -> int:
    program = sys.argv[1]
    traces = sorted(sys.argv[2:], key=lambda word: -Path(word).stat().st_size)
    print(f"{len(traces)} traces, {CUTS} cuts and {FLIPS} bits turned over each, of the file and of its text")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = list(pool.map(lambda trace: damage(program, trace), traces))
    return 1 if any(ends) or not ends else 0


if __name__ == "__main__":
    sys.exit(main())
