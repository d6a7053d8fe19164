"""Waiting for the import of a module changes nothing for others who look for modules."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from marey import _live_torch

NAME = "a_module_that_is_waited_for"


class Waiting:
    """What the tests ask for, and what was heard."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_heard = 0
        _live_torch._when_loaded(NAME, self.hear)

    def hear(self) -> None:
        self.n_heard += 1

    @property
    def is_waiting(self) -> bool:
        return any(getattr(finder, "name", None) == NAME for finder in sys.meta_path)


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Waiting]:
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "__init__.py").write_text("value = 7\n")
    (tmp_path / NAME / "data.txt").write_text("data")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Waiting(tmp_path)
    sys.modules.pop(NAME, None)


class OldFinder:
    """Of a Python before 3.4."""

    def find_module(self, name: str, path: Any = None) -> None:
        return None


@pytest.mark.parametrize("place", [0, 1])
def test_finders_of_the_old_kind_are_passed_over(waiting: Waiting, place: int) -> None:
    sys.meta_path.insert(place, OldFinder())  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)
        assert importlib.import_module(NAME).value == 7
    assert waiting.n_heard == 1
    assert not waiting.is_waiting


def test_who_looks_without_importing_sees_the_loader(waiting: Waiting) -> None:
    spec = importlib.util.find_spec(NAME)
    assert spec is not None and spec.loader is not None
    loader: Any = spec.loader
    path = str(waiting.folder / NAME / "__init__.py")
    assert loader.get_filename(NAME) == path
    assert loader.get_source(NAME) == "value = 7\n"
    assert loader.is_package(NAME)
    assert loader.get_code(NAME).co_filename == path
    assert loader.get_data(path) == b"value = 7\n"
    assert "data.txt" in loader.get_resource_reader(NAME).contents()
    assert not hasattr(loader, "no_such_thing")
    assert copy.copy(loader).is_package(NAME)
    assert waiting.n_heard == 0 and waiting.is_waiting


def test_data_of_a_package_is_read(waiting: Waiting) -> None:
    assert pkgutil.get_data(NAME, "data.txt") == b"data"
    module = sys.modules[NAME]
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    assert module.__spec__ is not None and module.__spec__.loader is module.__loader__
    assert waiting.n_heard == 1


def test_a_folder_without_a_package_is_found_as_ever(waiting: Waiting) -> None:
    (waiting.folder / NAME / "__init__.py").unlink()
    importlib.invalidate_caches()
    assert importlib.import_module(NAME).__file__ is None
    assert waiting.n_heard == 0


@pytest.mark.parametrize("action", ["default", "error"])
def test_what_fails_after_the_import_does_not_fail_it(
    tmp_path: Path, action: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError("no room")

    module = f"{NAME}_{action}"
    (tmp_path / f"{module}.py").write_text("value = 7\n")
    sys.path.insert(0, str(tmp_path))
    try:
        _live_torch._when_loaded(module, fail)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter(action)
            assert importlib.import_module(module).value == 7
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop(module, None)
    words = f"cannot adapt to {module}: no room"
    assert [str(warning.message) for warning in said] == ([words] if action == "default" else [])
    assert (f"marey: {words}" in capsys.readouterr().err) == (action == "error")
