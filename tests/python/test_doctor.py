"""What ``marey doctor`` says of collectors, without looking at the machine's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from marey import _build, _doctor
from marey._build import Status
from marey._errors import CollectorError


def stand(monkeypatch: pytest.MonkeyPatch, state: str, remedy: str = "", path: Path | None = None) -> None:
    row = Status("torch", state, "the detail", remedy, path)  # type: ignore[arg-type]
    monkeypatch.setattr(_build, "status", lambda: row)


@pytest.mark.parametrize(
    ("state", "code"),
    [("ready", 0), ("not built", 0), ("no torch", 0), ("cannot build", 1), ("refused", 1)],
)
def test_the_exit_status_tells_whether_it_can_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: str, code: int
) -> None:
    stand(monkeypatch, state, "do this")
    assert _doctor.main([]) == code
    lines = capsys.readouterr().out.splitlines()
    assert f"torch  {state}: the detail" in lines
    assert lines[lines.index(f"torch  {state}: the detail") + 1].strip() == "do this"
    assert any(line.startswith("cupti  refused: ") for line in lines)


def test_json_has_a_schema_and_a_row_for_each_collector(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stand(monkeypatch, "ready", path=tmp_path / "torch.so")
    assert _doctor.main(["--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == 1
    assert [row["name"] for row in said["collectors"]] == ["torch", "cupti"]
    assert said["collectors"][0] == {
        "name": "torch", "state": "ready", "detail": "the detail", "remedy": "",
        "path": str(tmp_path / "torch.so"),
    }  # fmt: skip


def test_a_build_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> Path:
        raise CollectorError("there is no compiler", "install g++")

    stand(monkeypatch, "not built")
    monkeypatch.setattr(_build, "build", fail)
    assert _doctor.main(["--build"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "marey: there is no compiler, install g++\n"


def test_a_command_that_was_not_installed_finds_its_package(command: Path) -> None:
    if not (command.parent.parent / "python/marey/__init__.py").is_file():
        pytest.skip("the command is installed")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [command, "doctor", "--format", "json", "--python", sys.executable],
        capture_output=True, check=False, encoding="utf-8", env=environment, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert {row["name"] for row in json.loads(done.stdout)["collectors"]} == {"torch", "cupti"}


def test_a_python_without_the_package_gets_a_remedy(command: Path, tmp_path: Path) -> None:
    alone = tmp_path / "marey"
    shutil.copy(command, alone)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [alone, "doctor", "--python", "/usr/bin/python3"],
        capture_output=True, check=False, encoding="utf-8", env=environment, timeout=60,
    )  # fmt: skip
    if done.returncode != 3:
        pytest.skip("the system's Python has the package")
    assert "name another Python by --python" in done.stderr
