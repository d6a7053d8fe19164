"""check_hooks.py MARKS - after a session, torch's operators cost what they did before it.

Runs tests/cost/session_cost.py under callgrind and compares instructions, medians of runs whose
memory lies in different places, for that alone makes 20 more or less. An operator, a fast range of
torch or a marey.record_function may take a few more after the session. While one records an operator
must take many more, or nothing was measured; a range of torch takes many fewer, since ours is in its
place, and one of our own more than after the session. MARKS is the library of
tests/cost/callgrind_marks.c. Takes a minute.
"""

from __future__ import annotations

import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests/cost/session_cost.py"
N_TIMES = int(re.search(r"^N_TIMES = (\d+)$", PROGRAM.read_text(), re.MULTILINE)[1])
# Bytes of a variable in the environment, by which all that Python allocates moves.
PADDINGS = (1, 500, 2000)
# Instructions of one operator or range: what lies elsewhere in memory after a session costs up to
# one in a hundred either way. A hook that stayed would be 700 of an operator's 8,200, the stand-in
# of a range 1,200 of 3,400.
MOST_AFTER = 35
LEAST_WHILE = 50
LEAST_LESS = 500


def measure(marks: str, padding: int) -> dict[str, float]:
    """Instructions of one, by what session_cost.py calls it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        done = subprocess.run(
            ("valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}",
             "--quiet", sys.executable, PROGRAM, marks),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "PADDING": padding * "x"}, check=False)
        if done.returncode != 0:
            sys.exit(f"{PROGRAM.name} ended with {done.returncode}\n{done.stdout}")
        counts = {}
        for path in sorted(Path(folder).glob("counts.*"), key=lambda path: int(path.suffix[1:])):
            text = path.read_text()
            name = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
            total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
            counts[name[1]] = int(total[1]) / N_TIMES
    return counts


def medians(marks: str) -> dict[str, float]:
    """The same of all paddings."""
    runs = [measure(marks, padding) for padding in PADDINGS]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def verdict_while(counts: dict[str, float], when: str, work: str) -> str:
    """On what was counted while a session records."""
    count = counts[f"{when} {work}"]
    if work == "ranges":
        less = counts[f"before {work}"] - count
        return "ok" if less >= LEAST_LESS else f"at least {LEAST_LESS} less: ours is not in its place"
    # Our own takes some more before the first session than ever after.
    idle = counts[f"after {when} {work}" if work == "own_ranges" else f"before {work}"]
    return "ok" if count - idle >= LEAST_WHILE else f"at least {LEAST_WHILE} more: it does not record"


def judge(counts: dict[str, float]) -> bool:
    """True if all is as it should be; prints each count."""
    is_good = True
    for name, count in counts.items():
        when, _, work = name.rpartition(" ")
        more = count - counts[f"before {work}"]
        if when in ("unused", "before"):
            verdict = ""
        elif when.startswith("after "):
            verdict = "ok" if more <= MOST_AFTER else f"at most {MOST_AFTER} more is allowed"
        else:
            verdict = verdict_while(counts, when, work)
        is_good = is_good and verdict in ("", "ok")
        print(f"{name:32} {count:10.1f} {more:+10.1f}  {verdict}")
    return is_good


def main() -> int:
    for package in ("torch", "marey"):
        if importlib.util.find_spec(package) is None:
            print(f"skipped: {package} is not there")
            return 77
    if not Path(sys.argv[1]).is_file():
        print("skipped: the headers of Valgrind were not there when this was built")
        return 77
    return 0 if judge(medians(sys.argv[1])) else 1


if __name__ == "__main__":
    sys.exit(main())
