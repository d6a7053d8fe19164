"""bench_events.py PACKAGES CACHE - what a profiler does with many events, on request.

    record marey|torch COUNT OUT    COUNT times x.add_(y) of four floats, recorded; then stop,
                                    key_averages().table(), export_chrome_trace(OUT)
    walk marey|torch COUNT          the same, recorded; then events(), for which Marey makes its trace
                                    and torch its list, and of each its name and self time
    shapes marey|torch COUNT        the same, recorded with shapes; then key_averages(), not counted, and
                                    the first key_averages(group_by_input_shape=True)
    gz marey|zlib|torch COUNT OUT   the same, recorded; then export_chrome_trace(OUT), which ends in .gz;
                                    zlib: Marey's .json, then zlib at the level that gzip has

The answer tells how long each took, how many pages were touched for the first time from the stop
to the table, and by how much the peak of resident memory grew from before the start until the table
was there; that is told for the first request only, since a
second one has the memory of the first. The table must count COUNT operators.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import sys
import time
import zlib
from pathlib import Path
from typing import Any

PACKAGES, CACHE = sys.argv[1:3]
sys.path.insert(0, PACKAGES)
os.environ["MAREY_CACHE"] = CACHE

import torch  # noqa: E402
from torch.profiler import ProfilerActivity  # noqa: E402

import marey  # noqa: E402

now_ns = time.process_time_ns if "cpu" in sys.argv[3:] else time.perf_counter_ns
N_WARM_UP = 1000

PROFILERS = {
    "marey": lambda **how: marey.profile(**how),
    "torch": lambda **how: torch.profiler.profile(activities=[ProfilerActivity.CPU], **how),
}

torch.set_num_threads(1)


def of_status(name: str) -> int:
    """Bytes of resident memory, by the name that the system has for them."""
    found = re.search(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def faults() -> int:
    """Pages that were touched for the first time so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def forget_peak() -> None:
    """The peak of before counts from now on as what is there now."""
    Path("/proc/self/clear_refs").write_text("5")


def run(prof: Any, count: int) -> int:
    """Records; the profiler runs on."""
    x, y = torch.zeros(4), torch.ones(4)
    prof.start()
    start = now_ns()
    for _ in range(count):
        x.add_(y)
    return now_ns() - start


def n_calls(prof: Any) -> int:
    return sum(row.count for row in prof.key_averages() if row.key == "aten::add_")


def first_use() -> None:
    """What is loaded or built at the first use is no cost of an event."""
    for new in PROFILERS.values():
        prof = new()
        run(prof, N_WARM_UP)
        prof.stop()
        prof.key_averages().table()


is_first = True


def record(who: str, count: str, out: str) -> dict[str, int]:
    global is_first
    n_events = int(count)
    Path(out).unlink(missing_ok=True)
    gc.collect()
    forget_peak()
    before = of_status("VmRSS")

    prof = PROFILERS[who]()
    record_ns = run(prof, n_events)
    n_faults = faults()
    times = [now_ns()]
    prof.stop()
    times.append(now_ns())
    prof.key_averages().table()
    times.append(now_ns())
    n_faults = faults() - n_faults
    peak = of_status("VmHWM") - before
    times.append(now_ns())
    prof.export_chrome_trace(out)
    times.append(now_ns())

    assert n_calls(prof) == n_events, f"{who} counts {n_calls(prof)} of {n_events} operators"
    answer = {
        "events": n_events, "record_ns": record_ns, "stop_ns": times[1] - times[0],
        "table_ns": times[2] - times[1], "ns": times[2] - times[0],
        "export_ns": times[4] - times[3], "faults": n_faults,
    }
    if is_first:
        answer["peak_bytes"] = peak
    is_first = False
    Path(out).unlink()
    return answer


def walk(who: str, count: str) -> dict[str, int]:
    n_events = int(count)
    prof = PROFILERS[who]()
    run(prof, n_events)
    prof.stop()
    gc.collect()

    times = [now_ns()]
    events = prof.events()
    times.append(now_ns())
    n_found, total = 0, 0.0
    for event in events:
        n_found += event.name == "aten::add_"
        total += event.self_cpu_time_total
    times.append(now_ns())
    assert n_found == n_events and total > 0
    return {
        "events": n_events, "build_ns": times[1] - times[0], "walk_ns": times[2] - times[1],
        "ns": times[2] - times[0],
    }


def shapes(who: str, count: str) -> dict[str, int]:
    n_events = int(count)
    prof = PROFILERS[who](record_shapes=True)
    run(prof, n_events)
    prof.stop()
    prof.key_averages()
    gc.collect()

    start = now_ns()
    rows = prof.key_averages(group_by_input_shape=True)
    took = now_ns() - start
    (add,) = (row for row in rows if row.key == "aten::add_")
    assert (add.count, str(add.input_shapes)) == (n_events, "[[4], [4], []]")
    return {"events": n_events, "ns": took}


def compress(source: str, out: str) -> None:
    """As gzip does it, 1 MiB at a time."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    with open(source, "rb") as plain, open(out, "wb") as packed:
        while part := plain.read(1 << 20):
            packed.write(packer.compress(part))
        packed.write(packer.flush())


def gz(who: str, count: str, out: str) -> dict[str, int]:
    n_events = int(count)
    plain = out.removesuffix(".gz")
    for path in (out, plain):
        Path(path).unlink(missing_ok=True)
    prof = PROFILERS["marey" if who == "zlib" else who]()
    run(prof, n_events)
    prof.stop()
    if who != "torch":
        prof.trace  # made once, for all that is asked of it
    gc.collect()

    start = now_ns()
    prof.export_chrome_trace(plain if who == "zlib" else out)
    if who == "zlib":
        compress(plain, out)
        Path(plain).unlink()
    took = now_ns() - start
    size = Path(out).stat().st_size
    Path(out).unlink()
    return {"events": n_events, "ns": took, "bytes": size}


REQUESTS = {"record": record, "walk": walk, "shapes": shapes, "gz": gz}

if __name__ == "__main__":
    gc.disable()  # collections would take torch's profiler longer still
    first_use()
    for line in sys.stdin:
        name, *words = line.rstrip("\n").split("\t")
        print(json.dumps(REQUESTS[name](*words)), flush=True)
