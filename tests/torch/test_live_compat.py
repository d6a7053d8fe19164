"""Our view of a file beside torch's own tables of the same recording, byte for byte.

Runs wherever torch can be imported; on a machine with a GPU the cases run there too.
Recordings whose file torch itself writes as invalid JSON are left out by name.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
marey = pytest.importorskip("marey", reason="the package is not built")

import live_cases  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


def show(ours: str, theirs: str) -> str:
    lines = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "torch", "marey", lineterm="", n=0)
    return "\n".join(line for _, line in zip(range(12), lines))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("case", "setting"), list(live_cases.all_names()))
def test_tables_are_those_of_torch(case: str, setting: str, device: str, tmp_path: Path) -> None:
    recording = live_cases.record(case, setting, device, tmp_path)
    trace = marey.load(recording.path)
    view = trace.view(compat="torch", version=torch.__version__, **recording.flags)
    wrong = []
    for grouping, arguments, theirs in recording.tables:
        ours = view.key_averages(**grouping).table(**arguments)
        if ours != theirs:
            wrong.append(f"{grouping} {arguments}\n{show(ours, theirs)}")
    if recording.events_table:
        ours = view.events().table(row_limit=30)
        if ours != recording.events_table:
            wrong.append(f"events()\n{show(ours, recording.events_table)}")
    assert not wrong, f"{len(wrong)} of {len(recording.tables) + 1} tables differ\n" + "\n".join(wrong)
