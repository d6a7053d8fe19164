"""test.py quick|all - runs the steps of `make test` or `make check-all`.

The last line is `N passed, N failed`, with `, N skipped` where there were any, counted over
all cases of all steps. Exit status 1 if any failed.
"""

from __future__ import annotations

import sys
import time

from counts import Counts
from steps_all import ALL
from steps_quick import QUICK
from testing import BUILD, Session


def main(words: list[str]) -> int:
    tables = {"quick": QUICK, "all": QUICK + ALL}
    if not words or words[0] not in tables:
        print(__doc__, file=sys.stderr)
        return 2
    steps = [step for step in tables[words[0]] if not words[1:] or step.__name__ in words[1:]]

    BUILD.mkdir(exist_ok=True)
    session, total = Session(), Counts()
    for step in steps:
        began = time.monotonic()
        print(f"{step.__name__:12} {step.__doc__.strip().splitlines()[0]}", end=" ", flush=True)
        counts = step(session)
        total += counts
        print(f"[{counts.closing_line()}; {time.monotonic() - began:.0f} s]", flush=True)
    for note in session.notes:
        print(note)
    if total == Counts():
        print("no test ran")
        return 1
    print(total.closing_line(), flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
