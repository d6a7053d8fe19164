"""What recording costs, beside torch.profiler: the contests of run.py that need torch.

Each contestant of `hooks`, `cold_hooks` and `ranges` asks the same process for its round, so that all of
them meet the same operator, the same machine and the same moment. Rows of `million` are by
event: torch's profiler takes half a minute and 5 GB for a million of them, more for each than for
fewer, so that its row is of as many as ours where there is memory for it. Rows of what else is made of
many events are of fewer for torch unless --full asks for all.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contests import HERE, Contest, Contestant, Measure, Target, milliseconds, per
from servers import Answer

N_EVENTS = 1_000_000
N_EVENTS_OF_TORCH = 200_000
N_PLACES = 7                    # the outermost of seven hold the median 98 times in 100
BYTES_OF_TORCH = 8 << 30        # more than torch's profiler takes for N_EVENTS


@dataclass
class LiveBook:
    """Makes the contests of a live torch."""

    packages: Path                  # folder of the built package
    cache: Path                     # for what is compiled where it runs, and for exports
    is_full: bool                   # torch's profiler gets as many events as ours

    def argv(self, program: str) -> tuple[str, ...]:
        return (sys.executable, str(HERE / program), str(self.packages), str(self.cache))

    def objects(self) -> list[Path]:
        """All code of ours that runs in a program; what is compiled at first use, once it is."""
        library = (self.packages.parent / "src").glob("libmarey.so*")
        found = [*library, *(self.packages / "marey").glob("*.so"), *self.cache.rglob("*.so")]
        return [path for path in found if path.is_file() and not path.is_symlink()]

    def contests(self) -> list[Contest]:
        return [self.hooks(), self.cold_hooks(), self.ranges("off"), self.ranges("on"), self.million(),
                self.walk(), self.shapes(), self.export_gz(),
                self.training("resnet", "a residual network like ResNet-18", rounds=9),
                self.training("gpt", "a transformer of 4 layers", rounds=31)]

    def hooks(self) -> Contest:
        argv = self.argv("bench_hooks.py")

        def contestant(name: str, label: str, against: str = "") -> Contestant:
            return Contestant(f"hooks.{name}", label, argv, ("block", name),
                              "warm" if name.startswith("marey") else "", against)

        return Contest(
            f"added to x.add_(y) of four floats, in short turns, at {N_PLACES} places in memory",
            "ns_per_event", added,
            [
                contestant("off", "x.add_(y) itself, nothing records"),
                contestant("floor", "floor: a pair of empty callbacks"),
                contestant("floor_clock", "  the same, each reads the clock"),
                contestant("marey", "marey.profile"),
                contestant("torch", "torch.profiler", "hooks.marey"),
                contestant("floor_inputs", "floor: the same, asks for inputs"),
                contestant("floor_inputs_clock", "  the same, each reads the clock"),
                contestant("floor_inputs_sizes", "  and writes sizes of tensors"),
                contestant("marey_shapes", "marey.profile, with shapes"),
                contestant("torch_shapes", "torch.profiler, with shapes", "hooks.marey_shapes"),
            ],
            rounds=9, is_paired=True, places=N_PLACES, objects=self.objects, above="hooks.off",
            targets=(Target("hooks.marey", "hooks.floor", most_above=18),
                     Target("hooks.marey_shapes", "hooks.floor_inputs", most_above=30)),
        )

    def cold_hooks(self) -> Contest:
        argv = self.argv("bench_cold.py")

        def contestant(name: str, label: str, against: str = "") -> Contestant:
            return Contestant(f"cold_hooks.{name}", label, argv, ("turn", name), "", against)

        return Contest(
            f"added to a record of operators that find the caches emptied, at {N_PLACES} places",
            "ns_per_event", added,
            [
                contestant("off", "the operators themselves, nothing records"),
                contestant("floor", "floor: a pair of empty callbacks"),
                contestant("marey", "marey.profile"),
                contestant("torch", "torch.profiler", "cold_hooks.marey"),
                contestant("floor_inputs", "floor: the same, asks for inputs"),
                contestant("marey_shapes", "marey.profile, with shapes"),
                contestant("torch_shapes", "torch.profiler, with shapes",
                           "cold_hooks.marey_shapes"),
            ],
            rounds=15, is_paired=True, places=N_PLACES, objects=self.objects,
            above="cold_hooks.off",
        )

    def ranges(self, state: str) -> Contest:
        argv, ours = self.argv("bench_hooks.py"), f"ranges.{state}.marey"

        def contestant(name: str, label: str) -> Contestant:
            return Contestant(f"ranges.{state}.{name}", label, argv, ("range", name, state),
                              against=ours)

        return Contest(
            f"with record_function('x'), its profiler {state}", "ns_per_event", added,
            [
                contestant("marey", "marey.record_function"),
                contestant("marey_decorator", "  the same, as a decorator"),
                # While Marey records, a type of its own stands in for this one of torch.
                *([contestant("marey_fast", "_RecordFunctionFast, to marey.profile")]
                  if state == "on" else []),
                contestant("torch", "torch.profiler.record_function"),
                contestant("torch_fast", "_RecordFunctionFast, to torch.profiler"),
            ],
            rounds=21, best=best,
        )

    def million(self) -> Contest:
        argv = self.argv("bench_events.py")
        is_same = self.is_full or free_bytes() > BYTES_OF_TORCH
        n_torch = N_EVENTS if is_same else N_EVENTS_OF_TORCH
        out = str(self.cache / "million.json")

        parts = {"stop": per("events", "stop_ns"), "table": per("events", "table_ns")}

        def contestant(key: str, who: str, count: int, memory: str, **how: Any) -> Contestant:
            return Contestant(f"million.{key}", f"{who}, {count:,} events", argv,
                              ("record", who.split(".")[0], str(count), out), memory,
                              parts=parts, **how)

        return Contest(
            "stop and key_averages().table(), an event", "ns_per_event", per("events"),
            [
                contestant("marey", "marey.profile", N_EVENTS, "pool warm"),
                contestant("marey_cold", "marey.profile", N_EVENTS, "cold", fresh=True, rounds=3),
                contestant("torch", "torch.profiler", n_torch, "cold", fresh=True, rounds=1),
            ],
            rounds=7,
            targets=(Target("million.marey", "million.torch", least_times=1000),),
            further=(
                Measure("recording itself with its operators, an event", "ns_per_event",
                        per("events", "record_ns"), "record"),
                Measure("export_chrome_trace to .json, an event", "ns_per_event",
                        per("events", "export_ns"), "export",
                        (Target("million.marey", "million.torch", least_times=5),)),
                Measure("pages touched first from the stop to the table, of a million events",
                        "per_million", per_million_events("faults"), "faults"),
                Measure("growth of the peak of memory until the table, an event",
                        "bytes_per_event", peak, "peak",
                        (Target("million.marey_cold", "million.torch", least_times=50),)),
            ),
        )

    def training(self, model: str, what: str, rounds: int) -> Contest:
        argv, key = self.argv("bench_training.py"), f"training.{model}"

        def contestant(who: str, label: str) -> Contestant:
            return Contestant(f"{key}.{who}", label, argv, ("step", model, who), "warm",
                              against=f"{key}.marey")

        return Contest(
            f"a step of training, {what}, on one thread, with shapes, at {N_PLACES} places",
            "ms", milliseconds,
            [contestant("marey", "marey.profile"), contestant("none", "without a profiler"),
             contestant("torch", "torch.profiler")],
            rounds=rounds, is_paired=True, places=N_PLACES, objects=self.objects,
            targets=(Target(f"{key}.marey", f"{key}.none", least_times=0.98),
                     Target(f"{key}.torch", f"{key}.none", least_times=0.98)),
        )

    def walk(self) -> Contest:
        argv = self.argv("bench_events.py")
        n_torch = N_EVENTS if self.is_full else N_EVENTS_OF_TORCH

        def contestant(who: str, label: str, count: int, **how: Any) -> Contestant:
            return Contestant(f"events.{who}", f"{label}, {count:,} events", argv,
                              ("walk", who, str(count)),
                              parts={"events()": per("events", "build_ns"),
                                     "loop": per("events", "walk_ns")}, **how)

        return Contest(
            "events(), then name and self time of each, an event", "ns_per_event", per("events"),
            [
                contestant("marey", "marey.profile", N_EVENTS),
                contestant("torch", "torch.profiler", n_torch, fresh=True, rounds=1),
            ],
            rounds=5,
            targets=(Target("events.marey", "events.torch", least_times=20),),
        )

    def shapes(self) -> Contest:
        argv = self.argv("bench_events.py")
        n_torch = N_EVENTS if self.is_full else N_EVENTS_OF_TORCH

        def contestant(who: str, label: str, count: int, **how: Any) -> Contestant:
            return Contestant(f"shapes.{who}", f"{label}, {count:,} events", argv,
                              ("shapes", who, str(count)), **how)

        return Contest(
            "the first key_averages by shape of a recording, an event", "ns_per_event",
            per("events"),
            [
                contestant("marey", "marey.profile", N_EVENTS),
                contestant("torch", "torch.profiler", n_torch, fresh=True, rounds=1),
            ],
            rounds=5,
        )

    def export_gz(self) -> Contest:
        argv = self.argv("bench_events.py")
        n_torch = N_EVENTS if self.is_full else N_EVENTS_OF_TORCH
        out = str(self.cache / "events.json.gz")

        def contestant(who: str, label: str, count: int, **how: Any) -> Contestant:
            return Contestant(f"export_gz.{who}", f"{label}, {count:,} events", argv,
                              ("gz", who, str(count), out), **how)

        return Contest(
            "export_chrome_trace to .json.gz, an event", "ns_per_event", per("events"),
            [
                contestant("marey", "marey.profile", N_EVENTS),
                contestant("zlib", "its .json, then zlib at level 6", N_EVENTS, rounds=2),
                contestant("torch", "torch.profiler", n_torch, fresh=True, rounds=1),
            ],
            rounds=5,
            targets=(Target("export_gz.marey", "export_gz.torch", least_times=5),),
            further=(Measure("size of the file, an event", "bytes_per_event",
                             per("events", "bytes"), "size"),),
        )


def free_bytes() -> int:
    """Memory that programs may take without others being moved out."""
    found = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    return int(found[1]) * 1024 if found else 0


def per_million_events(name: str) -> Any:
    return lambda answer: 1e6 * float(answer[name]) / float(answer["events"])


def added(answer: Answer) -> float:
    return float(answer["ns"])


def best(answers: list[Answer]) -> float:
    """The fastest batch with the hook less the fastest without, of all rounds."""
    return float(answers[-1]["best_ns"])


def peak(answer: Answer) -> float | None:
    if "peak_bytes" not in answer:
        return None
    return float(answer["peak_bytes"]) / float(answer["events"])
