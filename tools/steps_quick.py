"""The steps of `make test`, fast ones first. Adding one: a function here, a row in QUICK."""

from __future__ import annotations

import json
import os
import subprocess

from counts import PASSED, Counts
from testing import BUILD, ROOT, Session, has

STRICT = ("-Dtests=enabled", "-Dwerror=true", "-Dbuildtype=debugoptimized")
MALLOC = "-DMAREY_CHECKED_ALLOC"  # blocks whose ends a checker knows: src/base/alloc.c
CHECKED_ALLOC = f"-Dc_args={MALLOC}"
CHECKED_ARGS = f"-Dc_args=-fno-sanitize-recover=all {MALLOC}"
SANITIZED_SUITES = ("unit", "golden", "command", "fuzz-replay")


def suites(*names: str) -> list[str]:
    return [word for name in names for word in ("--suite", name)]


def gcc(session: Session) -> Counts:
    """GCC builds all without a warning; all suites pass."""
    if not session.build("test", *STRICT):
        return Counts(failed=1)
    return PASSED + session.meson_test("test")


def sanitized(session: Session) -> Counts:
    """The C tests under ASan and UBSan."""
    options = (*STRICT, "-Db_sanitize=address,undefined", "-Dpython=disabled", CHECKED_ARGS)
    if not session.build("asan", *options):
        return Counts(failed=1)
    return session.meson_test("asan", *suites(*SANITIZED_SUITES), "--timeout-multiplier", "5")


def threads(session: Session) -> Counts:
    """The tests that start threads, under TSan."""
    if not session.build("tsan", *STRICT, "-Db_sanitize=thread", "-Dpython=disabled",
                         targets=("src/libmarey.so.0",)):
        return Counts(failed=1)
    return session.meson_test("tsan", *suites("thread"), "--timeout-multiplier", "10")


def cost(session: Session) -> Counts:
    """Instruction counts of the hot paths stay within benchmarks/budgets.toml."""
    if not has("valgrind"):
        return session.skip("instruction counts, 'valgrind' is not installed")
    programs = ("tests/cost/spine-cost", "tests/cost/record-cost")
    if not session.build("cost", "-Dtests=enabled", "-Dbuildtype=release", "-Ddebug=true",
                         "-Dpython=disabled", targets=programs):
        return Counts(failed=1)
    return session.check("instruction budgets", "python", "tools/check_budget.py",
                         *(BUILD / "cost" / program for program in programs))


def changed_sources() -> list[str]:
    """C files that differ from origin/main, or from the commit before where that is HEAD."""
    def git(*words: str) -> str:
        done = subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    head = git("rev-parse", "HEAD").strip()
    base = git("merge-base", "HEAD", "origin/main").strip()
    if base in ("", head):
        base = git("rev-parse", "--verify", "HEAD~").strip()
    names = git("diff", "--name-only", "--diff-filter=d", base or "HEAD").split()
    names += git("ls-files", "--others", "--exclude-standard").split()
    return sorted({name for name in names if name.endswith(".c")})


def tidy_files(session: Session, names: list[str] | None) -> Counts:
    """clang-tidy on those of the named files that are built; all of them for None."""
    if not has("clang-tidy-14"):
        return session.skip("clang-tidy, 'clang-tidy-14' is not installed")
    if not session.build("tidy", *STRICT, cc="clang-14", targets=("src/libmarey.so.0",)):
        return Counts(failed=1)
    commands = json.loads((BUILD / "tidy/compile_commands.json").read_text())
    files = sorted({os.path.relpath(os.path.join(row["directory"], row["file"]), ROOT)
                    for row in commands})
    files = [file for file in files if file.endswith(".c") and (names is None or file in names)]
    if not files:
        session.note("clang-tidy: no C file changed")
        return Counts()
    words = " ".join(f"'{file}'" for file in files)
    jobs = os.cpu_count() or 1
    return session.check(
        f"clang-tidy on {len(files)} files", "sh", "-c",
        f"printf '%s\\n' {words} | xargs -P {jobs} -n 4 clang-tidy-14 --quiet -p build/tidy 2>&1"
        " | grep -v -e 'warnings generated' -e 'Suppressed' -e 'Use -header-filter'"
        " > build/tidy.log; cat build/tidy.log; ! grep -q -e 'warning:' -e 'error:' build/tidy.log")


def tidy(session: Session) -> Counts:
    """clang-tidy on the C files that changed."""
    return tidy_files(session, changed_sources())


QUICK = (gcc, sanitized, threads, cost, tidy)
