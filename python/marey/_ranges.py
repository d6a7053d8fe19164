"""What record_function makes of a decorated function.

A plain function becomes a callable of _core whose calls are ranges. A generator or a coroutine
runs in stretches, from where it is resumed to where it yields or waits; each stretch is a
range, since what happens in between is the work of others, perhaps on the same thread.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from marey._core import RangedFunction, record_function


def decorate(name: str, function: Any) -> Any:
    """The function whose calls are ranges of that name."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(name, function.__func__))
    if inspect.isgeneratorfunction(function):
        return _ranged_generator(name, function)
    if inspect.iscoroutinefunction(function):
        return _ranged_coroutine(name, function)
    if inspect.isasyncgenfunction(function):
        return _ranged_async_generator(name, function)
    return functools.update_wrapper(RangedFunction(name, function), function)


def _in_stretches(name: str, start: Callable[..., Any]) -> Callable[..., Generator[Any, Any, Any]]:
    """A generator function that runs what start gives, which has send and throw, each stretch
    of it in a range.

    A close is thrown too, as GeneratorExit, and neither is passed on by `yield from`, which
    would close the body: a body may take a thrown one, and go on.
    """
    stretch = record_function(name)

    def ranged(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        resume, value = (body := start(*args, **kwargs)).send, None
        while True:
            try:
                with stretch:
                    item = resume(value)
            except StopIteration as stop:
                return stop.value
            value = None
            try:
                value = yield item
            except BaseException as error:
                resume, value = body.throw, error
            else:
                resume = body.send

    return ranged


class _Stretches:
    """Awaits body by way of a function that _in_stretches has made."""

    __slots__ = ("_body", "_run")

    def __init__(self, run: Callable[..., Generator[Any, Any, Any]], body: Any) -> None:
        self._run = run
        self._body = body

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._run(self._body)


def _itself(body: Any) -> Any:
    return body


def _ranged_generator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(function)(_in_stretches(name, function))


def _ranged_coroutine(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    run = _in_stretches(name, _itself)

    @functools.wraps(function)
    async def ranged(*args: Any, **kwargs: Any) -> Any:
        return await _Stretches(run, function(*args, **kwargs))

    return ranged


def _ranged_async_generator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    run = _in_stretches(name, _itself)

    @functools.wraps(function)
    async def ranged(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        body = function(*args, **kwargs)
        step = body.asend(None)
        while True:
            try:
                item = await _Stretches(run, step)
            except StopAsyncIteration:
                return
            try:
                value = yield item
            except BaseException as error:
                step = body.athrow(error)
            else:
                step = body.asend(value)

    return ranged
