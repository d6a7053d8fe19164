"""Each file tests/unit/<module>/test_<name>.c has its row in tests/unit/meson.build: a test
that nobody runs cannot fail. The same for fuzz targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import lint


def problems() -> Iterator[str]:
    rows = (lint.ROOT / "tests/unit/meson.build").read_text()
    for path in lint.files("tests/unit/*/test_*.c"):
        module, name = path.parent.name, path.stem.removeprefix("test_")
        lists = re.findall(rf"^  '{module}': \[([^\]]*)\]", rows, re.MULTILINE)
        if not any(f"'{name}'" in names for names in lists):
            yield f"{lint.name(path)}: has no row in tests/unit/meson.build"
    targets = re.search(r"^fuzz_targets = (.*)$",
                        (lint.ROOT / "tests/fuzz/meson.build").read_text(), re.MULTILINE)[1]
    for path in lint.files("tests/fuzz/fuzz_*.c"):
        if f"'{path.stem.removeprefix('fuzz_')}'" not in targets:
            yield f"{lint.name(path)}: has no row in tests/fuzz/meson.build"


if __name__ == "__main__":
    lint.finish(problems())
