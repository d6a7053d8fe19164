"""check_library.py LIBRARY… - what a built core holds: the shared library shows only marey_
names, and no module has a variable that can change: the core keeps no global state but the
recorder, which src/record/tls.h declares.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import lint

# What the compiler and the sanitizers put there themselves.
RUNTIME = re.compile(r"^(completed\.|__|_|\.|asan\.|DW\.ref)")
RECORDER = ("marey__recorder", "marey__no_log")
VARIABLE = re.compile(r"^\S+ .{7} (\.data|\.bss)(?:\.\S+)?\t(\S+)\s+(?:\.hidden )?(\S+)$")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def problems(library: str) -> Iterator[str]:
    for line in output("objdump", "-t", library).splitlines():
        match = VARIABLE.match(line)
        is_relocated = ".data.rel.ro" in line
        if not match or is_relocated or int(match[2], 16) == 0 or RUNTIME.match(match[3]):
            continue
        if match[3] not in RECORDER:
            yield f"{library}: '{match[3]}' is a variable that can change, make it const"
    if not library.endswith(".a"):
        for line in output("nm", "--dynamic", "--defined-only", library).splitlines():
            symbol = line.split()[-1]
            if not symbol.startswith("marey_") or symbol.startswith("marey__"):
                yield f"{library}: '{symbol}' is visible, only marey_ names may be"


if __name__ == "__main__":
    lint.finish(problem for library in sys.argv[1:] for problem in problems(library))
