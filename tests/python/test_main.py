"""`import marey` and `python -m marey`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import marey


def run(
    *words: object, check: bool = False, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True, text=True, timeout=60, check=check, env=env,
    )  # fmt: skip


def test_import_needs_neither_torch_nor_numpy() -> None:
    program = "import sys, marey; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    done = run(sys.executable, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_the_version_is_one_and_the_same(command: Path) -> None:
    assert marey.__version__ in run(command, "--version").stdout
    assert marey.__version__ == marey._core.version()


def test_python_m_is_the_command(command: Path, data: Path) -> None:
    trace = data / "fixtures" / "N05_recursion.json"
    for words in (["--version"], ["report", trace], ["report", trace, "--format", "json"],
                  ["report", "nowhere.json"], ["nonsense"]):
        ours = run(sys.executable, "-m", "marey", *words)
        theirs = run(command, *words)
        assert (ours.returncode, ours.stdout, ours.stderr) == (
            theirs.returncode, theirs.stdout, theirs.stderr)


def test_the_command_reports_the_same_numbers(command: Path, data: Path) -> None:
    for path in sorted(data.glob("*.json.gz")):
        done = run(command, "report", path, "--format", "json", check=True)
        ours = json.loads(marey.load(path).key_averages().table(format="json"))
        assert json.loads(done.stdout) == ours, path.name


def test_the_command_prints_the_same_table(command: Path, data: Path) -> None:
    path = data / "cpu_mlp_train.json.gz"
    assert run(command, "report", path).stdout == marey.load(path).key_averages().table()


def test_a_c_program_compiles_with_the_flags(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "engine.c"
    source.write_text(
        "#include <marey/import.h>\n#include <stdio.h>\n"
        "int main(void) { return puts(marey_version()) < 0; }\n"
    )
    flags = run(sys.executable, "-m", "marey", "--cflags", "--libs", check=True).stdout.split()
    run(compiler, source, "-o", tmp_path / "engine", *flags, check=True)
    assert run(tmp_path / "engine").stdout == f"{marey.__version__}\n"


@pytest.mark.parametrize("version", ["0.0.9", "1.0.0", "nonsense"])
def test_another_libmarey_is_refused_in_words(tmp_path: Path, version: str) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    if "LD_PRELOAD" in os.environ:
        pytest.skip("something else is preloaded")
    source = tmp_path / "old.c"
    source.write_text(f'const char *marey_version(void) {{ return "{version}"; }}\n')
    library = tmp_path / "libold.so"
    run(compiler, "-shared", "-fPIC", source, "-o", library, check=True)
    done = run(sys.executable, "-c", "import marey", env={**os.environ, "LD_PRELOAD": str(library)})
    assert done.returncode == 1
    assert f"ImportError: cannot use libmarey '{library}' version {version}" in done.stderr
