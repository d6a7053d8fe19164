"""Who includes whom, against layers.txt.

Inside src/ an include is "module/file.h" or "marey/file.h", never relative. What lies
outside (command, package, examples, benchmarks) sees only <marey/...> and its own folder; a
collector only marey/collector.h of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import lint

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FACES = ("cli", "python", "examples", "benchmarks", "collectors")


def layers() -> dict[str, set[str]]:
    """Each module and all that it may see, itself included."""
    table = {}
    for line in (lint.ROOT / "tests/lint/layers.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            module, _, rest = line.partition(":")
            table[module.strip()] = {module.strip(), *rest.split()}
    return table


def includes(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, name and whether in quotes, of each include."""
    text = lint.without_comments(path.read_text(encoding="utf-8"), keep_strings=True)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1] or match[2], bool(match[1])


def problems_of_core(table: dict[str, set[str]]) -> Iterator[str]:
    for path in lint.files("src/**/*.[ch]"):
        module = path.relative_to(lint.ROOT / "src").parts[0]
        if module not in table:
            yield f"{lint.name(path)}: module '{module}' has no row in tests/lint/layers.txt"
            continue
        for line, target, is_quoted in includes(path):
            where = f"{lint.name(path)}:{line}"
            if not is_quoted and not target.startswith("marey/"):
                continue  # the system's
            folder, _, rest = target.partition("/")
            if not rest or folder.startswith("."):
                yield f"{where}: write \"{module}/{Path(target).name}\", not \"{target}\""
                continue
            seen = Path(rest).stem if folder == "marey" else folder
            if seen not in table[module]:
                yield f"{where}: '{module}' may not include '{target}', see tests/lint/layers.txt"


def problems_of_public(table: dict[str, set[str]]) -> Iterator[str]:
    for path in lint.files("include/marey/*.h"):
        for line, target, is_quoted in includes(path):
            if not is_quoted:
                continue
            if not target.startswith("marey/") or Path(target).stem not in table[path.stem]:
                yield f"{lint.name(path)}:{line}: '{path.name}' may not include '{target}'"


def problems_of_faces() -> Iterator[str]:
    modules = {path.name for path in (lint.ROOT / "src").iterdir() if path.is_dir()}
    for path in lint.files(*(f"{face}/**/*.[ch]*" for face in FACES)):
        if path.suffix not in (".c", ".h", ".cpp", ".hpp"):
            continue
        for line, target, _ in includes(path):
            if target.split("/")[0] in modules or target.startswith(("..", "src/")):
                yield f"{lint.name(path)}:{line}: only <marey/…> is seen from here, not '{target}'"
            if lint.name(path).startswith("collectors/") and target.startswith("marey/") \
                    and target != "marey/collector.h":
                yield f"{lint.name(path)}:{line}: a collector sees no '{target}'"


def main() -> None:
    table = layers()
    lint.finish([*problems_of_core(table), *problems_of_public(table), *problems_of_faces()])


if __name__ == "__main__":
    main()
