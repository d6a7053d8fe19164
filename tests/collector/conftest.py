"""What the tests of collectors need; without it they are skipped, and say why."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host import Host

sys.dont_write_bytecode = True


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="session")
def collector_path() -> Path:
    """The torch collector, compiled for the torch at hand."""
    pytest.importorskip("torch", reason="torch is not installed")
    from marey import CollectorError, _build, _toolchain

    try:
        _toolchain.find_compiler()
    except CollectorError as error:
        pytest.skip(error.reason)
    return _build.build()


@pytest.fixture(scope="session")
def the_host(collector_path: Path) -> Host:
    fake_sink = os.environ.get("MAREY_FAKE_SINK", "")
    if not Path(fake_sink).is_file():
        pytest.skip("the fake sink is not built, MAREY_FAKE_SINK does not name it")
    return Host(collector_path, Path(fake_sink))


@pytest.fixture
def host(the_host: Host) -> Iterator[Host]:
    """No test leaves a hook behind."""
    yield the_host
    assert the_host.update(0) == (0, "")
