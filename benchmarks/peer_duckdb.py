"""peer_duckdb.py - DuckDB averages the slices of a trace, on request (as in bench_marey.c).

    groupby FILE plain|exact

Only the grouping is timed, on one thread, from a table in memory: calls, sum, minimum and
maximum of each name, with `exact` p50 and p99 too. No nesting, no self times, no owners.
The table holds the slices of the file REPEATS times, so that the cost of a query is no part.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pandas

now_ns = time.process_time_ns if "cpu" in sys.argv[1:] else time.perf_counter_ns
PLAIN = "select name, count(*), sum(dur), min(dur), max(dur) from slices group by name"
EXACT = PLAIN.replace(" from", ", quantile_disc(dur, [0.5, 0.99]) from")

REPEATS = 20

kept: dict[str, Any] = {}


def connect(path: str) -> Any:
    """A connection whose table holds the slices, names as dense ids as Marey has them."""
    records = orjson.loads(Path(path).read_bytes())["traceEvents"]
    slices = [record for record in records if record["ph"] == "X"]
    ids: dict[str, int] = {}
    frame = pandas.DataFrame(
        {
            "name": [ids.setdefault(record["name"], len(ids)) for record in slices],
            "dur": [round(record["dur"] * 1000) for record in slices],
        }
    )
    connection = duckdb.connect()
    connection.execute("set threads = 1")
    connection.execute("create table slices as select name::integer as name, dur "
                       f"from frame, range({REPEATS})")
    return connection


def groupby(path: str, kind: str) -> dict[str, int]:
    if path not in kept:
        kept[path] = connect(path)
    start = now_ns()
    rows = kept[path].execute(EXACT if kind == "exact" else PLAIN).fetchall()
    took = now_ns() - start
    return {"ns": took, "complete": sum(row[1] for row in rows), "rows": len(rows)}


if __name__ == "__main__":
    for line in sys.stdin:
        _, path, kind = line.rstrip("\n").split("\t")
        print(json.dumps(groupby(path, kind)), flush=True)
