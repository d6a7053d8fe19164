"""The further steps of `make check-all`. Adding one: a function here, a row in ALL."""

from __future__ import annotations

from counts import PASSED, Counts
from steps_quick import SANITIZED_SUITES, STRICT, suites, tidy_files
from testing import Session, has


def clang(session: Session) -> Counts:
    """Clang builds all without a warning; the C tests pass."""
    if not has("clang-14"):
        return session.skip("Clang, 'clang-14' is not installed")
    if not session.build("clang", *STRICT, cc="clang-14"):
        return Counts(failed=1)
    return PASSED + session.meson_test("clang", *suites(*SANITIZED_SUITES, "python"))


def tidy_all(session: Session) -> Counts:
    """clang-tidy on every C file."""
    return tidy_files(session, None)


ALL = (clang, tidy_all)
