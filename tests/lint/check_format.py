"""All C is laid out by clang-format 14 with .clang-format; `tools/format.sh` does it.

Exit status 77 (skipped) if there is no clang-format-14: other versions lay out differently.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import lint

SOURCES = ("include/**/*.h", "src/**/*.[ch]", "cli/**/*.[ch]", "python/**/*.[ch]",
           "tests/**/*.[ch]", "examples/**/*.[ch]", "benchmarks/**/*.[ch]", "benchmarks/**/*.cpp")


def main() -> int:
    program = shutil.which("clang-format-14")
    if program is None:
        print("skipped: 'clang-format-14' is not installed")
        return 77
    paths = lint.files(*SOURCES)
    if sys.argv[1:] == ["--fix"]:
        return subprocess.run([program, "-i", *paths], check=False).returncode
    bad = 0
    for path in paths:
        text = path.read_bytes()
        wanted = subprocess.run([program, f"--assume-filename={path}"], input=text,
                                cwd=lint.ROOT, capture_output=True, check=True).stdout
        if text != wanted:
            print(f"{lint.name(path)}: not laid out by .clang-format, run tools/format.sh")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
