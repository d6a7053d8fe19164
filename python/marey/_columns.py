"""Events as columns: which of them, by what stands in a column."""

from __future__ import annotations

import re
from array import array

from marey import _core


def all_but(kinds: memoryview, kind: str) -> range | array[int]:
    """The indices of all slices that are not of this kind: a range, if they are one."""
    number = _core.KINDS.index(kind)
    indices: range | array[int] = range(len(kinds))
    for found in reversed(list(re.finditer(re.escape(bytes([number])), kinds))):
        at = found.start()
        if isinstance(indices, range) and at in (indices.start, indices.stop - 1):
            indices = indices[1:] if at == indices.start else indices[:-1]
            continue
        if isinstance(indices, range):
            indices = array("I", indices)
        indices.remove(at)
    return indices
