"""peer_report.py FILE - the table that people write themselves: calls and total by name.

The peer of `marey report`, with the fastest reader that Python has. No self times, no
owners, no percentiles; start-up counts, as it does for a command.
"""

from __future__ import annotations

import gzip
import sys
from collections import defaultdict

import orjson

path = sys.argv[1]
with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
    records = orjson.loads(file.read())["traceEvents"]
calls: defaultdict[str, int] = defaultdict(int)
total_us: defaultdict[str, float] = defaultdict(float)
for record in records:
    if record["ph"] == "X":
        calls[record["name"]] += 1
        total_us[record["name"]] += record["dur"]
for name in sorted(total_us, key=lambda name: -total_us[name])[:40]:
    print(f"{name[:55]:55} {calls[name]:9} {total_us[name] / 1e3:12.3f} ms")
