"""run.py [--json PATH] [--only PREFIX] [--size MB] [--rounds N] [--full] [--clock cpu] - the benchmarks of `make bench`.

Builds the programs in out/bench/build, makes the files once in out/bench, lets Marey and its
peers take turns (a round to warm up, then those that count) and prints median and best of
each row, with the same numbers as JSON on request. Peers that cannot be had are told and
left out. --clock cpu takes the time of the processor instead of that on the wall: for a machine
that others use too. --full gives torch's profiler a million events in all contests, which takes minutes. --only huge opens a file of 10 GB and tells what stays in memory. MAREY_PUBLIC_TRACES names a folder of real files to read too.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import operator
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contests import Book, Contest, Contestant, Files, Measure, Target, Value, huge_contest
from contests_live import LiveBook
from contests_record import RecordBook
from pairs import by_round, interval, of_places
from places import lay_anew
from servers import Answer, Server, Unavailable, first_line, machine, run_command

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "out/bench"
BUILD = CACHE / "build"
REAL_BYTES = 5_000_000  # smaller files are read in no time

UNITS = {
    "gb_per_s": ("GB/s", max), "ns_per_event": ("ns", min), "bytes_per_event": ("B", min),
    "ms": ("ms", min), "mb": ("MB", min), "per_million": ("/M", min),
}


def build() -> None:
    """Makes the programs; ninja tells what went wrong."""
    options = ["-Dbenchmarks=true", "-Dbuildtype=release", "-Dtests=disabled", "-Dpython=auto",
               "-Dexamples=false"]
    stamp = BUILD / ".options"
    if not stamp.exists() or stamp.read_text() != " ".join(options):
        shutil.rmtree(BUILD, ignore_errors=True)
        subprocess.run(["meson", "setup", str(BUILD), str(ROOT), *options], check=True,
                       stdout=subprocess.DEVNULL)
        stamp.write_text(" ".join(options))
    if subprocess.run(["ninja", "--quiet", "-C", str(BUILD)], check=False).returncode != 0:
        sys.exit(f"run.py: cannot build the programs in '{BUILD}'")


# ---- files ------------------------------------------------------------------------------


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name to write to; what is not written to its end never has that of the file."""
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def generate(name: str, size_mb: float, layout: str = "kineto") -> Path:
    """A made-up trace; made anew when the generator changed."""
    path, program = CACHE / name, BUILD / "benchmarks/generate_trace"
    if not path.exists() or path.stat().st_mtime < program.stat().st_mtime:
        with whole(path) as part:
            subprocess.run([str(program), str(part), str(size_mb), "--layout", layout], check=True)
    return path


def compress(path: Path) -> Path:
    """Beside it, as gzip -6 would, in one member as torch writes it."""
    packed = path.with_name(path.name + ".gz")
    if packed.exists() and packed.stat().st_mtime >= path.stat().st_mtime:
        return packed
    deflate = zlib.compressobj(6, zlib.DEFLATED, 31)
    with whole(packed) as part, path.open("rb") as file, part.open("wb") as out:
        while piece := file.read(1 << 22):
            out.write(deflate.compress(piece))
        out.write(deflate.flush())
    return packed


def real_files() -> dict[str, Path]:
    """Inflated copies of the larger real traces."""
    folder = os.environ.get("MAREY_PUBLIC_TRACES")
    if not folder:
        print("skipped: real files, MAREY_PUBLIC_TRACES is not set")
        return {}
    found = {}
    (CACHE / "real").mkdir(exist_ok=True)
    for packed in sorted(Path(folder).rglob("*.json.gz")):
        name = packed.name.removesuffix(".json.gz")
        path = CACHE / "real" / f"{name}.json"
        if not path.exists():
            shutil.copyfile(packed, CACHE / "real" / packed.name)
            with whole(path) as part, gzip.open(packed) as file, part.open("wb") as out:
                shutil.copyfileobj(file, out)
        if path.stat().st_size >= REAL_BYTES:
            found[name] = path
    return found


def make_files(size_mb: float, out: Path) -> Files:
    big = generate(f"trace_{size_mb:g}MB.json", size_mb)
    part = generate("trace_20MB.json", 20)
    real = real_files()
    largest = max(real.values(), key=lambda path: path.stat().st_size, default=None)
    if largest is None or largest.stat().st_size < 80_000_000:
        largest = generate("trace_87MB.json", 87)
        compress(largest)
    return Files(
        programs=BUILD / "benchmarks", command=BUILD / "cli/marey", big=big, big_gz=compress(big),
        minified=generate("trace_100MB_minified.json", 100, "minified"),
        newest=generate("trace_100MB_newest.json", 100, "newest"),
        part=part, part_gz=compress(part), out=out, middle=largest,
        middle_name=largest.name, real=real,
    )


# ---- measuring ----------------------------------------------------------------------------


@dataclass
class Row:
    key: str
    label: str
    memory: str
    unit: str
    samples: list[float]
    told_best: float | None = None    # where it is not the best of the samples
    times_marey: float | None = None  # how many times as good Marey is, by medians
    limits: tuple[float, float] | None = None  # of the median, where rounds are pairs
    goal: dict[str, Any] | None = None  # a target, and what came of it
    places: int = 1                   # that the samples are of, one after the other

    @property
    def median(self) -> float:
        return statistics.median(of_places(self.samples, self.places))

    @property
    def best(self) -> float:
        return self.told_best if self.told_best is not None else UNITS[self.unit][1](self.samples)


class Hall:
    """The programs of one contest, started when first asked."""

    def __init__(self, cpu: int | None, is_cpu_clock: bool) -> None:
        self.cpu = cpu
        self.is_cpu_clock = is_cpu_clock
        self.place = 0
        self.servers: dict[tuple[str, ...], Server] = {}

    def ask(self, contestant: Contestant) -> Answer:
        if not contestant.request:
            return run_command(list(contestant.argv), self.is_cpu_clock)
        if contestant.fresh:
            self.close(contestant.argv)
        if contestant.argv not in self.servers:
            argv = [*contestant.argv, *(["cpu"] if self.is_cpu_clock else [])]
            self.servers[contestant.argv] = Server(argv, self.cpu, self.place)
        return self.servers[contestant.argv].ask(*contestant.request)

    def close(self, argv: tuple[str, ...]) -> None:
        if argv in self.servers:
            self.servers.pop(argv).close()

    def close_all(self) -> None:
        for argv in list(self.servers):
            self.close(argv)

    def move(self, place: int, objects: list[Path]) -> None:
        """What is asked next starts there."""
        self.close_all()
        self.place = place
        lay_anew(objects)


def check(contest: Contest, label: str, answer: Answer, agreed: Answer) -> None:
    """Ends the run if an answer differs from those before it."""
    for name in contest.agree:
        if name in answer and agreed.setdefault(name, answer[name]) != answer[name]:
            sys.exit(f"run.py: {contest.title}: {label} has {name} {answer[name]}, "
                     f"others have {agreed[name]}: no speed is worth this")


def in_turn(contest: Contest, order: random.Random) -> list[Contestant]:
    """Of one round: as they stand in the table, or shuffled."""
    if contest.is_paired:
        return order.sample(contest.contestants, len(contest.contestants))
    return contest.contestants


def turns_of(contest: Contest, rounds: int, hall: Hall) -> Iterator[tuple[int, Contestant]]:
    """Who is asked, one after the other, and in which round of a place. Round 0 warms up; new
    processes are never warm, and sit it out."""
    order = random.Random(contest.title)
    for place in range(contest.places):
        if contest.places > 1:
            hall.move(place, contest.objects())
        for turn in range(rounds + 1):
            for c in in_turn(contest, order):
                if turn <= c.rounds and (turn > 0 or not c.fresh):
                    yield turn, c


def take_turns(contest: Contest, rounds: int, hall: Hall) -> dict[str, list[Answer]]:
    """Answers by contestant; those of a round 0 are only checked. Who fails once has none."""
    answers: dict[str, list[Answer]] = {c.key: [] for c in contest.contestants}
    missing: set[str] = set()
    agreed: Answer = {}
    for turn, c in turns_of(contest, rounds, hall):
        if c.key in missing:
            continue
        try:
            answer = hall.ask(c)
        except Unavailable as error:
            missing.add(c.key)
            answers[c.key].clear()
            hall.close(c.argv)
            print(f"skipped: {c.label}: {error}")
            continue
        check(contest, c.label, answer, agreed)
        if turn > 0:
            answers[c.key].append(answer)
    hall.close_all()
    return answers


def values(value: Value, answers: list[Answer]) -> list[float]:
    """Of those that tell it."""
    return [number for number in map(value, answers) if number is not None]


def rows_of(contest: Contest, measure: Measure, answers: dict[str, list[Answer]]) -> list[Row]:
    """The rows of those that answered; peers are compared with ours."""
    rows: list[Row] = []
    main: dict[str, Row] = {}
    base = values(measure.value, answers.get(contest.above, []))
    of_marey = {c.key for c in contest.contestants if c.is_ours}
    for c in contest.contestants:
        samples = values(measure.value, answers[c.key])
        if not samples:
            continue
        if contest.above and c.key != contest.above:
            samples = by_round(samples, base)
        name = ".".join(part for part in (c.key, measure.name, measure.unit) if part)
        row = Row(name, c.label, c.memory, measure.unit, samples,
                  measure.best(answers[c.key]) if measure.best else None, places=contest.places)
        if contest.is_paired:
            row.limits = interval(of_places(samples, row.places))
        against = c.against or contest.contestants[0].key
        ours = main.get(against)
        if not c.is_ours and ours is not None and against in of_marey:
            is_rate = UNITS[row.unit][1] is max
            row.times_marey = ours.median / row.median if is_rate else row.median / ours.median
        main[c.key] = row
        rows.append(row)
        for part, value in c.parts.items() if measure.name == "" else ():
            rows.append(Row(f"{c.key}.{part}.{contest.unit}", f"  of it {part.replace('_', ' ')}",
                            c.memory, contest.unit, values(value, answers[c.key])))
    for target in measure.targets:
        judge(target, main)
    return rows


def judge(target: Target, rows: dict[str, Row]) -> None:
    """Tells a row what came of its target, if both rows are there. Rounds of rows with limits are
    pairs, and so are their differences and ratios."""
    if target.key not in rows or target.against not in rows:
        return
    row, other = rows[target.key], rows[target.against]
    goal: dict[str, Any] = {"against": other.key}
    if target.most_above is not None:
        pairs = of_places(by_round(row.samples, other.samples), row.places)
        goal |= {"most_above": target.most_above, "reached": statistics.median(pairs),
                 "reached_by_best": row.best - other.best}
        goal["is_met"] = goal["reached"] <= target.most_above
    elif target.least_times is not None:
        pairs = of_places(by_round(other.samples, row.samples, operator.truediv),
                          row.places) if row.limits else []
        goal |= {"least_times": target.least_times,
                 "reached": statistics.median(pairs) if pairs else other.median / row.median,
                 "reached_by_best": other.best / row.best}
        goal["is_met"] = goal["reached"] >= target.least_times
    if row.limits is not None:
        goal["limits"] = interval(pairs)
    row.goal = goal


def short(value: float) -> str:
    """Four digits, and no exponents."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def limits_text(limits: tuple[float, float]) -> str:
    return f"{short(limits[0])} to {short(limits[1])}"


def show(title: str, rows: list[Row]) -> None:
    print(f"\n{title}")
    is_paired = any(row.limits for row in rows)
    second, width = ("95 in 100", 18) if is_paired else ("best", 9)
    print(f"  {'':42} {'memory':14} {'median':>9} {second:>{width}}       {'marey is':>9}")
    for row in rows:
        times = f"{row.times_marey:8.2f}x" if row.times_marey is not None else ""
        what = limits_text(row.limits) if row.limits else short(row.best)
        print(f"  {row.label:42} {row.memory:14} {short(row.median):>9} {what:>{width}} "
              f"{UNITS[row.unit][0]:5} {times}")
    for row in rows:
        if row.goal:
            print(f"  target: {goal_text(row, row.goal)}")


def goal_text(row: Row, goal: dict[str, Any]) -> str:
    unit, verdict = UNITS[row.unit][0], "met" if goal["is_met"] else "not met"
    if "most_above" in goal:
        wanted = f"at most {goal['against']} + {goal['most_above']:g} {unit}"
        reached = f"{goal['reached']:+.1f}"
    else:
        wanted = f"{goal['least_times']:g} times as good as {goal['against']}"
        reached = short(goal["reached"])
    if "limits" in goal:
        reached += f" ({limits_text(goal['limits'])})"
    elif "most_above" in goal:
        reached += f", by the best {goal['reached_by_best']:+.1f}"
    else:
        reached += f", by the best {short(goal['reached_by_best'])}"
    return f"{row.key} is {wanted}: {reached}: {verdict}"


# ---- main -------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--json", type=Path, help="write the rows there too")
    parser.add_argument("--only", default="", help="only contests with a key that begins so")
    parser.add_argument("--size", type=float,
                        help="MB of the large file (500; with --only huge 10000)")
    parser.add_argument("--rounds", type=int, default=1000, help="at most that many rounds")
    parser.add_argument("--full", action="store_true", help="a million events for torch too")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    return parser.parse_args()


def huge_contests(size_mb: float) -> Iterator[Contest]:
    """Not among the others: the file takes minutes and as much of the disk, and is removed."""
    path = generate(f"trace_{size_mb:g}MB.json", size_mb)
    try:
        yield huge_contest(BUILD / "benchmarks", BUILD / "cli/marey", path)
    finally:
        path.unlink()


def contests(options: argparse.Namespace, out: Path) -> Iterator[Contest]:
    """Those that are asked for. Files are made only if one of them reads files."""
    def asked(all_of: list[Contest]) -> list[Contest]:
        return [contest for contest in all_of
                if any(c.key.startswith(options.only) for c in contest.contestants)]

    if options.only.split(".")[0] == "huge":
        yield from huge_contests(options.size or 10_000)
        return
    without_files = asked([
        *RecordBook(BUILD / "benchmarks", out).contests(),
        *LiveBook(BUILD / "python", CACHE / "collectors", options.full).contests(),
    ])
    yield from without_files
    if not options.only or not without_files:
        yield from asked(Book(make_files(options.size or 500, out)).contests())


def main() -> None:
    options = arguments()
    started = time.monotonic()
    CACHE.mkdir(parents=True, exist_ok=True)
    build()
    about = machine() | {"clock": options.clock}
    about["simdjson"] = first_line(str(BUILD / "benchmarks/peer_simdjson"), "--version")
    about["gzip"] = "ISA-L" if "libisal" in subprocess.run(
        ["ldd", str(BUILD / "cli/marey")], capture_output=True, text=True, check=False
    ).stdout else "zlib"
    for name, value in about.items():
        print(f"{name.replace('_', ' ')}: {value}")
    out = CACHE / "export.json"
    rows: list[Row] = []
    cpu = max(os.sched_getaffinity(0))
    for contest in contests(options, out):
        hall = Hall(cpu if contest.pinned else None, options.clock == "cpu")
        answers = take_turns(contest, min(contest.rounds, options.rounds), hall)
        for measure in contest.measures():
            new = rows_of(contest, measure, answers)
            show(measure.title, new)
            rows += new
    for path in (out, out.with_name(out.name + ".gz")):
        path.unlink(missing_ok=True)
    print(f"\n{len(rows)} rows in {time.monotonic() - started:.0f} s")
    if options.json:
        table = {row.key: {"median": row.median, "best": row.best, "unit": UNITS[row.unit][0],
                           "memory": row.memory, "times_marey": row.times_marey,
                           "limits": row.limits, "target": row.goal, "places": row.places,
                           "samples": row.samples} for row in rows}
        options.json.write_text(json.dumps({"schema": 1, "machine": about, "rows": table}, indent=1))


if __name__ == "__main__":
    main()
