"""Warnings that point at the user's own line, whatever called what of ours in between."""

from __future__ import annotations

import os
import sys
import warnings

_OURS = os.path.dirname(__file__) + os.sep


def stacklevel() -> int:
    """Of the innermost frame outside of this package, as warnings.warn counts for the caller."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
        level += 1
    return level


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Raises where a warning is an error."""
    warnings.warn(message, category, stacklevel=stacklevel())


def bytes_text(n_bytes: int) -> str:
    """A size in words, rounded down: a small pool has no MiB."""
    if n_bytes >= 1 << 20:
        return f"{n_bytes >> 20:,} MiB"
    return f"{n_bytes >> 10} KiB" if n_bytes >= 1 << 10 else f"{n_bytes} bytes"


def tell(message: str, category: type[Warning] = UserWarning) -> None:
    """Where a warning is an error it is only printed: what it is about must not fail."""
    try:
        warn(message, category)
    except Warning:
        if sys.stderr is not None:
            print(f"marey: {message}", file=sys.stderr)
