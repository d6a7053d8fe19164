"""Exports in the background, with a deadline, and what they tell on a terminal."""

from __future__ import annotations

import gzip
import os
import pty
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from records import Record, document

import marey
from marey import _exports


# Of those that a test lets fail before it asks.
pytestmark = pytest.mark.filterwarnings("ignore:an export in the background")


def load(n: int = 5) -> marey.Trace:
    return marey.load(document([Record(f"op {i % 7}", i * 10, 5) for i in range(n)]))


def names(path: Path) -> list[str | None]:
    return [event.name for event in marey.load(path).events()]


class Gate:
    """Holds exports back, so that a test does not depend on who is faster."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_open = threading.Event()
        self.is_reached = threading.Event()
        self.order: list[str] = []
        write = _exports._write

        def held(trace: marey.Trace, order: _exports.Order, watch: Any) -> None:
            self.is_reached.set()
            assert self.is_open.wait(60)
            self.order.append(os.path.basename(order.name))
            write(trace, order, watch)

        monkeypatch.setattr(_exports, "_write", held)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Any:
    gate = Gate(monkeypatch)
    yield gate
    gate.is_open.set()
    assert marey.wait_for_exports(60)


def run(program: str, *, code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
        **options,
    )
    assert done.returncode == code, done.stderr
    return done


# ---- in the background ------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_it_is_the_same_file(tmp_path: Path, ending: str) -> None:
    trace = load(30_000)
    now, later = tmp_path / f"now.{ending}", tmp_path / f"later.{ending}"
    assert trace.export_chrome_trace(now) is None
    export = trace.export_chrome_trace(later, background=True)
    assert export is not None
    assert export.result(60) == str(later)
    assert export.done()
    assert export.progress == 1
    assert later.read_bytes() == now.read_bytes()
    assert "written" in repr(export)


def test_the_program_goes_on_meanwhile(tmp_path: Path, gate: Gate) -> None:
    trace = load()
    export = trace.export_chrome_trace(tmp_path / "a.json", background=True)
    assert export is not None
    assert gate.is_reached.wait(60)
    assert not export.done()
    assert trace.key_averages()[0].count == 1
    assert not (tmp_path / "a.json").exists()
    assert not marey.wait_for_exports(0)
    with pytest.raises(TimeoutError, match="not written yet"):
        export.result(0)
    gate.is_open.set()
    assert Path(export.result(60)).exists()


def test_it_keeps_the_trace(tmp_path: Path, gate: Gate) -> None:
    export = load().export_chrome_trace(tmp_path / "a.json", background=True)
    assert export is not None
    gate.is_open.set()
    assert len(names(Path(export.result(60)))) == 5


def test_cycles_are_written_while_others_run(tmp_path: Path) -> None:
    exports: list[Any] = []

    def save(prof: marey.profile) -> None:
        path = tmp_path / f"{prof.step_num}.json.gz"
        exports.append(prof.export_chrome_trace(path, background=True))

    steps = marey.schedule(wait=0, warmup=1, active=1, repeat=3)
    with marey.profile(schedule=steps, on_trace_ready=save) as prof:
        for i in range(6):
            with marey.record_function(f"work {i}"):
                pass
            prof.step()
    assert marey.wait_for_exports(60)
    works = [[name for name in names(Path(export.result())) if "work" in str(name)]
             for export in exports]
    assert works == [["work 1"], ["work 3"], ["work 5"]]
    prof.export_chrome_trace(tmp_path / "again.json")
    assert "work 5" in names(tmp_path / "again.json")


def test_one_file_after_the_other(tmp_path: Path, gate: Gate) -> None:
    exports = [load().export_chrome_trace(tmp_path / f"{i}.json", background=True)
               for i in range(5)]
    gate.is_open.set()
    for export in exports:
        assert export is not None
        export.result(60)
    assert gate.order == [f"{i}.json" for i in range(5)]


def test_two_to_one_path(tmp_path: Path, gate: Gate) -> None:
    path = tmp_path / "a.json"
    first = load(3).export_chrome_trace(path, background=True)
    second = load(4).export_chrome_trace(path, overwrite=True, background=True)
    third = load(5).export_chrome_trace(path, background=True)
    assert first is not None and second is not None and third is not None
    gate.is_open.set()
    with pytest.raises(OSError, match="it exists"):
        third.result(60)
    first.result(), second.result()
    assert len(names(path)) == 4
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_relative_path_is_of_the_folder_of_that_time(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export = load().export_chrome_trace("a.json", background=True)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    gate.is_open.set()
    assert export is not None
    assert export.result(60) == str(tmp_path / "a.json")
    assert (tmp_path / "a.json").exists()


def test_a_failure_is_told_to_who_asks(tmp_path: Path, gate: Gate) -> None:
    export = load().export_chrome_trace(tmp_path / "none" / "a.json", background=True)
    assert export is not None
    gate.is_open.set()
    for _ in range(2):
        with pytest.raises(OSError, match="make the folder first"):
            export.result(60)
    assert "failed" in repr(export)
    following = load().export_chrome_trace(tmp_path / "a.json", background=True)
    assert following is not None
    following.result(60)


def test_a_failure_that_nobody_waits_for_is_a_warning() -> None:
    done = run("""
import marey
with marey.profile() as prof:
    pass
prof.export_chrome_trace("/nowhere/at/all.json", background=True)
""")
    assert "RuntimeWarning: an export in the background: cannot write '/nowhere/at/all.json'" in done.stderr


def test_an_existing_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    with pytest.raises(FileExistsError):
        load().export_chrome_trace(tmp_path / "a.json", background=True)
    assert (tmp_path / "a.json").read_text() == "mine"


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError('mine')"])
def test_the_end_of_the_interpreter_waits(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.json.gz"
    program = f"""
import sys
import marey
with marey.profile() as prof:
    for i in range(30000):
        with marey.record_function("work"):
            pass
prof.export_chrome_trace({str(path)!r}, background=True)
{end}
"""
    run(program, code=3 if "exit" in end else 1 if end else 0)
    assert names(path).count("work") == 30000


def test_it_may_be_asked_for_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    run(f"""
import atexit
import marey
with marey.profile() as prof:
    pass
atexit.register(lambda: prof.export_chrome_trace({str(path)!r}, background=True).result())
""")
    assert path.exists()


@pytest.mark.forks
def test_a_forked_child_says_who_writes(tmp_path: Path, gate: Gate) -> None:
    trace = load()
    exports = [trace.export_chrome_trace(tmp_path / f"{i}.json", background=True)
               for i in range(2)]
    assert gate.is_reached.wait(60)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for export in exports:
                assert export is not None
                with pytest.raises(RuntimeError, match="forked from"):
                    export.result(60)
            for use in (lambda: trace.events()[0], trace.key_averages):
                with pytest.raises(RuntimeError, match="being written while"):
                    use()
            assert marey.wait_for_exports(0)
            gate.is_open.set()
            other = load(3).export_chrome_trace(tmp_path / "child.json", background=True)
            assert other is not None
            other.result(60)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    gate.is_open.set()
    for export in exports:
        assert export is not None
        assert len(names(Path(export.result(60)))) == 5
    assert len(names(tmp_path / "child.json")) == 3


# ---- deadline and end ---------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_past_the_deadline_nothing_is_left(tmp_path: Path, ending: str) -> None:
    trace, path = load(30_000), tmp_path / f"a.{ending}"
    with pytest.raises(TimeoutError, match="deadline has passed.*timeout_s"):
        trace.export_chrome_trace(path, timeout_s=1e-9)
    export = trace.export_chrome_trace(path, timeout_s=1e-9, background=True)
    assert export is not None
    with pytest.raises(TimeoutError, match="deadline has passed"):
        export.result(60)
    assert os.listdir(tmp_path) == []
    trace.export_chrome_trace(path, timeout_s=600)
    assert len(names(path)) == 30_000


def test_an_old_file_outlives_the_deadline(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("mine")
    with pytest.raises(TimeoutError):
        load(30_000).export_chrome_trace(path, overwrite=True, timeout_s=1e-9)
    assert path.read_text() == "mine"


def test_waiting_for_its_turn_counts(tmp_path: Path, gate: Gate) -> None:
    export = load().export_chrome_trace(tmp_path / "a.json", background=True, timeout_s=1e-6)
    assert export is not None
    gate.is_open.set()
    with pytest.raises(TimeoutError):
        export.result(60)


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_deadline_that_is_none(tmp_path: Path, timeout_s: float) -> None:
    for background in (False, True):
        with pytest.raises(ValueError, match="seconds above 0"):
            load().export_chrome_trace(
                tmp_path / "a.json", timeout_s=timeout_s, background=background
            )


def test_cancel_leaves_nothing(tmp_path: Path, gate: Gate) -> None:
    export = load(30_000).export_chrome_trace(tmp_path / "a.json", background=True)
    assert export is not None
    export.cancel()
    gate.is_open.set()
    with pytest.raises(marey.MareyError, match="was cancelled"):
        export.result(60)
    assert os.listdir(tmp_path) == []
    export.cancel()


# ---- on a terminal ---------------------------------------------------------------------------------


PROGRAM = """
import sys
import marey
from marey import _exports
_exports.QUIET_S = {quiet_s}
with marey.profile() as prof:
    for i in range(30000):
        with marey.record_function("work"):
            pass
prof.export_chrome_trace({path!r}, background={background})
"""


def terminal_shows(program: str) -> str:
    master, slave = pty.openpty()
    done = subprocess.run([sys.executable, "-c", program], stderr=slave, timeout=120, check=False)
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:  # how a terminal ends here
        pass
    os.close(master)
    assert done.returncode == 0, shown
    return shown.decode()


@pytest.mark.parametrize("background", [False, True])
def test_a_terminal_shows_a_line_that_is_wiped(tmp_path: Path, background: bool) -> None:
    path = str(tmp_path / "a.json")
    shown = terminal_shows(PROGRAM.format(quiet_s=0, path=path, background=background))
    assert shown.startswith("\r\033[Kmarey: writing a.json, ")
    assert shown.endswith(" %\r\033[K")
    assert "\n" not in shown


def test_what_is_quick_is_not_told(tmp_path: Path) -> None:
    program = PROGRAM.format(quiet_s=600, path=str(tmp_path / "a.json"), background=True)
    assert terminal_shows(program) == ""


def test_what_is_no_terminal_gets_no_progress(tmp_path: Path) -> None:
    program = PROGRAM.format(quiet_s=0, path=str(tmp_path / "a.json"), background=True)
    assert run(program).stderr == ""


@pytest.mark.parametrize("stderr", ["None", "__import__('io').StringIO()"])
def test_standard_error_may_be_anything(tmp_path: Path, stderr: str) -> None:
    program = PROGRAM.format(quiet_s=0, path=str(tmp_path / "a.json"), background=False)
    run(program.replace("import sys", f"import sys\nsys.stderr = {stderr}"))


def test_gzip_reads_it(tmp_path: Path) -> None:
    export = load(1000).export_chrome_trace(tmp_path / "a.json.gz", background=True)
    assert export is not None
    with gzip.open(export.result(60)) as file:
        assert file.read(1) == b"{"


def test_a_handle_may_be_asked_by_many(tmp_path: Path, gate: Gate) -> None:
    export = load().export_chrome_trace(tmp_path / "a.json", background=True)
    assert export is not None
    found: list[str] = []
    ask: Callable[[], None] = lambda: found.append(export.result(60))  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    gate.is_open.set()
    for thread in threads:
        thread.join()
    assert found == [str(tmp_path / "a.json")] * 4
