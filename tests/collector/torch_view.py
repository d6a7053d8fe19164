"""What torch.profiler itself shows of operators: from its file, and by its rules from ours.

`shown(op)` turns a recorded operator into the four lists of torch's file; `recorded(prof)`
reads them from the file. The rules are those of torch/csrc/profiler (collection.cpp,
util.cpp): what it cannot tell or does not keep is [] or "".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host import (
    BACKWARD,
    BOOL,
    DOUBLE,
    INT,
    OTHER,
    SCALAR_LIST,
    TENSOR,
    TENSOR_LIST,
    UNDEFINED,
    Input,
    Op,
)

EVALUATE = "autograd::engine::evaluate_function: "
SCALARS = (INT, DOUBLE, BOOL)
SYMBOLIC = ("ComplexDouble", "SymInt", "SymFloat", "SymBool")
LONGEST_LIST = 30


@dataclass
class Shown:
    name: str
    sequence: int | None
    forward_thread: int | None
    dims: list[Any]
    strides: list[Any]
    types: list[str]
    concrete: list[str]


def text_of_scalar(scalar: Input) -> str:
    """As torch prints an IValue."""
    if scalar.type != DOUBLE:
        return str(scalar.value)
    value = float(scalar.value)
    if -(2.0**63) <= value < 2.0**63 and value == int(value):
        return f"{int(value)}."
    return f"{value:.17g}"


def is_unknown(item: Input) -> bool:
    return item.type == UNDEFINED


def shown_input(value: Input) -> tuple[Any, Any, str, str]:
    """Dims, strides, type and concrete input."""
    if value.type == TENSOR:
        return list(value.sizes), list(value.strides or ()), value.text, ""
    if value.type in SCALARS:
        return [], [], "Scalar", text_of_scalar(value)
    if value.type == OTHER and value.text in SYMBOLIC:
        return [], [], "Scalar", "?"
    if value.type == TENSOR_LIST:
        items = value.items or []
        if any(map(is_unknown, items)):
            return [], [], "", ""
        if len(items) > LONGEST_LIST:
            return [], [], "TensorList", ""
        sizes = [list(item.sizes) for item in items]
        return sizes, [list(item.strides or ()) for item in items], "TensorList", ""
    if value.type == SCALAR_LIST and value.n_items <= LONGEST_LIST:
        return [], [], "ScalarList", f"[{', '.join(map(text_of_scalar, value.items or []))}]"
    return [], [], "", ""


def forward_thread_of(op: Op) -> int:
    """torch shows 0 for whatever is no backward node."""
    return op.forward_thread if op.scope == BACKWARD or op.name.startswith(EVALUATE) else 0


def shown(op: Op) -> Shown:
    rows = [shown_input(value) for value in op.inputs]
    dims, strides, types, concrete = ([row[i] for row in rows] for i in range(4))
    has_sequence = op.sequence >= 0
    return Shown(op.name, op.sequence if has_sequence else None,
                 forward_thread_of(op) if has_sequence else None, dims, strides, types, concrete)


def recorded(prof: Any, folder: Path) -> list[tuple[int, Shown]]:
    """Thread and operator, in the order of their begins."""
    path = folder / "trace.json"
    prof.export_chrome_trace(str(path))
    records = [record for record in json.loads(path.read_text())["traceEvents"]
               if record.get("cat") in ("cpu_op", "user_annotation")
               and "Ev Idx" in record["args"]]
    records.sort(key=lambda record: (record["ts"], -record["dur"], record["args"]["Ev Idx"]))
    result = []
    for record in records:
        args = record["args"]
        result.append((record["tid"], Shown(
            record["name"], args.get("Sequence number"), args.get("Fwd thread id"),
            args.get("Input Dims", []), args.get("Input Strides", []), args.get("Input type", []),
            args.get("Concrete Inputs", []))))
    return result
