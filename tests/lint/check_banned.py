"""What the core does not call: it does not print, exit, read the environment, set signal
handlers or take memory by itself. src/base/alloc.c alone calls malloc and friends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import lint

PRINTING = "printf vprintf puts putchar putc fprintf vfprintf dprintf fputs perror"
ENDING = "exit _exit _Exit quick_exit atexit abort raise longjmp"
SURROUNDINGS = "getenv secure_getenv setenv putenv signal sigaction setlocale system popen fork"
MEMORY = "malloc calloc realloc reallocarray free aligned_alloc posix_memalign strdup strndup " \
         "asprintf vasprintf getline alloca"
UNSAFE = "gets strcpy strcat sprintf vsprintf strtok rand srand atoi atol atof"

WHY = {
    **dict.fromkeys(PRINTING.split(), "the core does not print"),
    **dict.fromkeys(ENDING.split(), "the core does not end the process"),
    **dict.fromkeys(SURROUNDINGS.split(), "the core leaves its surroundings alone"),
    **dict.fromkeys(MEMORY.split(), "memory comes from struct marey_alloc, see base/alloc.h"),
    **dict.fromkeys(UNSAFE.split(), "there is a safer way"),
}
ALLOWED = {"src/base/alloc.c": set(MEMORY.split())}

# A call of that very name; not a member, not a longer name.
CALL = re.compile(r"(?<![\w.>])(" + "|".join(WHY) + r")[ \t]*\(")


def problems() -> Iterator[str]:
    for path in lint.files("src/**/*.[ch]"):
        text = lint.without_comments(path.read_text(encoding="utf-8"))
        allowed = ALLOWED.get(lint.name(path), set())
        for match in CALL.finditer(text):
            if match[1] not in allowed:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{lint.name(path)}:{line}: '{match[1]}' is banned here, {WHY[match[1]]}"


if __name__ == "__main__":
    lint.finish(problems())
