"""``--scrub``: a secret is planted at every place of a trace where text may stand, and is gone from
all but those that docs/scrub.md says are kept."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import marey
import pytest

SEED = 20261128
TRACES = ("sched5", "gpt_train_stack", "torch213_encoder_verbose", "torch211_streams_sync",
          "torch211_threads_verbose", "dataparallel_infer")  # fmt: skip

# What a secret may stand in. Only the plain word may stay, and only where people choose names.
PLAIN = "{}"
SHAPES = (
    "/home/{}", "/home/{}/x.py(3): f", "/home/john {}/x.py(3): f", "C:\\Users\\John {}\\x.py", "@/home/{}",
    "\\\\{}\\share", "-I/home/{}/inc", "git@host:{}/repo", "{}@corp.com", "https://u:{}@h/p", "s3://<{}>/x",
    "/usr/lib/python3/site-packages/../../home/{}/x.py", "nn.Module: Net /data/{}/y", "token={}", "10.1.2.3 {}",
    "--password {}", "Authorization: Bearer {}", "/home/\n{}", "~/{}/a.py(1): f", "$HOME/{}", "/home/x;{}/y",
    "ssh -i /home/{}/.ssh/id", "<frozen /home/{}>(1): f", "/home/\u2028{}/a", "../{}/a.py(3): g",
)  # fmt: skip


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """(kind of place, container, key or index) of all strings and keys below a value. Records of a
    phase and category are a kind, elements of a list too."""
    if isinstance(value, dict):
        for key, item in list(value.items()):
            yield (*path, key, "<key>"), value, key
            if isinstance(item, str | int | float) and not isinstance(item, bool):
                yield (*path, key), value, key
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            kind = (*path, "[]")
            if path == ("traceEvents",) and isinstance(item, dict):
                kind = (*path, str(item.get("ph")), str(item.get("cat", item.get("name"))))
            if isinstance(item, str | int | float):
                yield kind, value, i
            yield from places(item, kind)


def plant(trace: Any, make: Callable[[int], str]) -> list[tuple[str, ...]]:
    """Plants one text at the first place of each kind; which kinds there were."""
    kinds: dict[tuple[str, ...], tuple[Any, Any]] = {}
    for kind, container, key in places(trace):
        kinds.setdefault(kind, (container, key))
    for number, (kind, (container, key)) in enumerate(kinds.items()):
        if kind[0] == "traceEvents" and kind[-1] in {"ph", "ts", "dur"}:
            continue  # what a record is
        if kind[-1] != "<key>":
            container[key] = make(number)
        elif isinstance(container, dict):
            container[make(number)] = container.get(key, 1)  # beside the member that is known
    return list(kinds)


def is_name(kind: tuple[str, ...]) -> bool:
    """Names of records, and keys of the values of a counter."""
    return kind[0] == "traceEvents" and (
        (kind[1] != "M" and kind[3:] == ("name",)) or (kind[1] == "C" and kind[3] == "args")
    )


def scrub(command: Path, trace: Any, folder: Path) -> str:
    planted, shown = folder / "planted.json", folder / "shown.json"
    planted.write_text(json.dumps(trace), encoding="utf-8")
    done = subprocess.run([command, "convert", "--force", "--scrub", planted, shown],
                          capture_output=True, check=False, encoding="utf-8", timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return shown.read_text("utf-8")


def read(data: Path, name: str) -> Any:
    trace = json.loads(gzip.decompress((data / f"{name}.json.gz").read_bytes()))
    trace["traceEvents"] = trace["traceEvents"][:3000] + [
        {"ph": "C", "cat": "x", "name": "loss", "pid": 1, "tid": 1, "ts": 5, "args": {"loss": 1.5, "by": "me"}},
        {"ph": "i", "cat": "mine", "name": "mark", "s": "t", "pid": 1, "tid": 1, "ts": 5},
        {"ph": "b", "cat": "io", "name": "io", "id": "0x1", "pid": 1, "tid": 1, "ts": 5, "scope": "s"},
    ]  # fmt: skip
    return trace


@pytest.mark.parametrize("name", TRACES)
def test_no_secret_is_left_at_any_place(name: str, command: Path, data: Path, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    for shape in (PLAIN, *dice.sample(SHAPES, 6)):
        trace = read(data, name)
        secrets = [f"sEcReT{i:05}x" if shape != PLAIN else f"zq{i:05}Wort" for i in range(4000)]
        kinds = plant(trace, lambda i, shape=shape, secrets=secrets: shape.format(secrets[i]))
        text = scrub(command, trace, tmp_path)
        left = [kind for kind, secret in zip(kinds, secrets, strict=False) if secret in text]
        assert [kind for kind in left if shape != PLAIN or not is_name(kind)] == [], shape


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_a_secret_stays(shape: str, command: Path, tmp_path: Path) -> None:
    text = shape.format("tokken")
    here = {"pid": text, "tid": text, "ts": 5, "dur": 2}
    kinds = ("cpu_op", "kernel", "user_annotation", "gpu_user_annotation", "python_function", text)
    trace = {
        "traceEvents": [
            {"ph": "X", "cat": cat, "name": text, "args": {"Call stack": text}, **here} for cat in kinds
        ]
    }  # fmt: skip
    assert "tokken" not in scrub(command, trace, tmp_path)


KEPT = {
    "aten::mm": "cpu_op", "Torch-Compiled Region: 0/1": "cpu_op", "LayerNorm affine=False": "user_annotation",
    "void at::native::(anonymous namespace)::f<4, at::F<float> >(int, float*)": "kernel",
    "T& T::operator=<int>(T const&)": "kernel", "a <= b, c => d": "kernel", "step[DECODE bs=32]": "user_annotation",
    "torch/nn/modules/linear.py(114): forward": "python_function", "<built-in function len>": "python_function",
    "<frozen importlib._bootstrap>(1390): _handle_fromlist": "python_function", "x.py(7): <lambda>": "python_function",
    "Memcpy HtoD (Pageable -> Device)": "gpu_memcpy", "Optimizer.step#SGD.step": "user_annotation",
    **dict.fromkeys(("at::native::add", "std::vector<c10::dead>", "add::face", "a::b::c", "c10d::face", "layer::2",
                     "c10d::allreduce_", "my_3::add", "x_dead::beef", "feed::run", "ffff::run", "cuda:0", "1:2",
                     "aten::dead::beef", "be::ef", "f<4>::add", "void c10::cuda::f(): done"), "cpu_op"),
}  # fmt: skip


def test_names_without_a_sign_of_a_path_are_kept(command: Path, tmp_path: Path) -> None:
    here = {"pid": 1, "tid": 1, "ts": 5, "dur": 2}
    records = [{"ph": "X", "cat": cat, "name": name, **here} for name, cat in KEPT.items()]
    shown = json.loads(scrub(command, {"traceEvents": records}, tmp_path))
    assert {record["name"] for record in shown["traceEvents"] if record["ph"] == "X"} == set(KEPT)


def test_values_of_a_known_form_are_kept(command: Path, tmp_path: Path) -> None:
    args = {"Input type": ["float", "c10::BFloat16", "TensorList", "long int", "c10::complex<double>", ""],
            "dtype": "Float8_e4m3fn", "Collective name": "_allgather_base", "kernel_backend": "triton",
            "cuda_sync_kind": "Stream Wait Event", "Input Dims": [[2, 3], []], "grid": [1, 2, 3],
            "Call stack": "torch/nn/modules/module.py(1): _call_impl;train.py(7): <module>"}  # fmt: skip
    head = {"displayTimeUnit": "ms", "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2,
                                "pg_config": [{"pg_name": "0", "backend_config": "cpu:gloo,cuda:nccl"}]}}  # fmt: skip
    record = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "args": args}
    shown = json.loads(scrub(command, {**head, "traceEvents": [record]}, tmp_path))
    assert shown["traceEvents"][-1]["args"] == args
    assert {key: shown[key] for key in head} == head


@pytest.mark.parametrize(
    "device",
    ["NVIDIA H100 80GB HBM3", "Tesla V100-DGXS-32GB", "Quadro GP100", "NVIDIA A100-PG509-200", "NVIDIA B200",
     "AMD Radeon Graphics", "NVIDIA GeForce RTX 2080 Ti", "AMD Instinct MI300X VF", "Intel(R) Data Center GPU Max 1550"],
)  # fmt: skip
def test_devices_keep_their_name(device: str, command: Path, tmp_path: Path) -> None:
    trace = {"deviceProperties": [{"id": 0, "name": device}], "traceEvents": []}
    trace["traceEvents"] = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 2}]
    assert json.loads(scrub(command, trace, tmp_path))["deviceProperties"][0]["name"] == device


def tied(launch: Any, kernel: Any) -> dict[str, Any]:
    """An operator that launches a kernel; all that ties them is what somebody wrote as text."""
    here = {"pid": "host17", "tid": "alice", "dur": 5}
    return {
        "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "op", "ts": 0, "args": {"External id": "tok_1"}, **here, "dur": 9},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1, **here,
             "args": {"External id": "tok_1", "correlation": launch}},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 8, "dur": 3,
             "args": {"External id": "tok_1", "correlation": kernel, "device": 0, "stream": 7}},
            {"ph": "X", "cat": "mine/secret", "name": "/home/x", "ts": 20, **here},
            {"ph": "X", "cat": "mine/other", "name": "scrubbed 0", "ts": 30, **here},
            {"ph": "X", "cat": "category 0", "name": "/home/y", "ts": 40, **here},
        ]
    }  # fmt: skip


@pytest.mark.parametrize(("launch", "kernel", "owns"), [("tok_5", "tok_5", True), ("tok_5", "tok_6", False),
                                                        ("id 0", "tok_1", False), ("7", 7, True)])  # fmt: skip
def test_what_ties_records_is_kept(launch: Any, kernel: Any, owns: bool, command: Path, tmp_path: Path) -> None:
    text = scrub(command, tied(launch, kernel), tmp_path)
    assert "tok_" not in text and "alice" not in text and "secret" not in text
    for path in (tmp_path / "planted.json", tmp_path / "shown.json"):
        (kernel_slice,) = marey.load(path).events().where(kind="kernel")
        assert (kernel_slice.owner is not None and kernel_slice.owner.name == "op") == owns, path


def test_numbers_tell_apart_what_was_different(command: Path, tmp_path: Path) -> None:
    shown = json.loads(scrub(command, tied(1, 1), tmp_path))
    last = [record for record in shown["traceEvents"] if record["ph"] == "X"][-3:]
    assert len({record["name"] for record in last}) == len({record["cat"] for record in last}) == 3


def numbers(path: Path) -> list[tuple[Any, ...]]:
    """What the numbers of a trace rest on."""
    trace = marey.load(path)
    rows = [(e.name, e.start_ns, e.dur_ns, e.self_ns, e.owner and e.owner.name, e.track.device, e.track.stream)
            for e in trace.events()]  # fmt: skip
    return [*rows, *((s.rank, s.base_ns) for s in trace.sources)]


KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 12, "dur": 3}
LAUNCH = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
OP = {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 0, "dur": 10}


@pytest.mark.parametrize(
    "kernel",
    [{"args": {"device": "?u0037", "stream": "?u0031", "correlation": 5}},
     {"args": {"d?u0065vice": 2, "stre?u0061m": 3, "corr?u0065lation": 5}},
     {"pid": 5.0, "tid": 7.0, "args": {"correlation": 5}}, {"pid": "5", "tid": "7.0", "args": {"correlation": "5"}},
     {"pid": 1e2, "tid": "1e2", "args": {"correlation": "+5"}}, {"args": {"correlation": 5, "External id": " 7"}}],
)  # fmt: skip
def test_a_number_is_one_however_it_is_spelt(kernel: dict[str, Any], command: Path, tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": [{**LAUNCH, "args": {"correlation": 5}}, {**KERNEL, **kernel}]})
    planted, shown = tmp_path / "planted.json", tmp_path / "shown.json"
    planted.write_text(text.replace("?", "\\"), encoding="utf-8")
    for words in (["convert", "--scrub"], ["convert"]):
        done = subprocess.run([command, *words, "--force", planted, shown], check=False, timeout=60)
        assert done.returncode == 0
        assert numbers(shown) == numbers(planted), words


def test_an_account_that_is_none_is_left_out_at_once(command: Path, tmp_path: Path) -> None:
    for value in ([1], "x", {}, {"mine": 3}):
        once = scrub(command, {"mareyLeftOut": value, "traceEvents": [LAUNCH]}, tmp_path)
        assert scrub(command, json.loads(once), tmp_path) == once, value


@pytest.mark.parametrize("name", TRACES)
def test_scrubbing_twice_is_scrubbing_once(name: str, command: Path, data: Path, tmp_path: Path) -> None:
    dice = random.Random(SEED)
    for shape in ("x{}", dice.choice(SHAPES)):
        trace = read(data, name)
        plant(trace, lambda i, shape=shape: shape.format(f"word{i:05}"))
        once = scrub(command, trace, tmp_path)
        assert scrub(command, json.loads(once), tmp_path) == once, shape


def scattered(seed: int) -> list[dict[str, Any]]:
    """Arrows, slices with and without an end and more on threads whose ids are text."""
    dice = random.Random(seed)
    ids = ["Aaa", "Spans", "stream 10", "stream 7", "zz", 7, "7.0", "id 10", *(f"main{i}" for i in range(12))]
    records: list[dict[str, Any]] = []
    for at in range(40):
        record = {"ph": dice.choice("XXBEsfMbe"), "pid": dice.choice(ids), "tid": dice.choice(ids), "ts": at,
                  "name": dice.choice("ab"), "cat": "cpu_op", "id": at, "dur": 1}  # fmt: skip
        if record["ph"] == "M":
            record |= {"name": dice.choice(("process_name", "mine")), "args": {"name": "x"}}
        records.append({k: v for k, v in record.items() if k != "dur" or record["ph"] == "X"})
    return records


@pytest.mark.parametrize("n_files", [1, 3])
def test_ids_that_are_text_are_numbered_in_their_order(n_files: int, command: Path, tmp_path: Path) -> None:
    for seed in range(0, 30 * n_files, n_files):
        files = [tmp_path / f"{i}.json" for i in range(n_files)]
        for i, file in enumerate(files):
            file.write_text(json.dumps({"traceEvents": scattered(SEED + seed + i)}), encoding="utf-8")
        shown = tmp_path / "all.json"
        words = [command, "convert", "--scrub", "--force", *files, shown]
        assert subprocess.run(words, check=False, capture_output=True, timeout=60).returncode == 0
        once = shown.read_text("utf-8")
        assert scrub(command, json.loads(once), tmp_path) == once, seed


ADDRESSES = ("10.12.34.56", "2001 10.2.3.4", "1.2.3.4.5", "2001:0:0:1::7", "::1.2.3", "00:11:22:33:44:55", "2026-11-29",
             "2026-11-29 10.30", "+49 711 1234567", "555-1234", "12e3e4", "1+1", "10.6.6.6 ")  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_of_digits_is_no_number(address: str, command: Path, tmp_path: Path) -> None:
    ids = ("External id", "Python id", "correlation", "stream", "device", "context", "graph id")
    lists = ("Seq", "Ev Idx", "Concrete Inputs", "Input Dims", "Process Group Ranks")
    args = {key: address for key in (*ids, *lists)}
    here = {"pid": address, "tid": address, "ts": 5, "dur": 2}
    trace = {"schemaVersion": address, "distributedInfo": {"rank": address, "pg_name": address},
             "traceEvents": [{"ph": "X", "cat": cat, "name": "a", "args": args, **here} for cat in ("cpu_op", "kernel")]
             + [{"ph": ph, "cat": "ac2g", "id": address, "name": "ac2g", "pid": address, "tid": 1, "ts": 4}
                for ph in "sfbe"]
             + [{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": f"stream {address}"}}]}  # fmt: skip
    assert address not in scrub(command, trace, tmp_path)


@pytest.mark.parametrize("address", ["host 10.1.2.3", "2001:db8::1", "[fe80::1]:80", "aa:bb:cc:dd:ee:ff", "at 10:30:59",
                                     "peer:2001:db8::1", "tcp:fe80::1:2", "time:10:30:59", "addr_2001:db8::1",
                                     "connect fe80::abcd:ef", "fe80::abcd", "FE80::ABCD", "node dead::beef", "fd00::",
                                     "peer_fe80::1", "peer_fe80::abcd", "u12:34:56", "2026T10:30:59Z", "10:30:59pm",
                                     "dead:beef::cafe", "2a00::beef", "::1", "ff02::fb", "[fe80::1%eth0]", "2001::",
                                     "bearer:x9", "Bearer\tx", "api\tkey x", "x\t--token y"])  # fmt: skip
def test_an_address_in_a_name_is_not_shown(address: str, command: Path, tmp_path: Path) -> None:
    named = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 5 * i, "dur": 2}
             for i, name in enumerate((address, "c10::add", "d::e::f0"))]  # fmt: skip
    text = scrub(command, {"traceEvents": named}, tmp_path)
    assert address not in text and "c10::add" in text and "d::e::f0" in text


@pytest.mark.parametrize(("frame", "shown"), [
    ("/home/u/run_10.1.2.3.py(3): f", ""), ("password_x.py(3): f", ""), ("torch/10.1.2.3/x.py(3): f", ""),
    ("x.py(3): password_y", "x.py(3)"), ("/home/u/torch/x.py(3): my_secret", "x.py(3)"),
    ("torch/nn/x.py(3): secret.f", "torch/nn/x.py(3)"), ("/home/u/x.py(3): f", "x.py(3): f"),
])  # fmt: skip
def test_what_a_frame_tells_is_not_shown(frame: str, shown: str, command: Path, tmp_path: Path) -> None:
    stacks = [{**OP, "name": "a", "args": {"Call stack": f"{frame};x.py(1): g"}}, {**OP, "name": frame, "ts": 50}]
    once = scrub(command, {"traceEvents": stacks}, tmp_path)
    stack, name = (json.loads(once)["traceEvents"][0]["args"]["Call stack"], json.loads(once)["traceEvents"][1]["name"])
    assert (name, stack) == (shown or "scrubbed 0", f"{shown or 'scrubbed'};x.py(1): g")
    assert scrub(command, json.loads(once), tmp_path) == once


def test_a_long_name_takes_time_that_grows_with_its_length(command: Path, tmp_path: Path) -> None:
    for path in ("site-packages/re/" * 100_000, "/lib/python3/re//" * 100_000, "site-packages/re/.." * 100_000):
        trace = {"traceEvents": [{**OP, "name": path}, {**OP, "ts": 50, "name": f"{path}site-packages/re/x.py(3): f"}]}
        names = [record["name"] for record in json.loads(scrub(command, trace, tmp_path))["traceEvents"]]
        assert names[0].startswith("scrubbed ") and names[1].endswith("x.py(3): f")


@pytest.mark.parametrize("call", ["cudaLaunchKernel@libcudart.so.12", "/home/u/cudaMEMCPYAsync/x.py(3): f", "a=b launch"])
def test_a_call_that_launches_still_does(call: str, command: Path, tmp_path: Path) -> None:
    op = {**OP, "name": "aten::mm"}
    tied_to = {"args": {"correlation": 1, "device": 0, "stream": 7}}
    once = scrub(command, {"traceEvents": [op, {**LAUNCH, "name": call, **tied_to}, {**KERNEL, **tied_to}]}, tmp_path)
    assert call not in once
    (kernel,) = marey.load(tmp_path / "shown.json").events().where(kind="kernel")
    assert kernel.owner is not None and kernel.owner.name == "aten::mm"
    assert scrub(command, json.loads(once), tmp_path) == once


def test_one_text_as_a_call_and_behind_a_beginning_is_numbered_once(command: Path, tmp_path: Path) -> None:
    once = scrub(command, {"traceEvents": [{**OP, "name": "ProfilerStep#a/launch"}, {**LAUNCH, "name": "a/launch"}]},
                 tmp_path)  # fmt: skip
    assert "ProfilerStep#scrubbed 0" in once and '"scrubbed 0 launch"' in once
    assert scrub(command, json.loads(once), tmp_path) == once


def test_a_beginning_that_readers_look_for_is_kept(command: Path, tmp_path: Path) -> None:
    engine = "autograd::engine::evaluate_function: "
    names = {"ProfilerStep#a/b": "ProfilerStep#scrubbed 0", f"{engine}a/b": f"{engine}scrubbed 0", "a/b": "scrubbed 0",
             "ProfilerStep#scrubbed 0": "ProfilerStep#scrubbed 1", "ProfilerStep#7": "ProfilerStep#7"}  # fmt: skip
    records = [{"ph": "X", "cat": "xpu_mine", "name": name, "pid": 1, "tid": 1, "ts": i, "dur": 1}
               for i, name in enumerate(names)]  # fmt: skip
    shown = json.loads(scrub(command, {"traceEvents": records}, tmp_path))["traceEvents"]
    assert [record["name"] for record in shown] == list(names.values())
    assert {record["cat"] for record in shown} == {"xpu_category 0"}


ODD = ("a/b", "m", "scrubbed 3", "scrubbed 12", "/home/u/a.py(3): f", "/home/v/b.py(3): f", "ProfilerStep#1/x", "ProfilerStep#2",
       "aten::mm", "aten::mm@x", "cudaLaunchKernel", "cudaLaunchKernel@so", "/x/memset", "a=b", "zz\\cudaDeviceSynchronize",
       "autograd::engine::evaluate_function: a/b", "scrubbed 3 launch", "torch/a.py(1): g", "", "10.1.2.3", *"kz!")  # fmt: skip


def figures(path: Path) -> list[tuple[Any, ...]]:
    """What no name tells, of each slice in the order of the reader."""
    events = marey.load(path).events()
    return [(e.start_ns, e.dur_ns, e.self_ns, e.kind, e.parent and (e.parent.start_ns, e.parent.kind),
             e.owner and (e.owner.start_ns, e.owner.kind, e.owner.dur_ns)) for e in events]  # fmt: skip


@pytest.mark.parametrize("seed", range(SEED, SEED + 60))
def test_no_number_rests_on_a_name_that_is_replaced(seed: int, command: Path, tmp_path: Path) -> None:
    dice = random.Random(seed)
    records = []
    for i in range(dice.randint(2, 40)):
        cat = dice.choice(("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_runtime", "kernel"))
        is_kernel = cat == "kernel"
        args = {"correlation": dice.randint(1, 9)} if is_kernel or cat == "cuda_runtime" else {"mark": i}
        records.append({"ph": "X", "cat": cat, "name": dice.choice(ODD), "pid": int(not is_kernel),
                        "tid": 7 if is_kernel else dice.randint(1, 2), "ts": dice.choice((0, 10, 20, 21)),
                        "dur": dice.choice((1, 10, 10, 40)), "args": args})  # fmt: skip
    once = scrub(command, {"traceEvents": records}, tmp_path)
    assert figures(tmp_path / "shown.json") == figures(tmp_path / "planted.json")
    assert self_by_name(records, tmp_path / "planted.json") == self_by_name(
        json.loads(once)["traceEvents"], tmp_path / "shown.json"
    )
    assert scrub(command, json.loads(once), tmp_path) == once


def self_by_name(records: list[dict[str, Any]], path: Path) -> list[int]:
    """The self time of each record's name and kind, in the order of the file."""
    found: dict[tuple[str, str], int] = {}
    for e in marey.load(path).events():
        key = (e.name or "", e.category or "")
        found[key] = found.get(key, 0) + (e.self_ns or 0)
    return [found[record.get("name", ""), record["cat"]] for record in records if record["ph"] == "X"]
