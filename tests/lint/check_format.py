"""All C is laid out by clang-format 14 with .clang-format; `tools/format.sh` does it.

Exit status 77 (skipped) if there is no clang-format-14: other versions lay out differently.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import lint

SOURCES = ("include/**/*.h", "src/**/*.[ch]", "cli/**/*.[ch]", "python/**/*.[ch]",
           "tests/**/*.[ch]", "examples/**/*.[ch]", "benchmarks/**/*.[ch]", "benchmarks/**/*.cpp",
           "collectors/**/*.cpp", "collectors/**/*.h")


def main() -> int:
    program = shutil.which("clang-format-14")
    if program is None:
        print("skipped: 'clang-format-14' is not installed")
        return 77
    paths = lint.files(*SOURCES)
    if sys.argv[1:] == ["--fix"]:
        return subprocess.run([program, "-i", *paths], check=False).returncode
    done = subprocess.run([program, "--dry-run", "-Werror", *paths], cwd=lint.ROOT,
                          capture_output=True, text=True, check=False)
    bad = {line.split(":")[0] for line in done.stderr.splitlines() if ": error: " in line}
    for name in sorted(bad):
        print(f"{os.path.relpath(name, lint.ROOT)}: not laid out by .clang-format, run tools/format.sh")
    return 1 if bad or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
