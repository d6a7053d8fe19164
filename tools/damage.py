"""damage.py MAREY TRACE… - the command on damaged traces: it ends with 0, 1 or 3, in time.

Each trace is cut short, and bytes of it are changed, removed and doubled, in the file as it is and
(for .gz) in the JSON inside. MAREY_TEST_SEED changes the seed; MAREY_DAMAGE the number of damaged files a trace.
Prints the command and keeps the file for each one that fails.
"""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

COMMANDS = (("report",), ("info",), ("report", "--compat", "torch"),
            ("report", "--group-by", "name,shape,stack:3", "--format", "json"))
GOOD_ENDS = (0, 1, 3)
LONGEST_S = 60
# What a parser is most likely to stumble over.
PIECES = (b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\x00", b"\xff", b"-", b"1e999", b"null",
          b"\\u0000", b'"ts": -1', b'"dur": 1e30', b"99999999999999999999")


def damaged(text: bytes, numbers: random.Random) -> bytes:
    """One to four changes at places picked at random."""
    data = bytearray(text)
    for _ in range(numbers.randint(1, 4)):
        at = numbers.randrange(len(data) + 1)
        length = numbers.choice((1, 1, 1, 7, 100, 5000))
        way = numbers.randrange(5)
        if way == 0:
            del data[at:]
        elif way == 1:
            del data[at:at + length]
        elif way == 2:
            data[at:at] = data[at:at + length]
        elif way == 3:
            data[at:at + 1] = bytes([numbers.randrange(256)])
        else:
            data[at:at] = numbers.choice(PIECES)
    return bytes(data)


def variants(trace: Path, numbers: random.Random, n: int) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of damaged files."""
    raw = trace.read_bytes()
    is_gzip = raw[:2] == b"\x1f\x8b"
    try:
        text = gzip.decompress(raw) if is_gzip else raw
    except EOFError:  # damaged already
        text = raw
    for i in range(n):
        yield f"{i}.json", damaged(text, numbers)
        if is_gzip and i % 4 == 0:
            yield f"{i}.json.gz", damaged(raw, numbers)


def is_survived(marey: str, words: tuple[str, ...], path: Path) -> bool:
    command = [marey, *words, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LONGEST_S, check=False)
        status, said = done.returncode, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        status, said = 124, f"not done after {LONGEST_S} s"
    is_told = status == 2 and "torch shows one " in said  # two traces in one file
    if (status in GOOD_ENDS or is_told) and "Sanitizer" not in said and "runtime error" not in said:
        return True
    print(f"exit {status}: {' '.join(command)}\n{said[-3000:]}")
    return False


def main() -> int:
    marey, traces = sys.argv[1], [Path(word) for word in sys.argv[2:]]
    seed = int(os.environ.get("MAREY_TEST_SEED", "1"))
    n = int(os.environ.get("MAREY_DAMAGE", "40"))
    print(f"seed {seed}")
    n_files = n_bad = 0
    kept = Path(tempfile.gettempdir()) / "marey-damage"
    with tempfile.TemporaryDirectory() as folder:
        for trace in traces:
            numbers = random.Random(f"{seed} {trace.name}")
            for name, data in variants(trace, numbers, n):
                path = Path(folder) / f"{trace.name.split('.')[0]}-{name}"
                path.write_bytes(data)
                words = COMMANDS[n_files % len(COMMANDS)]
                n_files += 1
                if not is_survived(marey, words, path):
                    n_bad += 1
                    kept.mkdir(exist_ok=True)
                    print(f"kept as {path.rename(kept / path.name)}")
                else:
                    path.unlink()
    print(f"{n_files} damaged files, {n_bad} not survived")
    return 1 if n_bad or not n_files else 0


if __name__ == "__main__":
    sys.exit(main())
