"""What the steps of tools/test.py are made of: running commands, build folders, counts.

A step is a function that takes a Session and returns Counts. It prints nothing itself; what
it wants to be read it gives to session.note() or session.fail().
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from counts import FAILED, PASSED, SKIPPED, Counts, of_testlog

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LONGEST_OUTPUT = 6000


class Session:
    """One run of tests: where its logs are, and what is to be said at the end."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def skip(self, why: str) -> Counts:
        self.note(f"skipped: {why}")
        return SKIPPED

    def fail(self, what: str, output: str = "") -> Counts:
        if len(output) > LONGEST_OUTPUT:
            output = "…" + output[-LONGEST_OUTPUT:]
        print(f"\n--- {what}\n{output}\n---", flush=True)
        return FAILED

    def run(self, *command: object, env: dict | None = None, timeout: float | None = None,
            cwd: Path = ROOT) -> subprocess.CompletedProcess:
        """Runs a command without input; output and errors together in .stdout."""
        words = [str(word) for word in command]
        try:
            return subprocess.run(
                words, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False,
                text=True, errors="replace",
            )
        except subprocess.TimeoutExpired as late:
            text = late.stdout.decode(errors="replace") if late.stdout else ""
            return subprocess.CompletedProcess(words, 124, text + f"\nstopped after {timeout} s")

    def check(self, what: str, *command: object, **options: object) -> Counts:
        """One case: the command succeeds; 77 is skipped, and its last line says why."""
        done = self.run(*command, **options)
        if done.returncode == 77:
            return self.skip(f"{what}, {done.stdout.strip().splitlines()[-1]}")
        return PASSED if done.returncode == 0 else self.fail(what, done.stdout)

    def build(self, name: str, *options: str, cc: str = "", targets: tuple[str, ...] = ()) -> bool:
        """Configures and builds build/<name>. False, and said, if that does not work."""
        folder, env = BUILD / name, {"CC": cc} if cc else {}
        wanted = " ".join([cc, *options])
        stamp = folder / ".options"
        if not (folder / "build.ninja").exists() or not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            done = self.run("meson", "setup", folder, *options, env=env)
            if done.returncode != 0:
                self.fail(f"cannot configure build/{name}", done.stdout)
                return False
            stamp.write_text(wanted)
        done = self.run("ninja", "--quiet", "-C", folder, *targets)
        if done.returncode != 0:
            self.fail(f"cannot build build/{name}", done.stdout)
        return done.returncode == 0

    def meson_test(self, name: str, *arguments: str, env: dict | None = None) -> Counts:
        """Runs tests of build/<name> and counts their cases."""
        folder, began = BUILD / name, time.time()
        # With a wrapper Meson puts its name into the log's: testlog-valgrind.json.
        for log in (folder / "meson-logs").glob("testlog*.json"):
            log.unlink()
        done = self.run("meson", "test", "-C", folder, "--num-processes", os.cpu_count() or 1,
                        *arguments, env=env)
        log = next((folder / "meson-logs").glob("testlog*.json"), None)
        if log is None:
            if "No suitable tests defined" in done.stdout or "No tests defined" in done.stdout:
                return Counts()
            return self.fail(f"no test of build/{name} ran", done.stdout)
        counts, bad, reasons = of_testlog(log, began)
        for reason in reasons:
            self.note(f"skipped: {reason}")
        for record in bad:
            output = record.get("stdout", "") + "\n" + record.get("stderr", "")
            self.fail(f"{record['name']}: {record['result']}", output.strip())
        if done.returncode != 0 and counts.failed == 0:
            counts += self.fail(f"meson test in build/{name}", done.stdout)
        return counts


def has(program: str) -> bool:
    return shutil.which(program) is not None
