"""The further steps of `make check-all`. Adding one: a function here, a row in ALL."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

from counts import FAILED, PASSED, Counts, of_junit
from steps_quick import CHECKED_ALLOC, CHECKED_ARGS, SANITIZED_SUITES, STRICT, suites, tidy_files
from testing import BUILD, ROOT, Session, has

SANITIZED = ("-Db_sanitize=address,undefined", CHECKED_ARGS)
INSTRUMENTED = f"{CHECKED_ARGS} -fsanitize=fuzzer-no-link"
LARGEST_TO_DAMAGE = 120_000  # bytes; a damaged file need not be large
FUZZ_SECONDS = int(os.environ.get("FUZZ_SECONDS", "300"))


def clang(session: Session) -> Counts:
    """Clang builds all without a warning; all suites pass."""
    if not has("clang-14"):
        return session.skip("Clang, 'clang-14' is not installed")
    if not session.build("clang", *STRICT, cc="clang-14"):
        return FAILED
    return PASSED + session.meson_test("clang", *suites(*SANITIZED_SUITES, "python"))


def tidy_all(session: Session) -> Counts:
    """clang-tidy on every C file."""
    return tidy_files(session, None)


def no_memory(session: Session) -> Counts:
    """Allocation sweeps in full: each request of each unit fails once."""
    return session.meson_test("asan", *suites("unit"), "--timeout-multiplier", "20",
                              env={"MAREY_FULL_SWEEP": "1"})


def damage(session: Session) -> Counts:
    """The command on damaged traces, under ASan and UBSan."""
    traces = [path for path in sorted((ROOT / "tests/data").rglob("*.json*"))
              if path.stat().st_size <= LARGEST_TO_DAMAGE]
    return session.check("damaged traces", "python", "tools/damage.py", BUILD / "asan/cli/marey",
                         *traces, timeout=1500)


def damage_all(session: Session) -> Counts:
    """Each own trace cut and changed 2,400 times, under ASan and UBSan; read by any number of threads."""
    if os.environ.get("DAMAGE_FULL") != "1":
        return session.skip("all damage, which takes half an hour: set DAMAGE_FULL=1")
    traces = sorted((ROOT / "tests/data").glob("*.json.gz"))
    if not session.build("asan", *STRICT, *SANITIZED, "-Dpython=disabled",
                         targets=("tests/import/damage-all",)):
        return FAILED
    return session.check("all damage", "python", "tools/damage_all.py",
                         BUILD / "asan/tests/import/damage-all", *traces, timeout=7200)


def hta(session: Session) -> Counts:
    """HolisticTraceAnalysis reads what we write."""
    names = ("cpu_mlp_train", "dataparallel_infer")
    traces = [ROOT / f"tests/data/{name}.json.gz" for name in names]
    return session.check("HolisticTraceAnalysis", "python", "tools/check_hta.py",
                         BUILD / "test/cli/marey", *traces)


def readers(session: Session) -> Counts:
    """Files of marey.profiler load in HolisticTraceAnalysis and in TensorBoard's plug-in."""
    build = BUILD / "test"
    return session.check("readers of our files", "python", "tools/check_readers.py",
                         env={"PYTHONPATH": str(build / "python"),
                              "MAREY_CACHE": str(build / "cache")})


def wheel(session: Session) -> Counts:
    """The wheel in a fresh environment outside the tree; C programs against it."""
    return session.check("the wheel", "python", "tools/check_wheel.py", timeout=600)


def prefix(session: Session) -> Counts:
    """What `make install` installs: command, manuals, library found by pkg-config."""
    root = BUILD / "prefix-root"
    shutil.rmtree(root, ignore_errors=True)
    if not session.build("prefix", f"--prefix={root}", "--libdir=lib", "-Dtests=disabled",
                         "-Dpython=disabled", "-Dexamples=false"):
        return FAILED
    trace = ROOT / "tests/data/dataparallel_infer.json.gz"
    script = f"""set -e
        meson install -C {BUILD}/prefix --no-rebuild > /dev/null
        {root}/bin/marey report {trace} | grep -q aten::
        test -s {root}/share/man/man1/marey.1
        export PKG_CONFIG_PATH={root}/lib/pkgconfig LD_LIBRARY_PATH={root}/lib
        python {ROOT}/tools/check_examples.py $(pkg-config --cflags --libs marey)"""
    return session.check("an installed prefix", "bash", "-c", script)


def python_asan(session: Session) -> Counts:
    """The Python tests with an extension and a core under ASan and UBSan."""
    if not session.build("asan-python", *STRICT, *SANITIZED, "-Db_lundef=false",
                         "-Dpython=enabled"):
        return FAILED
    runtime = [subprocess.run(("cc", f"-print-file-name={name}.so"), capture_output=True, text=True,
                              check=True).stdout.strip() for name in ("libasan", "libubsan")]
    junit, began = BUILD / "asan-python/pytest.junit.xml", time.time()
    junit.unlink(missing_ok=True)
    done = session.run(
        "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={junit}",
        "tests/python", timeout=1500,
        # The interpreter itself never frees all; torch is not built for this.
        env={"LD_PRELOAD": " ".join(runtime), "ASAN_OPTIONS": "detect_leaks=0",
             "PYTHONMALLOC": "malloc", "PYTHONPATH": str(BUILD / "asan-python/python"),
             "MAREY_BUILD_ROOT": str(BUILD / "asan-python"), "MAREY_SOURCE_ROOT": str(ROOT),
             "MAREY_TEST_DATA": str(ROOT / "tests/data"), "MAREY_WITHOUT_TORCH": "1"})
    counts = of_junit(junit) if junit.exists() and junit.stat().st_mtime >= began else Counts()
    if done.returncode != 0:
        session.fail("Python tests under ASan", done.stdout)
        counts += FAILED if counts.failed == 0 else Counts()
    return counts


def hooks(session: Session) -> Counts:
    """After a session torch's operators take as many instructions as before."""
    if not has("valgrind"):
        return session.skip("hooks that are gone, 'valgrind' is not installed")
    build = BUILD / "test"
    return session.check("hooks that are gone", "python", "tools/check_hooks.py",
                         build / "tests/cost/callgrind-marks.so", timeout=1500,
                         env={"PYTHONPATH": str(build / "python"),
                              "MAREY_CACHE": str(build / "cache")})


def memcheck(session: Session) -> Counts:
    """The unit tests under Valgrind's memcheck."""
    if not has("valgrind"):
        return session.skip("memcheck, 'valgrind' is not installed")
    if not session.build("memcheck", *STRICT, CHECKED_ALLOC, "-Dpython=disabled"):
        return FAILED
    return session.meson_test(
        "memcheck", *suites("unit"), "--timeout-multiplier", "40", "--wrapper",
        "valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect"
        " --errors-for-leak-kinds=definite,indirect")


def fuzz(session: Session) -> Counts:
    """libFuzzer on each target, FUZZ_SECONDS in all."""
    if not has("clang-14"):
        return session.skip("fuzzing, 'clang-14' is not installed")
    if not session.build("fuzz", "-Dfuzzers=true", INSTRUMENTED, "-Dtests=enabled", "-Dpython=disabled",
                         "-Dexamples=false", "-Dbuildtype=debugoptimized", SANITIZED[0],
                         "-Db_lundef=false", cc="clang-14", targets=("fuzzers",)):
        return FAILED
    targets = sorted(path for path in (BUILD / "fuzz/tests/fuzz").glob("fuzz_*")
                     if path.is_file() and os.access(path, os.X_OK))
    counts = Counts() if targets else session.fail("no fuzz target was built")
    for target in targets:
        name = target.name.removeprefix("fuzz_")
        found = BUILD / "fuzz" / f"corpus-{name}"
        found.mkdir(exist_ok=True)
        seconds = max(5, FUZZ_SECONDS // len(targets))
        counts += session.check(
            f"fuzzing {name} for {seconds} s", target, found, ROOT / "tests/fuzz/corpus" / name,
            f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1",
            f"-artifact_prefix={BUILD}/fuzz/crash-{name}-", timeout=seconds + 300)
    return counts


def torch_matrix(session: Session) -> Counts:
    """The Python tests with other versions of torch."""
    pythons = [word for word in os.environ.get("MAREY_TORCH_PYTHONS", "").split(":") if word]
    if not pythons:
        return session.skip("other versions of torch, MAREY_TORCH_PYTHONS names no Python that has"
                            " one (paths with ':' between)")
    counts = Counts()
    for python in pythons:
        junit = BUILD / "torch-matrix.junit.xml"
        junit.unlink(missing_ok=True)
        done = session.run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                           f"--junit-xml={junit}", "tests/python",
                           env={"PYTHONPATH": str(BUILD / "test/python"),
                                "MAREY_BUILD_ROOT": str(BUILD / "test"),
                                "MAREY_SOURCE_ROOT": str(ROOT),
                                "MAREY_TEST_DATA": str(ROOT / "tests/data")})
        own = of_junit(junit) if junit.exists() else FAILED
        counts += own
        if done.returncode != 0:
            session.fail(f"Python tests with {python}", done.stdout)
            counts += FAILED if own.failed == 0 else Counts()
    return counts


ALL = (clang, tidy_all, wheel, prefix, hta, readers, no_memory, damage, damage_all, python_asan, hooks, memcheck, fuzz,
       torch_matrix)
