"""What the tests with a live torch need; without it they are skipped, and say why."""

from __future__ import annotations

import logging
import sys
import warnings

import pytest

sys.dont_write_bytecode = True

try:
    import torch
except ImportError:
    print("skipped: tests with a live torch, it is not installed")
    collect_ignore_glob = ["test_*.py"]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="session", autouse=True)
def collector() -> None:
    """The torch collector is built for the torch at hand, or all are skipped."""
    from marey import CollectorError, _live_torch

    try:
        _live_torch.attach()
    except CollectorError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def compiler() -> None:
    """torch.compile works here, or the test is skipped."""
    logging.getLogger("torch.__trace").propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.compile(lambda x: x + 1)(torch.ones(2))
    except Exception as error:
        pytest.skip(f"torch.compile does not work here: {str(error).splitlines()[0]}")


@pytest.fixture(autouse=True)
def same_each_time() -> None:
    """Kernels that are split over threads take different ways from run to run."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
