"""``marey doctor FILE...`` on the tiny inputs with right answers (test_fixtures.py): the keys that
every case of tests/data/fixtures/expected.json has, and what the process exits with. And that
docs/ledger.md says what the command says."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_fixtures import CASES, FOLDER, LATER_INFO, SCOPE

from marey import _core
from marey._trace import LEDGER_MAPS

MAPS = ("quarantined", "repaired", "findings")

def files_of(name: str) -> list[str]:
    files = CASES[name]["file"]
    return files if isinstance(files, list) else [files]


def doctor(command: Path, *words: str) -> tuple[int, Any]:
    done = subprocess.run([command, "doctor", "--format", "json", *words], cwd=FOLDER,
                          capture_output=True, check=False, timeout=60)  # fmt: skip
    answer = json.loads(done.stdout)
    assert answer["schema"] == 1
    return done.returncode, answer["traces"]


def exit_of(expect: dict[str, Any]) -> int:
    """Crossing slices are what torch writes: alone they are no failure."""
    found = [reason for key in MAPS for reason in expect.get(key, {})]
    return 0 if found == ["crossing"] else expect["exit"]


@pytest.mark.parametrize("name", SCOPE)
def test_every_case_is_told_as_it_is(name: str, command: Path) -> None:
    expect = CASES[name]["expect"]
    status, traces = doctor(command, *files_of(name))
    assert status == exit_of(expect)
    assert len(traces) == 1
    assert traces[0]["loads"] == expect["loads"]
    assert traces[0]["exit"] == expect["exit"]
    assert traces[0]["files"] == files_of(name)
    if not expect["loads"]:
        assert traces[0]["error"]
        return
    for key in (*MAPS, "slices", "law_checks"):
        assert traces[0][key] == expect[key], key
    for reason, count in expect.get("info", {}).items():
        if reason not in LATER_INFO:
            assert traces[0]["info"][reason] == count


@pytest.mark.parametrize("name", [name for name in SCOPE if CASES[name]["expect"]["loads"]])
def test_strict_exits_as_the_trace_says(name: str, command: Path) -> None:
    status, traces = doctor(command, "--strict", *files_of(name))
    assert status == traces[0]["exit"]


def test_a_file_that_cannot_be_read_is_told_apart(command: Path) -> None:
    status, traces = doctor(command, "F17c_zero_bytes.json", "N11_mixed_kinds.json", "no-such-file")
    assert status == 3
    assert [trace["loads"] for trace in traces] == [True, False, False]
    assert [trace["files"] for trace in traces] == [
        ["N11_mixed_kinds.json"], ["F17c_zero_bytes.json"], ["no-such-file"]]  # fmt: skip
    assert "it is empty" in traces[1]["error"]


def test_examples_tell_file_and_byte(command: Path) -> None:
    name = "F10a_cut_in_record.json"
    _, traces = doctor(command, name)
    places = {row["reason"]: row["examples"] for row in traces[0]["reasons"]}
    text = (FOLDER / name).read_bytes()
    assert places["partial"] == [{"file": name, "byte": text.rindex(b"{")}]
    assert places["truncated"] == [{"file": name, "byte": len(text)}]


@pytest.mark.parametrize("name", ["gpt_train_stack.json.gz", "resnet18_train.json.gz"])
def test_any_number_of_threads_tells_the_same(
    name: str, command: Path, data: Path, tmp_path: Path
) -> None:
    """A trace of some size, as it is and with a value in each 50th of its args that is none."""
    text = gzip.decompress((data / name).read_bytes())
    pieces = text.split(b'"args": {\n')
    bad = range(50, len(pieces), 50)
    for i in bad:
        pieces[i] = b'"wrong": 01,\n' + pieces[i]
    path = tmp_path / "trace.json"
    assert len(bad) > 50
    for content, repaired in (text, {}), (b'"args": {\n'.join(pieces), {"bad_number": len(bad)}):
        path.write_bytes(content)
        alone = doctor(command, "--threads", "1", str(path))
        assert alone[1][0]["repaired"] == repaired
        for n in range(2, 9):
            assert doctor(command, "--threads", str(n), str(path)) == alone


def test_the_manual_says_what_the_command_says() -> None:
    manual = (Path(__file__).parents[2] / "docs/ledger.md").read_text("utf-8")
    told = {}
    place = ""
    for line in manual.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and cells[1].startswith("`"):
            place = cells[0] or place
            told.update(dict.fromkeys(re.findall("`(.*?)`", cells[1]), (place, cells[3])))
    names = [name.rstrip("s") if name == "findings" else name for name in LEDGER_MAPS]
    assert told == {
        reason: (names[place], effect.replace("'", "`"))
        for place, reason, _, effect, _ in _core.ledger_reasons()
    }


def test_the_table_of_damage_has_every_case() -> None:
    """With its reasons; cases of later analyses (M, S) are not about damage."""
    manual = (Path(__file__).parents[2] / "docs/damage.md").read_text("utf-8")
    rows = {}
    for line in manual.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and re.match("[A-Z][0-9]", cells[0]):
            rows.update(dict.fromkeys(cells[0].split(", "), set(re.findall("`([a-z0-9_]+)`", line))))
    cases = {case["id"]: case["expect"] for case in CASES.values() if case["id"][0] in "FTNDBK"}
    assert rows.keys() == cases.keys()
    for case, expect in cases.items():
        reasons = {reason for key in (*MAPS, "info") for reason in expect.get(key, {})}
        assert reasons <= rows[case], case
