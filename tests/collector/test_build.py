"""Finding and compiling the torch collector: with a torch and compilers that are scripts, each
case in a process of its own. No torch is needed for it.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

marey = pytest.importorskip("marey", reason="the package is not built")

CC = shutil.which("cc") or shutil.which("gcc")
# What a compiler does that is asked to compile: an object that can be loaded, and a line.
GOOD = f"""
echo compiled >> "$COMPILED"
for word in "$@"; do [ "$previous" = -o ] && target="$word"; previous="$word"; done
echo "$@" > "$COMPILED.words"
exec {CC} -shared -x c /dev/null -o "$target"
"""
# Python finds only what the folder has; its compilers find all.
REAL_PATH = f"PATH={os.environ['PATH']}"
BAD = 'echo "collector.cpp:7:1: error: no such thing" >&2; exit 1'
TORCH = """
class version: git_version = {commit!r}
class _C: _GLIBCXX_USE_CXX11_ABI = {abi!r}
__version__ = {version!r}
"""
PRINT_STATUS = "print_json(vars(_build.status()))"
BUILD = """
    try:
        print_json(str(_build.build()))
    except marey.CollectorError as error:
        print_json([error.reason, error.remedy, str(error)])
"""
PRELUDE = """
import json, sys
import marey
from marey import _build
def print_json(value): print(json.dumps(value, default=str))
"""


@dataclass
class World:
    """A folder that holds a torch, compilers and a cache."""

    root: Path

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def n_compiled(self) -> int:
        path = self.root / "compiled"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def make_torch(self, version: str = "2.11.0+cpu", commit: str = "abc", abi: bool = True,
                   standard: int = 17) -> None:
        folder = self.root / "site" / "torch"
        for name in ("include/ATen/record_function.h", "lib/libc10.so", "lib/libtorch_cpu.so"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("")
        (folder / "utils").mkdir(exist_ok=True)
        (folder / "utils/cpp_extension.py").write_text(f"flags = ['-std=c++{standard}']\n")
        (folder / "__init__.py").write_text(TORCH.format(version=version, commit=commit, abi=abi))

    def make_compiler(self, name: str, script: str) -> Path:
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def start(self, code: str, *options: str, **env: str) -> subprocess.Popen[str]:
        base = {name: value for name, value in os.environ.items()
                if name not in ("CXX", "XDG_CACHE_HOME")}
        base |= {"PATH": str(self.root / "bin"), "MAREY_CACHE": str(self.cache),
                 "COMPILED": str(self.root / "compiled"), "PYTHONDONTWRITEBYTECODE": "1",
                 "PYTHONPATH": f"{self.root / 'site'}:{Path(marey.__file__).parent.parent}"}
        return subprocess.Popen(
            [sys.executable, *options, "-c", PRELUDE + textwrap.dedent(code)], env=base | env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def ask(self, code: str, *options: str, **env: str) -> Any:
        done = self.start(code, *options, **env)
        out, err = done.communicate(timeout=120)
        assert done.returncode == 0, err
        return json.loads(out)

    def build(self, **env: str) -> Any:
        """The path, or reason, remedy and text of the error."""
        return self.ask(BUILD, **env)

    def status(self, **env: str) -> Any:
        return self.ask(PRINT_STATUS, **env)


@pytest.fixture
def world(tmp_path: Path) -> World:
    if CC is None:
        pytest.skip("no C compiler to make objects with")
    world = World(tmp_path)
    world.make_torch()
    world.make_compiler("c++", f"{REAL_PATH}\n{GOOD}")
    return world


def leftovers(world: World) -> list[str]:
    return [path.name for path in world.cache.rglob("*.part*")]


# ---- when all is well ----------------------------------------------------------------------


def test_importing_marey_imports_no_torch(world: World) -> None:
    assert world.ask("print_json([name for name in sys.modules if name.startswith('torch')])") == []


def test_object_is_built_once_and_found(world: World) -> None:
    assert world.ask("print_json(_build.find())") is None
    before = world.status()
    assert (before["state"], before["path"]) == ("not built", None)
    assert "marey doctor --build" in before["remedy"]
    path = world.build()
    assert Path(path).is_file() and Path(path).is_relative_to(world.cache)
    assert Path(path).name.startswith("torch-2.11.0+cpu-abi1-sink1-" + os.uname().machine)
    assert world.build() == path == world.ask("print_json(_build.find())")
    assert world.n_compiled == 1
    after = world.status()
    assert (after["state"], after["path"], after["remedy"]) == ("ready", path, "")
    assert not leftovers(world)
    world.ask("print_json(_build.build(force=True))")
    assert world.n_compiled == 2


def test_flags_are_those_of_torch(world: World) -> None:
    world.make_torch(standard=20, abi=False)
    world.build()
    words = (world.root / "compiled.words").read_text().split()
    assert {"-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=0", "-DNDEBUG", "-fPIC"} <= set(words)
    assert str(world.root / "site/torch/lib/libtorch_cpu.so") in words
    assert words[words.index("-isystem") + 1] == str(world.root / "site/torch/include")


def test_compiler_is_that_of_cxx(world: World) -> None:
    other = world.make_compiler("mine", f"{REAL_PATH}\necho mine > {world.root}/mine\n{GOOD}")
    world.build(CXX=f"{other} -Wall")
    assert (world.root / "mine").exists()
    assert (world.root / "compiled.words").read_text().startswith("-Wall ")


def test_objects_that_come_ready_are_taken_first(world: World) -> None:
    ready = world.root / "ready"
    code = f"""
        from pathlib import Path
        from marey import _toolchain
        _build.READY_FOLDER = Path({str(ready)!r})
        name = _build._file_name(_toolchain.find_torch())
        _build.READY_FOLDER.mkdir()
        (_build.READY_FOLDER / name).write_text("")
        print_json([_build.find(), _build.build(), _build.status().path])
    """
    paths = world.ask(code, MAREY_CACHE="/dev/null/nothing")
    assert len(set(paths)) == 1 and Path(paths[0]).parent == ready
    assert world.n_compiled == 0


def test_cache_is_where_the_environment_says(world: World) -> None:
    home, xdg = world.root / "home", world.root / "xdg"
    where = "print_json(_build._cache_folder())"
    assert world.ask(where, HOME=str(home), MAREY_CACHE="").startswith(str(home / ".cache/marey"))
    assert world.ask(where, HOME=str(home), MAREY_CACHE="", XDG_CACHE_HOME=str(xdg)).startswith(
        str(xdg / "marey"))
    assert world.ask(where, HOME=str(home), MAREY_CACHE="", XDG_CACHE_HOME="relative").startswith(
        str(home))
    assert world.ask(where, MAREY_CACHE="relative") == str(
        Path("relative").resolve() / Path(world.ask(where)).name)


# ---- an object that was damaged ----------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "zeros", "text", "empty", "no seal", "another seal"])
def test_a_damaged_object_is_compiled_again(world: World, damage: str) -> None:
    path = Path(world.build())
    whole = path.read_bytes()
    seal = path.with_name(f"{path.name}.sha256")
    size, digest = seal.read_text().split()
    assert (int(size), len(digest)) == (len(whole), 64)
    if damage == "no seal":
        seal.unlink()
    elif damage == "another seal":
        seal.write_bytes(b"\xff\x00")
    else:
        path.write_bytes({"cut": whole[:5000], "zeros": bytes(len(whole)), "text": b"no object",
                          "empty": b""}[damage])
    assert world.ask("print_json(_build.find())") is None
    status = world.status()
    assert (status["state"], status["path"]) == ("not built", None)
    assert status["detail"] == f"'{path}' is damaged and is compiled again when it is needed"

    done = world.start(BUILD)
    out, err = done.communicate(timeout=120)
    assert json.loads(out) == str(path)
    assert f"marey: '{path}' is damaged and is compiled again\n" in err
    assert path.read_bytes()[:4] == b"\x7fELF"
    assert world.n_compiled == 2 and world.status()["state"] == "ready"
    assert not leftovers(world)


def test_a_ready_object_may_have_a_seal(world: World) -> None:
    code = f"""
        from pathlib import Path
        from marey import _toolchain
        _build.READY_FOLDER = Path({str(world.root)!r})
        ready = _build.READY_FOLDER / _build._file_name(_toolchain.find_torch())
        ready.write_text("ready")
        found = [_build.find()]
        _build._seal_path(ready).write_text(_build._seal(ready))
        found.append(_build.find())
        ready.write_text("damaged")
        print_json([*found, _build.find()])
    """
    first, second, third = world.ask(code)
    assert first == second != third is None


# ---- what is said ----------------------------------------------------------------------------


def test_compiling_says_so_once(world: World) -> None:
    said = "marey: compiling the torch collector for torch 2.11.0+cpu (once, about 10 s)\n"
    for expected in (said, ""):
        assert world.start(BUILD).communicate(timeout=120)[1] == expected


def test_nothing_is_said_where_nothing_is_compiled(world: World) -> None:
    (world.root / "bin/c++").unlink()
    assert world.start(BUILD).communicate(timeout=120)[1] == ""


@pytest.mark.parametrize("stream", ["None", "open('/dev/null', 'w'); sys.stderr.close()"])
def test_compiling_needs_no_standard_error(world: World, stream: str) -> None:
    assert Path(world.ask(f"sys.stderr = {stream}\nprint_json(_build.build())")).is_file()


# ---- another torch ---------------------------------------------------------------------------


def test_another_torch_has_another_key(world: World) -> None:
    paths = [world.build()]
    for change in ({"version": "2.11.1+cpu"}, {"version": "2.11.0+cu130"}, {"commit": "def"},
                   {"abi": False}, {"standard": 20}):
        world.make_torch(**change)
        assert world.ask("print_json(_build.find())") is None
        paths.append(world.build())
    assert len(set(paths)) == world.n_compiled == 6


def test_status_tells_which_torch_there_are_objects_for(world: World) -> None:
    world.build()
    world.make_torch(version="2.14.0")
    status = world.status()
    assert status["state"] == "not built"
    assert status["detail"] == "none for torch 2.14.0 yet, only for 2.11.0+cpu"


def test_another_source_has_another_key(world: World) -> None:
    code = """
        from pathlib import Path
        import shutil, tempfile
        from marey import _toolchain
        torch, folder = _toolchain.find_torch(), Path(tempfile.mkdtemp())
        shutil.copytree(_build.collector_folder("torch"), folder, dirs_exist_ok=True)
        names = [_build._file_name(torch)]
        _build.collector_folder = lambda name: folder
        names.append(_build._file_name(torch))
        for name in ("collector.cpp", "inputs.h"):
            with open(folder / name, "a") as file:
                file.write("// changed")
            names.append(_build._file_name(torch))
        shutil.rmtree(folder)
        try:
            _build._file_name(torch)
        except marey.CollectorError as error:
            names.append(error.reason)
        print_json(names)
    """
    first, same, *others, missing = world.ask(code)
    assert first == same
    assert len({first, *others}) == 3
    assert "is not there" in missing


# ---- what may be missing -----------------------------------------------------------------------


def test_no_torch(world: World) -> None:
    alone = str(Path(marey.__file__).parent.parent)
    reason, remedy, text = world.ask(BUILD, "-S", PYTHONPATH=alone)
    assert reason == "cannot find torch"
    assert remedy.startswith("install PyTorch") and text == f"{reason}, {remedy}"
    package = world.root / "site/torch/__init__.py"
    package.write_text("raise OSError('libcudart.so: no such file')")
    status = world.status()
    assert status["state"] == "no torch"
    assert status["detail"] == "cannot import torch: libcudart.so: no such file"
    package.write_text("")
    assert world.status()["state"] == "no torch"


def test_no_headers_or_libraries(world: World) -> None:
    (world.root / "site/torch/lib/libc10.so").unlink()
    assert "cannot find libc10.so and libtorch_cpu.so of torch 2.11.0+cpu" in world.build()[0]
    shutil.rmtree(world.root / "site/torch/include")
    assert "cannot find the C++ headers of torch 2.11.0+cpu" in world.build()[0]
    assert world.status()["state"] == "cannot build"
    assert not leftovers(world)


def test_no_compiler(world: World) -> None:
    (world.root / "bin/c++").unlink()
    reason, remedy, _ = world.build()
    assert reason == "cannot find a C++ compiler (c++, g++, clang++)"
    assert "apt-get install g++" in remedy and "CXX" in remedy
    assert world.status()["state"] == "cannot build"
    reason, _, _ = world.build(CXX="/no/such/compiler -O2")
    assert reason == "cannot find the C++ compiler '/no/such/compiler' that CXX names"
    world.make_compiler("clang++", f"{REAL_PATH}\n{GOOD}")
    assert Path(world.build()).is_file()


def test_failing_compiler(world: World) -> None:
    world.make_compiler("c++", BAD)
    reason, remedy, _ = world.build()
    assert reason.startswith("cannot compile the torch collector for torch 2.11.0+cpu: ")
    assert "error: no such thing" in reason
    (log,) = world.cache.rglob("*.log")
    assert str(log) in remedy
    assert "error: no such thing" in log.read_text() and "-std=c++17" in log.read_text()
    status = world.status()
    assert status["state"] == "cannot build" and "error: no such thing" in status["detail"]
    assert not leftovers(world) and not list(world.cache.rglob("*.so"))
    # The next try is made all the same, and takes the log away.
    world.make_compiler("c++", f"{REAL_PATH}\n{GOOD}")
    assert Path(world.build()).is_file()
    assert not log.exists() and world.status()["state"] == "ready"


@pytest.mark.parametrize("script", ["exit 0", 'kill -9 "$$"'])
def test_compiler_that_makes_nothing(world: World, script: str) -> None:
    world.make_compiler("c++", script)
    assert "made nothing and said nothing" in world.build()[0]
    assert not leftovers(world)


def test_object_that_cannot_be_loaded(world: World) -> None:
    script = 'for w in "$@"; do [ "$p" = -o ] && t="$w"; p="$w"; done; echo "no object" > "$t"'
    world.make_compiler("c++", script)
    reason, _, _ = world.build()
    assert "what was compiled cannot be loaded" in reason
    assert not leftovers(world) and not list(world.cache.rglob("*.so"))


def test_cache_that_cannot_be_written(world: World) -> None:
    (world.root / "file").write_text("")
    for folder in (str(world.root / "file"), str(world.root / "file/below"), "/proc/self/cache"):
        reason, remedy, _ = world.build(MAREY_CACHE=folder)
        assert reason.startswith(f"cannot write to the cache '{folder}/")
        assert remedy == "name a folder that can be written in MAREY_CACHE"
    status = world.status(MAREY_CACHE=str(world.root / "file"))
    assert (status["state"], status["remedy"]) == ("refused", remedy)
    assert world.n_compiled == 0


def test_status_makes_nothing(world: World) -> None:
    world.status()
    assert not world.cache.exists()


def test_errors_travel_between_processes() -> None:
    error = marey.CollectorError("cannot do it", "do something else")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, marey.MareyError) and error.status is None
    assert (again.reason, again.remedy, str(again)) == (error.reason, error.remedy, str(error))


# ---- many at once ------------------------------------------------------------------------------


def test_ranks_that_race_compile_once(world: World) -> None:
    """The first one's compiler is held until the others are on their way."""
    gate = world.root / "gate"
    os.mkfifo(gate)
    world.make_compiler("c++", f"{REAL_PATH}\nread line < {gate}\n{GOOD}")
    ranks = [world.start("print('here', flush=True)\n" + textwrap.dedent(BUILD)) for _ in range(4)]
    paths = set()
    try:
        for rank in ranks:
            assert rank.stdout and rank.stdout.readline() == "here\n"
        # Opening the gate waits for a compiler that reads it.
        gate.write_text("go\n")
        for rank in ranks:
            out, err = rank.communicate(timeout=60)
            assert rank.returncode == 0, err
            paths.add(json.loads(out))
    finally:
        for rank in ranks:
            if rank.poll() is None:
                os.killpg(rank.pid, signal.SIGKILL)
    assert len(paths) == 1 and Path(paths.pop()).is_file()
    assert world.n_compiled == 1
    assert not leftovers(world)


def test_threads_that_race_compile_once(world: World) -> None:
    code = """
        import threading
        paths = []
        threads = [threading.Thread(target=lambda: paths.append(_build.build())) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print_json(paths)
    """
    paths = world.ask(code)
    assert len(paths) == 4 and len(set(paths)) == 1
    assert world.n_compiled == 1


def test_rank_that_dies_holds_up_nobody(world: World) -> None:
    world.make_compiler("c++", 'kill -9 "$PPID"; exit 1')
    rank = world.start(BUILD)
    rank.communicate(timeout=120)
    assert rank.returncode == -9
    world.make_compiler("c++", f"{REAL_PATH}\n{GOOD}")
    assert Path(world.build()).is_file()
