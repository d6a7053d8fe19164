"""``marey doctor --repair`` and ``--scrub``: what is written is JSON to the letter, holds nothing
that would be repaired again, gives the same numbers, and when scrubbed none of what was planted."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

import marey

FIXTURES = sorted(
    path.name
    for path in (Path(__file__).parent.parent / "data/fixtures").iterdir()
    if path.name != "expected.json"
)
OWN = ("sched5", "torch211_lazy", "torch213_autograd_profile", "gpt_compiled_cudagraph")
SEED = 20261128


def run(command: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *map(str, words)], capture_output=True, check=False,
                          encoding="utf-8", timeout=60)  # fmt: skip


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), "a key stands twice"
    return dict(pairs)


def refuse(word: str) -> None:
    raise AssertionError(f"JSON has no {word}")


def read_strictly(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"), object_pairs_hook=once, parse_constant=refuse)


def repair(command: Path, broken: Path, fixed: Path, *options: str) -> bool:
    """False if nothing can be read of the file. Else what was written is as it must be."""
    done = run(command, "doctor", "--repair", fixed, "--force", *options, broken)
    assert done.returncode in (0, 1, 3), done.stderr
    if done.returncode == 3:
        return False
    read_strictly(fixed)
    ledger = marey.load(fixed, check="all").ledger
    assert ledger["quarantined"] == {}
    assert ledger["repaired"] == {}
    return True


# ---- repair -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIXTURES)
def test_what_is_repaired_stays_repaired(name: str, command: Path, data: Path, tmp_path: Path) -> None:
    broken, fixed = data / "fixtures" / name, tmp_path / "fixed.json"
    is_read = repair(command, broken, fixed)
    assert repair(command, broken, fixed, "--scrub") == is_read
    assert is_read == (name not in {"F13b_gz_empty.json.gz", "F17c_zero_bytes.json"})


def damage(text: bytes, dice: random.Random) -> bytes:
    broken = bytearray(text)
    how = dice.choice(("cut", "flip", "insert", "repeat"))
    if how == "cut":
        return text[: dice.randrange(200, len(text))]
    for _ in range(dice.choice((1, 3, 30))):
        at = dice.randrange(200, len(broken))
        if how == "flip":
            broken[at] = dice.randrange(256)
        elif how == "insert":
            broken[at:at] = bytes(dice.choice(b'{}[]",:\\\x01\xffNaN') for _ in range(3))
        else:
            broken[at:at] = broken[at - 150 : at]
    return bytes(broken)


@pytest.mark.parametrize("name", OWN)
def test_own_traces_are_repaired_whatever_befell_them(
    name: str, command: Path, data: Path, tmp_path: Path
) -> None:
    text = gzip.decompress((data / f"{name}.json.gz").read_bytes())
    dice = random.Random(SEED)
    broken = tmp_path / "broken.json"
    for _ in range(12):
        broken.write_bytes(damage(text, dice))
        assert repair(command, broken, tmp_path / "fixed.json", *dice.choice(((), ("--scrub",))))


def test_what_was_left_out_and_repaired_is_told(command: Path, tmp_path: Path) -> None:
    broken, fixed = tmp_path / "broken.json", tmp_path / "fixed.json"
    broken.write_text(
        '{"k": 1, "k": {"a": NaN}, "traceEvents": [{},'
        '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2,"args":{"x":[NaN],"x":01,"y":[2,],"z":3}}'
        '{"ph":"X","name":"b\\x","pid":1,"tid":1,"ts":1,"dur":-2},'
        '{"ph":"X","name":"c","pid":1,"tid":1,"ts":"1","dur":2}',
        encoding="utf-8")  # fmt: skip
    done = run(command, "doctor", "--repair", fixed, broken)
    assert done.returncode == 1
    assert "2 records left out" in done.stderr
    written = read_strictly(fixed)
    assert written["k"] == {"a": None}
    assert written["mareyLeftOut"] == {"empty_record": 1, "negative_dur": 1}
    assert written["mareyRepaired"].items() >= {"truncated": 1, "number_as_text": 1}.items()
    assert [record["name"] for record in written["traceEvents"]] == ["a", "c"]
    assert written["traceEvents"][0]["args"] == {"x": "01"}
    refused = run(command, "doctor", "--repair", fixed, broken)
    assert refused.returncode == 3
    assert "file exists, use --force to overwrite it" in refused.stderr


def test_a_duration_that_is_no_number_is_counted(command: Path, tmp_path: Path) -> None:
    broken, fixed = tmp_path / "broken.json", tmp_path / "fixed.json"
    broken.write_text('{"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":"abc"}]}', encoding="utf-8")
    done = run(command, "doctor", "--repair", fixed, broken)
    assert "0 records left out, 0 repaired, 1 finding mended" in done.stderr
    written = read_strictly(fixed)
    assert written["mareyRepaired"] == {"bad_dur": 1}
    assert "dur" not in written["traceEvents"][0]


def test_one_record_left_out_is_told_as_one(command: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents":[{},{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}', "utf-8")
    done = run(command, "doctor", "--repair", tmp_path / "fixed.json", broken)
    assert ": 1 record left out, 0 repaired, 0 findings mended" in done.stderr


@pytest.mark.parametrize(
    ("args", "reason", "mended"),
    [('{"a":1,}', "bad_args", {"scalars": 0, "texts": 1}), ('{"a":[1 2]}', "bad_args", {"scalars": 0, "texts": 1}),
     ('{"a":' + "[" * 300 + "]" * 300 + "}", "bad_args", {"scalars": 0, "texts": 1}),
     ('{"a":NaN}', "non_finite", {"scalars": 1}),
     ('{"a":1,"a":2}', "duplicate_key", {"scalars": 0, "texts": 1})],
)  # fmt: skip
def test_what_is_mended_is_counted(
    args: str, reason: str, mended: dict[str, int], command: Path, tmp_path: Path
) -> None:
    broken, fixed = tmp_path / "broken.json", tmp_path / "fixed.json"
    record = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2,"args":%s}'
    broken.write_text(f'{{"traceEvents":[{record % args}]}}', encoding="utf-8")
    done = run(command, "doctor", "--repair", fixed, broken)
    is_finding = reason == "bad_args"
    mended_findings = "1 finding mended" if is_finding else "0 findings mended"
    assert f"0 records left out, {int(not is_finding)} repaired, {mended_findings}" in done.stderr
    written = read_strictly(fixed)
    assert written["mareyRepaired"] == {reason: 1}
    assert written["mareyMended"] == mended


BROKEN_ARGS = '{"a":1,"b":[1 2],"c":3}', '{"a":1,"b":NaN,"c":01}', "[5]", '{"a":1,"b":2,}'
LEFT_OF_ARGS = {"a": 1}, {"a": 1, "b": None, "c": "01"}, None, {"a": 1, "b": 2}


def with_broken_args(path: Path) -> Path:
    record = '{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":2,"args":%s}'
    records = ",".join(record % (10 * i, args) for i, args in enumerate(BROKEN_ARGS))
    path.write_text(f'{{"traceEvents":[{records}]}}', encoding="utf-8")
    return path


def test_convert_tells_what_it_mends_of_args(command: Path, tmp_path: Path) -> None:
    done = run(command, "convert", with_broken_args(tmp_path / "broken.json"), tmp_path / "out.json")
    told = done.stderr.partition("not clean: ")[2].partition(";")[0]
    assert sorted(told.split(", ")) == ["bad_args 3", "bad_number 1", "non_finite 1"]
    written = read_strictly(tmp_path / "out.json")
    assert [record.get("args") for record in written["traceEvents"]] == list(LEFT_OF_ARGS)
    assert written["mareyRepaired"] == {"bad_args": 3, "bad_number": 1, "non_finite": 1}
    assert written["mareyMended"] == {"scalars": 2, "texts": 2}
    assert run(command, "doctor", "--strict", tmp_path / "out.json").returncode == 1
    trace = marey.load(tmp_path / "out.json", check="all")
    assert trace.ledger["findings"] == {"lost_before": 3}
    assert trace.ledger.before == written["mareyRepaired"]


def test_python_writes_json_whatever_was_looked_at(tmp_path: Path) -> None:
    """Args are looked at while they are written; what was loaded before tells nothing of them."""
    trace = marey.load(with_broken_args(tmp_path / "broken.json"))
    assert trace.ledger["findings"] == {"bad_args": 1}  # no object
    trace.export_chrome_trace(tmp_path / "out.json")
    written = read_strictly(tmp_path / "out.json")
    assert [record.get("args") for record in written["traceEvents"]] == list(LEFT_OF_ARGS)
    assert written["mareyMended"] == {"scalars": 2, "texts": 2}


def write(command: Path, how: str, path: Path, out: Path) -> bytes:
    words = ("doctor", "--repair", out, path) if how == "repair" else ("convert", *how.split(), path, out)
    done = run(command, *words, "--force")
    assert done.returncode in (0, 1), done.stderr
    return out.read_bytes()


@pytest.mark.parametrize("how", ["convert", "convert --scrub", "repair"])
@pytest.mark.parametrize("name", [name for name in FIXTURES if name[:4] not in {"F13b", "F17c"}])
def test_writing_makes_no_grade_better(
    name: str, how: str, command: Path, data: Path, tmp_path: Path
) -> None:
    broken, once_, twice = data / "fixtures" / name, tmp_path / "once.json", tmp_path / "twice.json"
    how = how.removeprefix("convert").strip()
    text = write(command, how, broken, once_)
    assert write(command, how, once_, twice) == text
    before, after = marey.load(broken, check="all"), marey.load(once_, check="all")
    assert before.grade.letter <= after.grade.letter
    assert marey.load(twice, check="all").ledger.before == after.ledger.before


@pytest.mark.parametrize("how", ["convert", "repair"])
def test_a_cut_file_stays_one(how: str, command: Path, data: Path, tmp_path: Path) -> None:
    half, whole = tmp_path / "half.json.gz", (data / "sched5.json.gz").read_bytes()
    half.write_bytes(whole[: len(whole) // 2])
    assert marey.load(half).grade.letter == "C"
    fixed = tmp_path / "fixed.json"
    write(command, how.removeprefix("convert"), half, fixed)
    trace = marey.load(fixed)
    assert trace.grade.letter == "C"
    assert trace.grade.because == "lost_before"
    assert trace.ledger.before.items() >= {"partial": 1, "truncated": 1}.items()
    assert trace.ledger["findings"]["lost_before"] == 2
    shown = run(command, "doctor", fixed)
    assert shown.returncode == 1
    assert "which are partial 1, truncated 1" in shown.stdout
    assert "partial 1, truncated 1)" in run(command, "report", fixed).stdout
    told = run(command, "convert", half, "-")
    assert "not clean: partial 1, truncated 1" in told.stderr
    assert run(command, "convert", data / "sched5.json.gz", "-").stderr == ""


RECORD = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}'


def with_member(key: str, value: str) -> bytes:
    return f'{{"{key}": {value}, "traceEvents": [{RECORD}]}}'.encode()


@pytest.mark.parametrize("key", ["mareyLeftOut", "mareyRepaired"])
@pytest.mark.parametrize("how", ["convert", "convert --scrub", "repair"])
@pytest.mark.parametrize(("value", "before"), [
    ('{"none": 7, "partial": 2}', {"partial": 2, "other_version": 7}),
    ('{"truncated": -1, "no_dur": 1}', {"no_dur": 1, "other_version": 1}),
    ('{"truncated": [1]}', {"other_version": 1}),
    ('{"truncated": "1"}', {"truncated": 1}),
    ('{"lost_before": 2, "other_version": 3}', {"other_version": 5}),
    ('{"partial": 1, "partial": 99999999999999999999}', {"partial": 1, "other_version": 1}),
    ('{"crossing": 1, "none": 0}', {"crossing": 1}),
])  # fmt: skip
def test_an_account_of_another_version_is_kept(
    key: str, how: str, value: str, before: dict[str, int], command: Path, tmp_path: Path
) -> None:
    path, once_, twice = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    path.write_bytes(with_member(key, value))
    trace = marey.load(path)
    assert trace.ledger.before == before
    letter = "A" if "crossing" in before else "B" if "no_dur" in before and len(before) == 1 else "C"
    # one of three records left out is more than a tenth
    assert trace.grade.letter == ("D" if "partial" in before else letter)
    how = how.removeprefix("convert").strip()
    text = write(command, how, path, once_)
    assert marey.load(once_).ledger.before == before
    assert marey.load(once_).grade.letter == trace.grade.letter
    assert write(command, how, once_, twice) == text


def test_a_member_that_is_no_account_is_a_member(command: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(with_member("mareyRepaired", "[1]"))
    assert marey.load(path).ledger.before == {}
    write(command, "", path, tmp_path / "b.json")
    assert read_strictly(tmp_path / "b.json")["mareyRepaired"] == [1]


@pytest.mark.parametrize("value", ["NaN", '"x"', "[1]", '{"scalars": -1}', '{"x": 1}'])
@pytest.mark.parametrize("how", ["", "--scrub", "repair"])
def test_what_is_no_count_of_what_was_mended_is_replaced(
    how: str, value: str, command: Path, tmp_path: Path
) -> None:
    files = [tmp_path / f"{i}.json" for i in range(3)]
    files[0].write_bytes(with_member("mareyMended", value))
    assert write(command, how, files[0], files[1]) == write(command, how, files[1], files[2])
    assert read_strictly(files[1])["mareyMended"]["texts"] == 1


def test_json_comes_also_of_what_cannot_be_repaired(command: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("no trace", encoding="utf-8")
    done = run(command, "doctor", "-f", "json", "--repair", tmp_path / "fixed.json", broken)
    assert done.returncode == 3
    assert [trace["loads"] for trace in json.loads(done.stdout)["traces"]] == [False]
    assert not (tmp_path / "fixed.json").exists()
    done = run(command, "doctor", "-f", "json", "--repair", tmp_path / "none/fixed.json",
               Path(__file__).parent.parent / "data/sched5.json.gz")  # fmt: skip
    assert done.returncode == 3
    assert "cannot write" in done.stderr
    assert json.loads(done.stdout)["traces"][0]["loads"]


@pytest.mark.parametrize("phase", ["X", "M", "x1"])
def test_a_member_named_as_one_of_a_record_is_written_back(phase: str, command: Path, tmp_path: Path) -> None:
    source, fixed = tmp_path / "a.json", tmp_path / "b.json"
    record = {"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    source.write_text(json.dumps({"traceEvents": [record], "ph": phase, "ts": 3, "name": "x"}))
    assert repair(command, source, fixed)
    again = marey.load(fixed)
    assert len(again.events()) == len(marey.load(source).events()) == 1
    assert read_strictly(fixed)["ph"] == phase


def test_joined_documents_become_one(command: Path, data: Path, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.json"
    broken = data / "fixtures/F14_joined_documents.json"
    assert repair(command, broken, fixed)
    before, after = marey.load(broken), marey.load(fixed)
    assert [source.rank for source in after.sources] == [source.rank for source in before.sources]
    assert after.ledger["findings"] == {}


@pytest.mark.parametrize("words", [("--repair", "-"), ("--scrub",)])
def test_options_that_make_no_sense_are_refused(
    words: tuple[str, ...], command: Path, data: Path
) -> None:
    assert run(command, "doctor", *words, data / "sched5.json.gz").returncode == 2


@pytest.mark.parametrize("options", [{"repair": True}, {"scrub": True}, {"repair": True, "scrub": True}])
def test_python_writes_what_the_command_writes(
    options: dict[str, bool], command: Path, data: Path, tmp_path: Path
) -> None:
    broken = data / "fixtures/F18_missing_members.json"
    trace = marey.load(broken, check="all")
    trace.export_chrome_trace(tmp_path / "python.json", **options)
    words = ["--scrub"] if "scrub" in options else []
    assert repair(command, broken, tmp_path / "command.json", *words)
    assert (tmp_path / "python.json").read_bytes() == (tmp_path / "command.json").read_bytes()
    trace.export_chrome_trace(tmp_path / "plain.json")
    assert (tmp_path / "plain.json").read_bytes() != (tmp_path / "python.json").read_bytes()
    with pytest.raises(TypeError):
        trace.export_chrome_trace(tmp_path / "other.json", False, True)  # type: ignore[misc]


# ---- scrub ------------------------------------------------------------------------------------

SECRETS = ("hunter2", "alice", "host17", "acme", "/home", "10.1.2.3", "tok_")


def planted() -> dict[str, Any]:
    """A trace that tells all there is to tell."""
    stack = "/home/alice/acme/train.py(7): step;/opt/acme/lib/python3.11/site-packages/torch/x.py(1): f"
    args = {"External id": 1, "Input Dims": [[2, 3]], "Input type": ["float", "/home/alice"],
            "Concrete Inputs": ["[1, 2]", "hunter2", "10.1.2.3"], "Call stack": stack, "user": "alice",
            "kernel_file": "/home/alice/k.py", "Module Hierarchy": "acme.Model", "alice": 1,
            "grid": {"x": "hunter2", "host17": 1}}  # fmt: skip
    here = {"pid": "host17:1", "tid": "alice's thread", "ts": 10, "dur": 5}
    return {
        "schemaVersion": 1, "host_name": "host17", "username": "alice", "trace_id": "tok_1",
        "metadata": {"system": {"env": {"TOKEN": "hunter2"}}}, "env": "hunter2",
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "numSms": 132, "uuid": "tok_2"}],
        "distributedInfo": {"rank": 3, "backend": "nccl", "host": "host17",
                            "pg_config": [{"pg_name": "acme", "ranks": [0, 3], "pg_desc": "acme"}]},
        "baseTimeNanoseconds": 1000, "displayTimeUnit": "ms", "host17": 1,
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": "host17:1", "tid": 0,
             "args": {"name": "python train.py --password hunter2"}},
            {"ph": "M", "name": "thread_name", "pid": "host17:1", "tid": "alice's thread",
             "args": {"name": "thread 12 (alice)"}},
            {"ph": "M", "name": "process_labels", "pid": "host17:1", "tid": 0, "args": {"labels": "host17"}},
            {"ph": "M", "name": "host17", "pid": "host17:1", "tid": 0, "args": {"x": 1}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "args": args, **here},
            {"ph": "X", "cat": "kernel", "name": "gemm(float*)", "pid": 0, "tid": 7, "ts": 12, "dur": 2,
             "args": {"stream": 7, "device": 0, "correlation": 5, "bytes": "hunter2"}},
            {"ph": "X", "cat": "python_function", "name": "/home/alice/acme/train.py(7): step", **here},
            {"ph": "X", "cat": "user_annotation", "name": "load https://tok_3@host17/acme?x now", **here},
            {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", **here,
             "args": {"Bytes": 4, "Addr": 5, "owner": "alice"}},
            {"ph": "C", "name": "loss", **here, "args": {"loss": 1.5, "by": "alice"}},
            {"ph": "s", "id": "tok_4", "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 12},
            {"ph": "b", "id": "tok_5", "cat": "io", "name": "io", **here},
        ],
        "traceName": "/home/alice/acme/trace.json",
    }  # fmt: skip


@pytest.mark.parametrize("n_files", [1, 2])
def test_none_of_what_is_planted_is_written(n_files: int, command: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{i}.json" for i in range(n_files)]
    for file in files:
        file.write_text(json.dumps(planted()), encoding="utf-8")
    shown = tmp_path / "shown.json"
    assert run(command, "convert", "--scrub", *files, shown).returncode == 0
    text = shown.read_text("utf-8")
    assert [secret for secret in SECRETS if secret in text] == []

    written = read_strictly(shown)
    assert written["deviceProperties"] == [{"id": 0, "name": "NVIDIA H100", "numSms": 132}]
    assert written["distributedInfo"]["rank"] == 3
    records = {record["name"]: record for record in written["traceEvents"] if "name" in record}
    assert records["aten::mm"]["args"]["Input Dims"] == [[2, 3]]
    assert records["aten::mm"]["args"]["Concrete Inputs"] == ["[1, 2]", "", ""]
    assert records["aten::mm"]["args"]["Call stack"] == "train.py(7): step;torch/x.py(1): f"
    assert records["gemm(float*)"]["args"]["correlation"] == 5
    assert "train.py(7): step" in records
    assert records["loss"]["args"] == {"loss": 1.5}
    assert marey.load(shown).sources[0].rank == 3


@pytest.mark.parametrize("left_out", [
    '{"ph": "E", "name": "x", "pid": 2, "tid": 1, "ts": 1}',
    '{"ph": "X", "name": "x", "pid": 2, "tid": 1, "ts": 1, "dur": -5}',
])
@pytest.mark.parametrize("more", ["", '{"ph": "i", "s": "t", "name": "y", "pid": 2, "tid": 3, "ts": 2},'])
def test_repair_of_several_files_is_stable(left_out: str, more: str, command: Path, tmp_path: Path) -> None:
    kept = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 10, "dur": 5}'
    files = [tmp_path / name for name in ("a.json", "b.json")]
    files[0].write_text(f'{{"traceEvents": [{kept}]}}', encoding="utf-8")
    files[1].write_text(f'{{"traceEvents": [{more}{kept}, {left_out}]}}', encoding="utf-8")
    once_written, again = tmp_path / "once.json", tmp_path / "again.json"
    assert run(command, "doctor", "--repair", once_written, *files).returncode in (0, 1)
    assert run(command, "doctor", "--repair", again, once_written).returncode in (0, 1)
    assert again.read_bytes() == once_written.read_bytes()
    records = json.loads(once_written.read_text("utf-8"))["traceEvents"]
    assert {record["pid"] for record in records} == ({1, 2, 3} if more else {1, 2})


@pytest.mark.parametrize("value", ["\\ud800", "\\udc00 \\ud83d", "\\q", "\x01"])
@pytest.mark.parametrize("name", ["a", "\\ud800"])
def test_converting_again_counts_no_damage_again(value: str, name: str, command: Path, tmp_path: Path) -> None:
    args = f'"args": {{"x": "{value}"}}'
    record = f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": 1, "dur": 2, {args}}}'
    files = [tmp_path / f"{i}.json" for i in range(4)]
    files[0].write_text(f'{{"traceEvents": [{record}]}}', encoding="utf-8")
    met = sum(marey.load(files[0], check="all").ledger["repaired"].values())
    for file, written in zip(files, files[1:], strict=False):
        assert run(command, "convert", file, written).returncode == 0
        counts = json.loads(written.read_text("utf-8"))["mareyRepaired"]
        assert sum(counts.values()) == met > 0
        assert written.read_bytes() == files[1].read_bytes()


ARROWS = (
    '{"ph":"s","cat":"fwdbwd","name":"y","id":1,"pid":1,"tid":1,"ts":5}',
    '{"ph":"s","cat":"ac2g","name":"x","id":1,"pid":1,"tid":1,"ts":5}',
    '{"ph":"s","cat":"ac2g","name":"x","id":"q","pid":1,"tid":1,"ts":5}',
    '{"ph":"s","cat":"ac2g","name":"x","id":"p","pid":1,"tid":1,"ts":5}',
    '{"ph":"s","cat":"ac2g","name":"x","id":0,"pid":1,"tid":1,"ts":1}',
)
STEPPED_BACK = (
    '{"ph":"b","cat":"async","name":"outer","id":"5","pid":1,"tid":1,"ts":5}',
    '{"ph":"b","cat":"async","name":"inner","id":"5","pid":1,"tid":1,"ts":24}',
    '{"ph":"e","cat":"async","name":"inner","id":"5","pid":1,"tid":1,"ts":9}',
    '{"ph":"e","cat":"async","name":"outer","id":"5","pid":1,"tid":1,"ts":30}',
)


# An end without a category, of a slice that has none, beside a device operation of that pid and tid.
SHARED = (
    '{"ph":"B","name":"host","pid":0,"tid":7,"ts":7}',
    '{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":8}',
    '{"ph":"E","pid":0,"tid":7,"ts":9}',
    '{"ph":"E","pid":0,"tid":7,"ts":100}',
)


@pytest.mark.parametrize("records", [ARROWS, STEPPED_BACK, SHARED])
@pytest.mark.parametrize("how", ["convert", "convert --scrub", "repair"])
def test_writing_its_own_output_changes_nothing(
    how: str, records: tuple[str, ...], command: Path, tmp_path: Path
) -> None:
    how = how.removeprefix("convert").strip()
    first, second, third = (tmp_path / f"{i}.json" for i in range(3))
    first.write_text('{"traceEvents":[' + ",".join(records) + "]}", encoding="utf-8")
    assert write(command, how, first, second) == write(command, how, second, third)
    spans = [[(s.name, s.dur_ns) for s in marey.load(file).async_spans()] for file in (first, second)]
    assert spans[0] == spans[1]
    slices = [[(e.name, e.dur_ns) for e in marey.load(file).events()] for file in (first, second)]
    assert slices[0] == slices[1]


def test_the_order_of_arrows_is_not_of_the_file(command: Path, tmp_path: Path) -> None:
    written = set()
    for records in (ARROWS, ARROWS[::-1]):
        (tmp_path / "in.json").write_text('{"traceEvents":[' + ",".join(records) + "]}", encoding="utf-8")
        written.add(write(command, "", tmp_path / "in.json", tmp_path / "out.json"))
    assert len(written) == 1


def producer(command: Path, trace: Path) -> list[dict[str, Any]]:
    files = json.loads(run(command, "info", "--format", "json", trace).stdout)["files"]
    return [file["written_by"] for file in files]


@pytest.mark.parametrize("name", ["torch213_conv_train", "torch211_streams_sync"])
def test_scrubbing_leaves_the_version_of_torch(name: str, command: Path, data: Path, tmp_path: Path) -> None:
    trace, shown = data / f"{name}.json.gz", tmp_path / "shown.json.gz"
    assert run(command, "convert", "--scrub", trace, shown).returncode == 0
    assert producer(command, shown) == producer(command, trace)
    tables = [run(command, "report", "--compat", "torch", "-n", "-1", file).stdout for file in (trace, shown)]
    assert tables[0] == tables[1] != ""


def table(command: Path, trace: Path) -> list[dict[str, str]]:
    done = run(command, "report", "--format", "csv", "--group-by", "name,shape", trace)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.mark.parametrize("name", ["gpt_train_stack", "resnet18_train", "cpu_mlp_train"])
def test_scrubbing_changes_no_number(name: str, command: Path, data: Path, tmp_path: Path) -> None:
    trace, shown = data / f"{name}.json.gz", tmp_path / "shown.json.gz"
    assert run(command, "convert", "--scrub", trace, shown).returncode == 0
    assert table(command, trace) == table(command, shown)


@pytest.mark.parametrize("how", ["--scrub", "repair"])
@pytest.mark.parametrize("end", [[], [{"ph": "E", "pid": 0, "tid": 7, "ts": 900}]])
def test_an_operation_that_was_cut_stays_cut(
    end: list[dict[str, Any]], how: str, command: Path, tmp_path: Path
) -> None:
    kernels = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts, "dur": 1}
               for ts in (10, 20, 30)]  # fmt: skip
    begin = {"ph": "B", "cat": "kernel", "name": "w", "pid": 0, "tid": 7, "ts": 0}
    op = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 1000}
    broken, once_, twice = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    broken.write_text(json.dumps({"traceEvents": [begin, *kernels, op, *end]}), encoding="utf-8")
    text = write(command, how, broken, once_)
    assert write(command, how, once_, twice) == text
    assert marey.load(once_).ledger["repaired"] == {}
    assert [s.dur_ns for s in marey.load(once_).events().where(name="w")] == [10_000]


def test_the_length_of_an_operation_that_was_cut_is_kept(command: Path, tmp_path: Path) -> None:
    operations = (("n41", 70, 321), ("n43", 76, 78), ("n44", 79, 80))
    records = [{"ph": ph, "cat": "kernel", "name": name, "pid": 0, "tid": 0, "ts": ts}
               for name, begin, end in operations for ph, ts in (("B", begin), ("E", end))]  # fmt: skip
    records.sort(key=lambda record: float(str(record["ts"])))
    files = [tmp_path / f"{i}.json" for i in range(3)]
    files[0].write_text(json.dumps({"traceEvents": records}), encoding="utf-8")
    assert write(command, "", files[0], files[1]) == write(command, "", files[1], files[2])
    for file in files:
        trace = marey.load(file)
        assert trace.ledger["repaired"] == {"wild_duration": 1}
        assert [(e.name, e.dur_ns) for e in trace.events()] == [("n41", 6_000), ("n43", 2_000), ("n44", 1_000)]
    (written,) = (r for r in json.loads(files[1].read_text())["traceEvents"] if r["name"] == "n41")
    assert written["dur"] == 251


def numbers(trace: marey.Trace) -> list[tuple[int, int | None, int]]:
    return [(e.start_ns, e.dur_ns, e.self_ns) for e in trace.events()]


@pytest.mark.parametrize("how", ["", "--scrub", "repair"])
@pytest.mark.parametrize(
    "operations",
    [
        [(4, 1), (14, 5000), (14, 1000), (15, 0)],
        [(10, 1_000_000), (10, 7), (15, 1), (20, 1)],
        [(10, 1000), (20, None), (900, 1), (1009, 2)],
        [(10, None), (10, 2), (11, 1), (12, 1)],
    ],
)
def test_operations_beside_one_that_was_cut_stay_as_they_are(
    operations: list[tuple[int, int | None]], how: str, command: Path, tmp_path: Path
) -> None:
    """Which of two is around the other, and which of them are too long, hangs on the length to which
    one was cut. What has no duration here never ends."""
    records = [{"ph": "B" if dur is None else "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7,
                "ts": ts, "dur": dur} for i, (ts, dur) in enumerate(operations)]  # fmt: skip
    files = [tmp_path / f"{i}.json" for i in range(3)]
    files[0].write_text(json.dumps({"traceEvents": records}), encoding="utf-8")
    assert write(command, how, files[0], files[1]) == write(command, how, files[1], files[2])
    read = [marey.load(file) for file in files]
    assert numbers(read[0]) == numbers(read[1])
    cut = read[0].ledger["repaired"]
    assert read[1].ledger["repaired"] == ({} if how else cut)


@pytest.mark.parametrize("how", ["", "--scrub", "repair"])
def test_what_is_written_steps_back_no_more_often(how: str, command: Path, tmp_path: Path) -> None:
    stamps = [("B", 2, "a"), ("E", 3, ""), ("B", 1, "b"), ("E", 1.5, ""), ("B", 2, "c")]
    records = [{"ph": ph, "pid": 1, "tid": 7, "ts": ts, "name": name} for ph, ts, name in stamps]
    files = [tmp_path / f"{i}.json" for i in range(3)]
    files[0].write_text(json.dumps({"traceEvents": records}), encoding="utf-8")
    assert write(command, how, files[0], files[1]) == write(command, how, files[1], files[2])
    read = [[(e.name, e.start_ns, e.dur_ns) for e in marey.load(file).events()] for file in files]
    assert read[0] == read[1]
    assert [marey.load(file).ledger["findings"]["clock_stepped_back"] for file in files] == [1, 1, 1]


@pytest.mark.parametrize("value", ["2null", "5", '"x"', "[1]", "null"])
@pytest.mark.parametrize("how", ["", "repair"])
def test_a_name_of_a_process_that_was_no_object_is_written_once(
    how: str, value: str, command: Path, tmp_path: Path
) -> None:
    """In a file of several files each name of a process holds what it was in its own."""
    record = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
    name = '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}'
    files = [tmp_path / f"{i}.json" for i in range(2)]
    for file in files:
        file.write_text(f'{{"traceEvents": [{name}, {record}]}}', encoding="utf-8")
    damaged, once_, twice = (tmp_path / name for name in ("damaged.json", "once.json", "twice.json"))
    assert run(command, "convert", *files, damaged).returncode == 0
    text = damaged.read_text("utf-8")
    own = '"marey": {"name": "python"}'
    assert text.count(own) == 2
    damaged.write_text(text.replace(own, f'"marey": {value}'), encoding="utf-8")
    first = write(command, how, damaged, once_)
    assert write(command, how, once_, twice) == first


@pytest.mark.parametrize("name", ["01", "nil", "-", "NaN", '"a", "name": nil', '"a\\q"'])
@pytest.mark.parametrize("how", ["", "--scrub", "repair"])
def test_a_name_of_a_process_that_is_mended_stands_behind_its_rank(
    how: str, name: str, command: Path, tmp_path: Path
) -> None:
    record = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
    named = f'{{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {{"name": {name}}}}}'
    files = [tmp_path / f"{i}.json" for i in range(2)]
    for file in files:
        file.write_text(f'{{"traceEvents": [{named}, {record}]}}', encoding="utf-8")
    joined, once_, twice = (tmp_path / name for name in ("joined.json", "once.json", "twice.json"))
    done = run(command, "convert", *(["--scrub"] if how == "--scrub" else []), *files, joined)
    assert done.returncode == 0, done.stderr
    assert write(command, how, joined, once_) == write(command, how, once_, twice)
    if how != "repair":
        assert joined.read_bytes() == once_.read_bytes()
