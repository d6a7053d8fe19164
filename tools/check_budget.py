"""check_budget.py [--update] PROGRAM... - instructions of the hot paths against their budgets.

Runs each program of tests/cost under callgrind and compares the inclusive count of each stage_*
function with benchmarks/budgets.toml. A count that is more than the gate above its budget
fails; one that is as far below is told, so that the budget can follow it down (--update).
Counts depend on the compiler: with another one than that of the budgets nothing is judged.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGETS = ROOT / "benchmarks/budgets.toml"
TRACE = ROOT / "tests/data/dataparallel_infer.json.gz"
ARGUMENTS = {"spine": (TRACE,)}  # by program
HEAD = """\
# Instructions of each stage of tests/cost/<program>_cost.c, inclusive, as callgrind counts them
# in a release build: spine on tests/data/dataparallel_infer.json.gz; record does each thing
# 10,000 times, so four digits from the right stand what one costs. `make test` fails where a
# count is more than `gate` above. `make update-golden` writes this file anew; the commit says why.
"""

Counts = dict[str, dict[str, int]]  # by program, by stage


def compiler() -> str:
    return subprocess.run(("cc", "--version"), capture_output=True, text=True,
                          check=True).stdout.splitlines()[0]


def measure(program: Path, arguments: tuple[Path, ...]) -> dict[str, int]:
    """Inclusive instructions of each stage."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        subprocess.run(("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet",
                        program, *arguments), check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "LC_ALL": "C"})
        text = subprocess.run(("callgrind_annotate", "--inclusive=yes", "--threshold=100",
                               "--auto=no", str(out)), capture_output=True, text=True,
                              check=True).stdout
    rows = re.findall(r"^\s*([\d,]+) .*?:stage_(\w+)", text, re.MULTILINE)
    return {name: int(count.replace(",", "")) for count, name in rows}


def write(counts: Counts) -> None:
    lines = [HEAD, "gate = 0.02", f'compiler = "{compiler()}"']
    for program, stages in counts.items():
        lines += ["", f"[instructions.{program}]"]
        lines += [f"{name} = {count:_}" for name, count in stages.items()]
    BUDGETS.write_text("\n".join(lines) + "\n")


def judge(counts: dict[str, int], budgets: dict[str, int], gate: float) -> bool:
    """True if all stages of a program are within their budgets; prints each."""
    is_good = True
    for name, budget in budgets.items():
        if name not in counts:
            print(f"{name}: has a budget but is not a stage")
            is_good = False
            continue
        part = counts[name] / budget - 1
        verdict = "over budget" if part > gate else "below, lower the budget" if part < -gate else "ok"
        is_good = is_good and part <= gate
        print(f"{name:16} {counts[name]:>12,} of {budget:>12,} {part:+7.2%}  {verdict}")
    for name in counts.keys() - budgets.keys():
        print(f"{name}: is a stage but has no budget")
        is_good = False
    return is_good


def main() -> int:
    programs = [Path(word).resolve() for word in sys.argv[1:] if word != "--update"]
    counts: Counts = {}
    for program in programs:
        name = program.name.removesuffix("-cost")
        counts[name] = measure(program, ARGUMENTS.get(name, ()))
    if "--update" in sys.argv:
        write(counts)
        return 0
    budgets = tomllib.loads(BUDGETS.read_text())
    if budgets["compiler"] != compiler():
        print(f"skipped: the budgets are for {budgets['compiler']}, this is {compiler()}")
        return 77
    if counts.keys() != budgets["instructions"].keys():
        print(f"budgets are for {', '.join(budgets['instructions'])}, measured: {', '.join(counts)}")
        return 1
    results = [judge(counts[name], of_program, budgets["gate"])
               for name, of_program in budgets["instructions"].items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
