"""Programs as the documentation of torch's profiler has them, in our own words, run once with
torch's profiler and once with `marey.profiler` in its place: names, counts, shapes, nesting, calls
of the schedule and files must be the same.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.autograd.profiler
import torch.profiler
from torch import nn

import marey.autograd_profiler
import marey.profiler

pytestmark = pytest.mark.filterwarnings("ignore:CUDA is not available")

NETWORK = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
IMAGES = torch.randn(2, 3, 8, 8)
LABELS = torch.tensor([0, 1])

Seen = dict[str, Any]
Program = Callable[[Any, Any, Path], Seen]


def train(profiler: Any, optimizer: torch.optim.Optimizer) -> None:
    with profiler.record_function("forward"):
        loss = nn.functional.cross_entropy(NETWORK(IMAGES), LABELS)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def sgd() -> torch.optim.Optimizer:
    return torch.optim.SGD(NETWORK.parameters(), lr=0.01)


def cpu(profiler: Any) -> list[Any]:
    """On a machine with a GPU torch would record its calls and kernels too."""
    return [profiler.ProfilerActivity.CPU]


# ---- what is compared ----------------------------------------------------------------------------


def torchs_rows(prof: Any, by_shape: bool) -> Counter[Any]:
    """Rows of averages; a child alone of its parent's name is none for torch."""
    return Counter({
        (row.key, str(row.input_shapes or "") if by_shape else ""): row.count
        for row in prof.key_averages(group_by_input_shape=by_shape)
    })  # fmt: skip


def is_twin(event: Any) -> bool:
    parent = event.cpu_parent
    return parent is not None and parent.name == event.name and len(parent.cpu_children) == 1


def step_name(name: str) -> str:
    return "ProfilerStep*" if name.startswith("ProfilerStep#") else name


def nesting(prof: Any) -> Counter[tuple[str, str | None]]:
    """Pairs of event and parent. Names of steps as torch shows them; twins left out of both."""
    pairs: Counter[tuple[str, str | None]] = Counter()
    for event in prof.events():
        if is_twin(event):
            continue
        parent = event.cpu_parent
        while parent is not None and is_twin(parent):
            parent = parent.cpu_parent
        pairs[step_name(event.name), None if parent is None else step_name(parent.name)] += 1
    return pairs


def counts(prof: Any) -> Counter[str]:
    """Events by name, without twins."""
    return Counter(step_name(event.name) for event in prof.events() if not is_twin(event))


def names_in(path: Path) -> Counter[tuple[str, str]]:
    """Categories and names in a file, as any reader sees them."""
    records = marey.load(path).events()
    wanted = ("cpu_op", "user_annotation")
    return Counter((e.category, e.name) for e in records if e.category in wanted)  # type: ignore[misc]


def common(prof: Any) -> Seen:
    return {"nesting": nesting(prof), "counts": counts(prof)}


# ---- the programs ----------------------------------------------------------------------------------


def inference_with_a_label(profiler: Any, autograd: Any, folder: Path) -> Seen:
    network = NETWORK.eval()
    activities = cpu(profiler)
    if not torch.cuda.is_available():  # recipes ask for both everywhere
        activities.append(profiler.ProfilerActivity.CUDA)
    with (
        profiler.profile(activities=activities, record_shapes=True) as prof,
        profiler.record_function("model_inference"),
        torch.no_grad(),
    ):
        network(IMAGES)
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    shaped = prof.key_averages(group_by_input_shape=True).table(sort_by="cuda_time_total")
    file = folder / "trace.json"
    prof.export_chrome_trace(str(file))
    convolution = next(e for e in prof.events() if e.name == "aten::conv2d")
    return {
        **common(prof),
        "label": "model_inference" in table,
        "shapes": "[2, 3, 8, 8]" in shaped,
        "input_shapes": convolution.input_shapes,
        "file": names_in(file),
    }


def training_by_a_schedule(profiler: Any, autograd: Any, folder: Path) -> Seen:
    calls: list[Any] = []

    def trace_handler(prof: Any) -> None:
        output = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)
        file = folder / f"trace_{prof.step_num}.json"
        prof.export_chrome_trace(str(file))
        calls.append((prof.step_num, bool(output), counts(prof), names_in(file)))

    optimizer = sgd()
    plan = profiler.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profiler.profile(
        activities=cpu(profiler), schedule=plan, on_trace_ready=trace_handler
    ) as prof:
        for _ in range(11):
            train(profiler, optimizer)
            prof.step()
    return {"calls": calls, "step_num": prof.step_num, "action": prof.current_action.name}


def files_for_tensorboard(profiler: Any, autograd: Any, folder: Path) -> Seen:
    optimizer = sgd()
    with profiler.profile(
        activities=cpu(profiler),
        schedule=profiler.schedule(wait=1, warmup=1, active=1, repeat=2),
        on_trace_ready=profiler.tensorboard_trace_handler(str(folder / "log"), use_gzip=True),
        record_shapes=True,
    ) as prof:
        for _ in range(6):
            train(profiler, optimizer)
            prof.step()
    files = sorted((folder / "log").iterdir())
    return {
        "names": [re.sub(r"\d{9,}", "<ns>", re.sub(r"_\d+\.", "_<pid>.", f.name)) for f in files],
        "files": [names_in(file) for file in files],
    }


def without_a_block(profiler: Any, autograd: Any, folder: Path) -> Seen:
    optimizer = sgd()
    plan = profiler.schedule(wait=0, warmup=1, active=2, repeat=1)
    prof = profiler.profile(activities=cpu(profiler), schedule=plan)
    prof.start()
    actions = []
    for _ in range(4):
        actions.append(prof.current_action.name)
        train(profiler, optimizer)
        prof.step()
    prof.stop()
    return {**common(prof), "actions": actions, "steps": prof.step_num}


def a_start_in_each_epoch(profiler: Any, autograd: Any, folder: Path) -> Seen:
    calls: list[Any] = []
    prof = profiler.profile(
        activities=cpu(profiler),
        schedule=profiler.schedule(wait=4, warmup=1, active=1),
        on_trace_ready=lambda prof: calls.append((prof.step_num, counts(prof))),
    )
    for _epoch in range(4):
        with prof:
            for _batch in range(3):
                IMAGES.sum()
                prof.step()
    return {"calls": calls, "steps": prof.step_num}


def a_decorated_function(profiler: Any, autograd: Any, folder: Path) -> Seen:
    @profiler.record_function("decorated")
    def work(x: torch.Tensor) -> torch.Tensor:
        return x.relu().sum()

    with profiler.profile(activities=cpu(profiler)) as prof:
        for _ in range(3):
            work(IMAGES)
    return common(prof)


def the_autograd_profiler(profiler: Any, autograd: Any, folder: Path) -> Seen:
    x = torch.randn(3, 3, requires_grad=True)
    with autograd.profile(record_shapes=True) as prof:
        for _ in range(5):
            y = x**2
            with autograd.record_function("label-z"):
                z = y**3
        z.sum().backward()
    table = prof.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total")
    file = folder / "trace.json"
    prof.export_chrome_trace(str(file))
    with autograd.profile(enabled=False) as nothing:
        x.sum()
    return {
        "counts": Counter(step_name(e.name) for e in prof.function_events if not is_twin(e)),
        "label": "label-z" in table,
        "events": prof.table(row_limit=-1).count(" label-z ")
        + prof.table(row_limit=-1).count("\nlabel-z "),
        "rows": bool(prof.key_averages()),
        "file": names_in(file),
        "nothing": nothing,
        "sum_is_positive": prof.self_cpu_time_total > 0,
        "total": prof.total_average().key,
    }


def a_profiler_in_parts(profiler: Any, autograd: Any, folder: Path) -> Seen:
    prof = profiler._KinetoProfile(activities=[profiler.ProfilerActivity.CPU])
    prof.prepare_trace()
    prof.start_trace()
    NETWORK(IMAGES)
    prof.stop_trace()
    return common(prof)


def an_exception_in_the_block(profiler: Any, autograd: Any, folder: Path) -> Seen:
    prof = profiler.profile(activities=cpu(profiler))
    with contextlib.suppress(KeyError), prof, profiler.record_function("raises"):
        IMAGES.sum()
        raise KeyError
    return common(prof)


def a_loader_and_an_optimizer(profiler: Any, autograd: Any, folder: Path) -> Seen:
    data = torch.utils.data.TensorDataset(torch.randn(6, 3), torch.arange(6))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    weights = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(weights.parameters())
    with profiler.profile(activities=cpu(profiler)) as prof:
        for points, _ in loader:
            weights(points).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return common(prof)


def switched_off_and_on(profiler: Any, autograd: Any, folder: Path) -> Seen:
    with profiler.profile(activities=cpu(profiler)) as prof:
        IMAGES.sum()
        prof.toggle_collection_dynamic(False, cpu(profiler))
        IMAGES.sin()
        prof.toggle_collection_dynamic(True, cpu(profiler))
        IMAGES.cos()
    return common(prof)


def switched_off_within_a_schedule(profiler: Any, autograd: Any, folder: Path) -> Seen:
    """In an active step, and where nothing is recorded."""
    calls: dict[str, list[int]] = {}
    for n in range(6):
        plan = profiler.schedule(wait=1, warmup=1, active=2)
        seen = calls[f"off in step {n}"] = []
        with profiler.profile(
            activities=cpu(profiler),
            schedule=plan,
            on_trace_ready=lambda prof, seen=seen: seen.append(counts(prof)["aten::sum"]),
        ) as prof:
            for i in range(12):
                if i == n:
                    prof.toggle_collection_dynamic(False, cpu(profiler))
                IMAGES.sum()
                prof.step()
    return calls


def runs_that_add_up(profiler: Any, autograd: Any, folder: Path) -> Seen:
    prof = profiler.profile(activities=cpu(profiler), acc_events=True)
    for _ in range(3):
        with prof:
            IMAGES.sum()
    return common(prof)


def a_schedule_that_keeps_count(profiler: Any, autograd: Any, folder: Path) -> Seen:
    asked: list[int] = []
    actions = []

    def plan(step: int) -> Any:
        asked.append(step)
        return profiler.ProfilerAction(2 + step % 2)

    prof = profiler.profile(activities=cpu(profiler), schedule=plan)
    for _ in range(3):
        actions.append(prof.current_action)
        with prof:
            prof.step()
            actions.append(prof.current_action)
    return {"asked": asked, "actions": actions}


def handlers_that_are_false(profiler: Any, autograd: Any, folder: Path) -> Seen:
    with profiler.profile(
        activities=cpu(profiler), schedule=False, on_trace_ready=0, custom_trace_id_callback=""
    ) as prof:
        IMAGES.sum()
    return common(prof)


def what_a_range_tells(profiler: Any, autograd: Any, folder: Path) -> Seen:
    ranges = [profiler.record_function("a"), profiler.record_function("a", "b")]
    return {str(i): (r.name, r.args, r.run_callbacks_on_exit) for i, r in enumerate(ranges)}


def metadata(profiler: Any, autograd: Any, folder: Path) -> Seen:
    file = folder / "trace.json.gz"
    prof = profiler.profile(activities=cpu(profiler))
    prof.preset_metadata_json("preset", '{"a": 1}')
    with prof:
        prof.add_metadata("words", "some text")
        prof.add_metadata_json("numbers", "[1, 2]")
    prof.export_chrome_trace(str(file))
    members = marey.load(file).metadata
    return {key: members.get(key) for key in ("preset", "words", "numbers")}


PROGRAMS: list[Program] = [
    inference_with_a_label, training_by_a_schedule, files_for_tensorboard, without_a_block,
    a_start_in_each_epoch, a_decorated_function, the_autograd_profiler, a_profiler_in_parts, an_exception_in_the_block,
    a_loader_and_an_optimizer, switched_off_and_on, switched_off_within_a_schedule, runs_that_add_up,
    a_schedule_that_keeps_count, handlers_that_are_false, what_a_range_tells, metadata,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
def test_a_program_sees_the_same(program: Program, tmp_path: Path) -> None:
    # What happens only once must have happened.
    train(marey.profiler, sgd())
    seen = {}
    for name, profiler, autograd in (
        ("torch", torch.profiler, torch.autograd.profiler),
        ("marey", marey.profiler, marey.autograd_profiler),
    ):
        folder = tmp_path / name
        folder.mkdir()
        torch.manual_seed(0)
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(profiler, autograd, folder)
            for file in sorted(folder.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            seen[name] = program(profiler, autograd, folder)
    for key, theirs in seen["torch"].items():
        assert seen["marey"][key] == theirs, key


# ---- surface ------------------------------------------------------------------------------------------


def test_all_names_of_torch_are_there() -> None:
    for theirs, ours in (
        (torch.profiler, marey.profiler),
        (torch.autograd.profiler, marey.autograd_profiler),
    ):
        for name in theirs.__all__:
            assert hasattr(ours, name), name
    for name in ("_KinetoProfile", "_ExperimentalConfig", "itt"):
        assert hasattr(marey.profiler, name)
    for name in ("emit_nvtx", "emit_itt", "EnforceUnique", "KinetoStepTracker", "EventList"):
        assert hasattr(marey.autograd_profiler, name)


def test_all_arguments_of_torch_are_taken() -> None:
    import inspect

    pairs = [
        (torch.profiler.profile, marey.profiler.profile),
        (torch.profiler._KinetoProfile, marey.profiler._KinetoProfile),
        (torch.autograd.profiler.profile, marey.autograd_profiler.profile),
        (torch.profiler.schedule, marey.profiler.schedule),
        (torch.profiler.tensorboard_trace_handler, marey.profiler.tensorboard_trace_handler),
    ]
    for name in ("key_averages", "export_chrome_trace", "export_stacks", "toggle_collection_dynamic",
                 "add_metadata", "add_metadata_json", "preset_metadata_json"):  # fmt: skip
        pairs.append(
            (getattr(torch.profiler.profile, name), getattr(marey.profiler.profile, name))
        )
    for theirs, ours in pairs:
        wanted = inspect.signature(theirs).parameters
        given = inspect.signature(ours).parameters
        for name, parameter in wanted.items():
            assert name in given, (theirs, name)
            assert given[name].default == parameter.default, (theirs, name)


def test_events_have_torchs_attributes() -> None:
    x = torch.randn(3, 3, requires_grad=True)

    def work() -> None:
        (x @ x).sum().backward()

    work()
    lists = []
    for profiler in (torch.profiler, marey.profiler):
        with profiler.profile(activities=cpu(profiler), record_shapes=True) as prof:
            work()
        lists.append(prof)
    theirs, ours = lists
    skipped = {"append", "kineto_results"}
    for mine, torchs in (
        (ours.events()[0], theirs.events()[0]),
        (ours.key_averages()[0], theirs.key_averages()[0]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            missing = [
                name
                for name in dir(torchs)
                if not name.startswith("_") and not callable(getattr(type(torchs), name, None))
                and name not in skipped and not hasattr(mine, name)
            ]  # fmt: skip
        assert missing == []

    def figures(prof: Any) -> list[Any]:
        return [
            (e.name, e.input_shapes, e.stack, type(e.fwd_thread), e.overload_name, e.scope, e.is_async, e.is_user_annotation, e.count,
             e.device_type.name, e.use_device, e.thread, e.sequence_nr >= 0, e.is_remote,
             e.node_id, e.device_index, e.device_resource_id)
            for e in prof.events() if not is_twin(e)
        ]  # fmt: skip

    twins = {event.name for event in ours.events() if is_twin(event)}

    def rows(prof: Any) -> Counter[str]:
        return Counter(
            str((r.key, r.input_shapes, r.stack, r.overload_name))
            for by_shape in (False, True) for r in prof.key_averages(group_by_input_shape=by_shape)
            if r.key not in twins
        )  # fmt: skip

    assert figures(ours) == figures(theirs)
    assert rows(ours) == rows(theirs)


def test_rows_have_their_scope_where_cycles_were_let_go() -> None:
    def scopes(keep_bytes: int | None) -> dict[str, int]:
        plan = marey.schedule(wait=0, warmup=0, active=1)
        weight = torch.ones(2, requires_grad=True)
        with marey.profiler.profile(schedule=plan, keep_bytes=keep_bytes) as prof:
            for _ in range(5):
                (weight * 2).sum().backward()
                prof.step()
        assert all(cycle.is_whole for cycle in prof.cycles) == (keep_bytes is None)
        rows = prof.key_averages()
        assert [row.scope for row in pickle.loads(pickle.dumps(list(rows)))] == [r.scope for r in rows]
        return {row.key: row.scope for row in rows}

    of_all, of_left = scopes(None), scopes(1)
    assert of_left == of_all
    assert set(of_all.values()) == {0, 1, 7}


def test_torchs_own_numbers_are_to_be_had() -> None:
    with marey.profiler.profile(compat="torch", record_shapes=True) as prof:
        train(marey.profiler, sgd())
    view = prof.trace.view(compat="torch", version=torch.__version__)
    assert prof.key_averages().table() == view.key_averages().table()
    assert len(prof.events()) == len(view.events())
    with marey.profiler.profile(record_shapes=True) as prof:
        train(marey.profiler, sgd())
    view = prof.trace.view(compat="torch", version=torch.__version__)
    ours = prof.key_averages(group_by_input_shape=True)
    theirs = view.key_averages(group_by_input_shape=True)
    arguments = {"sort_by": "cpu_time_total", "row_limit": 7, "header": "h", "time_unit": "ms"}
    assert ours.table(compat="torch", **arguments) == theirs.table(**arguments)


def test_torchs_own_objects_are_taken() -> None:
    t = torch.profiler
    seen = []
    with marey.profiler.profile(
        activities=[t.ProfilerActivity.CPU],
        schedule=lambda step: t.ProfilerAction.RECORD_AND_SAVE,
        on_trace_ready=t.tensorboard_trace_handler,
        experimental_config=t._ExperimentalConfig(),
    ) as prof:
        prof.on_trace_ready = lambda prof: seen.append(len(prof.events()))
        for _ in range(2):
            IMAGES.sum()
            prof.step()
    assert len(seen) == 2


def test_an_execution_trace_is_written_by_torchs_observer(tmp_path: Path) -> None:
    path = tmp_path / "et.json"
    observer = marey.profiler.ExecutionTraceObserver().register_callback(str(path))
    with marey.profiler.profile(execution_trace_observer=observer):
        IMAGES.sum()
    names = {node["name"] for node in json.loads(path.read_text())["nodes"]}
    assert "aten::sum" in names


@pytest.mark.parametrize("record_shapes", [False, True])
def test_an_execution_trace_has_the_steps(tmp_path: Path, record_shapes: bool) -> None:
    """And our own results have each once."""

    def steps_by(profiler: Any) -> tuple[list[str], Any]:
        path = tmp_path / f"{profiler.__name__}.json"
        observer = torch.profiler.ExecutionTraceObserver().register_callback(str(path))
        with profiler.profile(
            activities=[profiler.ProfilerActivity.CPU],
            execution_trace_observer=observer,
            record_shapes=record_shapes,
            schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        ) as prof:
            for _ in range(5):
                IMAGES.sum()
                prof.step()
        nodes = json.loads(path.read_text())["nodes"]
        return [n["name"] for n in nodes if n["name"].startswith("ProfilerStep#")], prof

    theirs, _ = steps_by(torch.profiler)
    ours, prof = steps_by(marey.profiler)
    assert ours == theirs == ["ProfilerStep#2", "ProfilerStep#3"]
    steps = [e for e in prof.events() if e.name.startswith("ProfilerStep#")]
    assert [(e.name, e.kind) for e in steps] == [(name, "annotation") for name in ours]
    assert [cycle.steps for cycle in prof.cycles] == [[2, 3]]
