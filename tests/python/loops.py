"""A training loop of which every step records a range, for tests of profilers and schedules."""

from __future__ import annotations

from typing import Any

from marey import record_function


def work(name: str = "work") -> None:
    with record_function(name):
        pass


def run(prof: Any, n_steps: int) -> None:
    with prof:
        for _ in range(n_steps):
            work()
            prof.step()


def n_calls(results: Any, key: str = "work") -> int:
    return sum(row.count for row in results.key_averages() if row.key == key)


def names(results: Any) -> list[str | None]:
    return [event.name for event in results.events()]
