"""When a profile records, for its workers: each leaves what it did in those spans of time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from marey._warn import tell

if TYPE_CHECKING:
    from marey._cycle import Recording
    from marey._workers import Workers


class Windows:
    """The recordings of a profile, each a line "number start_ns stop_ns" of a file once there are
    workers to read it; the last line of a number counts. Without a stop it still runs."""

    def __init__(self) -> None:
        self.workers: Workers | None = None
        self._path: str | None = None

    def open(self, path: str, recordings: Iterable[Recording]) -> None:
        """recordings: those that workers to come may still see."""
        self._path = path
        for recording in recordings:
            self.note(recording)

    def note(self, recording: Recording) -> None:
        """It has begun, or ended, or ends earlier than it did."""
        if self._path is None or not recording.is_ours:
            return
        usage = recording.usage
        stop = "-" if recording.is_running or usage.stop_ns is None else usage.stop_ns
        line = f"{recording.number} {usage.start_ns} {stop}\n"
        try:
            with open(self._path, "a", encoding="ascii") as file:
                file.write(line)
        except FileNotFoundError:
            self._path = None  # the folder is gone, which the results tell
        except OSError as error:
            tell(f"worker processes are not told what is recorded, and miss it: {error}")


def read_windows(path: str) -> dict[int, tuple[int, int | None]]:
    """From the number of a recording to its begin and end; None: it still runs."""
    windows: dict[int, tuple[int, int | None]] = {}
    if not os.path.exists(path):
        return windows
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.endswith("\n"):  # else it is being written
                number, start, stop = line.split()
                windows[int(number)] = int(start), None if stop == "-" else int(stop)
    return windows
