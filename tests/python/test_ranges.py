"""Ranges that a program marks: record_function, marks, counters, names of threads."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import inspect
import json
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import marey
from marey import _core, record_function


@contextlib.contextmanager
def recorded() -> Iterator[list[marey.Event]]:
    """What is recorded in the block, in a list that is filled at its end."""
    events: list[marey.Event] = []
    session = _core.Session()
    try:
        yield events
    finally:
        session.stop()
        trace = marey.Trace(session.trace())
        session.free()
        events.extend(event for event in trace.events() if event.kind != "window")


def names(events: list[marey.Event]) -> list[str | None]:
    return [event.name for event in events]


def nesting(events: list[marey.Event]) -> list[tuple[str | None, str | None]]:
    return [(event.name, event.parent.name if event.parent else None) for event in events]


# ---- with --------------------------------------------------------------------------------


def test_ranges_nest() -> None:
    with recorded() as events, record_function("outer"):
        with record_function("inner"):
            pass
        with record_function("inner"):
            pass
    assert nesting(events) == [("outer", None), ("inner", "outer"), ("inner", "outer")]
    assert {event.kind for event in events} == {"annotation"}


def test_enter_gives_the_range() -> None:
    with record_function("x") as entered:
        assert isinstance(entered, record_function)
        assert (entered.name, repr(entered)) == ("x", "<marey.record_function 'x'>")


def test_one_object_is_entered_again_before_it_is_left() -> None:
    again = record_function("again")
    with recorded() as events, again, record_function("between"), again:
        pass
    assert nesting(events) == [("again", None), ("between", "again"), ("again", "between")]


def test_ranges_may_end_crosswise() -> None:
    first, second = record_function("first"), record_function("second")
    with recorded() as events:
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
    assert names(events) == ["first", "second"]
    assert events[1].crosses
    assert not any(event.is_open for event in events)


def test_an_exit_stack_takes_ranges() -> None:
    with recorded() as events, contextlib.ExitStack() as stack:
        entered = stack.enter_context(record_function("a"))
        assert isinstance(entered, record_function)
        stack.enter_context(record_function("b"))
    assert nesting(events) == [("a", None), ("b", "a")]


def test_an_exception_passes_and_the_range_ends() -> None:
    with recorded() as events, pytest.raises(KeyError, match="gone"), record_function("x"):
        raise KeyError("gone")
    assert [(event.name, event.is_open) for event in events] == [("x", False)]


def test_a_range_open_at_the_stop_is_marked_so() -> None:
    with recorded() as events:
        left_open = record_function("open")
        left_open.__enter__()
    left_open.__exit__(None, None, None)
    assert [(event.name, event.is_open) for event in events] == [("open", True)]


def test_a_range_open_at_the_stop_is_written_as_torch_writes_one(tmp_path: Path) -> None:
    session = _core.Session()
    left_open = record_function("open")
    left_open.__enter__()
    with record_function("ended"):
        pass
    session.stop()
    left_open.__exit__(None, None, None)
    marey.Trace(session.trace()).export_chrome_trace(tmp_path / "open.json")
    session.free()

    records = json.loads((tmp_path / "open.json").read_text())["traceEvents"]
    args = {record["name"]: record["args"] for record in records if record.get("cat") == "user_annotation"}
    assert args["open"]["finished"] is False
    assert "finished" not in args["ended"]
    view = marey.load(tmp_path / "open.json").view(compat="torch")
    assert {event.name: event.is_async for event in view.events()} == {"open": True, "ended": False}
    rows = {row.key: row for row in view.key_averages()}
    assert rows["open"].self_cpu_time_total == 0 < rows["open"].cpu_time_total


def test_any_text_is_a_name() -> None:
    texts = ["", "ünïcode", "\U0001f600", 'a "quoted" \\ name', "line\nbreak", "x" * 500]
    with recorded() as events:
        for text in texts:
            with record_function(text):
                pass
    assert names(events) == texts


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: record_function(), TypeError, "needs a name"),
        (lambda: record_function(3), TypeError, "is a str, not int"),
        (lambda: record_function("a", nothing=1), TypeError, "no argument 'nothing'"),
        (lambda: record_function("a", None, 3), TypeError, "at most 2 arguments, 3 given"),
        (lambda: record_function("a", name="b"), TypeError, "no argument 'name'"),
        (lambda: record_function("\ud800"), UnicodeEncodeError, "surrogates"),
        (lambda: record_function("a")(3), TypeError, "decorates a function, not int"),
        (lambda: record_function("a")(1, 2), TypeError, "decorates one function"),
        (lambda: record_function.__enter__(3), TypeError, "takes a range"),
        (lambda: record_function.__exit__(record_function("a")), TypeError, "three values"),
    ],
)
def test_misuse_is_told(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_torchs_second_argument_is_taken() -> None:
    with recorded() as events:
        with record_function("a", "text"), record_function(name="b", args=None):
            pass
    assert names(events) == ["a", "b"]


def test_without_a_session_nothing_happens() -> None:
    with record_function("unseen"):
        marey.mark("unseen")
        marey.counter("unseen", 1)
    assert not marey.is_recording()
    with recorded() as events:
        assert marey.is_recording()
    assert events == []


# ---- decorators --------------------------------------------------------------------------------


@record_function("in module")
def of_the_module(a: int, *, b: int = 2) -> int:
    """Adds."""
    return a + b


def test_a_decorated_function_stays_itself() -> None:
    with recorded() as events:
        assert of_the_module(1) == 3
        assert of_the_module(a=1, b=5) == 6
    assert names(events) == ["in module"] * 2
    assert of_the_module.__name__ == "of_the_module"
    assert of_the_module.__doc__ == "Adds."
    assert list(inspect.signature(of_the_module).parameters) == ["a", "b"]
    assert pickle.loads(pickle.dumps(of_the_module)) is of_the_module
    assert copy.deepcopy(of_the_module) is copy.copy(of_the_module) is of_the_module
    assert "of_the_module" in repr(of_the_module)


def test_recursion_nests() -> None:
    @record_function("f")
    def factorial(n: int) -> int:
        return 1 if n == 0 else n * factorial(n - 1)

    with recorded() as events:
        assert factorial(3) == 6
    assert nesting(events) == [("f", None), ("f", "f"), ("f", "f"), ("f", "f")]


DEEP = """
import sys, threading, marey
sys.setrecursionlimit(10**9)
@marey.record_function("f")
def f(n): return 0 if n == 0 else 1 + f(n - 1)
def try_it():
    assert f(100) == 100
    try:
        f(10**8)
    except RecursionError as error:
        print(error)
    assert f(100) == 100
"""


@pytest.mark.parametrize("thread", ["", "threading.stack_size(256 << 10)", "threading.stack_size(64 << 20)"])
def test_recursion_ends_before_the_stack_does(thread: str) -> None:
    code = DEEP + (f"""
{thread}
thread = threading.Thread(target=try_it)
thread.start(); thread.join()
""" if thread else "try_it()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("maximum recursion depth exceeded")


def test_what_is_decorated_many_times_over_can_be_called_and_freed() -> None:
    code = """
import marey
chain = lambda: 7
for _ in range(300_000):
    chain = marey._core.RangedFunction("x", chain)
try:
    chain()
except RecursionError:
    print("refused")
del chain
print("freed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          check=False)
    assert (done.returncode, done.stdout) == (0, "refused\nfreed\n")


def test_methods_bind() -> None:
    class Model:
        @record_function("method")
        def method(self, x: int) -> tuple[Any, int]:
            return self, x

        @record_function("static")
        @staticmethod
        def static(x: int) -> int:
            return x

        @staticmethod
        @record_function("static")
        def static_outside(x: int) -> int:
            return x

        @record_function("class")
        @classmethod
        def of_class(cls) -> type:
            return cls

    model = Model()
    with recorded() as events:
        assert model.method(1) == Model.method(model, 1) == (model, 1)
        assert model.static(2) == Model.static(2) == Model.static_outside(2) == 2
        assert model.of_class() is Model.of_class() is Model
    assert names(events) == ["method"] * 2 + ["static"] * 3 + ["class"] * 2


def test_an_exception_leaves_a_decorated_function() -> None:
    @record_function("f")
    def fails() -> None:
        raise OSError("disk")

    with recorded() as events, pytest.raises(OSError, match="disk"):
        fails()
    assert [(event.name, event.is_open) for event in events] == [("f", False)]


def test_a_generator_is_a_range_a_stretch() -> None:
    @record_function("g")
    def echo() -> Generator[Any, Any, str]:
        got = None
        while got != "end":
            try:
                got = yield got
            except KeyError:
                got = "caught"
        return "returned"

    assert inspect.isgeneratorfunction(echo)
    with recorded() as events:
        body = echo()
        assert next(body) is None
        with record_function("between"):
            pass
        assert body.send(5) == 5
        assert body.throw(KeyError("k")) == "caught"
        with pytest.raises(StopIteration, match="returned"):
            body.send("end")
    assert nesting(events) == [("g", None), ("between", None), *[("g", None)] * 3]


def test_a_generator_is_closed_in_a_range() -> None:
    closed = []

    @record_function("g")
    def opens() -> Iterator[int]:
        try:
            yield 1
        finally:
            closed.append(True)

    with recorded() as events:
        body = opens()
        next(body)
        body.close()
    assert closed == [True]
    assert names(events) == ["g", "g"]


def takes_it() -> Iterator[Any]:
    try:
        yield 1
    except GeneratorExit:
        return 7
    yield 2


def goes_on() -> Iterator[Any]:
    with contextlib.suppress(GeneratorExit):
        yield 1
    yield 2


def passes_it() -> Iterator[Any]:
    yield 1


@pytest.mark.parametrize("body", [takes_it, goes_on, passes_it])
@pytest.mark.parametrize("end", ["throw", "close"])
def test_a_generator_ends_as_it_would_without(body: Callable[[], Any], end: str) -> None:
    """Closed, and thrown a GeneratorExit, which is no close."""

    def came_to(function: Callable[[], Any]) -> Any:
        running = function()
        next(running)
        try:
            return running.close() if end == "close" else running.throw(GeneratorExit)
        except BaseException as error:
            return repr(error)

    with recorded() as events:
        assert came_to(record_function("g")(body)) == came_to(body)
    assert {(event.name, event.is_open) for event in events} == {("g", False)}


async def takes_it_async() -> AsyncIterator[Any]:
    try:
        yield 1
    except GeneratorExit:
        return
    yield 2


async def goes_on_async() -> AsyncIterator[Any]:
    with contextlib.suppress(GeneratorExit):
        yield 1
    await asyncio.sleep(0)
    yield 2


async def passes_it_async() -> AsyncIterator[Any]:
    try:
        yield 1
    finally:
        await asyncio.sleep(0)


@pytest.mark.parametrize("body", [takes_it_async, goes_on_async, passes_it_async])
@pytest.mark.parametrize("end", ["athrow", "aclose"])
def test_an_asynchronous_generator_ends_as_it_would_without(
    body: Callable[[], Any], end: str
) -> None:
    async def came_to(function: Callable[[], Any]) -> Any:
        running = function()
        await running.__anext__()
        try:
            return await (running.aclose() if end == "aclose" else running.athrow(GeneratorExit))
        except BaseException as error:
            return repr(error)

    with recorded() as events:
        assert asyncio.run(came_to(record_function("g")(body))) == asyncio.run(came_to(body))
    assert {(event.name, event.is_open) for event in events} == {("g", False)}


def test_coroutines_do_not_overlap() -> None:
    @record_function("task")
    async def task(n: int) -> int:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return n

    async def both() -> list[int]:
        return await asyncio.gather(task(1), task(2))

    assert inspect.iscoroutinefunction(task)
    with recorded() as events:
        assert asyncio.run(both()) == [1, 2]
    assert nesting(events) == [("task", None)] * 6


def test_a_coroutine_is_cancelled() -> None:
    @record_function("task")
    async def waits() -> None:
        await asyncio.sleep(60)

    async def cancel() -> None:
        running = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with recorded() as events:
        asyncio.run(cancel())
    assert [(event.name, event.is_open) for event in events] == [("task", False)] * 2


def test_an_asynchronous_generator_is_a_range_a_stretch() -> None:
    closed = []

    @record_function("g")
    async def count(n: int) -> AsyncIterator[int]:
        try:
            for i in range(n):
                await asyncio.sleep(0)
                yield i
        finally:
            closed.append(True)

    async def use() -> list[int]:
        first = [i async for i in count(2)]
        body = count(5)
        assert await anext(body) == 0
        await body.aclose()
        return first

    assert inspect.isasyncgenfunction(count)
    with recorded() as events:
        assert asyncio.run(use()) == [0, 1]
    assert closed == [True, True]
    assert nesting(events) == [("g", None)] * 8


def test_a_decorated_function_is_collected() -> None:
    def make() -> weakref.ref[Any]:
        @record_function("f")
        def f() -> None:
            return None

        f.itself = f  # type: ignore[attr-defined]
        return weakref.ref(f)

    reference = make()
    gc.collect()
    assert reference() is None


# ---- threads -----------------------------------------------------------------------------------------


def test_threads_share_a_decorated_function() -> None:
    n_threads, n_calls = 4, 2000

    @record_function("f")
    def f(n: int) -> None:
        if n > 0:
            f(n - 1)

    def work() -> None:
        for _ in range(n_calls):
            f(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with recorded() as events:
            threads = [threading.Thread(target=work) for _ in range(n_threads)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(events) == 2 * n_threads * n_calls
    assert sum(event.parent is None for event in events) == n_threads * n_calls
    assert not any(event.crosses or event.is_open for event in events)
    assert len({event.track.thread for event in events}) == n_threads


def test_a_thread_has_a_name() -> None:
    with recorded() as events:

        def work() -> None:
            marey.thread_name("reader of files")
            with record_function("read"):
                pass

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    (event,) = events
    assert "reader of files" in (event.track.thread_name or "")


# ---- marks and counters -----------------------------------------------------------------------------------


def test_marks_and_counters_are_records() -> None:
    session = _core.Session()
    marey.mark("epoch")
    marey.counter("loss", 0.5)
    marey.counter("loss", 2)
    marey.counter("loss", float("nan"))
    session.stop()
    trace = marey.Trace(session.trace())
    assert trace.counts["instants"] == 1
    assert trace.counts["counters"] == 3
    with pytest.raises(TypeError, match="takes a name and a value"):
        marey.counter("loss")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="a name is a str"):
        marey.mark(3)  # type: ignore[arg-type]


# ---- sessions ----------------------------------------------------------------------------------------------


def test_sessions_overlap() -> None:
    first = _core.Session()
    with record_function("in first"):
        pass
    second = _core.Session()
    with record_function("in both"):
        pass
    first.stop()
    with record_function("in second"):
        pass
    second.stop()
    for session, expected in (
        (first, ["in first", "in both"]),
        (second, ["in both", "in second"]),
    ):
        events = marey.Trace(session.trace()).events()
        assert [e.name for e in events if e.kind != "window"] == expected


def test_a_trace_outlives_its_session() -> None:
    session = _core.Session()
    with record_function("x"):
        pass
    session.stop()
    session.stop()
    trace = marey.Trace(session.trace())
    session.free()
    session.free()
    del session
    gc.collect()
    assert trace.events()[0].name == "x"
    assert len(trace.events().args()) == len(trace.events())


def test_a_freed_session_says_so() -> None:
    session = _core.Session()
    session.free()
    for call in (session.stop, session.trace, session.stats, lambda: session.add_meta("a", "1")):
        with pytest.raises(ValueError, match="the session was freed"):
            call()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"pool_bytes": 2**64}, OverflowError, "pool_bytes is 18446744073709551616, want 0 to"),
        ({"pool_bytes": -1}, OverflowError, "pool_bytes is -1, want 0 to 18446744073709551615"),
        ({"wants": 2**32 + 1}, OverflowError, "wants is 4294967297, want 0 to 4294967295"),
        ({"pool_bytes": 0.5}, TypeError, "float"),
    ],
)
def test_no_number_is_cut(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        _core.Session(**options)
    assert not _core.is_recording()


def test_metadata_is_json() -> None:
    session = _core.Session()
    session.add_meta("run", '{"seed": 7}')
    with pytest.raises(ValueError, match="'run' is not one JSON value"):
        session.add_meta("run", "{")
    session.stop()
    assert marey.Trace(session.trace()).metadata["run"] == {"seed": 7}


def test_rank_is_told() -> None:
    session = _core.Session()
    session.stop()
    (source,) = marey.Trace(session.trace(3, 8)).sources
    assert (source.rank, source.world_size, source.rank_is_assumed) == (3, 8, False)
    (source,) = marey.Trace(session.trace()).sources
    assert (source.world_size, source.rank_is_assumed) == (None, True)


def test_a_bounded_pool_counts_what_it_lost() -> None:
    session = _core.Session(pool_bytes=1 << 20)
    for _ in range(100_000):
        with record_function("x"):
            pass
    session.stop()
    stats = dict(zip(_core.FIELDS["session_stats"], session.stats(), strict=True))
    assert stats["n_lost"] > 0
    assert stats["first_lost_ns"] is not None
    trace = marey.Trace(session.trace())
    assert trace.ledger["findings"]["lost"] == stats["n_lost"]
