"""The version is the same in meson.build and in <marey/base.h>; pyproject.toml takes it from
the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import lint


def problems() -> Iterator[str]:
    build = (lint.ROOT / "meson.build").read_text()
    header = (lint.ROOT / "include/marey/base.h").read_text()
    project = (lint.ROOT / "pyproject.toml").read_text()
    version = re.search(r"^  version: '([^']+)'", build, re.MULTILINE)[1]
    parts = [re.search(rf"MAREY_VERSION_{part} (\d+)", header)[1]
             for part in ("MAJOR", "MINOR", "PATCH")]
    text = re.search(r'MAREY_VERSION_STRING "([^"]+)"', header)[1]

    if ".".join(parts) != version:
        yield f"include/marey/base.h: version {'.'.join(parts)}, but meson.build has {version}"
    if text != version:
        yield f"include/marey/base.h: MAREY_VERSION_STRING {text}, but meson.build has {version}"
    if 'dynamic = ["version"]' not in project:
        yield "pyproject.toml: the version must be dynamic, it is that of meson.build"


if __name__ == "__main__":
    lint.finish(problems())
