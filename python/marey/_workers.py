"""Worker processes in the picture: each records itself and leaves a file, which the profile joins.

    loader = DataLoader(data, num_workers=4, worker_init_fn=prof.worker_init())

A worker is recorded from its start to its end. It is in the results once it has ended, which a
loader's workers do when their epoch is over (without persistent_workers).
"""

from __future__ import annotations

import multiprocessing.util
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from marey import _core, _live_torch
from marey._cycle import Asked, Recording
from marey._trace import Trace
from marey._warn import tell

FIRST = 100
"""Before what a worker's own libraries do at its end."""


def _leave(folder: str, recording: Recording, label: str) -> None:
    """At the end of the worker."""
    recording.stop()
    session = recording.session
    session.add_meta("distributedInfo", recording.rank.json or '{"rank": 0}')
    session.add_meta("worker", label)
    path = os.path.join(folder, f"{os.getpid()}.json")
    Trace(session.trace()).export_chrome_trace(path, overwrite=True)


class WorkerInit:
    """For worker_init_fn of a DataLoader, or the begin of any process that multiprocessing makes,
    forked or spawned. then: the program's own function, called with the worker's number."""

    def __init__(self, folder: str, asked: Asked, then: Callable[[int], Any] | None) -> None:
        self.folder = folder
        self.asked = asked
        self.then = then

    def __call__(self, worker: int = 0) -> None:
        if os.path.isdir(self.folder):  # the profile is still there
            if self.asked.with_torch:
                _live_torch.attach()
            arguments = self.folder, Recording(self.asked), str(int(worker))
            multiprocessing.util.Finalize(None, _leave, args=arguments, exitpriority=FIRST)
        if self.then is not None:
            self.then(worker)


def _remove(folder: str, pid: int) -> None:
    """Not at the end of a forked child."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


class Workers:
    """The files of a profile's workers."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._folder = tempfile.mkdtemp(prefix="marey-workers-")
        self._joined: tuple[Trace, tuple[str, ...], Trace] | None = None
        weakref.finalize(self, _remove, self._folder, os.getpid())

    def init(self, then: Callable[[int], Any] | None) -> WorkerInit:
        return WorkerInit(self._folder, self._asked, then)

    def files(self) -> tuple[str, ...]:
        """Of those that have ended. A file appears whole."""
        names = [name for name in os.listdir(self._folder) if name.endswith(".json")]
        return tuple(os.path.join(self._folder, name) for name in sorted(names))

    def clear(self) -> None:
        """For a new start."""
        self._joined = None
        for file in self.files():
            os.unlink(file)

    def join(self, trace: Trace) -> Trace:
        """The trace with those of the workers: a file for each process, of one rank."""
        files = self.files()
        if not files:
            return trace
        if self._joined is not None and self._joined[0] is trace and self._joined[1] == files:
            return self._joined[2]
        own = os.path.join(self._folder, "own")
        trace.export_chrome_trace(own, overwrite=True)
        joined = self._read((own, *files))
        if joined is None:
            return trace
        self._joined = trace, files, joined
        return joined

    def trace(self) -> Trace | None:
        """Of the workers alone; None, which is told: it cannot be had."""
        return self._read(self.files())

    def _read(self, files: tuple[str, ...]) -> Trace | None:
        try:
            return Trace(_core.import_paths(tuple(map(os.fsencode, files))))
        except (OSError, _core.MareyError) as error:
            tell(f"the worker processes are not in the results: {error}")
            return None
