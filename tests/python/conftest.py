"""Where the test data and the command are."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from marey.__main__ import _commands

DATA = Path(os.environ.get("MAREY_TEST_DATA", Path(__file__).resolve().parent.parent / "data"))

# Nothing is left behind in the tree.
sys.dont_write_bytecode = True
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / f"marey-hypothesis-{os.getuid()}")

# A shared machine may be slow, and a failing seed is printed; examples are not stored.
settings.register_profile("marey", deadline=None, database=None, print_blob=True, max_examples=60)
settings.load_profile("marey")


IS_UNDER_ASAN = "libasan" in os.environ.get("LD_PRELOAD", "")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "forks: forks while a thread of the recorder runs")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """GCC 12's ASan does not hold its allocator's locks over a fork: if the other thread has
    one, the child waits for it for ever."""
    if IS_UNDER_ASAN and item.get_closest_marker("forks"):
        pytest.skip("a child forked beside a thread may hang in ASan's allocator")


@pytest.fixture(scope="session")
def data() -> Path:
    return DATA


@pytest.fixture(scope="session")
def command() -> Path:
    """The command of this build."""
    for path in _commands():
        if path.is_file():
            return path
    pytest.skip("the command 'marey' is not built")
