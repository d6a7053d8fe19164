"""peer_python.py - Python's readers and writer, on request (as in bench_marey.c).

    orjson FILE   bytes to objects with orjson
    json FILE     the same with the json module
    exact FILE    sums by decimal arithmetic: the reference that all others must meet
    memory FILE   resident bytes before and after orjson
    dump FILE     objects to text with json.dumps
"""

from __future__ import annotations

import gc
import json
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

now_ns = time.process_time_ns if "cpu" in sys.argv[1:] else time.perf_counter_ns
MASK = (1 << 64) - 1


def read(path: str) -> bytes:
    return Path(path).read_bytes()


def thousandfold(value: Any) -> int:
    """Microseconds in nanoseconds; what is no number counts as 0."""
    return round(value * 1000) if isinstance(value, (int, float, Decimal)) else 0


def sums(records: list[dict[str, Any]]) -> dict[str, int]:
    complete = [record for record in records if record["ph"] == "X"]
    return {
        "records": len(records),
        "complete": len(complete),
        "ts_sum": sum(thousandfold(record["ts"]) for record in complete) & MASK,
        "dur_sum": sum(thousandfold(record["dur"]) for record in complete) & MASK,
        "correlation_sum": sum(record.get("args", {}).get("correlation", 0) for record in complete)
        & MASK,
    }


def with_orjson(path: str) -> dict[str, int]:
    import orjson

    text = read(path)
    gc.disable()  # what a careful user does: collection would add a third
    start = now_ns()
    trace = orjson.loads(text)
    took = now_ns() - start
    gc.enable()
    return {"ns": took, **sums(trace["traceEvents"])}


def with_json(path: str) -> dict[str, int]:
    text = read(path)
    start = now_ns()
    trace = json.loads(text)
    took = now_ns() - start
    return {"ns": took, **sums(trace["traceEvents"])}


def exact(path: str) -> dict[str, int]:
    start = now_ns()
    trace = json.loads(read(path), parse_float=Decimal)
    return {"ns": now_ns() - start, **sums(trace["traceEvents"])}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def memory(path: str) -> dict[str, int]:
    import orjson

    before = resident()
    start = now_ns()
    trace = orjson.loads(read(path))
    took = now_ns() - start
    after = resident()
    n_complete = sum(record["ph"] == "X" for record in trace["traceEvents"])
    return {"ns": took, "rss_before": before, "rss_after": after, "complete": n_complete}


kept: dict[str, Any] = {}


def dump(path: str) -> dict[str, int]:
    if path not in kept:
        kept[path] = json.loads(read(path))
    start = now_ns()
    text = json.dumps(kept[path])
    took = now_ns() - start
    return {"ns": took, "records": len(kept[path]["traceEvents"]), "bytes": len(text)}


REQUESTS = {"orjson": with_orjson, "json": with_json, "exact": exact, "memory": memory, "dump": dump}

if __name__ == "__main__":
    for line in sys.stdin:
        name, path = line.rstrip("\n").split("\t")
        print(json.dumps(REQUESTS[name](path)), flush=True)
