"""Traces as bytes, which is how results go to another process: what looks into a trace carries it."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from marey import _core

if TYPE_CHECKING:
    from marey._trace import Trace


def packed(trace: Trace) -> bytes:
    """The file that an export makes of it."""
    with tempfile.TemporaryDirectory(prefix="marey-") as folder:
        path = os.path.join(folder, "trace.json.gz")
        trace.export_chrome_trace(path)
        with open(path, "rb") as file:
            return file.read()


def unpacked(data: bytes) -> Trace:
    from marey._trace import Trace

    return Trace(_core.import_bytes(data))
