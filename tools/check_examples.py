"""check_examples.py FLAG... - the programs of examples/c work with an installed Marey.

FLAG... is what pkg-config or `python -m marey` says to compile and link with. Each program is
compiled with them alone, as its user would, and run; its table must hold what its row says. A
program whose other libraries are not there is left out, and that is said.

A new example: a row in EXAMPLES.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRACE = ROOT / "tests/data/dataparallel_infer.json.gz"


@dataclass
class Example:
    source: str
    argument: str                 # of the program; a relative path is in an empty folder
    prints: str
    any_of: tuple[str, ...] = ()  # names of pkg-config; one of them is needed too
    libraries: tuple[str, ...] = ()


EXAMPLES = (
    Example("report.c", str(TRACE), "aten::"),
    Example("train_mlp.c", "trace.json.gz", "backward 2", any_of=("blas", "openblas", "cblas"),
            libraries=("-pthread", "-lm")),
)


def run(*words: object, folder: str) -> str:
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def flags_of_any(names: tuple[str, ...]) -> list[str] | None:
    """Flags of the first that is there; None if none is."""
    for name in names:
        done = subprocess.run(("pkg-config", "--cflags", "--libs", name), capture_output=True,
                              text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split()
    return None


def main() -> int:
    flags = sys.argv[1:]
    unknown = {path.name for path in (ROOT / "examples/c").glob("*.c")} - {e.source for e in EXAMPLES}
    if unknown:
        sys.exit(f"no row in EXAMPLES of check_examples.py: {', '.join(sorted(unknown))}")
    for example in EXAMPLES:
        own = flags_of_any(example.any_of) if example.any_of else []
        if own is None:
            print(f"skipped: {example.source}, pkg-config knows none of {', '.join(example.any_of)}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            run("cc", "-std=c17", "-Wall", "-Werror", ROOT / "examples/c" / example.source, "-o",
                "program", *flags, *own, *example.libraries, folder=folder)
            text = run("./program", example.argument, folder=folder)
        if example.prints not in text:
            sys.exit(f"the table of {example.source} does not hold '{example.prints}':\n{text}")
        print(f"ok: the table of {example.source}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
