"""Worker processes in the picture: each records itself and leaves a file, which the profile joins.

    loader = DataLoader(data, num_workers=4, worker_init_fn=prof.worker_init())

A worker is recorded from its start to its end, and leaves of it what lies in the spans in which the
profile recorded, a file each. It is in the results once it has ended, which a loader's workers do
when their epoch is over (without persistent_workers).
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing.util
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from marey import _core, _live_torch
from marey._cycle import Asked, Recording
from marey._trace import Trace
from marey._warn import bytes_text, tell
from marey._windows import Windows, read_windows

FIRST = 100
"""Before what a worker's own libraries do at its end."""

SIGNED_IN = ".in"
"""A worker signs in with an empty file, which it has locked as long as it lives, and renames it
once it has handed over. So a worker that was killed is told from one that still runs, whatever
its number is given to afterwards."""
SIGNED_OUT = ".out"
LOST = ".lost"
"""How many records it had no room for, and of how many bytes."""
WINDOWS = "windows"

_joined: set[str] = set()
"""Folders in which this process has signed in, each with its number."""


class Place:
    """What a worker has in the folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.windows = os.path.join(folder, WINDOWS)
        self.path = os.path.join(folder, f"{os.getpid()}-{time.time_ns()}")
        self._lock = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        with contextlib.suppress(OSError):  # no locks here: it counts as ended
            fcntl.lockf(self._lock, fcntl.LOCK_EX)
        os.rename(self.path, self.path + SIGNED_IN)  # locked from when it is there

    def say(self, what: str, text: str) -> None:
        with open(self.path + what, "w", encoding="ascii") as file:
            file.write(text)

    def leave(self) -> None:
        os.rename(self.path + SIGNED_IN, self.path + SIGNED_OUT)


def _leave(place: Place, recording: Recording, label: str) -> None:
    """At the end of the worker. If the profile is gone, nobody is there to be told."""
    recording.stop()
    session = recording.session
    try:
        if recording.rank.json:
            session.add_meta("distributedInfo", recording.rank.json)
        session.add_meta("worker", label)
        n_lost = 0
        for number, (from_ns, until_ns) in read_windows(place.windows).items():
            session.narrow(from_ns, until_ns)
            stats = recording.stats
            n_lost += stats.n_lost
            if stats.n_records > 0 or stats.n_lost > 0:
                path = f"{place.path}.{number}.json"
                Trace(session.trace()).export_chrome_trace(path, overwrite=True)
        if n_lost > 0:
            place.say(LOST, f"{n_lost} {stats.pool_bytes}")
        place.leave()
    except (OSError, _core.MareyError) as error:
        if os.path.exists(place.path + SIGNED_IN):
            tell(f"worker {label} hands nothing over: {error}")
        else:  # what was written while the folder was removed
            shutil.rmtree(place.folder, ignore_errors=True)


class WorkerInit:
    """For worker_init_fn of a DataLoader, or the begin of any process that multiprocessing makes,
    forked or spawned. then: the program's own function, called with the worker's number."""

    def __init__(self, folder: str, asked: Asked, then: Callable[[int], Any] | None) -> None:
        self.folder = folder
        self.asked = asked
        self.then = then
        self._owner = os.getpid()

    def __call__(self, worker: int = 0) -> None:
        me = f"{os.getpid()} {self.folder}"
        # The profile is still there, and it is not its own process, which it records anyway.
        if os.getpid() != self._owner and me not in _joined and os.path.isdir(self.folder):
            self._sign_in(str(int(worker)))
            _joined.add(me)
        if self.then is not None:
            self.then(worker)

    def _sign_in(self, label: str) -> None:
        try:
            place = Place(self.folder)
        except FileNotFoundError:
            return  # the folder has gone just now
        if self.asked.with_torch:
            _live_torch.attach_or_tell()
        arguments = place, Recording(self.asked), label
        multiprocessing.util.Finalize(None, _leave, args=arguments, exitpriority=FIRST)


def _remove(folder: str, pid: int) -> None:
    """Not at the end of a forked child."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def _has_ended(path: str) -> bool:
    """A worker by the file that it signed in with."""
    try:
        with open(path, "r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False  # it hands over just now
    except OSError:
        return False
    return True


def _workers_of(n: int, n_all: int) -> str:
    return f"{n} of {n_all} workers" if n_all > 1 else "the worker"


def _they_run(are_many: bool) -> str:
    run, they, do, have, their, them = (
        ("run", "they", "do", "have", "their", "them")
        if are_many
        else ("runs", "it", "does", "has", "its", "it")
    )
    return (
        f"{run}: what {they} {do} is in the results once {they} {have} ended, when {their} loader is"
        f" gone, or without persistent_workers when {their} epoch is over; a file that is written"
        f" before, as in on_trace_ready, is without {them}"
    )


class Workers:
    """The files of a profile's workers."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._folder = tempfile.mkdtemp(prefix="marey-workers-")
        self._joined: tuple[Trace, tuple[str, ...], Trace] | None = None
        self._n_told = 0
        self._n_lossy_told = 0
        self._is_told_of_running = False
        self._is_told_of_view = False
        self._is_told_of_folder = False
        weakref.finalize(self, _remove, self._folder, os.getpid())

    def _names(self) -> list[str]:
        """None of a folder that is gone, which is told once: what the program itself did is there."""
        try:
            return os.listdir(self._folder)
        except OSError as error:
            if not self._is_told_of_folder:
                self._is_told_of_folder = True
                tell(
                    "the worker processes are not in the results, nor will they be: their folder"
                    f" cannot be read: {error}"
                )
            return []

    def tell_missing(self) -> None:
        """Who signed in and is not in the results: each that has ended, and once that some run.
        Who is there with less than it did."""
        names = self._names()
        self._tell_losses([name for name in names if name.endswith(LOST)])
        n_out = sum(name.endswith(SIGNED_OUT) for name in names)
        within = [name for name in names if name.endswith(SIGNED_IN)]
        ended = [name for name in within if _has_ended(os.path.join(self._folder, name))]
        n_all = n_out + len(within)
        if len(ended) > self._n_told:
            self._n_told = len(ended)
            tell(
                f"{_workers_of(len(ended), n_all)} handed nothing over and is missing in the"
                " results: killed, or ended without Python's end (a signal, os._exit)"
            )
        n_running = len(within) - len(ended)
        if n_running > 0 and not self._is_told_of_running:
            self._is_told_of_running = True
            tell(f"{_workers_of(n_running, n_all)} still {_they_run(n_running > 1)}")

    def _tell_losses(self, names: list[str]) -> None:
        if len(names) <= self._n_lossy_told:
            return
        self._n_lossy_told = len(names)
        lost, pool_bytes = 0, 0
        for name in names:
            with (
                contextlib.suppress(FileNotFoundError),  # somebody empties the folder
                open(os.path.join(self._folder, name), encoding="ascii") as file,
            ):
                n_lost, pool_bytes = map(int, file.read().split())
                lost += n_lost
        if lost == 0:
            return
        who = "a worker" if len(names) == 1 else f"{len(names)} workers"
        tell(
            f"{who} lost {lost:,} {'record' if lost == 1 else 'records'}: there was no room in"
            f" {bytes_text(pool_bytes)} each; a larger pool_bytes keeps all"
        )

    def tell_left_out(self) -> None:
        """Once, if there are any: who asks for torch's view is shown this process alone."""
        names = self._names()
        if self._is_told_of_view or not any(n.endswith((SIGNED_IN, SIGNED_OUT)) for n in names):
            return
        self._is_told_of_view = True
        tell(
            'compat="torch" shows this process alone, as torch does: the workers of worker_init()'
            " are in prof.trace, and in all results without compat"
        )

    def init(self, then: Callable[[int], Any] | None) -> WorkerInit:
        return WorkerInit(self._folder, self._asked, then)

    def open(self, windows: Windows, recordings: Iterable[Recording]) -> None:
        """The profile's windows are written for them from now on."""
        windows.open(os.path.join(self._folder, WINDOWS), recordings)

    def files(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """What those that have ended did in these recordings. A file appears whole."""
        endings = tuple(f".{number}.json" for number in numbers)
        names = [name for name in self._names() if name.endswith(endings)]
        return tuple(os.path.join(self._folder, name) for name in sorted(names))

    def clear(self) -> None:
        """For a new start. Workers that run hand over to it."""
        self._joined = None
        self._n_told = self._n_lossy_told = 0
        self._is_told_of_view = False
        for name in self._names():
            path = os.path.join(self._folder, name)
            if name.endswith((".json", LOST, SIGNED_OUT)) or (
                name.endswith(SIGNED_IN) and _has_ended(path)
            ):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

    def join(self, trace: Trace, numbers: Iterable[int]) -> Trace:
        """The trace of these recordings with those of the workers, of one rank."""
        files, kept = self.files(numbers), self._joined
        if not files:
            return trace
        if kept is not None and kept[0] is trace and kept[1] == files:
            return kept[2]
        joined = self._read(files, trace)
        if joined is None:
            return trace
        self._joined = trace, files, joined
        return joined

    def trace(self, numbers: Iterable[int]) -> Trace | None:
        """Of the workers alone; None, which is told: it cannot be had."""
        return self._read(self.files(numbers))

    def _read(self, files: tuple[str, ...], own: Trace | None = None) -> Trace | None:
        """own: with this one. Each reading writes a file of its own: another thread may read too."""
        try:
            with tempfile.TemporaryDirectory(prefix="marey-own-") as folder:
                if own is not None:
                    path = os.path.join(folder, "own")
                    own.export_chrome_trace(path)
                    files = (path, *files)
                return Trace(_core.import_paths(tuple(map(os.fsencode, files))))
        except (OSError, _core.MareyError) as error:
            tell(f"the worker processes are not in the results: {error}")
            return None
