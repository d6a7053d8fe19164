"""What `make bench` measures: each contest is a table of contestants, Marey's first.

A new row is a Contestant; its key is stable and names it in the JSON file. Contestants of a
contest take turns, round by round, and must agree on the fields named in `agree` wherever
they answer them: a wrong reader is not fast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from servers import Answer

HERE = Path(__file__).resolve().parent
Value = Callable[[Answer], float | None]  # None: this answer does not tell it
Best = Callable[[list[Answer]], float]

SUMS = ("records", "complete", "ts_sum", "dur_sum", "correlation_sum")


@dataclass
class Contestant:
    key: str                        # of the row, without the unit
    label: str
    argv: tuple[str, ...]           # the program; with no request a command timed as a whole
    request: tuple[str, ...] = ()
    memory: str = ""                # "warm", "cold", or what else must be known
    against: str = ""               # the row of ours to compare a peer with; else the first
    rounds: int = 1000              # at most
    fresh: bool = False             # a new process for each round
    parts: dict[str, Value] = field(default_factory=dict)  # more rows from the same answers

    @property
    def is_ours(self) -> bool:
        return self.key.split(".")[-1].startswith("marey")


@dataclass
class Target:
    """What a row should reach beside another one; it is told, and decides nothing."""

    key: str                        # both as Contestant.key
    against: str
    most_above: float | None = None   # so much more, round by round, is good enough
    least_times: float | None = None  # so many times as good, by medians; by round where paired


@dataclass
class Measure:
    """One figure of the answers of a contest."""

    title: str
    unit: str                       # "gb_per_s", "ns_per_event", "bytes_per_event" or "ms"
    value: Value
    name: str = ""                  # between a contestant's key and the unit
    targets: tuple[Target, ...] = ()
    best: Best | None = None        # where it is not the best of the samples


@dataclass
class Contest:
    title: str                      # this and the unit are of the first figure
    unit: str
    value: Value
    contestants: list[Contestant]
    agree: tuple[str, ...] = ()
    rounds: int = 9                 # at each place
    pinned: bool = True             # everybody on one and the same CPU
    targets: tuple[Target, ...] = ()
    best: Best | None = None
    further: tuple[Measure, ...] = ()  # more figures of the same answers
    is_paired: bool = False         # short turns in another order each round; see pairs.py
    places: int = 1                 # that the rounds are taken at, as many at each; see places.py
    objects: Callable[[], list[Path]] = list  # the shared objects that are laid anew for each
    above: str = ""                 # the row that all others are told as what they add to, by round

    def measures(self) -> list[Measure]:
        first = Measure(self.title, self.unit, self.value, "", self.targets, self.best)
        return [first, *self.further]


@dataclass
class Files:
    programs: Path                  # folder of the built programs
    command: Path                   # the command `marey`
    big: Path                       # 500 MB
    big_gz: Path
    minified: Path
    newest: Path
    part: Path                      # for peers that would take minutes
    part_gz: Path
    out: Path                       # where exports go
    middle: Path                    # of the 87 MB class
    middle_name: str
    real: dict[str, Path]           # recorded by others


def rate(path: Path) -> Value:
    """GB/s of JSON text."""
    size = path.stat().st_size
    return lambda answer: size / float(answer["ns"])


def megabytes(name: str) -> Value:
    return lambda answer: answer[name] / 1e6 if name in answer else None


def per(count: str, time: str = "ns") -> Value:
    return lambda answer: float(answer[time]) / float(answer[count])


def milliseconds(answer: Answer) -> float:
    return float(answer["ns"]) / 1e6


def huge_contest(programs: Path, command: Path, path: Path) -> Contest:
    """A file that is many times as large as what it leaves in memory."""
    parts = {
        "columns": megabytes("column_bytes"), "strings": megabytes("string_bytes"),
        "made_later": megabytes("lazy_bytes"), "resident_after": megabytes("rss_after"),
    }
    bench = (str(programs / "bench_marey"),)
    return Contest(
        f"{path.name} opened, {path.stat().st_size / 1e9:.1f} GB, all cores: largest resident set",
        "mb", megabytes("rss_peak"),
        [
            Contestant("huge.import.marey", "marey import", bench, ("memory", str(path)), "cold",
                       fresh=True, parts=parts),
            Contestant("huge.info.marey", "marey info", (str(command), "info", str(path)),
                       memory="cold"),
            Contestant("huge.report.marey", "marey report", (str(command), "report", str(path)),
                       memory="cold"),
        ],
        rounds=3, pinned=False,
        further=(Measure("the same: JSON a second", "gb_per_s", rate(path), "rate"),),
    )


class Book:
    """Makes the contests for a set of files."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.marey = (str(files.programs / "bench_marey"),)
        self.simdjson = (str(files.programs / "peer_simdjson"),)
        self.floor = (str(files.programs / "bench_floor"),)
        self.python = (sys.executable, str(HERE / "peer_python.py"))
        self.hta = (sys.executable, str(HERE / "peer_hta.py"))
        self.duckdb = (sys.executable, str(HERE / "peer_duckdb.py"))

    def contests(self) -> list[Contest]:
        return [
            self.import_json(), self.import_shared(), self.import_layout("minified", self.files.minified),
            self.import_layout("newest", self.files.newest), self.import_part(), self.import_gz(),
            self.look(), *(self.import_real(name, path) for name, path in self.files.real.items()),
            self.memory(), self.averages(), self.export(), self.export_part(),
            *self.report(), self.doctor(), self.start_up(),
        ]

    def import_json(self) -> Contest:
        path = str(self.files.big)
        return Contest(
            f"import of {self.files.big.name}, one core", "gb_per_s", rate(self.files.big),
            [
                Contestant("import.json.marey", "marey import", self.marey,
                           ("import", path, "warm"), "warm"),
                Contestant("import.json.marey_cold", "marey import", self.marey,
                           ("import", path, "cold"), "cold"),
                Contestant("import.json.simdjson_fields", "simdjson on-demand, args skipped",
                           self.simdjson, ("fields", path), "file in memory"),
                Contestant("import.json.simdjson_all", "simdjson on-demand, all args",
                           self.simdjson, ("all", path), "file in memory"),
                Contestant("import.json.simdjson_load", "  the same with reading the file",
                           self.simdjson, ("load", path), "cold"),
                Contestant("import.json.floor_scan", "floor: scanner for this layout alone",
                           self.floor, ("scan", path), "warm"),
                Contestant("import.json.floor_read", "floor: read the file", self.floor,
                           ("read", path), "warm"),
                Contestant("import.json.floor_copy", "floor: memcpy of as many bytes",
                           self.floor, ("copy", path), "warm"),
            ],
            SUMS,
        )

    def import_shared(self) -> Contest:
        path = str(self.files.big)
        return Contest(
            f"import of {self.files.big.name}, all cores", "gb_per_s", rate(self.files.big),
            [
                Contestant("import.shared.marey", "marey import", self.marey,
                           ("import", path, "warm"), "warm"),
                Contestant("import.shared.marey_cold", "marey import", self.marey,
                           ("import", path, "cold"), "cold"),
                Contestant("import.shared.simdjson_all", "simdjson on-demand, all args, one core",
                           self.simdjson, ("all", path), "file in memory"),
                Contestant("import.shared.floor_scan", "floor: scanner for this layout, two threads",
                           self.floor, ("share", path), "warm"),
            ],
            SUMS, pinned=False,
        )

    def import_layout(self, name: str, file: Path) -> Contest:
        return Contest(
            f"import of {file.name}, one core", "gb_per_s", rate(file),
            [
                Contestant(f"import.{name}.marey", "marey import", self.marey,
                           ("import", str(file), "warm"), "warm"),
                Contestant(f"import.{name}.simdjson_all", "simdjson on-demand, all args",
                           self.simdjson, ("all", str(file)), "file in memory"),
            ],
            SUMS, rounds=5,
        )

    def import_part(self) -> Contest:
        path = str(self.files.part)
        return Contest(
            f"import of {self.files.part.name}, a part for the slow peers", "gb_per_s",
            rate(self.files.part),
            [
                Contestant("import.part.marey", "marey import", self.marey,
                           ("import", path, "warm"), "warm"),
                Contestant("import.part.orjson", "orjson.loads, objects only", self.python,
                           ("orjson", path), "file in memory"),
                Contestant("import.part.json", "json.loads, objects only", self.python,
                           ("json", path), "file in memory"),
                Contestant("import.part.exact", "reference: json.loads with decimals",
                           self.python, ("exact", path), "", rounds=1),
                Contestant("import.part.hta", "HTA parse_trace_file (.gz)", self.hta,
                           ("load", str(self.files.part_gz)), "cold"),
            ],
            SUMS, rounds=3,
        )

    def import_gz(self) -> Contest:
        path = str(self.files.big_gz)
        return Contest(
            f"import of {self.files.big_gz.name}, GB/s of the JSON inside, all cores", "gb_per_s",
            rate(self.files.big),
            [
                Contestant("import.gz.marey", "marey import", self.marey,
                           ("import", path, "warm"), "warm"),
                Contestant("import.gz.marey_cold", "marey import", self.marey,
                           ("import", path, "cold"), "cold"),
                Contestant("import.gz.simdjson", "zlib, then simdjson on-demand, all args",
                           self.simdjson, ("gzip", path), "warm", rounds=5),
                Contestant("import.gz.floor_isal", "floor: inflate with ISA-L", self.floor,
                           ("isal", path), "warm"),
                Contestant("import.gz.floor_zlib", "floor: inflate with zlib", self.floor,
                           ("zlib", path), "warm", rounds=5),
            ],
            SUMS, pinned=False,
        )

    def look(self) -> Contest:
        """As a viewer asks for the args of what is clicked on."""
        return Contest(
            "args of one event of a loaded trace, any of them", "ms", per("looks", "ms"),
            [
                Contestant("look.json.marey", "marey, plain", self.marey,
                           ("look", str(self.files.big), "1000"), "warm", rounds=3),
                Contestant("look.gz.marey", "marey, .gz", self.marey,
                           ("look", str(self.files.big_gz), "1000"), "warm", rounds=3),
            ],
            ("bytes",), pinned=False,
        )

    def import_real(self, name: str, path: Path) -> Contest:
        return Contest(
            f"import of {name}, recorded by others, {path.stat().st_size / 1e6:.1f} MB",
            "gb_per_s", rate(path),
            [
                Contestant(f"import.real.{name}.marey", "marey import", self.marey,
                           ("import", str(path), "warm"), "warm"),
                Contestant(f"import.real.{name}.simdjson_all", "simdjson on-demand, all args",
                           self.simdjson, ("all", str(path)), "file in memory"),
            ],
            ("records",), rounds=5,
        )

    def memory(self) -> Contest:
        path = str(self.files.big)
        parts: dict[str, Value] = {
            name: per("complete", f"{name}_bytes") for name in ("column", "event", "string", "lazy", "other")
        }
        parts["growth_less_strings"] = lambda a: (
            a["rss_after"] - a["rss_before"] - a["string_bytes"] - a["lazy_bytes"]
        ) / a["complete"]
        parts["peak"] = lambda a: (a["rss_peak"] - a["rss_before"]) / a["complete"]
        return Contest(
            f"memory: growth of the resident set, {self.files.big.name} read once, a complete event",
            "bytes_per_event", lambda a: (a["rss_after"] - a["rss_before"]) / a["complete"],
            [
                Contestant("memory.marey", "marey import", self.marey, ("memory", path), "cold",
                           fresh=True, parts=parts),
                Contestant("memory.orjson", "orjson.loads of the part", self.python,
                           ("memory", str(self.files.part)), "cold", fresh=True),
                Contestant("memory.hta", "HTA parse_trace_file of the part", self.hta,
                           ("memory", str(self.files.part_gz)), "cold", rounds=1, fresh=True),
            ],
            rounds=3, pinned=False,
        )

    def averages(self) -> Contest:
        path = str(self.files.big)
        parts: dict[str, Value] = {
            "self": per("complete", "self_ns"), "owners": per("complete", "owners_ns"),
            "rows": per("complete", "averages_ns"),
        }
        return Contest(
            "nesting sweep with self times, owners, averages by name; a complete event, one core",
            "ns_per_event", per("complete"),
            [
                Contestant("averages.plain.marey", "marey, mean and sums", self.marey,
                           ("averages", path, "warm", "plain"), "warm", parts=parts),
                Contestant("averages.plain.marey_cold", "marey, mean and sums", self.marey,
                           ("averages", path, "cold", "plain"), "cold"),
                Contestant("averages.exact.marey", "marey, exact p50 and p99 too", self.marey,
                           ("averages", path, "warm", "exact"), "warm"),
                Contestant("averages.exact.marey_cold", "marey, exact p50 and p99 too",
                           self.marey, ("averages", path, "cold", "exact"), "cold"),
                Contestant("averages.plain.duckdb", "DuckDB, group by alone",
                           self.duckdb, ("groupby", str(self.files.part), "plain"), "warm"),
                Contestant("averages.exact.duckdb", "  with p50 and p99", self.duckdb,
                           ("groupby", str(self.files.part), "exact"), "warm",
                           against="averages.exact.marey"),
            ],
            rounds=7,
        )

    def export(self) -> Contest:
        path = str(self.files.big)
        return Contest(
            f"export of {self.files.big.name} as Chrome JSON; a record, one core", "ns_per_event",
            per("records"),
            [
                Contestant("export.fields.marey", "marey, fields, into a buffer", self.marey,
                           ("export-text", path, "fields"), "warm"),
                Contestant("export.fields.snprintf", "snprintf, fields, into a buffer", self.marey,
                           ("snprintf", path), "warm"),
                Contestant("export.stream.marey", "marey, fields, in blocks of 1 MiB", self.marey,
                           ("export-stream", path, "fields"), "warm"),
                Contestant("export.args.marey", "marey, with args, into a buffer", self.marey,
                           ("export-text", path, "args"), "warm"),
                Contestant("export.file.marey", "marey, with args, to a file", self.marey,
                           ("export-file", path, str(self.files.out)), "warm"),
            ],
            rounds=5,
        )

    def export_part(self) -> Contest:
        path = str(self.files.part)
        return Contest(
            f"export of {self.files.part.name}, with args; a record, one core", "ns_per_event",
            per("records"),
            [
                Contestant("export.part.marey", "marey, with args, into a buffer", self.marey,
                           ("export-text", path, "args"), "warm"),
                Contestant("export.part.json_dumps", "json.dumps", self.python, ("dump", path),
                           "warm"),
            ],
            rounds=3,
        )

    def report(self) -> list[Contest]:
        command = str(self.files.command)
        peer = (sys.executable, str(HERE / "peer_report.py"))
        big, middle = str(self.files.big), str(self.files.middle)
        return [
            Contest(
                f"marey report {self.files.big.name}, start to exit", "ms", milliseconds,
                [
                    Contestant("report.big.marey", "marey report", (command, "report", big),
                               memory="cold"),
                    Contestant("report.big.marey_gz", "marey report, of the .gz",
                               (command, "report", str(self.files.big_gz)), memory="cold"),
                    Contestant("report.big.script", "orjson and a dictionary", (*peer, big),
                               memory="cold", rounds=1),
                ],
                rounds=5, pinned=False,
            ),
            Contest(
                f"marey report {self.files.middle_name}, start to exit", "ms", milliseconds,
                [
                    Contestant("report.middle.marey", "marey report", (command, "report", middle),
                               memory="cold"),
                    Contestant("report.middle.marey_gz", "marey report, of the .gz",
                               (command, "report", middle + ".gz"), memory="cold"),
                    Contestant("report.middle.script", "orjson and a dictionary", (*peer, middle),
                               memory="cold", rounds=3),
                ],
                rounds=9, pinned=False,
            ),
        ]

    def doctor(self) -> Contest:
        """Every byte of every record is looked at, and both sides of the laws are found."""
        command = str(self.files.command)
        words = ("doctor", "--format", "json")
        return Contest(
            f"marey doctor {self.files.big.name}, start to exit, all cores", "gb_per_s",
            rate(self.files.big),
            [
                Contestant("doctor.marey", "marey doctor",
                           (command, *words, str(self.files.big)), memory="warm"),
                Contestant("doctor.marey_alone", "marey doctor --threads 1",
                           (command, *words, "--threads", "1", str(self.files.big)), memory="warm"),
                Contestant("doctor.marey_gz", "marey doctor, of the .gz",
                           (command, *words, str(self.files.big_gz)), memory="warm"),
            ],
            rounds=5, pinned=False,
        )

    def start_up(self) -> Contest:
        command = str(self.files.command)
        return Contest(
            "start-up of the command, start to exit", "ms", milliseconds,
            [
                Contestant("start.version.marey", "marey --version", (command, "--version")),
                Contestant("start.python", "python -c pass", (sys.executable, "-c", "pass")),
            ],
            rounds=21, pinned=False,
        )
