"""``marey doctor`` without a file: which collectors can run with this Python, and what to do
about those that cannot. ``--build`` builds those that are to be compiled."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap

from marey import _build
from marey._build import Status
from marey._errors import CollectorError

SCHEMA = 1
WIDTH = 100

# What is asked for and has no collector in this version.
ABSENT = (
    Status("cupti", "refused", "this version has no collector for GPU kernels",
           "read a trace of torch.profiler with 'marey report'", None),
)  # fmt: skip

# States that stand in nobody's way: no torch, nothing to record of it.
HARMLESS = ("ready", "not built", "no torch")


def statuses() -> list[Status]:
    """Of all collectors, in a fixed order. Imports torch if there is one; builds nothing."""
    return [_build.status(), *ABSENT]


def _text(rows: list[Status]) -> str:
    width = max(len(row.name) for row in rows)
    lines = [f"Python {sys.version.split()[0]} at {sys.executable}"]
    for row in rows:
        indent = " " * (width + 2)
        lines.append(f"{row.name:{width}}  {row.state}: {row.detail}")
        if row.path is not None:
            lines.append(f"{indent}{row.path}")
        lines += textwrap.wrap(row.remedy, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines)


def _json(rows: list[Status]) -> str:
    return json.dumps({
        "schema": SCHEMA,
        "python": sys.executable,
        "collectors": [
            {"name": row.name, "state": row.state, "detail": row.detail, "remedy": row.remedy,
             "path": None if row.path is None else str(row.path)}
            for row in rows
        ],
    }, indent=2)  # fmt: skip


def main(arguments: list[str]) -> int:
    """0: what is here can run. 1: something cannot. 3: it could not be built."""
    parser = argparse.ArgumentParser(prog="marey doctor", add_help=False)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args(arguments)

    if options.build:
        try:
            _build.build()
        except CollectorError as error:
            print(f"marey: {error}", file=sys.stderr)
            return 3
    rows = statuses()
    print(_json(rows) if options.format == "json" else _text(rows))
    wanted = [row for row in rows if row not in ABSENT]
    return 0 if all(row.state in HARMLESS for row in wanted) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
