"""places.py - the same programs at other places in memory.

Where code, stack and heap come to lie is worth as much as what a hook of torch does: it decides which lines
of the caches they share with the program. Within a process that stays the same, and the pages of a
file stay where they are for as long as the system keeps it in memory, so that neither rounds nor runs
show it. A place is a new process with an environment of another size, and new copies of the shared
objects under the old names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

PAGE_BYTES = 4096
STEP_BYTES = 1009  # from place to place; no divisor of a page


def environment(place: int) -> dict[str, str]:
    """The program's own, and a variable by which the stack moves."""
    return {**os.environ, "PADDING": "x" * (1 + place * STEP_BYTES % PAGE_BYTES)}


def lay_anew(objects: Iterable[Path]) -> None:
    """Copies each, with its times, and puts the copy in its place. Who has the old one open keeps it."""
    for path in objects:
        copy = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            shutil.copy2(path, copy)
            copy.replace(path)
        finally:
            copy.unlink(missing_ok=True)
