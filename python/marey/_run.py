"""What `marey run` does inside the program: it records from the first line to the end.

`begin` is called before any code of the program (see _site/sitecustomize.py) in each Python
process of the run. At the end of a process its trace is written, and a table printed on
standard error, if it recorded anything and is not a worker of a DataLoader.

Whatever goes wrong here is told in one line and changes nothing for the program.
"""

from __future__ import annotations

import atexit
import os
import sys

from marey import _core, _live_torch
from marey._rank import Rank, find_rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_site")

WORKER_POOL_BYTES = 256 << 20
"""Of a process that multiprocessing started; there may be many of them."""

# Helpers of the standard library and of torch, which run nothing of the program.
HELPERS = (
    "multiprocessing.resource_tracker",
    "multiprocessing.forkserver",
    "torch/_inductor/compile_worker",
)


class Options:
    """What `marey run` was asked for, as it tells it in the environment."""

    __slots__ = ("flags", "folder", "limit", "output", "pid", "script", "sort")

    def __init__(self, told: dict[str, str]) -> None:
        self.pid = int(told["PID"])
        self.folder = told["FOLDER"]
        self.output = told.get("OUTPUT")
        self.sort = told.get("SORT")
        self.limit = int(told["LIMIT"]) if "LIMIT" in told else None
        self.flags = told.get("FLAGS", "").split(",")
        self.script = told.get("SCRIPT")
        """The name of the program, for processes that have none of their own."""


PREFIX = "MAREY_RUN_"


def _options() -> Options | None:
    told = {
        name.removeprefix(PREFIX): value
        for name, value in os.environ.items()
        if name.startswith(PREFIX)
    }
    return Options(told) if told else None


def _say(*lines: str) -> None:
    """In one write, whatever the program has made of sys.stderr and of descriptor 2."""
    _core.notice("".join(f"{line}\n" for line in lines).encode(errors="backslashreplace"))


# ---- what the command asks beforehand ------------------------------------------------------------------


def answer() -> tuple[str, str]:
    """"ready" and the folder for PYTHONPATH, or "refused" and why."""
    options = _options()
    if options is not None and options.sort is not None:
        session = _core.Session()
        session.stop()
        try:
            session.trace().averages().table(sort=options.sort)
        except ValueError as error:
            return "refused", str(error)
    return "ready", SITE


# ---- what this process is --------------------------------------------------------------------------------


def _program(words: list[str]) -> tuple[str, str]:
    """Of the words of a Python: "m" and the module's name, "" and the path of the script, or "c"."""
    rest = iter(words[1:])
    for word in rest:
        if word == "-" or not word.startswith("-"):
            return "", word
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
            return "c", "-c"
        value = letters[place + 1 :] or next(rest, "")
        if letters[place] == "m":
            return "m", value.removesuffix(".__main__")
    return "", "-"


def _script_name(words: list[str]) -> str:
    """What the program is called in names of files."""
    letter, program = _program(words)
    if program in ("-", "-c", ""):
        return "c" if letter == "c" else "python"
    if letter == "m":
        return program.rpartition(".")[2]
    folder, name = os.path.split(program)
    folder = os.path.basename(folder)
    return folder if name == "__main__.py" and folder else os.path.splitext(name)[0]


def _shown_name(words: list[str]) -> str:
    """What it is called in words: of many modules the last part is `run` or `main`."""
    letter, program = _program(words)
    return program if letter == "m" and program else _script_name(words)


class _Process:
    """The recording of this process."""

    def __init__(self, options: Options, words: list[str]) -> None:
        self.pid = os.getpid()
        self.options = options
        self.is_main = self.pid == options.pid
        self.is_worker = "--multiprocessing-fork" in words
        self.name = options.script if self.is_worker and options.script else _script_name(words)
        self.shown_name = self.name if self.is_worker else _shown_name(words)
        wants = _core.WANT_RANGES | _core.WANT_OPS
        if "shapes" in options.flags:
            wants |= _core.WANT_INPUTS
        pool_bytes = WORKER_POOL_BYTES if self.is_worker and find_rank().rank is None else 0
        self.session = _core.Session(wants=wants, pool_bytes=pool_bytes)
        self.rank = find_rank()
        self.wish: _live_torch.Wish | None = None
        self.is_finished = False

    # -- where the trace goes

    def path(self, rank: int | None, attempt: int = 0) -> str:
        """Of the file; of later attempts another one, for what appeared in the meantime."""
        options = self.options
        suffix = "" if rank is None else f"-rank{rank}"
        again = "" if attempt == 0 else f"-{attempt + 1}"
        output = os.path.join(options.folder, options.output or "")
        if options.output is None or os.path.isdir(output):
            name = f"marey-{self.name}-{self.pid}{suffix}{again}.json.gz"
            return os.path.join(output, name)
        if not self.is_main and rank is None:
            suffix = f"-{self.pid}"
        stem = output.removesuffix(".gz").removesuffix(".json")
        return f"{stem}{suffix}{again}{output[len(stem) :]}"

    def write(self, trace: _core.Trace, rank: int | None) -> str:
        """Never over a file that is there, unless asked."""
        overwrite = "force" in self.options.flags
        for attempt in range(100):
            path = self.path(rank, attempt)
            if overwrite or not os.path.exists(path):
                break
        trace.export_chrome(path, overwrite, False, 0)
        return path

    def _write_somewhere(self, trace: _core.Trace, rank: int | None) -> str:
        """Where it was to be, or where there is room: what was recorded is worth more."""
        try:
            return self.write(trace, rank)
        except OSError as error:
            _say(f"marey: {error.strerror or error}")
            self.options.output, self.options.folder = None, os.environ.get("TMPDIR") or "/tmp"
            return self.write(trace, rank)

    # -- the end

    def finish(self) -> None:
        if os.getpid() != self.pid or not _core.end_guard():
            return
        try:
            _hold_interrupts()
            self._finish()
        except BaseException as error:
            reason = str(error) or type(error).__name__
            _say(f"marey: cannot write the trace of '{self.shown_name}': {reason}")
        finally:
            self.is_finished = True
            _core.leave_guard()

    def tell_loss(self) -> None:
        """That the program leaves without a trace. Of others than the first: if there were one."""
        if os.getpid() != self.pid or self.is_finished or (self.is_worker and _loads_data()):
            return
        usage = dict(zip(_core.FIELDS["session_usage"], self.session.usage(), strict=True))
        if self.is_main or usage["held_bytes"] > 0:
            _say(f"marey: '{self.shown_name}' leaves by os._exit, and there is no trace of it")

    def _finish(self) -> None:
        now = find_rank()
        rank = now if now.rank is not None else self.rank
        self.session.stop()
        _live_torch.end_ranges(self)
        stats = dict(zip(_core.FIELDS["session_stats"], self.session.stats(), strict=True))
        if stats["n_records"] == 0:
            if self.is_main:
                _say(f"marey: '{self.shown_name}' recorded nothing itself, and there is no trace of it")
            return
        if self.is_worker and _loads_data():
            return
        trace = self._trace(rank)
        path = self._write_somewhere(trace, rank.rank)
        if _live_torch.uses_gpu():
            _say(
                "marey: the program uses a GPU, whose kernels and copies cannot be recorded yet: the"
                " profile has its operators on the CPU"
            )
        _say(*self._table(trace, rank), f"marey: wrote '{_shown(path)}'")

    def _trace(self, rank: Rank) -> _core.Trace:
        if rank.json is not None:
            self.session.add_meta("distributedInfo", rank.json)
        return self.session.trace(rank.rank, rank.world_size)

    def header(self, rank: Rank) -> str | None:
        """Of the table; None where there is none."""
        if "table" not in self.options.flags or rank.rank not in (None, 0):
            return None
        name = self.shown_name
        return name if rank.rank is None else f"{name}, rank {rank.rank}"

    def _table(self, trace: _core.Trace, rank: Rank) -> list[str]:
        options = self.options
        header = self.header(rank)
        if header is None:
            return []
        averages = trace.averages(percentiles=True)
        table = averages.table(sort=options.sort, limit=options.limit or 0, header=header)
        return [table.rstrip("\n")]


def _hold_interrupts() -> None:
    """An impatient second interrupt would cost the whole trace."""
    # The program may have a module `signal` of its own.
    import _signal

    try:
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    except ValueError:
        return  # not in the main thread, which interrupts do not reach


def _loads_data() -> bool:
    """It is a worker of a DataLoader: there may be new ones in each epoch."""
    worker = sys.modules.get("torch.utils.data._utils.worker")
    return getattr(worker, "_worker_info", None) is not None


def _shown(path: str) -> str:
    """As short as it can be."""
    try:
        return path.removeprefix(os.path.join(os.getcwd(), ""))
    except OSError:
        return path  # the folder is gone


# ---- the beginning ------------------------------------------------------------------------------------------


_process: _Process | None = None


def _watch_the_default() -> None:
    """A program that handles a signal for a while, as asyncio does, sets the default again, and
    so takes the handler of the guard away. `signal.signal` calls `_signal.signal`."""
    import _signal

    set_handler = _signal.signal

    def signal(number: int, handler: Any, /) -> Any:
        former = set_handler(number, handler)
        is_default = isinstance(handler, int) and handler == _signal.SIG_DFL
        if is_default and number in (_signal.SIGTERM, _signal.SIGHUP):
            _core.arm_guard()
        return former

    _signal.signal = signal


def _watch_the_exit(process: _Process) -> None:
    """os._exit calls nobody at the end, so that the loss is told before."""
    leave = os._exit

    def _exit(status: int) -> NoReturn:
        range(status)  # an error where os._exit has one, and nobody leaves
        process.tell_loss()
        leave(status)

    os._exit = _exit


def _begin(options: Options, words: list[str]) -> None:
    global _process
    _core.keep_stderr()
    _process = process = _Process(options, words)
    # The first to be registered, so the last to be called.
    atexit.register(process.finish)
    rank = process.rank
    _core.begin_guard(
        process.session,
        os.fsencode(process.path(rank.rank)),
        os.fsencode(process.path(rank.rank, 1)),
        "force" in options.flags,
        -1 if rank.rank is None else rank.rank,
        rank.world_size or -1,
        process.header(rank),
        options.sort,
        options.limit or 0,
        process.shown_name if process.is_main else None,
    )
    _watch_the_default()
    _watch_the_exit(process)
    process.wish = _live_torch.Wish()
    _live_torch.begin_ranges(process)
    if process.is_main and options.script is None:
        os.environ[f"{PREFIX}SCRIPT"] = process.name


def _is_helper(words: list[str]) -> bool:
    """A process of Python's or torch's own, by the code or the script that it is started with."""
    letter, program = _program(words)
    if letter == "c":
        place = next((i for i, word in enumerate(words) if word.startswith("-") and "c" in word), 0)
        program = " ".join(words[place : place + 2])
    return any(helper in program for helper in HELPERS)


def begin() -> None:
    """Begins to record this process, if `marey run` started it."""
    words = list(sys.orig_argv)
    try:
        options = _options()
        if options is None or _is_helper(words):
            return
        _begin(options, words)
    except Exception as error:
        _say(f"marey: cannot record process {os.getpid()}: {error}")
