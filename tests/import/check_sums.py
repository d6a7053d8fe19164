"""Compare the importer with a slow exact reader: json and integers only.

    check_sums.py SUMS_PROGRAM [--all-ways] [--public] FILE_OR_FOLDER...

For each trace: counts and sums of start, duration, correlation, flow ids, names, offsets and
lengths of args must agree. --all-ways reads each file also with tiny windows, the portable
scanner and without templates. --public adds the folder that MAREY_PUBLIC_TRACES names, but
its files over 4 MB (json takes minutes for them) only if MAREY_ALL_PUBLIC_TRACES is set.
Files that Python's json refuses are left out and counted.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

WORD = 1 << 64
LIMIT_NS = 1 << 62
CATEGORIES = {
    "kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset",
    "memset": "memset", "cuda_runtime": "runtime", "runtime": "runtime", "hip_runtime": "runtime",
    "xpu_runtime": "runtime", "mtia_runtime": "runtime", "glow_runtime": "runtime",
    "privateuse1_runtime": "runtime", "cuda_driver": "driver", "xpu_driver": "driver",
    "privateuse1_driver": "driver",
}
DEVICE = ("kernel", "memcpy", "memset")


class Span:
    """A number kept as text, so that nothing passes through a double."""

    def __init__(self, text: str) -> None:
        self.text = text


def read_text(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
VALUE = re.compile(r"\s*:\s*(.)", re.DOTALL)


def record_spans(text: str, start: int) -> list[tuple[int, int]]:
    """Where the records of the list that opens at start begin and end."""
    spans = []
    depth = begin = 0
    for token in TOKEN.finditer(text, start):
        char = token.group()[0]
        if char in "{[":
            if depth == 1:
                begin = token.start()
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 1 and char == "}":
                spans.append((begin, token.end()))
            if depth == 0:
                break
    return spans


def to_ns(value: Any) -> int | None:
    if isinstance(value, Span):
        value = value.text
    if not isinstance(value, str):
        return None
    try:
        return int(Decimal(value) * 1000)
    except ArithmeticError:
        return None


def text_of(value: Any) -> str:
    return value.text if isinstance(value, Span) else str(value)


def id64(value: Any, ids_seen: set[str]) -> int | None:
    text = text_of(value)
    if text.isdigit() and int(text) < 1 << 63:
        return int(text)
    ids_seen.add(text)
    return None


def text_sum(text: str) -> int:
    data = text.encode("utf-8")
    return sum(data) + len(data)


def expect(path: Path) -> dict[str, int] | None:
    data = read_text(path)
    text = data.decode("latin-1")  # one character a byte, for offsets
    head = json.loads(data.decode("utf-8-sig", "replace"), strict=False, parse_int=Span,
                      parse_float=Span)
    if isinstance(head, dict):
        start = find_list(text)
    else:
        start = text.index("[")
    if isinstance(head, list) and any("traceEvents" in record for record in head):
        return None  # whole documents: each is a source of its own
    records = head["traceEvents"] if isinstance(head, dict) else head
    spans = record_spans(text, start)
    assert len(spans) == len(records)
    return add_up(text, head, records, spans, len(data))


def find_list(text: str) -> int:
    """The '[' of traceEvents, which is a key at depth 1."""
    depth = 0
    for token in TOKEN.finditer(text):
        char = token.group()[0]
        if depth == 1 and token.group() == '"traceEvents"' and VALUE.match(text, token.end()):
            return text.index("[", token.end())
        depth += (char in "{[") - (char in "}]")
    raise ValueError("no list")


def args_length(text: str) -> int:
    """Length of the args object of a record's text."""
    depth = length = 0
    begin = -1
    for token in TOKEN.finditer(text):
        char = token.group()[0]
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 1 and begin >= 0:
                length = token.end() - begin
                begin = -1
        elif depth == 1 and token.group() == '"args"':
            value = VALUE.match(text, token.end())
            if value:  # not where "args" is a value itself
                begin = value.start(1) if value.group(1) == "{" else -1
    return length


def add_up(text: str, head: Any, records: list[Any], spans: list[tuple[int, int]],
           size: int) -> dict[str, int] | None:
    out = dict.fromkeys(("slices", "start", "dur", "unknown_dur", "name", "offset", "links",
                         "correlation", "flow_id", "flows", "flows_ts", "instants", "instants_ts",
                         "counters", "counters_ts", "args", "metadata"), 0)
    info = head if isinstance(head, dict) else {}
    base = int(text_of(info["baseTimeNanoseconds"])) if "baseTimeNanoseconds" in info else 0
    wide: set[str] = set()
    for record, (begin, end) in zip(records, spans):
        phase = record.get("ph")
        if phase in ("B", "E", "b", "e", "S", "F"):
            return None
        if phase == "M":
            out["metadata"] += 1
            continue
        ts = to_ns(record.get("ts"))
        if ts is None or abs(ts) > LIMIT_NS:
            continue
        if phase == "X":
            add_slice(out, record, ts + base, ts, text[begin:end], begin, wide)
        for what, phases in (("flows", "stf"), ("instants", "iIn"), ("counters", "C")):
            if phase in list(phases) and (what != "flows" or "id" in record):
                out[what] += 1
                out[what + "_ts"] += ts + base
        if phase in list("stf") and "id" in record:
            out["flow_id"] += id64(record["id"], wide) or 0
    out["records"] = len(records)
    out["base"] = base
    out["size"] = size
    out["metas"] = len(info) - ("traceEvents" in info)
    rank = info.get("distributedInfo", {}).get("rank")
    out["rank"] = int(text_of(rank)) if rank is not None else 0
    if wide:  # ids that have no number of their own
        del out["correlation"], out["flow_id"]
    return out


def add_slice(out: dict[str, int], record: dict[str, Any], start: int, ts: int, text: str,
              begin: int, wide: set[str]) -> None:
    kind = CATEGORIES.get(str(record.get("cat")).lower())
    dur = to_ns(record.get("dur"))
    if dur is not None and (dur < 0 or (kind in DEVICE and dur == 0 and ts == 0)):
        return
    out["slices"] += 1
    out["start"] += start
    out["offset"] += begin
    out["args"] += args_length(text)
    if dur is None:
        out["unknown_dur"] += 1
    else:
        out["dur"] += dur
    if record.get("name") is not None:
        out["name"] += text_sum(text_of(record["name"]))
    correlation = (record.get("args") or {}).get("correlation")
    if kind and correlation is not None:
        out["links"] += 1
        out["correlation"] += id64(correlation, wide) or 0


def got(program: str, path: Path, way: list[str]) -> dict[str, int]:
    run = subprocess.run([program, *way, str(path)], capture_output=True, text=True, check=False)
    return json.loads(run.stdout)


def files_of(argument: str) -> list[Path]:
    path = Path(argument)
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.name.endswith((".json", ".json.gz")))
    return [path]


def public_files() -> list[Path]:
    folder = os.environ.get("MAREY_PUBLIC_TRACES")
    if not folder:
        print("public traces: skipped, MAREY_PUBLIC_TRACES is not set")
        return []
    limit = 1 << 40 if os.environ.get("MAREY_ALL_PUBLIC_TRACES") else 4_000_000
    return [path for path in files_of(folder) if len(read_text(path)) <= limit]


def main() -> int:
    options = [word for word in sys.argv[2:] if word.startswith("--")]
    program, *arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
    ways: list[list[str]] = [[]]
    if "--all-ways" in options:
        ways += [[w, p, t] for w in ("64", "1000") for p in "01" for t in "01"]
        ways += [["0", "1", "0"], ["0", "0", "1"]]
    files = [file for argument in arguments for file in files_of(argument)]
    if "--public" in options:
        files += public_files()
    n_checked = n_left_out = n_wrong = 0
    for path in files:
        try:
            wanted = expect(path)
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, IndexError,
                AssertionError):
            wanted = None
        if wanted is None:
            n_left_out += 1
            continue
        for way in ways:
            found = got(program, path, way)
            n_checked += 1
            wrong = {key: (value % WORD, found.get(key)) for key, value in wanted.items()
                     if found.get(key, 0) % WORD != value % WORD}
            if wrong:
                n_wrong += 1
                print(f"{path} {way}: {wrong}")
    print(f"{n_checked} comparisons, {n_wrong} wrong; {n_left_out} files left out")
    return 1 if n_wrong or n_checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
