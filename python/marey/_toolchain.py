"""What a collector of torch is compiled with: the torch at hand, a C++ compiler.

torch is imported when asked for, never by importing this module: a collector links the
libraries that ``import torch`` loads, so it can be loaded only after that.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from marey._errors import CollectorError

COMPILERS = ("c++", "g++", "clang++")
FLAGS = (
    "-O2",
    "-fPIC",
    "-shared",
    "-DNDEBUG",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
)
# What is missing is then said by the linker, not by the loader of another day.
LINK_FLAGS = ("-Wl,-z,defs",)
HEADER = "ATen/record_function.h"
LIBRARIES = ("libc10.so", "libtorch_cpu.so")
COMPILE_SECONDS = 600
SHOWN_LINES = 6


# ---- torch ---------------------------------------------------------------------------------------


class NoTorchError(CollectorError):
    """There is no torch to collect from."""


@dataclass(frozen=True)
class Torch:
    """The torch of this interpreter, as far as a compiler must know it."""

    folder: Path
    version: str  # with the local part: 2.13.0+cpu
    commit: str
    has_cxx11_abi: bool

    @property
    def cxx_standard(self) -> int:
        """The one that torch asks of its extensions."""
        try:
            text = (self.folder / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
        except OSError:
            text = ""
        named = [int(digits) for digits in re.findall(r"-std=c\+\+(\d\d)", text)]
        if named:
            return max(named)
        return 20 if _release(self.version) >= (2, 12) else 17

    def compile_flags(self) -> list[str]:
        """Those that change what is compiled, which the place of the headers does not."""
        return [
            f"-std=c++{self.cxx_standard}",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(self.has_cxx11_abi)}",
            f'-DMAREY_BUILT_FOR="torch {self.version}"',
            *FLAGS,
        ]

    def include_folders(self) -> list[Path]:
        """Where the headers are. Raises CollectorError if they are nowhere."""
        own = self.folder / "include"
        if (own / HEADER).is_file():
            return [own, own / "torch" / "csrc" / "api" / "include"]
        try:
            module = importlib.import_module("torch.utils.cpp_extension")
            folders = [Path(path) for path in module.include_paths()]
        except Exception:  # noqa: BLE001 - it may fail in any way, which is one answer here
            folders = []
        if any((folder / HEADER).is_file() for folder in folders):
            return folders
        raise CollectorError(
            f"cannot find the C++ headers of torch {self.version}, '{own / HEADER}' is not there",
            "install torch from a package that has them, as its wheels and conda packages do",
        )

    def libraries(self) -> list[Path]:
        """The ones that are loaded, so that a collector finds them by their names."""
        own = [self.folder / "lib" / name for name in LIBRARIES]
        found = own if all(path.is_file() for path in own) else _loaded(LIBRARIES)
        if len(found) == len(LIBRARIES):
            return found
        raise CollectorError(
            f"cannot find {' and '.join(LIBRARIES)} of torch {self.version}, "
            f"'{own[0].parent}' does not hold them",
            "install torch from a package that has them, as its wheels and conda packages do",
        )


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _loaded(names: tuple[str, ...]) -> list[Path]:
    """Paths of shared libraries of this process, by their file names."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = {Path(fields[5]) for line in lines if len(fields := line.split(maxsplit=5)) == 6}
    return [path for name in names for path in sorted(paths) if path.name == name]


def _import_torch() -> ModuleType:
    torch = sys.modules.get("torch")
    if torch is not None:
        return torch
    remedy = "install PyTorch into the environment of '" + sys.executable + "'"
    if importlib.util.find_spec("torch") is None:
        raise NoTorchError("cannot find torch", remedy)
    try:
        return importlib.import_module("torch")
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise NoTorchError(f"cannot import torch: {words}", remedy) from error


def find_torch() -> Torch:
    """The torch of this interpreter. Raises NoTorchError."""
    torch = _import_torch()
    try:
        version = str(torch.__version__)
        folder = Path(str(torch.__file__)).resolve().parent
        commit = str(getattr(torch.version, "git_version", ""))
        has_cxx11_abi = bool(torch._C._GLIBCXX_USE_CXX11_ABI)
    except AttributeError as error:
        raise NoTorchError(
            f"cannot use the module torch that is imported: {error}",
            "look for a folder or file called torch in the way of PyTorch",
        ) from error
    return Torch(folder, version, commit, has_cxx11_abi)


# ---- the compiler --------------------------------------------------------------------------------


def find_compiler() -> list[str]:
    """The words of a C++ compiler: $CXX, else the first there is. Raises CollectorError."""
    named = shlex.split(os.environ.get("CXX", ""))
    if named:
        if shutil.which(named[0]) is None:
            raise CollectorError(
                f"cannot find the C++ compiler '{named[0]}' that CXX names",
                "set CXX to one that is there, or unset it",
            )
        return named
    for name in COMPILERS:
        if shutil.which(name) is not None:
            return [name]
    raise CollectorError(
        f"cannot find a C++ compiler ({', '.join(COMPILERS)})",
        "install one (Debian: apt-get install g++; Fedora: dnf install gcc-c++; conda: conda "
        "install cxx-compiler) or name it in CXX",
    )


def last_lines(text: str) -> str:
    """What a compiler had to say, in short: its errors if it names any, else its end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return "\n".join((errors or lines)[-SHOWN_LINES:])


def compile_collector(torch: Torch, source: Path, include: Path, target: Path, log: Path) -> None:
    """Compiles one file into a shared object. What the compiler says goes into the log, which
    stays only if it fails. Raises CollectorError."""
    folders = torch.include_folders()
    command = [
        *find_compiler(),
        *torch.compile_flags(),
        *(word for folder in folders for word in ("-isystem", str(folder))),
        f"-I{include}",
        str(source),
        "-o",
        str(target),
        *LINK_FLAGS,
        *map(str, torch.libraries()),
    ]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            timeout=COMPILE_SECONDS,
            check=False,
        )
        said, status = done.stdout.decode("utf-8", "replace"), done.returncode
    except OSError as error:
        said, status = str(error), -1
    except subprocess.TimeoutExpired:
        said, status = f"error: not done after {COMPILE_SECONDS} seconds", -1
    if status == 0 and target.stat().st_size > 0:
        log.unlink(missing_ok=True)
        return
    log.write_text(f"{shlex.join(command)}\n\n{said}", encoding="utf-8")
    raise compile_error(torch, said, log)


def compile_error(torch: Torch, said: str, log: Path) -> CollectorError:
    words = last_lines(said) or "the compiler made nothing and said nothing"
    return CollectorError(
        f"cannot compile the torch collector for torch {torch.version}: {words}",
        f"read all of it in '{log}'; another compiler can be named in CXX",
    )
