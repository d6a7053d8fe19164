"""Each public name of torch's profilers, of their classes, arguments and enums is here too, or stands
with a reason in docs/dev/torch-surface.md; so do private ones that programs are known to use.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import os
import re
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.autograd.profiler
import torch.profiler

import marey.autograd_profiler
import marey.profiler

SOURCE = Path(os.environ.get("MAREY_SOURCE_ROOT", Path(__file__).resolve().parents[2]))
TABLE = SOURCE / "docs/dev/torch-surface.md"
MODULES = {"torch.profiler": marey.profiler, "torch.autograd.profiler": marey.autograd_profiler}
INSIDE = "torch.profiler", "torch.autograd.profiler", "torch._C._profiler", "torch._C._autograd"
MISSING: Any = object()


def rows() -> dict[str, str]:
    """Names of the table, each with its reason."""
    found = re.findall(r"^\| `([^`]+)` \| (.+) \|$", TABLE.read_text(), re.MULTILINE)
    assert len(dict(found)) == len(found), "a name stands twice"
    return dict(found)


# ---- a walk over torch's names ------------------------------------------------------------------------


def names_of(module: types.ModuleType) -> Iterator[str]:
    """Public ones that are the module's own, or that it says are."""
    listed = getattr(module, "__all__", ())
    for name in sorted({*dir(module), *listed}):
        value = getattr(module, name)
        is_own = str(getattr(value, "__module__", "")).startswith(INSIDE)
        if name in listed or (is_own and not name.startswith("_")):
            yield name


def parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None  # of C++, without a text
    variable = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {n: p for n, p in found.items() if n not in ("self", "cls") and p.kind not in variable}


def takes_any_name(function: Any) -> bool:
    found = inspect.signature(function).parameters.values()
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found)


def by_place(found: dict[str, inspect.Parameter]) -> list[str]:
    return [n for n, p in found.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]


def arguments(name: str, theirs: Any, ours: Any) -> Iterator[str]:
    """Those of torch's function that ours does not take, or not in their place, or with another
    default."""
    wanted = parameters(theirs)
    if wanted is None:
        return
    had = parameters(ours)
    assert had is not None, name
    for argument, parameter in wanted.items():
        if argument in had:
            is_same = repr(had[argument].default) == repr(parameter.default)
            if not is_same and parameter.default is not inspect.Parameter.empty:
                yield f"{name}({argument}={parameter.default!r})"
        elif not takes_any_name(ours):
            yield f"{name}({argument})"
    shared = [n for n in by_place(wanted) if n in had]
    if by_place(had)[: len(shared)] != shared:
        yield f"{name}({', '.join(shared)})"


def members(theirs: Any) -> Iterator[str]:
    yield from (name for name in dir(theirs) if not name.startswith("_"))


def of_class(name: str, theirs: Any, ours: Any) -> Iterator[str]:
    if issubclass(theirs, enum.Enum):
        for member in theirs:
            had = ours.__members__.get(member.name)
            if had is None or had.value != member.value:
                yield f"{name}.{member.name}"
        return
    yield from arguments(name, theirs, ours)
    for member in members(theirs):
        had = inspect.getattr_static(ours, member, MISSING)
        if had is MISSING:
            yield f"{name}.{member}"
        elif inspect.isroutine(getattr(theirs, member)):
            yield from arguments(f"{name}.{member}", getattr(theirs, member), getattr(ours, member))


def of_module(name: str) -> Iterator[str]:
    """What torch's module has and ours has not."""
    theirs, ours = importlib.import_module(name), MODULES[name]
    for member in names_of(theirs):
        path, value, had = f"{name}.{member}", getattr(theirs, member), getattr(ours, member, MISSING)
        if had is MISSING:
            yield path
        elif had is value or path in RESULTS:
            pass
        elif inspect.isclass(value):
            yield from of_class(path, value, had)
        elif callable(value):
            yield from arguments(path, value, had)


# ---- results: what a program gets, whatever the class is called ---------------------------------------------


def results(compat: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with marey.profiler.profile(compat=compat) as prof:
            torch.ones(2).add(1)
        return {
            "torch.autograd.profiler.EventList": prof.events(),
            "torch.autograd.profiler.FunctionEvent": prof.events()[0],
            "torch.autograd.profiler.FunctionEventAvg": prof.key_averages()[0],
        }


RESULTS = ("torch.autograd.profiler.EventList", "torch.autograd.profiler.FunctionEvent",
           "torch.autograd.profiler.FunctionEventAvg")  # fmt: skip


# What has a name of its own is a profile, or a list of averages: torch has one class for those of
# events too, here what stands in the table for both need not stand there twice.
OBJECTS = {
    "torch.profiler.profile": lambda prof: prof,
    "torch.autograd.profiler.profile": lambda prof: prof.profiler,
    "key_averages()": lambda prof: prof.key_averages(),
}
LIST = "torch.autograd.profiler.EventList"


def profiled(module: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with module.profile(activities=[module.ProfilerActivity.CPU], **options) as prof:
            torch.ones(2).add(1)
    return prof


def of_objects(compat: Any) -> Iterator[str]:
    """What torch's objects have when a profile has ended, and ours have not."""
    theirs, ours = profiled(torch.profiler), profiled(marey.profiler, compat=compat)
    for name, get in OBJECTS.items():
        for member in members(get(theirs)):
            if has(get(ours), member):
                continue
            is_of_list = name == "key_averages()" and f"{LIST}.{member}" in rows()
            yield f"{LIST if is_of_list else name}.{member}"


def has(thing: Any, member: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hasattr(thing, member)


def of_result(name: str, thing: Any) -> Iterator[str]:
    """Attributes of objects, also those that torch's sets when it makes one."""
    theirs = getattr(torch.autograd.profiler_util, name.rpartition(".")[2])
    made = {
        "EventList": lambda: theirs(),
        "FunctionEvent": lambda: torch.autograd.profiler_util.FunctionEvent(0, "", 0, 0, 1),
        "FunctionEventAvg": lambda: theirs(),
    }[theirs.__name__]()
    for member in members(made):
        if not has(thing, member):
            yield f"{name}.{member}"
        elif inspect.ismethod(getattr(made, member, None)):
            yield from arguments(f"{name}.{member}", getattr(made, member), getattr(thing, member))


# ---- the tests -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(MODULES))
def test_each_name_is_here_or_has_a_reason(name: str) -> None:
    assert [path for path in of_module(name) if path not in rows()] == []


@pytest.mark.parametrize("compat", [None, "torch"])
def test_each_name_of_results_is_here_or_has_a_reason(compat: Any) -> None:
    missing = [path for name, thing in results(compat).items() for path in of_result(name, thing)]
    assert [path for path in missing if path not in rows()] == []


@pytest.mark.parametrize("compat", [None, "torch"])
def test_each_name_of_objects_is_here_or_has_a_reason(compat: Any) -> None:
    assert [path for path in of_objects(compat) if path not in rows()] == []


def test_a_row_of_an_object_is_not_here() -> None:
    ours = profiled(marey.profiler)
    for path in rows():
        name, _, member = path.rpartition(".")
        if name in OBJECTS and not is_private(path):
            assert not has(OBJECTS[name](ours), member), path


def test_a_profile_takes_what_a_program_sets() -> None:
    """Whatever may be set in torch and means something here."""
    ours = marey.profiler.profile(schedule=marey.profiler.schedule(wait=1, warmup=1, active=1))
    ours.schedule = plan = lambda step: marey.profiler.ProfilerAction.RECORD_AND_SAVE
    assert ours.schedule is plan
    seen = []
    ours.on_trace_ready = lambda prof: seen.append(len(prof.events()))
    with ours:
        torch.ones(2)
        ours.step()
    assert seen[0] > 0


@pytest.mark.parametrize("compat", [None, "torch"])
def test_lists_are_as_torchs(compat: Any, tmp_path: Path) -> None:
    prof = profiled(marey.profiler, compat=compat)
    assert prof.events() == prof.events()
    for items in (prof.events(), prof.key_averages()):
        assert items * 2 == 2 * items == [*items, *items]
        assert "self_cpu_time_total" in items.supported_export_stacks_metrics()
    path = tmp_path / "stacks"
    prof.key_averages().export_stacks(path, "self_cpu_time_total")
    assert path.read_text() == ""
    with pytest.raises(ValueError, match="no metric 'nonsense'"):
        prof.key_averages().export_stacks(path, "nonsense")


def test_a_profile_tells_what_it_was_asked_for() -> None:
    config = torch.profiler._ExperimentalConfig()
    ours = profiled(
        marey.profiler, record_shapes=True, experimental_config=config,
        custom_trace_id_callback=lambda: "id", post_processing_timeout_s=3.0,
    )  # fmt: skip
    inner = ours.profiler
    assert inner.experimental_config is config and inner.record_shapes
    assert inner.trace_id == ours.get_trace_id() == "id"
    assert inner.post_processing_timeout_s == 3.0
    assert inner.kineto_activities == {marey.profiler.ProfilerActivity.CPU}
    assert 0 < inner.profiling_start_time_ns < inner.profiling_end_time_ns
    assert (ours.use_device, ours.has_cudagraphs, inner.use_cuda) == (None, False, False)


def test_no_row_is_of_what_is_here() -> None:
    """Names that this torch does not have are those of another."""
    missing = {path for name in MODULES for path in of_module(name)}
    for compat in (None, "torch"):
        missing |= {p for name, thing in results(compat).items() for p in of_result(name, thing)}
    stale = [
        path for path in rows()
        if path not in missing and not is_private(path) and resolves(path.partition("(")[0])
    ]  # fmt: skip
    assert stale == []


def is_private(path: str) -> bool:
    return any(part.startswith("_") for part in path.split(".")[1:])


def resolves(path: str) -> bool:
    module = max((m for m in MODULES if path.startswith(m + ".")), key=len, default=None)
    if module is None:
        return False
    value: Any = importlib.import_module(module)
    for part in path.removeprefix(module + ".").split("."):
        value = getattr(value, part, MISSING)
    return value is not MISSING


def test_private_names_that_programs_use_are_here_or_have_a_row() -> None:
    """Seen in public programs that use torch's profilers."""
    used = {
        "torch.profiler": ["_KinetoProfile", "_ExperimentalConfig", "_utils", "_memory_profiler"],
        "torch.autograd.profiler": [
            "_is_profiler_enabled", "_set_is_profiler_enabled", "_run_on_profiler_start",
            "_run_on_profiler_stop", "_rewrite_name", "_build_table", "_format_time",
            "_format_memory", "_filter_name",
        ],
    }  # fmt: skip
    for module, names in used.items():
        for name in names:
            path = f"{module}.{name}"
            assert hasattr(MODULES[module], name) != (path in rows()), path


CHECKS: list[Callable[[], list[str]]] = [
    lambda: list(arguments("f", lambda a, b=1: 0, lambda a, b=2: 0)),
    lambda: list(arguments("f", lambda a, b: 0, lambda b, a: 0)),
    lambda: list(arguments("f", lambda a, b: 0, lambda a: 0)),
    lambda: list(of_class("E", enum.Enum("E", {"A": 1, "B": 2}), enum.Enum("F", {"A": 1}))),
    lambda: list(of_class("C", type("C", (), {"m": 1}), type("D", (), {}))),
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_walk_finds_what_is_missing(check: Callable[[], list[str]]) -> None:
    assert len(check()) == 1
