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


def _in_stretches(stretch: record_function, body: Any) -> Generator[Any, Any, Any]:
    """Runs body, which has send, throw and close, each stretch of it in a range."""
    resume, value = body.send, None
    while True:
        try:
            with stretch:
                item = resume(value)
        except StopIteration as stop:
            return stop.value
        value = None
        try:
            value = yield item
        except GeneratorExit:
            with stretch:
                body.close()
            raise
        except BaseException as error:
            resume, value = body.throw, error
        else:
            resume = body.send


class _Stretches:
    """Awaits body, each stretch of it in a range."""

    __slots__ = ("_body", "_stretch")

    def __init__(self, stretch: record_function, body: Any) -> None:
        self._stretch = stretch
        self._body = body

    def __await__(self) -> Generator[Any, Any, Any]:
        return _in_stretches(self._stretch, self._body)


def _ranged_generator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def ranged(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _in_stretches(record_function(name), function(*args, **kwargs)))

    return ranged


def _ranged_coroutine(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def ranged(*args: Any, **kwargs: Any) -> Any:
        return await _Stretches(record_function(name), function(*args, **kwargs))

    return ranged


def _ranged_async_generator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def ranged(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        stretch = record_function(name)
        body = function(*args, **kwargs)
        step = body.asend(None)
        while True:
            try:
                item = await _Stretches(stretch, step)
            except StopAsyncIteration:
                return
            try:
                value = yield item
            except GeneratorExit:
                await _Stretches(stretch, body.aclose())
                raise
            except BaseException as error:
                step = body.athrow(error)
            else:
                step = body.asend(value)

    return ranged
