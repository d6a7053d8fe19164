"""What was not recorded between the cycles of one process, and of several."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

CYCLES_US = {0: [(0, 20), (100, 130)], 1: [(5, 20), (90, 130)]}  # gaps of 80 us and 70 us


def write_cycle(folder: Path, rank: int, number: int, window_us: tuple[int, int]) -> Path:
    start_us, end_us = window_us
    at = {"pid": rank + 1, "tid": 1, "ts": start_us, "dur": end_us - start_us}
    path = folder / f"rank{rank}-{number}.json"
    path.write_text(json.dumps({
        "distributedInfo": {"rank": rank, "world_size": 2},
        "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", **at},
                        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", **at, "pid": "Spans"}],
    }))  # fmt: skip
    return path


def files(folder: Path, *ranks: int) -> list[Path]:
    return [write_cycle(folder, rank, i, window) for rank in ranks for i, window in enumerate(CYCLES_US[rank])]


def said(command: Path, *words: object) -> str:
    return subprocess.run([command, *map(str, words)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("ranks", "title", "info", "gaps_ns"), [
    ((0,), "(not recorded: 80.00us in 1 gap)", "80.000us in 1 gap\n", 80_000),
    ((0, 1), "(not recorded: 2 gaps of single processes)", "of one process at most 80.000us, 2 gaps of all\n", None),
    ((1, 0), "(not recorded: 2 gaps of single processes)", "of one process at most 80.000us, 2 gaps of all\n", None),
])  # fmt: skip
def test_gaps_of_several_processes_are_no_sum(
    ranks: tuple[int, ...], title: str, info: str, gaps_ns: int | None, command: Path, tmp_path: Path
) -> None:
    paths = files(tmp_path, *ranks)
    assert title in said(command, "report", *paths)
    assert json.loads(said(command, "report", "-f", "json", *paths))["trace"]["not_recorded_ns"] == gaps_ns
    (line,) = [line for line in said(command, "info", *paths).splitlines(keepends=True) if "not recorded" in line]
    assert line.endswith(f" {info}")
    assert json.loads(said(command, "info", "-f", "json", *paths))["window"]["gaps_ns"] == gaps_ns
