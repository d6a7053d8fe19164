"""What `check="all"` finds inside of args, against declared damage: each piece of text below says
what is wrong with it, and a made-up record is as damaged as its pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import marey

SOUND = [
    b"0", b"-0", b"10.50", b"1e9", b"-1.5E-07", b"12345678901234567890123456789012345", b"true",
    b"false", b"null", b'""', b'"plain text that is longer than thirty-two bytes"',
    b'"\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9 \\ud83d\\ude00"', '"é 注意力 😀"'.encode(), b"[]", b"{}",
    b"[[], {}, [1, 2]]", b'{"a": 1, "b": {"a": 2}}', b' [ 1 ,\n\t2 ] ',
]  # fmt: skip

DAMAGED = [
    (b"NaN", "non_finite"), (b"-inf", "non_finite"), (b"+Infinity", "non_finite"),
    (b"01", "bad_number"), (b"-", "bad_args"), (b".5", "bad_number"), (b"1.", "bad_number"),
    (b"+1", "bad_number"), (b"1e", "bad_number"), (b"0.-05", "bad_number"),
    (b'"\\x"', "bad_escape"), (b'"\\u12g4"', "bad_escape"), (b'"\\ud800"', "bad_utf8"),
    (b'"\\udc00\\ud800"', "bad_utf8"), (b'"\xff"', "bad_utf8"), (b'"\xed\xa0\x80"', "bad_utf8"),
    (b'"' + b"x" * 40 + b'\xc3"', "bad_utf8"), (b'"\t"', "control_char"), (b'"a\nb"', "control_char"),
    (b'{"a":1,"a":2}', "duplicate_key"), (b'{"\\u0061":1,"b":3,"a":2}', "duplicate_key"),
    (b'{"' + b"k" * 50 + b'":1,"b":0,"' + b"k" * 50 + b'":2}', "duplicate_key"),
    (b"nil", "bad_args"), (b"[1 2]", "bad_args"), (b"[1,]", "bad_args"), (b"[,1]", "bad_args"),
    (b'{"a" 1}', "bad_args"), (b'{"a":}', "bad_args"), (b"{1:2}", "bad_args"), (b'{"a":1,}', "bad_args"),
    (b"[" * 300 + b"]" * 300, "bad_args"), (b'["a":1]', "bad_args"),
    (b'{"a"}', "bad_args"), (b'{"a":1:2}', "bad_args"), (b'{"a":"b" "c":1}', "bad_args"),
]  # fmt: skip

RECORD = b'{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%d,"dur":5,"args":{%s}}'


def damage_of(*args: bytes, check: Any = "all") -> dict[str, int]:
    records = [RECORD % (10 * i, text) for i, text in enumerate(args)]
    trace = marey.load(b'{"traceEvents":[' + b",\n".join(records) + b"]}", check=check)
    assert len(trace.events()) == len(args)
    assert trace.ledger.checked == check
    assert trace.ledger["quarantined"] == {}
    return {**trace.ledger["repaired"], **trace.ledger["findings"]}


@pytest.mark.parametrize("text", SOUND)
def test_what_is_json_is_not_told(text: bytes) -> None:
    assert damage_of(b'"x": %s' % text, b'"x": [%s], "y": %s' % (text, text)) == {}


@pytest.mark.parametrize(("text", "reason"), DAMAGED)
def test_damage_is_told_at_any_depth(text: bytes, reason: str) -> None:
    assert damage_of(b'"x":%s' % text) == {reason: 1}
    assert damage_of(b'"a":1, "x": {"y": [1, %s ]}' % text, b'"x":1') == {reason: 1}
    assert damage_of(b'"x":%s' % text, check="fields") == {}


def test_a_record_counts_once_for_a_reason() -> None:
    text = b'"a":NaN,"b":inf,"c":"\\x","c":"\\y"'
    assert damage_of(text, text) == {"non_finite": 2, "bad_escape": 2, "duplicate_key": 2}


def test_the_name_and_the_args_of_a_record_count_once() -> None:
    record = RECORD.replace(b"aten::mm", b"a\\xb") % (0, b'"p":"C:\\xyz"')
    trace = marey.load(b"[" + record + b"]", check="all")
    assert trace.ledger["repaired"] == {"bad_escape": 1}


@pytest.mark.parametrize("phase", [b"i", b"C", b"s", b"b", b"M"])
def test_records_of_all_phases_are_looked_at(phase: bytes) -> None:
    records = RECORD % (0, b"") + b"," + (RECORD % (0, b'"a":NaN')).replace(
        b'"ph":"X"', b'"id":1,"ph":"%s"' % phase)  # fmt: skip
    trace = marey.load(b"[" + records + b"]", check="all")
    assert trace.ledger["repaired"] == {"non_finite": 1}
    assert trace.ledger.rows[0].examples == (len(RECORD % (0, b"")) + 2,)


def test_members_of_the_record_itself_may_stand_twice() -> None:
    trace = marey.load(b"[" + (RECORD % (0, b"")).replace(b'"dur"', b'"ts":7,"dur"') + b"]", check="all")
    assert trace.ledger["repaired"] == {"duplicate_key": 1}
    assert trace.events()[0].start_ns == 7000


def test_what_is_inside_a_record_that_is_set_aside_is_not_counted() -> None:
    records = RECORD % (0, b"") + b"," + (RECORD % (0, b'"a":NaN')).replace(b'"dur":5', b'"dur":-5')
    ledger = marey.load(b"[" + records + b"]", check="all").ledger
    assert ledger["quarantined"] == {"negative_dur": 1}
    assert ledger["repaired"] == {}


def test_the_head_is_looked_at() -> None:
    head = b'{"note": {"a": NaN}, "traceEvents": [' + RECORD % (0, b"") + b"]}"
    assert marey.load(head).ledger["findings"] == {}
    assert marey.load(head, check="all").ledger["findings"] == {"bad_metadata": 1}


def test_an_object_may_have_many_keys() -> None:
    keys = b",".join(b'"key %d":0' % i for i in range(5000))
    assert damage_of(keys) == {}
    assert damage_of(keys + b',"key 77":1') == {"duplicate_key": 1}


@given(st.data())
def test_records_are_as_damaged_as_their_parts(data: st.DataObject) -> None:
    parts: list[tuple[bytes, str | None]] = [(text, None) for text in SOUND]
    parts += [(text, reason) for text, reason in DAMAGED if reason != "bad_args"]
    args, wanted = [], {}
    for _ in range(data.draw(st.integers(1, 6))):
        chosen = data.draw(st.lists(st.sampled_from(parts), max_size=6))
        depth = data.draw(st.integers(0, 3))
        members = [b'"k%d":%s' % (i, text) for i, (text, _) in enumerate(chosen)]
        args.append(b'"d":' + b"[" * depth + b"{" + b", ".join(members) + b"}" + b"]" * depth)
        for reason in {reason for _, reason in chosen if reason}:
            wanted[reason] = wanted.get(reason, 0) + 1
    assert damage_of(*args) == wanted


@pytest.mark.parametrize(("text", "value"), [
    (b"NaN", None), (b"-inf", None), (b'[1, "NaN", -Infinity]', [1, "NaN", None]), (b"01", "01"),
    (b"0.-05", "0.-05"), (b'"C:\\x\\new"', "C:\\x\\new"), (b'"a\\"b\\x"', 'a"b\\x'), (b'"a\tb"', "a\tb"),
    (b'"\xff"', "\ufffd"), (b'"\\ud800!"', "\ufffd!"), (b'"\\ud83d\\ude00"', "\U0001f600"), (b'{"a":1,"a":2}', {"a": 2}),
])  # fmt: skip
def test_damaged_args_are_read_as_the_ledger_says(text: bytes, value: Any) -> None:
    trace = marey.load(b"[" + RECORD % (0, b'"x":' + text) + b"]")
    assert trace.events()[0].args == {"x": value}


def test_only_known_checks_are_taken() -> None:
    with pytest.raises(ValueError, match="no check 'some'"):
        marey.load(b"[]", check="some")  # type: ignore[arg-type]


FAULTS = ["NaN", '"correlation": 5 "x": 1', '"x": [1 2]', '"x": {"a" 1}', '"x" 1', '"x":', "1: 2", '"x":: 1', ","]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("category", ["cuda_runtime", "cpu_op"])
def test_what_stands_before_a_fault_counts(fault: str, category: str) -> None:
    """Whoever reads args: the load, columns, a look at one event."""
    args = '{"External id": 7, "correlation": 3, %s, "External id": 8, "correlation": 4}' % fault
    record = '{"ph":"X","cat":"%s","name":"a","pid":1,"tid":1,"ts":1,"dur":5,"args":%s}' % (category, args)
    trace = marey.load(f'{{"traceEvents":[{record}]}}'.encode(), check="all")
    event = trace.events()[0]
    assert trace.ledger["findings"]["bad_args"] == 1
    assert event.args["External id"] == 7
    assert event.args["correlation"] == (5 if fault.startswith('"corr') else 3)
    if category == "cuda_runtime":
        assert event.correlation == event.args["correlation"]


@pytest.mark.parametrize("args", ["[5]", "5", '"x"', "true", "NaN"])
def test_args_that_are_no_object_are_told(args: str) -> None:
    record = '{"ph":"%s","cat":"kernel","name":"a","pid":1,"tid":1,"ts":1,"dur":5,"args":%s}'
    records = ",".join(record % (phase, args) for phase in "XM")
    trace = marey.load(f'{{"traceEvents":[{records}]}}'.encode())
    assert trace.ledger["findings"]["bad_args"] == 2
    assert [event.args for event in trace.events()] == [{}]


@pytest.mark.parametrize("other", ['"\\u0061bc"', '"\\u0061\\u0062\\u0063"'])
def test_ids_are_what_their_text_spells(other: str) -> None:
    record = '{"ph":"X","cat":"%s","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":5,"args":{"correlation": %s}}'
    records = [record % ("cuda_runtime", 1, '"abc"'), record % ("kernel", 10, other),
               record % ("cuda_runtime", 20, "5"), record % ("kernel", 30, '"\\u0035"')]  # fmt: skip
    trace = marey.load(f'{{"traceEvents":[{",".join(records)}]}}'.encode())
    assert trace.ledger["findings"] == {}
    by_start = sorted(trace.events(), key=lambda event: event.start_ns)
    ids = [event.correlation for event in by_start]
    assert ids[0] == ids[1] != 5
    assert ids[2:] == [5, 5]
