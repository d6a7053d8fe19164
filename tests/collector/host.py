"""A host of collectors: loads one, hands it the sink of fake_sink.c, reads what came.

    with host.recording(WANT_OPS | WANT_INPUTS) as recording:
        model(x)
    for op in recording.ops:
        print(op.name, op.inputs)
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WANT_RANGES, WANT_OPS, WANT_INPUTS, WANT_CPU = 1, 2, 4, 8
FUNCTION, BACKWARD, USER = 0, 1, 7

(NONE, TENSOR, UNDEFINED, INT, DOUBLE, BOOL, STRING, TENSOR_LIST, SCALAR_LIST, GENERIC_LIST,
 OTHER) = range(11)
LISTS = (TENSOR_LIST, SCALAR_LIST, GENERIC_LIST)
TYPE_MASK, HAS_STRIDES, IS_CUT = 0x3F, 0x40, 0x80
MAX_INPUT_WORDS = 240


@contextlib.contextmanager
def custom_ops(namespace: str) -> Iterator[Any]:
    """A place for operators of a test's own, by torch's API for those; they are gone behind it."""
    import torch

    place = torch.library.Library(namespace, "DEF")
    try:
        yield place
    finally:
        place._destroy()


# ---- the structs of marey/collector.h and fake_sink.c --------------------------------------


class Record(ctypes.Structure):
    _fields_ = [
        ("sequence", ctypes.c_int64), ("forward_thread", ctypes.c_uint64),
        ("is_end", ctypes.c_uint32), ("thread", ctypes.c_uint32), ("token", ctypes.c_uint32),
        ("scope", ctypes.c_uint32), ("name", ctypes.c_uint32), ("first_word", ctypes.c_uint32),
        ("n_words", ctypes.c_uint32), ("is_bad", ctypes.c_uint32),
    ]


class Sink(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("size", ctypes.c_uint32),
                ("op_begin", ctypes.c_void_p), ("op_end", ctypes.c_void_p),
                ("text", ctypes.c_void_p), ("op_open", ctypes.c_void_p),
                ("op_close", ctypes.c_void_p)]


PROBE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
UPDATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Sink), ctypes.c_uint32, ctypes.c_char_p,
                          ctypes.c_size_t)


class Collector(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("size", ctypes.c_uint32), ("name", ctypes.c_char_p),
                ("built_for", ctypes.c_char_p), ("probe", PROBE), ("update", UPDATE)]


# ---- what was recorded ---------------------------------------------------------------------


@dataclass
class Input:
    """One input, decoded; of a list, its items."""

    type: int
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] | None = None
    text: str = ""
    value: int | float | bool | None = None
    items: list[Input] | None = None  # None if cut
    n_items: int = 0


@dataclass
class Op:
    name: str
    scope: int
    thread: int
    token: int
    sequence: int
    forward_thread: int
    n_words: int
    inputs: list[Input]
    parent: Op | None = None
    children: list[Op] = field(default_factory=list)
    is_ended: bool = False

    @property
    def path(self) -> str:
        return f"{self.parent.path}/{self.name}" if self.parent else self.name


class Decoder:
    """Reads the words of one operator's inputs, by the picture in marey/collector.h."""

    def __init__(self, words: list[int], texts: Any) -> None:
        self.words, self.texts, self.at = words, texts, 0

    def take(self, n: int = 1) -> list[int]:
        if self.at + n > len(self.words):
            raise AssertionError("the last input is not whole")
        taken = self.words[self.at:self.at + n]
        self.at += n
        return taken

    def read(self) -> Input:
        head = self.take()[0]
        bits, n_dims, n_items = head & 0xFF, head >> 8 & 0xFF, head >> 16 & 0xFFFF
        kind, text = bits & TYPE_MASK, self.texts(head >> 32)
        if kind == TENSOR:
            sizes = tuple(self.take(n_dims))
            strides = tuple(self.take(n_dims)) if bits & HAS_STRIDES else None
            return Input(kind, sizes, strides, text)
        if kind in (INT, DOUBLE, BOOL):
            raw = struct.pack("=Q", self.take()[0])
            number = struct.unpack("=d" if kind == DOUBLE else "=q", raw)[0]
            return Input(kind, value=bool(number) if kind == BOOL else number)
        if kind in LISTS:
            items = None if bits & IS_CUT else [self.read() for _ in range(n_items)]
            return Input(kind, items=items, n_items=n_items)
        assert kind <= OTHER, f"no input type {kind}"
        return Input(kind, text=text)

    def read_all(self) -> list[Input]:
        inputs = []
        while self.at < len(self.words):
            inputs.append(self.read())
        return inputs


class Recording:
    """Operators in the order of their begins, nested by their ends, found by token."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.n_unmatched_ends = 0
        self.n_crossings = 0

    @property
    def names(self) -> list[str]:
        return [op.name for op in self.ops]

    @property
    def open_ops(self) -> list[Op]:
        return [op for op in self.ops if not op.is_ended]

    def of_thread(self, thread: int) -> list[Op]:
        return [op for op in self.ops if op.thread == thread]

    def one(self, name: str) -> Op:
        found = [op for op in self.ops if op.name == name]
        assert len(found) == 1, f"{len(found)} of {name}"
        return found[0]


# ---- the host ------------------------------------------------------------------------------


class Host:
    def __init__(self, collector: Path, fake_sink: Path) -> None:
        self.library = ctypes.CDLL(str(collector))
        self.library.marey_collector.restype = ctypes.POINTER(Collector)
        self.collector = self.library.marey_collector().contents
        self.fake = ctypes.CDLL(str(fake_sink))
        self.fake.fake_sink.restype = self.fake.fake_empty_sink.restype = ctypes.POINTER(Sink)
        self.fake.fake_records.restype = ctypes.POINTER(Record)
        self.fake.fake_words.restype = ctypes.POINTER(ctypes.c_uint64)
        self.fake.fake_text_of.restype = ctypes.c_char_p

    def text_of(self, text_id: int) -> str:
        return self.fake.fake_text_of(ctypes.c_uint32(text_id)).decode()

    @property
    def n_records(self) -> int:
        return self.fake.fake_n_records()

    def update(self, wants: int, sink: Any = None) -> tuple[int, str]:
        why = ctypes.create_string_buffer(200)
        table = self.fake.fake_sink() if sink is None else sink
        return self.collector.update(table, wants, why, len(why)), why.value.decode()

    @contextlib.contextmanager
    def recording(self, wants: int = WANT_OPS) -> Iterator[Recording]:
        self.fake.fake_reset()
        recording = Recording()
        assert self.update(wants) == (0, "")
        try:
            yield recording
        finally:
            assert self.update(0) == (0, "")
            self.read(recording)

    def read(self, recording: Recording) -> None:
        assert self.fake.fake_n_lost() == 0, "the fake sink is too small for this test"
        records, words = self.fake.fake_records(), self.fake.fake_words()
        open_ops: dict[int, list[Op]] = {}
        for i in range(self.n_records):
            record = records[i]
            stack = open_ops.setdefault(record.thread, [])
            if record.is_end:
                self._end(recording, stack, record.token)
                continue
            assert not record.is_bad
            own = words[record.first_word:record.first_word + record.n_words]
            inputs = Decoder(own, self.text_of).read_all()
            op = Op(self.text_of(record.name), record.scope, record.thread, record.token,
                    record.sequence, record.forward_thread, record.n_words, inputs,
                    stack[-1] if stack else None)
            if op.parent:
                op.parent.children.append(op)
            recording.ops.append(op)
            stack.append(op)

    @staticmethod
    def _end(recording: Recording, stack: list[Op], token: int) -> None:
        for i in reversed(range(len(stack))):
            if stack[i].token == token:
                recording.n_crossings += len(stack) - 1 - i
                stack.pop(i).is_ended = True
                return
        recording.n_unmatched_ends += 1
