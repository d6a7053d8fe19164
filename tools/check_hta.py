"""check_hta.py MAREY TRACE… - HolisticTraceAnalysis reads what `marey convert` writes, each trace
alone and all of them as the ranks of one file, and counts the same operators and kernels as in
the originals. And it reads what `marey doctor --repair` makes of a trace that was cut short.

Exit status 77 (skipped) if HolisticTraceAnalysis is not installed.
"""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path


def count(path: Path) -> Counter:
    """How often HTA sees each pair of category and name."""
    from hta.common.trace import Trace

    trace = Trace(trace_files={0: str(path)}, trace_dir=str(path.parent))
    trace.parse_traces(use_multiprocessing=False)
    rows, names = trace.get_trace(0), trace.symbol_table.get_sym_table()
    return Counter((names[cat], names[name]) for cat, name in zip(rows["cat"], rows["name"]))


def agree(what: str, before: Counter, after: Counter) -> bool:
    """Says what differs."""
    print(f"{what}: {sum(before.values())} rows in HTA, {sum(after.values())} of ours")
    differing = [key for key in sorted(before.keys() | after.keys()) if before[key] != after[key]]
    for key in differing:
        print(f"  {key}: {before[key]}, of ours {after[key]}")
    return not differing and sum(after.values()) > 0


def main() -> int:
    if importlib.util.find_spec("hta") is None:
        print("skipped: 'HolisticTraceAnalysis' is not installed")
        return 77
    logging.disable(logging.WARNING)
    marey, traces, is_good = sys.argv[1], [Path(word) for word in sys.argv[2:]], True
    with tempfile.TemporaryDirectory() as folder:
        together: Counter = Counter()
        for trace in traces:
            ours = Path(folder) / trace.name
            subprocess.run((marey, "convert", str(trace), str(ours)), check=True)
            before = count(trace)
            together += before
            is_good = agree(trace.name, before, count(ours)) and is_good
            cut, ours = Path(folder) / f"cut-{trace.name}", Path(folder) / f"repaired-{trace.name}"
            packed = trace.read_bytes()
            cut.write_bytes(packed[: len(packed) * 3 // 4])
            subprocess.run((marey, "doctor", "--repair", str(ours), "--scrub", str(cut)),
                           check=False, stdout=subprocess.DEVNULL)  # fmt: skip
            n_rows = sum(count(ours).values())
            print(f"{trace.name}: {n_rows} rows in HTA of what is left of three quarters")
            is_good = is_good and n_rows > 0
        ours = Path(folder) / "together.json.gz"
        subprocess.run((marey, "convert", *map(str, traces), str(ours)), check=True)
        is_good = agree("all as one", together, count(ours)) and is_good
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
