"""check_headers.py CC HEADER - a public header compiles alone as C17 and as C++17.

Exit status 77 (skipped) if the compiler has no C++ part.
"""

from __future__ import annotations

import subprocess
import sys

import lint

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wundef", "-Werror")


def compiles(compiler: list[str], language: str, standard: str, source: str) -> bool:
    command = [*compiler, "-fsyntax-only", "-x", language, f"-std={standard}", *WARNINGS,
               "-I", str(lint.ROOT / "include"), "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stderr)
    return done.returncode == 0


def main() -> int:
    *compiler, header = sys.argv[1:]
    # Twice, since a guard that is missing shows only then.
    source = f'#include "marey/{header}"\n#include "marey/{header}"\n'
    if not compiles(compiler, "c", "c17", source):
        return 1
    if not compiles(compiler, "c++", "c++17", ""):
        print("skipped: the compiler has no C++ part")
        return 77
    return 0 if compiles(compiler, "c++", "c++17", source) else 1


if __name__ == "__main__":
    sys.exit(main())
