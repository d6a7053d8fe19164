"""Each lint finds a fault that is planted in a small tree, and none in the tree without it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lint

GOOD = {
    "meson.build": "project('marey', 'c',\n  version: '1.2.3',\n",
    "pyproject.toml": 'dynamic = ["version"]\n',
    "include/marey/base.h": "#define MAREY_VERSION_MAJOR 1\n#define MAREY_VERSION_MINOR 2\n"
    '#define MAREY_VERSION_PATCH 3\n#define MAREY_VERSION_STRING "1.2.3"\n',
    "tests/lint/layers.txt": "base:\ntrace: base\n",
    "tests/lint/size_exceptions.txt": "",
    "tests/unit/meson.build": "  'base': [core],\n  'base': ['text'],\n",
    "tests/unit/base/test_text.c": "int a;\n",
    "tests/fuzz/meson.build": "fuzz_targets = ['import']\n",
    "src/base/text.h": '#include "marey/base.h"\n',
    "src/trace/trace.c": '#include "base/text.h"\n/* free() */ int x(void) { return y.free(1); }\n',
    "cli/main.c": '#include "marey/base.h"\n#include "own.h"\n',
    "collectors/torch/a.cpp": '#include "marey/collector.h"\n#include "own.h"\n',
}
LONG_BODY = "int f(void)\n{\n" + "    g();\n" * 61 + "}\n"

# The lint, the file, its faulty text, a part of what it must say.
FAULTS = (
    ("layers", "src/base/text.h", '#include "trace/model.h"\n', "'base' may not include"),
    ("layers", "src/base/text.h", '#include "marey/trace.h"\n', "'base' may not include"),
    ("layers", "src/trace/trace.c", '#include "../base/text.h"\n', "write"),
    ("layers", "src/other/a.c", "int a;\n", "no row"),
    ("layers", "cli/main.c", '#include "base/text.h"\n', "only <marey/…>"),
    ("layers", "collectors/torch/a.cpp", '#include "base/text.h"\n', "only <marey/…>"),
    ("layers", "collectors/torch/a.cpp", '#include "marey/base.h"\n', "a collector sees no"),
    ("layers", "include/marey/base.h", '#include "marey/trace.h"\n', "may not include"),
    ("banned", "src/trace/trace.c", "void f(void) { printf(1); }\n", "does not print"),
    ("banned", "src/base/text.c", "void f(void) { free (0); }\n", "struct marey_alloc"),
    ("size", "src/trace/trace.c", LONG_BODY, "'f' has 61 lines"),
    ("size", "src/trace/trace.c", "int a;\n" * 1001, "1001 lines"),
    ("size", "tests/lint/size_exceptions.txt", "src/a.c:f why\n", "needs no exception"),
    ("tests", "tests/unit/base/test_other.c", "int a;\n", "no row"),
    ("tests", "tests/fuzz/fuzz_other.c", "int a;\n", "no row"),
    ("version", "meson.build", "project('marey', 'c',\n  version: '1.2.4',\n", "1.2.4"),
)


def run(name: str, tree: dict[str, str]) -> tuple[int, str]:
    """Runs a lint as it is in a folder that holds the files of `tree`."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "tests/lint"
        here.mkdir(parents=True)
        for script in ("lint.py", f"check_{name}.py"):
            (here / script).write_text((Path(__file__).parent / script).read_text())
        for path, text in tree.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        done = subprocess.run([sys.executable, here / f"check_{name}.py"], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def problems() -> Iterator[str]:
    for name in sorted({fault[0] for fault in FAULTS}):
        status, said = run(name, GOOD)
        if status != 0:
            yield f"{name}: finds something in a good tree: {said}"
    for name, path, text, part in FAULTS:
        status, said = run(name, {**GOOD, path: text})
        if status != 1 or part not in said:
            yield f"{name}: does not find the fault planted in {path}, says: {said}"


if __name__ == "__main__":
    lint.finish(problems())
