"""Counts of test cases, from Meson's testlog.json and pytest's JUnit file."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

JUNIT_OPTION = re.compile(r"--junit-xml=(\S+)")
TAP_LINE = re.compile(r"^(not )?ok\b.*?(# *skip)?", re.IGNORECASE)
TAP_SKIP = re.compile(r"# *skip", re.IGNORECASE)


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def closing_line(self) -> str:
        line = f"{self.passed} passed, {self.failed} failed"
        return f"{line}, {self.skipped} skipped" if self.skipped else line


PASSED = Counts(passed=1)
FAILED = Counts(failed=1)
SKIPPED = Counts(skipped=1)


def of_junit(path: Path) -> Counts:
    """Counts of a JUnit file; an error while collecting is a failed case."""
    counts = Counts()
    for case in ElementTree.parse(path).iter("testcase"):
        tags = {child.tag for child in case}
        if tags & {"failure", "error"}:
            counts += FAILED
        elif "skipped" in tags:
            counts += SKIPPED
        else:
            counts += PASSED
    return counts


def reason_of(skipped: ElementTree.Element) -> str:
    """Of a whole file pytest writes the reason behind its place, as a tuple in Python."""
    behind = re.search(r"'Skipped: (.*)'\)$", skipped.text or "")
    message = skipped.get("message") or ""
    return behind[1] if message == "collection skipped" and behind else message


def reasons_of_junit(path: Path) -> list[str]:
    """Why cases were skipped."""
    return [f"{case.get('name')}, {reason_of(child)}"
            for case in ElementTree.parse(path).iter("testcase")
            for child in case if child.tag == "skipped"]


def junit_of(record: dict, since: float) -> Path | None:
    """The JUnit file that a test of testlog.json wrote, if it ran pytest."""
    match = JUNIT_OPTION.search(record.get("env", {}).get("PYTEST_ADDOPTS", ""))
    if "pytest" not in record["command"] or match is None:
        return None
    path = Path(match[1])
    return path if path.exists() and path.stat().st_mtime >= since else None


def of_tap(text: str) -> Counts:
    counts = Counts()
    for line in text.splitlines():
        if not TAP_LINE.match(line):
            continue
        if TAP_SKIP.search(line):
            counts += SKIPPED
        elif line.startswith("not"):
            counts += FAILED
        else:
            counts += PASSED
    return counts


def of_record(record: dict, since: float) -> Counts:
    """Counts of one test of testlog.json: its cases if it tells them, else itself."""
    is_good = record["result"] in ("OK", "EXPECTEDFAIL")
    counts = of_tap(record.get("stdout", ""))
    junit = junit_of(record, since)
    if junit is not None:
        counts = of_junit(junit)
    if counts == Counts():
        if record["result"] == "SKIP":
            return SKIPPED
        return PASSED if is_good else FAILED
    if not is_good and record["result"] != "SKIP" and counts.failed == 0:
        counts += FAILED  # it crashed after its last case
    return counts


def of_testlog(path: Path, since: float) -> tuple[Counts, list[dict], list[str]]:
    """Sum over testlog.json, the records that are not good, and why cases were skipped."""
    counts, bad, reasons = Counts(), [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        own = of_record(record, since)
        counts += own
        if own.failed:
            bad.append(record)
        junit = junit_of(record, since)
        if junit is not None:
            reasons += reasons_of_junit(junit)
        elif own.skipped:
            said = record.get("stdout", "").strip().splitlines()
            reasons.append(f"{record['name']}, {said[-1] if said else ''}")
    return counts, bad, reasons
