"""What run.py measures with: programs that answer requests, and commands."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from places import environment

Answer = dict[str, Any]


class Unavailable(Exception):
    """A peer that is not there or could not do it; the message says why."""


def pin_to(cpu: int | None) -> Any:
    """What a child runs first to stay on one CPU."""
    return None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})


class Server:
    """A program that takes a line of words and answers with a line of JSON."""

    def __init__(self, argv: list[str], cpu: int | None, place: int = 0) -> None:
        if not Path(argv[0]).exists():
            raise Unavailable(f"'{argv[0]}' was not built")
        self.name = Path(argv[1] if argv[0] == sys.executable else argv[0]).name
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            preexec_fn=pin_to(cpu), env=environment(place),
        )

    def ask(self, *words: str) -> Answer:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write("\t".join(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line:
            raise Unavailable(f"{self.name} {words[0]}: {self.last_error()}")
        answer: Answer = json.loads(line)
        return answer

    def last_error(self) -> str:
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return lines[-1] if lines else f"ended with status {self.process.returncode}"

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def run_command(argv: list[str], is_cpu: bool) -> Answer:
    """Time and largest resident set of a command from start to exit, its output thrown away."""
    with tempfile.TemporaryFile(mode="w+") as errors:
        start = time.perf_counter_ns()
        try:
            process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=errors)
        except FileNotFoundError as error:
            raise Unavailable(f"'{argv[0]}' was not built") from error
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter_ns() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            lines = errors.read().strip().splitlines()
            raise Unavailable(lines[-1] if lines
                              else f"'{argv[0]}' ended with {process.returncode}")
    cpu_ns = round((usage.ru_utime + usage.ru_stime) * 1e9)
    return {"ns": cpu_ns if is_cpu else took, "rss_peak": usage.ru_maxrss * 1024}


def first_line(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "none"
    return (done.stdout.splitlines() or ["unknown"])[0]


def machine() -> dict[str, Any]:
    """What a reader must know to compare the figures with others."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    return {
        "cpu": model.group(1) if model else platform.processor(),
        "n_cpus": len(os.sched_getaffinity(0)),
        "avx512": " avx512bw" in text,
        "is_virtual": " hypervisor" in text,
        "memory_gib": round(int(memory.group(1)) / 2**20, 1) if memory else None,
        "kernel": platform.release(),
        "compiler": first_line("cc", "--version"),
        "python": platform.python_version(),
        "load_at_start": os.getloadavg()[0],
    }
