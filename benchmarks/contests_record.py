"""What `make bench` measures of recording: the path of a record beside the clock readings that
it cannot do without, what it asks of the system, sessions, and the way from there to a table.

The peers of other recorders are not here: those that can be had work by hooks into Python.
"""

from __future__ import annotations

from pathlib import Path

from contests import Contest, Contestant, Value, milliseconds, per
from servers import Answer

N_IN_CACHE = ("20000", "50")      # records of a session, sessions
N_IN_MEMORY = ("1000000", "1")
MILLION = "1000000"


def asked(answer: Answer) -> float:
    """All that was asked, a million records."""
    parts = (answer.get(name, 0) for name in ("faults", "calls", "allocations"))
    return 1e6 * sum(parts) / float(answer["events"])


def per_million(count: str) -> Value:
    return lambda answer: 1e6 * float(answer[count]) / float(answer["events"])


def ms_of(name: str, count: str = "") -> Value:
    return lambda answer: float(answer[name]) / float(answer[count] if count else 1) / 1e6


def bytes_a_range(name: str) -> Value:
    return lambda answer: (answer[name] - answer["before"]) / answer["ranges"]


class RecordBook:
    """Makes the contests of the group `record`."""

    def __init__(self, programs: Path, out: Path) -> None:
        self.marey = (str(programs / "bench_record"),)
        self.cold = (*self.marey, "cold")  # a process of its own
        self.out = str(out)

    def contests(self) -> list[Contest]:
        return [self.pair(), self.cold_pair(), self.asked(), self.other_pairs(), self.points(),
                self.session(), self.beside(), self.finish(), self.export(), self.memory()]

    def timed(self, key: str, label: str, what: str, memory: str = "warm",
              against: str = "") -> Contestant:
        return Contestant(key, label, self.marey, ("time", what, *N_IN_CACHE), memory, against)

    def pair(self) -> Contest:
        return Contest(
            "record: begin and end of a range with a static name; a pair, one core",
            "ns_per_event", per("events"),
            [
                self.timed("record.pair.marey", "marey", "pair", "warm, cache"),
                self.timed("record.pair.floor_clocks", "floor: two readings of the counter",
                           "two-clocks", ""),
                Contestant("record.pair.marey_memory", "marey, 32 MB of records", self.marey,
                           ("time", "pair", *N_IN_MEMORY), "warm"),
                self.timed("record.pair.marey_off", "marey, no session runs", "off", ""),
                self.timed("record.pair.system_clocks", "two readings of CLOCK_MONOTONIC",
                           "two-system-clocks", ""),
            ],
            rounds=31,
        )

    def cold_pair(self) -> Contest:
        return Contest(
            "record: the same in a process that never recorded; a pair, all cores",
            "ns_per_event", per("events"),
            [
                Contestant("record.cold.marey", "marey, the first 20,000 pairs", self.cold,
                           ("time", "pair", "20000", "1"), "cold", fresh=True),
                Contestant("record.cold.marey_memory", "marey, the first 1,000,000 pairs", self.cold,
                           ("time", "pair", *N_IN_MEMORY), "cold", fresh=True),
            ],
            rounds=9, pinned=False,
        )

    def asked(self) -> Contest:
        parts = {name: per_million(name) for name in ("faults", "calls", "allocations")}
        return Contest(
            "record: page faults, calls into the system, allocations of a million pairs",
            "per_million", asked,
            [
                Contestant("record.asked.marey", "marey", self.marey, ("asked", "pair", MILLION),
                           "warm", parts=parts),
                Contestant("record.asked.marey_inputs", "marey, operators with inputs",
                           self.marey, ("asked", "op-inputs", "200000"), "warm", parts=parts),
                Contestant("record.asked.marey_cold", "marey, page faults only", self.cold,
                           ("time", "pair", *N_IN_MEMORY), "cold", fresh=True),
            ],
            rounds=5, pinned=False,
        )

    def other_pairs(self) -> Contest:
        return Contest(
            "record: other ranges; a pair, one core", "ns_per_event", per("events"),
            [
                self.timed("record.named.marey", "marey, name made at run time", "named"),
                self.timed("record.named.marey_token", "marey, the same with a token", "token"),
                self.timed("record.op.marey", "marey, operator of a collector", "op"),
                self.timed("record.op.marey_inputs", "marey, the same with 5 inputs", "op-inputs"),
                self.timed("record.op.marey_off", "marey, the same, no session runs", "off-op", ""),
                self.timed("record.op.floor_clocks", "floor: two readings of the counter",
                           "two-clocks", "", against="record.op.marey"),
            ],
            rounds=15,
        )

    def points(self) -> Contest:
        return Contest(
            "record: marks and counters; one, one core", "ns_per_event", per("events"),
            [
                self.timed("record.mark.marey", "marey, mark", "mark"),
                self.timed("record.counter.marey", "marey, counter", "counter"),
                self.timed("record.mark.floor_clock", "floor: one reading of the counter",
                           "one-clock", "", against="record.mark.marey"),
            ],
            rounds=15,
        )

    def session(self) -> Contest:
        parts = {"start": ms_of("start_ns", "sessions"), "stop": ms_of("stop_ns", "sessions")}
        return Contest(
            "record: start and stop of an empty session", "ms", ms_of("ns", "sessions"),
            [
                Contestant("record.session.marey", "marey", self.marey, ("session", "20"), "warm",
                           parts=parts),
                Contestant("record.session.marey_first", "marey, the first of a process", self.cold,
                           ("session", "1"), "cold", fresh=True, parts=parts),
            ],
            rounds=9, pinned=False,
        )

    def beside(self) -> Contest:
        return Contest(
            "record: work of other threads in a second in which a session runs and nothing is recorded",
            "ms", milliseconds,
            [
                Contestant("record.beside.marey", "marey", self.marey, ("beside", "1000"), "warm"),
            ],
            rounds=9,
        )

    def finish(self) -> Contest:
        parts = {name: ms_of(f"{name}_ns") for name in ("stop", "trace", "averages", "table")}
        return Contest(
            "record: 1,000,000 ranges from the stop to a table", "ms", milliseconds,
            [
                Contestant("record.finish.marey", "marey", self.marey, ("finish", MILLION, "warm"),
                           "warm", parts=parts),
                Contestant("record.finish.marey_cold", "marey", self.cold,
                           ("finish", MILLION, "cold"), "cold", fresh=True, parts=parts),
            ],
            ("slices",), rounds=9, pinned=False,
        )

    def export(self) -> Contest:
        return Contest(
            "record: a trace of 1,000,000 ranges to a file", "ms", milliseconds,
            [
                Contestant("record.export.marey", "marey, Chrome JSON", self.marey,
                           ("export", MILLION, self.out), "warm"),
                Contestant("record.export.marey_gz", "marey, the same as .gz", self.marey,
                           ("export", MILLION, self.out + ".gz"), "warm"),
            ],
            rounds=5, pinned=False,
        )

    def memory(self) -> Contest:
        parts = {"records": lambda a: a["held"] / a["ranges"], "recorded": bytes_a_range("recorded"),
                 "after": bytes_a_range("after")}
        return Contest(
            "record: growth of the resident set by 1,000,000 ranges, at its peak; a range",
            "bytes_per_event", bytes_a_range("peak"),
            [
                Contestant("record.memory.marey", "marey, with trace and table", self.cold,
                           ("memory", MILLION), "cold", fresh=True, parts=parts),
            ],
            rounds=3, pinned=False,
        )
