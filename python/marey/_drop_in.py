"""Rows and events of a drop-in for torch's profiler: ours, but what was not recorded is what torch
has then, so that ``", ".join(row.stack)`` is no error. Our own API has None there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from marey._averages import Row
from marey._events import Event, Events
from marey._torch import value_of


class DropInEvent(Event):
    """An event whose members of torch's names are never None where torch has a value."""

    __slots__ = ()

    @property
    def input_shapes(self) -> list[Any]:
        """Empty where no shapes were recorded."""
        return super().input_shapes or []

    @property
    def concrete_inputs(self) -> list[Any]:
        """Values, where a trace has texts; None for a tensor."""
        return [value_of(text) for text in super().concrete_inputs]

    @property
    def fwd_thread(self) -> int:
        """Of a node of autograd the thread of its forward; 0: none."""
        return super().fwd_thread or 0

    @property
    def cpu_parent(self) -> DropInEvent | None:
        return drop_in_event(super().cpu_parent)

    @property
    def cpu_children(self) -> EventsAsTorch:
        return EventsAsTorch(self._trace, super().cpu_children._indices)


def drop_in_event(event: Event | None) -> DropInEvent | None:
    """The same slice."""
    return None if event is None else DropInEvent(event._trace, event.index)


class EventsAsTorch(Events):
    """Events of which each is a DropInEvent."""

    __slots__ = ()

    _event = DropInEvent

    def _part(self, indices: Sequence[int]) -> EventsAsTorch:
        return EventsAsTorch(self._trace, indices)


def drop_in_row(row: Row, by_shape: bool) -> Row:
    """The row as torch has it: input_shapes is "" where rows are not grouped by them."""
    shapes: Any = row.input_shapes
    if shapes is None:
        shapes = [] if by_shape else ""
    return replace(
        row,
        input_shapes=shapes,
        stack=row.stack or [],
        overload_name=row.overload_name or "",
        first=drop_in_event(row.first),
    )
