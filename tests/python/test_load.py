"""Loading: what may be given, and what happens with what cannot be read."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from records import Record, document

import marey

TEXT = document([Record("a", 0, 1000), Record("b", 100, 200)], displayTimeUnit="ms")


def names(trace: marey.Trace) -> list[str | None]:
    return [event.name for event in trace.events()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.json"
    path.write_bytes(TEXT)
    return path


def test_a_path_loads(file: Path) -> None:
    assert names(marey.load(file)) == names(marey.load(str(file))) == ["a", "b"]
    assert marey.load(file).sources[0].path == str(file)


def test_threads_change_nothing(tmp_path: Path) -> None:
    records = [Record(f"op {i % 7}", i * 10, 5 + i % 3) for i in range(40_000)]
    path = tmp_path / "long.json"
    path.write_bytes(document(records))
    assert path.stat().st_size > 2 << 20  # several threads are worth their start
    alone = marey.load(path, threads=1)
    for threads in (2, 5, None):
        trace = marey.load(path, threads=threads)
        assert names(trace) == names(alone)
        assert [e.dur_ns for e in trace.events()] == [e.dur_ns for e in alone.events()]


def test_no_threads_are_refused(file: Path) -> None:
    for threads in (0, -1):
        with pytest.raises(ValueError, match="give 1 or more"):
            marey.load(file, threads=threads)


def test_gzip_loads(tmp_path: Path) -> None:
    path = tmp_path / "one.json.gz"
    path.write_bytes(gzip.compress(TEXT))
    trace = marey.load(path)
    assert names(trace) == ["a", "b"]
    assert trace.sources[0].is_gzip


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, io.BytesIO])
def test_memory_loads(make: type) -> None:
    assert names(marey.load(make(TEXT))) == ["a", "b"]


def test_open_files_load(file: Path) -> None:
    with file.open("rb") as binary:
        assert names(marey.load(binary)) == ["a", "b"]
    with file.open(encoding="utf-8") as text:
        assert names(marey.load(text)) == ["a", "b"]


def test_memory_may_change_after_a_load() -> None:
    data = bytearray(document([Record("a", 0, 10, args={"x": 1})]))
    trace = marey.load(data)
    data[:] = b" " * len(data)
    assert trace.events()[0].args == {"x": 1}


def test_a_list_is_one_trace(tmp_path: Path) -> None:
    for rank in range(2):
        text = document([Record(f"r{rank}", 0, 10)], distributedInfo={"rank": rank})
        (tmp_path / f"{rank}.json").write_bytes(text)
    trace = marey.load([tmp_path / "1.json", str(tmp_path / "0.json")])
    assert sorted(track.label for track in trace.tracks) == ["r0 p1 t1", "r1 p1 t1"]
    assert [source.rank for source in trace.sources] == [1, 0]


def test_no_traces_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(TEXT)
    (tmp_path / "b.json").write_text('{"lr": 0.1}')
    with pytest.warns(UserWarning, match=r"passed over: .*b\.json"):
        trace = marey.load(tmp_path)
    assert len(trace.sources) == 1
    with pytest.raises(marey.FormatError, match="without a list of records"):
        marey.load([tmp_path / "a.json", tmp_path / "b.json"])
    (tmp_path / "a.json").write_bytes(TEXT[:-20])
    with pytest.warns(UserWarning, match=r"passed over: .*b\.json"):
        assert marey.load(tmp_path).ledger["findings"]["truncated"] == 1
    (tmp_path / "a.json").unlink()
    with pytest.raises(marey.FormatError, match=r"b\.json"), pytest.warns(UserWarning):
        marey.load(tmp_path)


def test_other_names_beside_those_of_torch_are_told(command: Path, tmp_path: Path) -> None:
    for name in ("w.1.pt.trace.json", "a.json", "b.json"):
        (tmp_path / name).write_bytes(TEXT)
    for left_out in (r"a\.json' and 1 more: .*, name them to read them$", r"b\.json': .*, name it to read it$"):
        with pytest.warns(UserWarning, match=r"^passed over: '.*" + left_out) as told:
            trace = marey.load(tmp_path)
        assert (len(trace.sources), len(told)) == (1, 1)
        assert told[0].filename == __file__
        done = subprocess.run([command, "info", tmp_path], capture_output=True, check=True, encoding="utf-8", timeout=60)
        assert done.stderr == f"marey: {told[0].message}\n"
        (tmp_path / "a.json").unlink(missing_ok=True)


def test_a_link_in_a_folder_is_no_second_file(command: Path, tmp_path: Path) -> None:
    file, links = tmp_path / "w.1.pt.trace.json", [tmp_path / "latest.pt.trace.json", tmp_path / "older.json"]
    file.write_bytes(TEXT)
    for link, more in zip(links, ("", ", and 1 more link"), strict=True):
        link.symlink_to(file.name)
        with pytest.warns(UserWarning, match="^passed over: ") as told:
            trace = marey.load(tmp_path)
        assert str(told[0].message) == f"passed over: '{links[0]}', a link to '{file}'{more}"
        assert ([source.path for source in trace.sources], len(told)) == ([str(file)], 1)
        done = subprocess.run([command, "info", tmp_path], capture_output=True, check=True, encoding="utf-8", timeout=60)
        assert done.stderr == f"marey: {told[0].message}\n"
    with pytest.raises(ValueError, match="name each file once"):
        marey.load([file, links[0]])


def test_a_folder_is_its_trace_files(tmp_path: Path) -> None:
    for name in ("b.json", "a.json"):
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "notes.txt").write_text("no trace")
    trace = marey.load(tmp_path)
    assert [Path(source.path or "").name for source in trace.sources] == ["a.json", "b.json"]
    assert len(trace.events()) == 4


def test_an_odd_file_name_loads(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xc3\xa4.json"
    Path(os.fsdecode(path)).write_bytes(TEXT)
    assert names(marey.load(os.fsdecode(path))) == ["a", "b"]


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        marey.load(tmp_path / "none.json")
    assert caught.value.filename == str(tmp_path / "none.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_refused(file: Path) -> None:
    file.chmod(0)
    with pytest.raises(PermissionError) as caught:
        marey.load(file)
    assert caught.value.filename == str(file)


def test_what_is_no_trace_is_a_format_error(tmp_path: Path) -> None:
    path = tmp_path / "no.json"
    path.write_text('"just text"')
    with pytest.raises(marey.FormatError) as caught:
        marey.load(path)
    assert isinstance(caught.value, marey.MareyError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.status == -3
    assert f"'{path}'" in str(caught.value)


def test_what_is_no_trace_in_memory_is_a_format_error() -> None:
    with pytest.raises(marey.FormatError):
        marey.load(b"\x00\x01\x02")


def test_an_empty_folder_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=str(tmp_path)):
        marey.load(tmp_path)


def test_an_empty_list_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="empty list"):
        marey.load([])


def test_another_type_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="cannot load an object of type 'int': give a path"):
        marey.load(7)  # type: ignore[arg-type]


def test_a_changed_file_is_an_error_not_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(document([Record("a", 0, 10, args={"x": 1})]))
    trace = marey.load(path)
    path.write_bytes(document([Record("a", 0, 10, args={"y": 123456})]))
    with pytest.raises(marey.ChangedError) as caught:
        trace.events()[0].args  # noqa: B018
    assert caught.value.status == -7


def test_standard_input_loads_while_other_threads_run() -> None:
    """The bytes come from a thread of the same process: with the GIL held it would hang."""
    program = f"""
import os, threading, marey
read, write = os.pipe()
os.dup2(read, 0)
def feed():
    os.write(write, {TEXT!r})
    os.close(write)
thread = threading.Timer(0.1, feed)
thread.start()
print(len(marey.load("-").events()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "2\n"


def test_export_makes_a_file_that_loads(tmp_path: Path, file: Path) -> None:
    trace = marey.load(file)
    for name in ("out.json", "out.json.gz"):
        trace.export_chrome_trace(tmp_path / name)
        again = marey.load(tmp_path / name)
        assert names(again) == ["a", "b"]
        assert again.metadata["displayTimeUnit"] == "ms"


def test_export_keeps_a_file_unless_told_otherwise(tmp_path: Path, file: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("mine")
    trace = marey.load(file)
    with pytest.raises(FileExistsError, match=r"overwrite=True .*out\.json"):
        trace.export_chrome_trace(path)
    assert path.read_text() == "mine"
    trace.export_chrome_trace(path, overwrite=True)
    assert names(marey.load(path)) == ["a", "b"]


@pytest.mark.parametrize("packed", [False, True])
def test_joined_files_are_sources_of_their_own(tmp_path: Path, packed: bool) -> None:
    def rank(number: int) -> bytes:
        records = b",".join(
            b'{"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"n":%d}}'
            % (i, 1000 * number + i)
            for i in range(50)
        )
        return b'{"distributedInfo":{"rank":%d},"traceEvents":[%s]}' % (number, records)

    text = rank(3) + b"\n" + rank(5)
    path = tmp_path / "two.json"
    path.write_bytes(gzip.compress(text) if packed else text)
    other = tmp_path / "other.json"
    other.write_bytes(TEXT.replace(b'"a"', b'"first"'))
    trace = marey.load([path, other])
    assert [source.rank for source in trace.sources][:2] == [3, 5]
    assert trace.ledger["findings"]["joined_documents"] == 1
    events = [event for event in trace.events() if event.name == "op"]
    assert [event.track.label for event in events] == ["r3 p1 t1"] * 50 + ["r5 p1 t1"] * 50
    assert [event.args["n"] for event in events] == [*range(3000, 3050), *range(5000, 5050)]
    assert len(trace.sources) == 3
    assert any(event.name == "first" and event.args == {} for event in trace.events())
