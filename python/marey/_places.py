"""Where the files lie that the package carries beside its Python: headers, C++ sources."""

from __future__ import annotations

import json
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def build_folder() -> Path | None:
    """The build folder, if the package was never installed."""
    folder = PACKAGE.parent.parent
    return folder if (folder / "meson-info" / "meson-info.json").is_file() else None


def _root() -> Path:
    """What holds include/ and collectors/: the installed package, else the source tree."""
    build = build_folder()
    if build is not None:
        info = json.loads((build / "meson-info" / "meson-info.json").read_text())
        return Path(info["directories"]["source"])
    if (PACKAGE / "include").is_dir():
        return PACKAGE
    return PACKAGE.parent.parent


def include_folder() -> Path:
    """Holds marey/*.h."""
    return _root() / "include"


def collector_folder(name: str) -> Path:
    """Holds the sources of a collector."""
    return _root() / "collectors" / name
