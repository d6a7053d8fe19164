"""peer_hta.py - HolisticTraceAnalysis reads a trace, on request (as in bench_marey.c).

    load FILE     file to DataFrame
    memory FILE   resident bytes before and after

It rounds times down to microseconds and leaves out the record of the profiler's own span
(category Trace), so only its count can be checked, after adding one.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
from pathlib import Path

from hta.common.trace import parse_trace_file

now_ns = time.process_time_ns if "cpu" in sys.argv[1:] else time.perf_counter_ns
logging.disable(logging.CRITICAL)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def load(path: str) -> dict[str, int]:
    before = resident()
    start = now_ns()
    with contextlib.redirect_stdout(sys.stderr):
        _, frame, _ = parse_trace_file(path)
    took = now_ns() - start
    return {"ns": took, "rss_before": before, "rss_after": resident(), "complete": len(frame) + 1}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(load(line.rstrip("\n").split("\t")[1])), flush=True)
