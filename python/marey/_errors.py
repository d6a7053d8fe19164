"""Errors that arise in Python, not in libmarey."""

from __future__ import annotations

from marey._core import MareyError


class CollectorError(MareyError):
    """A collector that was asked for is not to be had: the reason, and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}, {remedy}")
        self.reason = reason
        self.remedy = remedy

    # An exception is made again from its args, which are one text here.
    def __reduce__(self) -> tuple[type[CollectorError], tuple[str, str]]:
        return type(self), (self.reason, self.remedy)
