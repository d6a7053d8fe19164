"""The lines that export_stacks writes of averages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from marey._torch import stacks_text


def row(stack: list[str], cpu_us: float, device_us: float = 0.0) -> Any:
    return SimpleNamespace(
        stack=stack, self_cpu_time_total=cpu_us, self_device_time_total=device_us
    )


def test_a_line_for_each_row_with_a_stack() -> None:
    rows = [row(["in ner;", "outer"], 5.9, 2.0), row([], 7.0), row(["a"], 0.5), row(["b"], 1.0)]
    assert stacks_text(rows, "self_cpu_time_total") == "outer;in_ner_ 5\nb 1\n"
    assert stacks_text(rows, "self_cuda_time_total") == "outer;in_ner_ 2\n"
    with pytest.raises(ValueError, match="no metric 'x': it is one of self_cpu_time_total"):
        stacks_text(rows, "x")
