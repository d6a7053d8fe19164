"""What the checks of this folder share: the files of the tree, C text without comments."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Comments and literals in one pattern, so that neither is taken for the other.
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def files(*patterns: str) -> list[Path]:
    """Files of the tree that match one of the patterns, in a fixed order."""
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()})


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def without_comments(text: str, keep_strings: bool = False) -> str:
    """C text with comments (and literals) blanked; line numbers stay."""

    def blank(match: re.Match[str]) -> str:
        piece = match.group()
        if keep_strings and piece[0] in "\"'":
            return piece
        return re.sub(r"[^\n]", " ", piece)

    return NO_CODE.sub(blank, text)


def finish(problems: Iterable[str]) -> None:
    """Prints what was found and ends the process: 0 if nothing was."""
    found = list(problems)
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)
