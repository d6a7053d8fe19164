"""check_wheel.py - `pip wheel .`, installed into a fresh environment outside the tree, works.

There: the package imports, `marey` and `python -m marey` print a table, and the programs of
examples/c compile against the installed headers and libmarey, by what `python -m marey
--cflags --libs` says, and print theirs. No torch is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRACE = ROOT / "tests/data/dataparallel_infer.json.gz"


def run(*command: object, cwd: Path) -> str:
    words = [str(word) for word in command]
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("PYTHON", "LD_", "VIRTUAL_ENV"))}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(text: str, part: str, what: str) -> None:
    if part not in text:
        sys.exit(f"{what} does not hold '{part}':\n{text}")
    print(f"ok: {what}")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder / "wheel", ROOT,
            cwd=folder)
        wheel = next((folder / "wheel").glob("marey-*.whl"))
        print(f"ok: {wheel.name}, {wheel.stat().st_size / 1024:.0f} KB")

        venv.create(folder / "venv", with_pip=True)
        python, marey = folder / "venv/bin/python", folder / "venv/bin/marey"
        run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel, cwd=folder)
        code = f"import marey; print(marey.load({str(TRACE)!r}).key_averages().table())"
        expect(run(python, "-c", code, cwd=folder), "aten::", "the table of the package")
        expect(run(marey, "report", TRACE, cwd=folder), "aten::", "the table of the command")
        expect(run(python, "-m", "marey", "report", TRACE, cwd=folder), "aten::",
               "the table of python -m marey")

        code = "from marey import _build; print(_build._sources(), _build.status().state)"
        said = run(python, "-c", code, cwd=folder)
        expect(said, "site-packages/marey/collectors/torch/collector.cpp", "the collector's source")
        expect(said, "no torch", "what the package says without torch")

        flags = run(python, "-m", "marey", "--cflags", "--libs", cwd=folder).split()
        if str(folder) not in " ".join(flags):
            sys.exit(f"the flags {flags} do not lead into the environment")
        print(run(sys.executable, ROOT / "tools/check_examples.py", *flags, cwd=folder), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
