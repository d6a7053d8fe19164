"""The torch collector: found, or compiled here for the torch at hand.

    path = marey._build.find() or marey._build.build()

A collector fits one torch only, another one it would crash. So the name of its file is a
key of all that it depends on, and a file of another name is never loaded:

    torch-2.13.0+cpu-abi1-sink1-x86_64-<hash of sources, flags and torch's commit>.so

Looked for are the package's own folder, where a distributor may put objects that are ready,
and the cache: $MAREY_CACHE, else $XDG_CACHE_HOME/marey, else ~/.cache/marey. An object of the
cache belongs to one C library too, since home folders are shared by unlike machines.

Beside an object of the cache lies its seal, its size and SHA-256: to load a damaged one would
end the process, so what does not match its seal is compiled again. An object that comes ready
needs none.

Many ranks may start at once: they compile under a file lock, once, and a file appears under
its name only when it is whole.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from marey._errors import CollectorError
from marey._places import PACKAGE, collector_folder, include_folder
from marey._toolchain import (
    NoTorchError,
    Torch,
    compile_collector,
    compile_error,
    find_compiler,
    find_torch,
)

__all__ = ["CollectorError", "Status", "build", "find", "status"]

NAME = "torch"
SOURCE = "collector.cpp"
READY_FOLDER = PACKAGE / "collectors" / NAME / "ready"
ANOTHER_CACHE = "name a folder that can be written in MAREY_CACHE"

State: TypeAlias = Literal["ready", "not built", "cannot build", "no torch", "refused"]


@dataclass(frozen=True)
class Status:
    """How things stand with a collector; nothing is built to find out."""

    name: str
    state: State
    detail: str
    remedy: str  # empty if there is nothing to do
    path: Path | None  # of the object, where it is ready


# ---- the key -------------------------------------------------------------------------------------


def _sources() -> list[Path]:
    """All that is compiled: the source first, the contract last."""
    folder = collector_folder(NAME)
    source, contract = folder / SOURCE, include_folder() / "marey" / "collector.h"
    for path in (source, contract):
        if not path.is_file():
            raise CollectorError(
                f"cannot find a source of the torch collector, '{path}' is not there",
                "install the package again",
            )
    return [source, *sorted(folder.glob("*.h")), contract]


def _file_name(torch: Torch) -> str:
    sources = _sources()
    digest = hashlib.sha256("\0".join([torch.commit, *torch.compile_flags()]).encode())
    for path in sources:
        data = path.read_bytes()
        digest.update(f"\n{path.name} {len(data)}\n".encode() + data)

    sink = re.search(r"#define MAREY_SINK_VERSION (\d+)", sources[-1].read_text(encoding="utf-8"))
    version = re.sub(r"[^\w.+-]", "_", torch.version)
    return (
        f"{NAME}-{version}-abi{int(torch.has_cxx11_abi)}-sink{sink[1] if sink else 0}"
        f"-{os.uname().machine}-{digest.hexdigest()[:16]}.so"
    )


# ---- the cache -----------------------------------------------------------------------------------


def _c_library() -> str:
    """Such as glibc-2.36."""
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        name = None
    return name.replace(" ", "-") if name else "libc"


def _cache_folder() -> Path:
    named = os.environ.get("MAREY_CACHE")
    if named:
        return Path(os.path.abspath(named)) / _c_library()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    except RuntimeError as error:
        raise CollectorError("cannot find a home folder for the cache", ANOTHER_CACHE) from error
    return base / "marey" / _c_library()


def _refusal(folder: Path, error: OSError) -> CollectorError:
    words = (error.strerror or str(error)).lower()
    return CollectorError(f"cannot write to the cache '{folder}': {words}", ANOTHER_CACHE)


def _make_cache() -> Path:
    folder = _cache_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise _refusal(folder, error) from error


def _cache_can_be_made() -> None:
    """Raises CollectorError if not. Makes nothing."""
    folder = _cache_folder()
    above = folder
    while not above.exists() and above != above.parent:
        above = above.parent
    if not above.is_dir():
        raise _refusal(folder, NotADirectoryError(0, f"'{above}' is no folder"))
    if not os.access(above, os.W_OK | os.X_OK):
        raise _refusal(folder, PermissionError(0, f"permission denied in '{above}'"))


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process or thread at a time. Where the file system has no locks there is none:
    some then compile in vain, and the rename keeps the result whole."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# ---- seals ---------------------------------------------------------------------------------------


def _seal_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _seal(path: Path) -> str:
    """Such as "153600 9f86d0…": cheap beside loading the object."""
    data = path.read_bytes()
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n"


def _is_whole(path: Path) -> bool:
    """It is there, and as it was when it was compiled."""
    try:
        return _seal(path) == _seal_path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _sync(path: Path) -> None:
    """Brought to the disk, so that no crash of the machine leaves a name with half a file.
    Some file systems know no such thing of a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- finding and building ------------------------------------------------------------------------


def _find(name: str) -> Path | None:
    ready, cached = READY_FOLDER / name, _cache_folder() / name
    if ready.is_file() and (_is_whole(ready) or not _seal_path(ready).exists()):
        return ready
    return cached if _is_whole(cached) else None


def _say(words: str) -> None:
    """Compiling takes long enough to ask what is going on."""
    if sys.stderr is None:
        return
    with contextlib.suppress(Exception):
        print(f"marey: {words}", file=sys.stderr, flush=True)


def find() -> Path | None:
    """The object for the torch at hand, if there is one. Imports torch.

    Raises CollectorError if there is no torch.
    """
    return _find(_file_name(find_torch()))


def _load(path: Path, torch: Torch, log: Path) -> None:
    """Loads it to see that it can be: this compiler's C++ library may be newer than the one
    that torch brought into the process."""
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        said = f"error: what was compiled cannot be loaded: {error}"
        log.write_text(said, encoding="utf-8")
        raise compile_error(torch, said, log) from error


def _check_tools(torch: Torch) -> None:
    """Raises CollectorError if something is missing to compile with."""
    torch.include_folders()
    torch.libraries()
    find_compiler()


def _make_part(target: Path) -> Path:
    descriptor, name = tempfile.mkstemp(".part", target.stem, target.parent)
    os.close(descriptor)
    return Path(name)


def _build(torch: Torch, target: Path) -> None:
    log = target.with_suffix(".log")
    _check_tools(torch)
    if target.exists() and not _is_whole(target):
        _say(f"'{target}' is damaged and is compiled again")
    _say(f"compiling the torch collector for torch {torch.version} (once, about 10 s)")
    part, seal = _make_part(target), _make_part(target)
    try:
        compile_collector(torch, _sources()[0], include_folder(), part, log)
        part.chmod(0o755)
        _load(part, torch, log)
        seal.write_text(_seal(part), encoding="utf-8")
        # The seal first: alone, or beside another object, it vouches for nothing.
        for file, name in ((seal, _seal_path(target)), (part, target)):
            _sync(file)
            file.replace(name)
        _sync(target.parent)
    finally:
        part.unlink(missing_ok=True)
        seal.unlink(missing_ok=True)


_building = threading.Lock()


def build(force: bool = False) -> Path:
    """The object for the torch at hand, compiled if need be or if forced. Takes some seconds
    then, so it is called when a profiler is made, not when it starts.

    Raises CollectorError, with the reason and the remedy.
    """
    with _building:
        return _build_alone(force)


def _build_alone(force: bool) -> Path:
    torch = find_torch()
    name = _file_name(torch)
    found = _find(name)
    if found is not None and not force:
        return found
    target = _make_cache() / name
    try:
        with _lock(target.with_suffix(".lock")):
            # Another process may have done it while this one waited.
            if force or not _is_whole(target):
                _build(torch, target)
    except OSError as error:
        raise _refusal(target.parent, error) from error
    return target


# ---- how things stand ----------------------------------------------------------------------------


def _others(version: str) -> str:
    """Which other torch there are objects for. One for the same torch is of another Marey."""
    others = {
        path.name.split("-")[1]
        for folder in (READY_FOLDER, _cache_folder())
        for path in folder.glob(f"{NAME}-*.so")
    } - {version}
    return f", only for {', '.join(sorted(others))}" if others else ""


def _status(torch: Torch) -> Status:
    name = _file_name(torch)
    found = _find(name)
    if found is not None:
        return Status(NAME, "ready", f"built for torch {torch.version}", "", found)
    try:
        _cache_can_be_made()
    except CollectorError as error:
        return Status(NAME, "refused", error.reason, error.remedy, None)

    cached = _cache_folder() / name
    log = cached.with_suffix(".log")
    _check_tools(torch)
    if log.is_file():
        # The first line is the command.
        said = log.read_text(encoding="utf-8", errors="replace").partition("\n\n")
        raise compile_error(torch, said[2] or said[0], log)
    detail = f"none for torch {torch.version} yet{_others(torch.version)}"
    if cached.is_file():
        detail = f"'{cached}' is damaged and is compiled again when it is needed"
    return Status(NAME, "not built", detail, "run 'marey doctor --build'", None)


def status() -> Status:
    """How things stand. Imports torch, builds nothing, raises nothing."""
    try:
        return _status(find_torch())
    except NoTorchError as error:
        return Status(NAME, "no torch", error.reason, error.remedy, None)
    except CollectorError as error:
        return Status(NAME, "cannot build", error.reason, error.remedy, None)
    except OSError as error:
        return Status(NAME, "cannot build", str(error), "install the package again", None)
