"""Exports in the background: a thread that writes one file after the other.

The thread is there while there is something to write. It is no daemon, so that the interpreter
waits for it at its end: what was asked for is written, or has told why not.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from marey import _core
from marey._averages import check_seconds

if TYPE_CHECKING:
    from marey._trace import Trace

QUIET_S = 1.0
"""An export that takes no longer tells nothing on a terminal."""


class Order(NamedTuple):
    """What is to be written."""

    name: str
    overwrite: bool
    repair: bool
    scrub: bool


def _terminal() -> int:
    """The descriptor of standard error, if it is a terminal, else -1."""
    try:
        return sys.stderr.fileno() if sys.stderr.isatty() else -1
    except (AttributeError, OSError, ValueError):  # none, closed, or not a file
        return -1


def _watch(name: str, timeout_s: float | None) -> _core.Watch:
    check_seconds("timeout_s", timeout_s)
    if timeout_s is not None and not timeout_s > 0:
        raise ValueError(f"no deadline of '{timeout_s}' s: give seconds above 0, or None")
    label = os.path.basename(os.fsdecode(name)).encode("utf-8", "replace").decode("utf-8")
    label = "".join(letter for letter in label if letter.isprintable())[:30]
    return _core.Watch(label, -1 if timeout_s is None else timeout_s, _terminal(), QUIET_S)


def _write(trace: Trace, order: Order, watch: _core.Watch) -> None:
    trace._core.export_chrome(
        order.name, order.overwrite, False, 0, order.repair, order.scrub, watch
    )


def write_now(trace: Trace, order: Order, timeout_s: float | None) -> None:
    """On the caller's thread."""
    _write(trace, order, _watch(order.name, timeout_s))


class Export:
    """A file that is being written in the background. Many threads may ask it."""

    def __init__(self, trace: Trace, order: Order, timeout_s: float | None) -> None:
        self.path = order.name
        """Absolute."""
        self._order = order
        self._watch = _watch(order.name, timeout_s)
        self._trace: Trace | None = trace
        self._is_done = threading.Event()
        self._error: BaseException | None = None
        self._n_waiting = 0

    def done(self) -> bool:
        """It is written, or has failed."""
        return self._is_done.is_set()

    def result(self, timeout_s: float | None = None) -> str:
        """Waits until the file is written, and gives its path.

        Raises what the export failed with; TimeoutError if it is not done in so many seconds,
        after which it goes on.
        """
        self._n_waiting += 1
        try:
            if not self._is_done.wait(timeout_s):
                raise TimeoutError(f"'{self.path}' is not written yet, after {timeout_s} s")
        finally:
            self._n_waiting -= 1
        if self._error is not None:
            raise self._error
        return self.path

    def cancel(self) -> None:
        """Ends it, if it is not done: nothing is left of the file, and `result` raises."""
        self._watch.cancel()

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        n_done, n_all = self._watch.counts()
        return 1.0 if self.done() and self._error is None else n_done / max(n_all, 1)

    def _run(self) -> None:
        """Whatever happens, who waits is told."""
        error: BaseException | None = None
        try:
            if self._trace is not None:
                _write(self._trace, self._order, self._watch)
        except BaseException as raised:
            error = raised
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        self._error, self._trace = error, None
        is_told = self._n_waiting > 0
        self._is_done.set()
        if error is not None and not is_told:
            try:
                warnings.warn(f"an export in the background: {error}", RuntimeWarning, stacklevel=2)
            except RuntimeWarning:
                pass  # an error here would end the thread; `result` raises the failure itself

    def _end_in_child(self) -> None:
        """In a forked child, whose parent goes on writing."""
        self._is_done = threading.Event()
        self._error = RuntimeError(f"'{self.path}' is written by the process that this was forked from")
        self._trace = None
        self._is_done.set()

    def __repr__(self) -> str:
        state = "failed" if self._error else "written" if self.done() else f"{self.progress:.0%}"
        return f"<marey.Export {self.path!r}, {state}>"


class _TornCore:
    """In the place of a trace that another thread was writing when this process was forked: its
    lock is held by a thread that is not here."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("the trace was being written while this process was forked: use it there")


class _Writer:
    """The thread, and what it has to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: deque[Export] = deque()

    def add(self, export: Export) -> None:
        with self._lock:
            self._orders.append(export)
            if len(self._orders) > 1:
                return  # the first of them stays until it is written
        try:
            threading.Thread(target=self._work, name="marey-export").start()
        except RuntimeError:  # no thread is to be had any more: the interpreter ends
            self._work()

    def _work(self) -> None:
        while True:
            export = self._orders[0]
            export._run()
            with self._lock:
                self._orders.popleft()
                if not self._orders:
                    return

    def pending(self) -> list[Export]:
        with self._lock:
            return list(self._orders)

    def forget_in_child(self) -> None:
        orders = list(self._orders)
        self._lock = threading.Lock()
        self._orders = deque()
        if orders and (trace := orders[0]._trace) is not None:
            trace._core = _TornCore()  # type: ignore[assignment]
        for export in orders:
            export._end_in_child()


_writer = _Writer()
os.register_at_fork(after_in_child=lambda: _writer.forget_in_child())


def write_later(trace: Trace, order: Order, timeout_s: float | None) -> Export:
    """After those that were asked for before."""
    export = Export(trace, order, timeout_s)
    _writer.add(export)
    return export


def wait_for_exports(timeout_s: float | None = None) -> bool:
    """Waits for all files that are being written in the background; False if they are not done
    in so many seconds. What one of them failed with is told by its own `result`."""
    import time

    end = None if timeout_s is None else time.monotonic() + timeout_s
    return all(
        export._is_done.wait(None if end is None else max(0.0, end - time.monotonic()))
        for export in _writer.pending()
    )
