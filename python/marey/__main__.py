"""``python -m marey``: the command; ``--cflags`` and ``--libs`` tell a C compiler where the
installed headers and library are."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from marey import _core
from marey._places import build_folder, include_folder

COMPILER_OPTIONS = ("--cflags", "--libs")


def _commands() -> Iterator[Path]:
    """Where the command may be, the surest place first."""
    build = build_folder()
    if build is not None:
        yield build / "cli" / "marey"
        return
    try:
        files = importlib.metadata.files("marey") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "marey" and file.parent.name == "bin":
            yield Path(str(file.locate()))
    yield Path(sysconfig.get_path("scripts")) / "marey"
    yield Path(sys.executable).parent / "marey"


def _compiler_flags(options: list[str]) -> str:
    flags = []
    if "--cflags" in options:
        flags.append(f"-I{include_folder()}")
    if "--libs" in options:
        library = Path(os.path.abspath(_core.library_path()))
        folder = library.parent
        # A wheel has no symlink without the number, so the file itself is named there.
        name = "-lmarey" if (folder / "libmarey.so").exists() else f"-l:{library.name}"
        flags += [f"-L{folder}", f"-Wl,-rpath,{folder}", name]
    return " ".join(flags)


def main(arguments: list[str]) -> int:
    if arguments and all(argument in COMPILER_OPTIONS for argument in arguments):
        print(_compiler_flags(arguments))
        return 0
    for command in _commands():
        if command.is_file():
            os.execv(command, ["marey", *arguments])
    print(
        "marey: cannot find the command 'marey' of this package, install the package again",
        file=sys.stderr,
    )
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
