"""Runs the cases of tests/command: what the command `marey` prints and exits with.

    run.py --program build/cli/marey [--program PATH]... [--update] [CASE...]

A case is a folder in cases/ with a `script` for sh. It runs in an empty folder of its own
where the programs are in the path and `data` is tests/data. A case is left out, and that is
said, if it has a file `needs` that names a program that was not given. Expected are its standard output
(`stdout`), standard error (`stderr`) and exit status (`exit`); a file that is missing means
empty, or 0. Prints TAP. With --update, or MAREY_UPDATE_GOLDEN in the environment (make
update-golden), the present results become the expected ones: read the difference before you
commit it. A case with a file `frozen` is never updated: what it expects was not made by marey.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases"
DATA = HERE.parent / "data"
TIMEOUT_S = 60


@dataclass
class Result:
    stdout: bytes
    stderr: bytes
    exit: bytes


def run_script(script: Path, programs: list[Path]) -> Result:
    with tempfile.TemporaryDirectory(prefix="marey-command-") as folder:
        bin_folder = Path(folder) / "bin"
        work_folder = Path(folder) / "work"
        bin_folder.mkdir()
        work_folder.mkdir()
        for program in programs:
            (bin_folder / program.name).symlink_to(program.resolve())
        (work_folder / "data").symlink_to(DATA)
        environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC",
                       "PATH": f"{bin_folder}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", str(script)], cwd=work_folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S,
                              check=False)
    return Result(done.stdout, done.stderr, b"%d\n" % done.returncode)


def missing_program(case: Path, programs: list[Path]) -> str | None:
    needs = case / "needs"
    name = needs.read_text().strip() if needs.exists() else ""
    return name if name and name not in [program.name for program in programs] else None


def expected(case: Path) -> Result:
    def read(name: str, default: bytes) -> bytes:
        path = case / name
        return path.read_bytes() if path.exists() else default
    return Result(read("stdout", b""), read("stderr", b""), read("exit", b"0\n"))


def update(case: Path, result: Result) -> None:
    for name, value, default in (("stdout", result.stdout, b""), ("stderr", result.stderr, b""),
                                 ("exit", result.exit, b"0\n")):
        path = case / name
        if value == default:
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_bytes() != value:
            path.write_bytes(value)


def differences(case: Path, wanted: Result, got: Result) -> list[str]:
    lines: list[str] = []
    for name in ("stdout", "stderr", "exit"):
        before = getattr(wanted, name).decode(errors="backslashreplace")
        after = getattr(got, name).decode(errors="backslashreplace")
        lines += difflib.unified_diff(before.splitlines(), after.splitlines(),
                                      f"{case.name}/{name} expected", f"{case.name}/{name} now",
                                      lineterm="")
        if before != after and before.splitlines() == after.splitlines():
            lines.append(f"{case.name}/{name}: line breaks differ")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="run the cases of tests/command")
    parser.add_argument("--program", type=Path, action="append", required=True, dest="programs",
                        help="what a script may call by its name")
    parser.add_argument("--update", action="store_true", help="take the results as expected")
    parser.add_argument("cases", nargs="*", help="names of cases; all if none is given")
    options = parser.parse_args()

    is_update = options.update or "MAREY_UPDATE_GOLDEN" in os.environ
    cases = sorted(path.parent for path in CASES.glob("*/script")
                   if not options.cases or path.parent.name in options.cases)
    if not cases:
        print("Bail out! no such case")
        return 1
    print(f"1..{len(cases)}")
    n_failed = 0
    for number, case in enumerate(cases, 1):
        missing = missing_program(case, options.programs)
        if missing:
            print(f"ok {number} - {case.name} # SKIP no program {missing}")
            continue
        got = run_script(case / "script", options.programs)
        if is_update and not (case / "frozen").exists():
            update(case, got)
        lines = differences(case, expected(case), got)
        n_failed += bool(lines)
        print(f"{'not ok' if lines else 'ok'} {number} - {case.name}")
        for line in lines:
            print(f"# {line}")
        sys.stdout.flush()
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
