"""Functions of more than 60 lines and files of more than 1,000 fail.

Lines of a function are those between its braces. Flat tables and switches may be longer:
size_exceptions.txt names them, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import lint

LONGEST_FUNCTION = 60
LONGEST_FILE = 1000
SOURCES = ("include/**/*.h", "src/**/*.[ch]", "cli/**/*.[ch]", "python/**/*.[ch]", "python/**/*.py",
           "tests/**/*.[ch]", "tests/**/*.py", "tools/*", "benchmarks/*.[ch]*", "benchmarks/*.py",
           "examples/**/*.[ch]", "examples/**/*.py", "collectors/**/*.cpp", "collectors/**/*.h")
NAME = re.compile(r"(\w+)\s*\([^{}]*\)\s*$")


def exceptions() -> dict[str, str]:
    table = {}
    for line in (lint.ROOT / "tests/lint/size_exceptions.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            subject, _, reason = line.partition(" ")
            table[subject] = reason.strip()
    return table


def functions(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of each function: a brace in column 0 opens it, one closes it."""
    text = lint.without_comments(path.read_text(encoding="utf-8"))
    lines = text.split("\n")
    begin = None
    for number, line in enumerate(lines):
        if line.startswith("{"):
            begin = number
        elif line.startswith("}") and begin is not None:
            match = NAME.search("\n".join(lines[max(0, begin - 8):begin]))
            if match:
                yield match[1], begin + 1, number - begin - 1
            begin = None


def problems() -> Iterator[str]:
    excused, used = exceptions(), set()
    for path in lint.files(*SOURCES):
        n_lines = path.read_bytes().count(b"\n")
        if n_lines > LONGEST_FILE:
            yield f"{lint.name(path)}: {n_lines} lines, at most {LONGEST_FILE}; split it"
        if path.suffix not in (".c", ".h"):
            continue
        for function, line, length in functions(path):
            subject = f"{lint.name(path)}:{function}"
            if length > LONGEST_FUNCTION and subject not in excused:
                yield f"{lint.name(path)}:{line}: '{function}' has {length} lines, at most " \
                      f"{LONGEST_FUNCTION}; split it"
            elif length > LONGEST_FUNCTION:
                used.add(subject)
    for subject, reason in excused.items():
        if subject not in used:
            yield f"tests/lint/size_exceptions.txt: '{subject}' needs no exception, remove it"
        elif not reason:
            yield f"tests/lint/size_exceptions.txt: '{subject}' has no reason"


if __name__ == "__main__":
    lint.finish(problems())
