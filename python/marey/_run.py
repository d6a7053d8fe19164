"""What `marey run` does inside the program: it records from the first line to the end.

`begin` is called before any code of the program (see _site/sitecustomize.py) in each Python
process of the run. At the end of a process its trace is written, and a table printed on
standard error, if it recorded anything and is not a worker of a DataLoader.

Whatever goes wrong here is told in one line and changes nothing for the program.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from marey import _core, _live_torch
from marey._averages import Averages, Grouping
from marey._rank import Rank, find_rank
from marey._trace import Trace

VARIABLE = "MAREY_RUN"
SITE = Path(__file__).resolve().parent / "_site"

WORKER_POOL_BYTES = 256 << 20
"""Of a process that multiprocessing started; there may be many of them."""

# Helpers of the standard library and of torch, which run nothing of the program.
HELPERS = (
    "multiprocessing.resource_tracker",
    "multiprocessing.forkserver",
    "torch/_inductor/compile_worker",
)


class Options(NamedTuple):
    """What `marey run` was asked for."""

    pid: int
    folder: str
    output: str | None
    sort: str | None
    limit: int | None
    overwrite: bool
    shapes: bool
    table: bool
    script: str | None = None
    """The name of the program, for processes that have none of their own."""


def _options() -> Options | None:
    text = os.environ.get(VARIABLE)
    return None if text is None else Options(**json.loads(text))


def _say(*lines: str) -> None:
    """In one write, whatever the program has made of sys.stderr."""
    data = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
    while data:
        try:
            data = data[os.write(2, data) :]
        except OSError:
            return


# ---- what the command asks beforehand ------------------------------------------------------------------


def answer() -> tuple[str, str]:
    """"ready" and the folder for PYTHONPATH, or "refused" and why."""
    options = _options()
    if options is not None and options.sort is not None:
        session = _core.Session()
        session.stop()
        try:
            Averages(Trace(session.trace()), Grouping()).table(sort_by=options.sort)
        except ValueError as error:
            return "refused", str(error)
    return "ready", str(SITE)


# ---- what this process is --------------------------------------------------------------------------------


def _program(words: list[str]) -> str:
    """Of the words of a Python: the path of the script, the module's name or "-c"."""
    rest = iter(words[1:])
    for word in rest:
        if word == "-" or not word.startswith("-"):
            return word
        if word == "--check-hash-based-pycs":
            next(rest, None)
        if word.startswith("--"):
            continue
        # Letters, of which the first with a value takes what follows.
        letters = word[1:]
        place = next((i for i, letter in enumerate(letters) if letter in "cmWX"), None)
        if place is None:
            continue
        if letters[place] == "c":
            return "-c"
        value = letters[place + 1 :] or next(rest, "")
        if letters[place] == "m":
            return value.removesuffix(".__main__").rpartition(".")[2]
    return "-"


def _script_name(words: list[str]) -> str:
    """What the program is called in names of files."""
    program = _program(words)
    if program in ("-", "-c", ""):
        return "c" if program == "-c" else "python"
    path = Path(program)
    return path.parent.name if path.name == "__main__.py" and path.parent.name else path.stem


class _Process:
    """The recording of this process."""

    def __init__(self, options: Options, words: list[str]) -> None:
        self.pid = os.getpid()
        self.options = options
        self.is_main = self.pid == options.pid
        self.is_worker = "--multiprocessing-fork" in words
        self.name = options.script if self.is_worker and options.script else _script_name(words)
        wants = _core.WANT_RANGES | _core.WANT_OPS | (_core.WANT_INPUTS if options.shapes else 0)
        pool_bytes = WORKER_POOL_BYTES if self.is_worker and find_rank().rank is None else 0
        self.session = _core.Session(wants=wants, pool_bytes=pool_bytes)
        self.rank = find_rank()

    # -- where the trace goes

    def path(self, rank: int | None, attempt: int = 0) -> Path:
        """Of the file; of later attempts another one, for what appeared in the meantime."""
        options = self.options
        suffix = "" if rank is None else f"-rank{rank}"
        again = "" if attempt == 0 else f"-{attempt + 1}"
        output = Path(options.folder, options.output or "")
        if options.output is None or output.is_dir():
            return output / f"marey-{self.name}-{self.pid}{suffix}{again}.json.gz"
        if not self.is_main and rank is None:
            suffix = f"-{self.pid}"
        name = output.name
        stem = name.removesuffix(".gz").removesuffix(".json")
        return output.with_name(f"{stem}{suffix}{again}{name[len(stem) :]}")

    def write(self, trace: Trace, rank: int | None) -> Path:
        """Never over a file that is there, unless asked."""
        for attempt in range(100):
            path = self.path(rank, attempt)
            if self.options.overwrite or not path.exists():
                break
        trace.export_chrome_trace(path, self.options.overwrite)
        return path

    # -- the end

    def finish(self) -> None:
        if os.getpid() != self.pid or not _core.end_guard():
            return
        try:
            self._finish()
        except BaseException as error:
            _say(f"marey: cannot write the trace of '{self.name}': {error}")
        finally:
            _core.leave_guard()

    def _finish(self) -> None:
        now = find_rank()
        rank = now if now.rank is not None else self.rank
        self.session.stop()
        _live_torch.end_ranges()
        stats = dict(zip(_core.FIELDS["session_stats"], self.session.stats(), strict=True))
        if stats["n_records"] == 0:
            if self.is_main:
                _say(f"marey: '{self.name}' recorded nothing itself, and there is no trace of it")
            return
        if self.is_worker and _loads_data():
            return
        trace = self._trace(rank)
        path = self.write(trace, rank.rank)
        _say(*self._table(trace, rank), f"marey: wrote '{_shown(path)}'")

    def _trace(self, rank: Rank) -> Trace:
        if rank.json is not None:
            self.session.add_meta("distributedInfo", rank.json)
        if self.options.shapes:
            self.session.add_meta("record_shapes", "1")
        return Trace(self.session.trace(rank.rank, rank.world_size))

    def _table(self, trace: Trace, rank: Rank) -> list[str]:
        options = self.options
        if not options.table or rank.rank not in (None, 0):
            return []
        averages = Averages(trace, Grouping())
        header = self.name if rank.rank is None else f"{self.name}, rank {rank.rank}"
        table = averages.table(sort_by=options.sort, row_limit=options.limit, header=header)
        return [table.rstrip("\n")]


def _loads_data() -> bool:
    """It is a worker of a DataLoader: there may be new ones in each epoch."""
    worker = sys.modules.get("torch.utils.data._utils.worker")
    return getattr(worker, "_worker_info", None) is not None


def _shown(path: Path) -> str:
    """As short as it can be."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)  # elsewhere, or the folder is gone


# ---- the beginning ------------------------------------------------------------------------------------------


_process: _Process | None = None


def _begin(options: Options, words: list[str]) -> None:
    global _process
    _process = process = _Process(options, words)
    # The first to be registered, so the last to be called.
    atexit.register(process.finish)
    _core.begin_guard(process.session, os.fsencode(process.path(process.rank.rank)))
    _live_torch.attach_when_imported()
    _live_torch.begin_ranges()
    if process.is_main and options.script is None:
        told = options._replace(script=process.name)
        os.environ[VARIABLE] = json.dumps(told._asdict())


def begin() -> None:
    """Begins to record this process, if `marey run` started it."""
    words = list(sys.orig_argv)
    try:
        options = _options()
        if options is None or any(helper in word for helper in HELPERS for word in words):
            return
        _begin(options, words)
    except Exception as error:
        _say(f"marey: cannot record process {os.getpid()}: {error}")
