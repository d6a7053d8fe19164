"""The drop-ins for torch.profiler and torch.autograd.profiler: arguments, warnings, errors, and what
they show. How they compare with torch itself is in tests/live."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
from loops import n_calls, run

import marey
from marey import autograd_profiler, profiler
from marey.profiler import ProfilerActivity as Activity


def work(name: str = "work") -> None:
    with profiler.record_function(name):
        pass


def names_in(table: str) -> list[str]:
    """The first column of a table, of its layout or of torch's."""
    rules = [i for i, line in enumerate(table.splitlines()) if line.startswith("---")]
    rows = table.splitlines()[rules[1] + 1 : rules[2]]
    return [row.split()[0] for row in rows if "not shown" not in row and "(no rows)" not in row]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch that has a GPU."""
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: True)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr("marey._profile.prepare_torch", lambda is_asked: None)
    monkeypatch.setattr("marey.profiler.prepare_torch_or_tell", lambda is_asked: None)


# ---- activities ------------------------------------------------------------------------------------


def test_a_device_that_is_not_there_is_told_and_the_rest_recorded() -> None:
    with pytest.warns(UserWarning, match="^CUDA is not available, disabling CUDA profil") as said:
        prof = profiler.profile(activities=[Activity.CPU, Activity.CUDA])
    assert said[0].filename == __file__
    assert prof.activities == {Activity.CPU}
    with prof:
        work()
    assert [e.name for e in prof.events()] == ["work"]
    with (
        pytest.warns(UserWarning, match="XPU is not available"),
        pytest.raises(AssertionError, match="No valid profiler activities found"),
    ):
        profiler.profile(activities=[Activity.XPU])


def test_a_device_that_cannot_be_recorded_yet_is_told_in_words(gpu: None) -> None:
    with pytest.warns(UserWarning, match="CUDA is there, and its kernels .* cannot be recorded"):
        prof = profiler.profile(activities=[Activity.CUDA])
    assert prof.activities == {Activity.CPU}


@pytest.mark.parametrize(
    ("activities", "error", "words"),
    [
        ([], AssertionError, "No valid profiler activities found"),
        ([Activity.CPU, Activity.CPU], ValueError, "Activity CPU specified more than once"),
        ([Activity.CPU, {Activity.CPU: ["CPU_OP"]}], ValueError, "CPU specified more than once"),
        (["cpu"], TypeError, "Expected ProfilerActivity or dict, got <class 'str'>"),
        ([5], AssertionError, "Expected ProfilerActivity or dict, got <class 'int'>"),
        ([{Activity.CPU: ["KERNEL"]}], RuntimeError, "non-member activity type name: 'KERNEL'"),
    ],
)
def test_wrong_activities_are_told(activities: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        profiler.profile(activities=activities)


def test_a_filter_may_leave_operators_out() -> None:
    prof = profiler.profile(activities=[{Activity.CPU: ["USER_ANNOTATION"]}])
    assert prof.activity_filters == {Activity.CPU: ["USER_ANNOTATION"]}
    with prof:
        work()
    assert [e.name for e in prof.events()] == ["work"]


def test_what_can_be_had_here() -> None:
    assert profiler.supported_activities() == {Activity.CPU}
    assert profiler.kineto_available() is True


# ---- arguments -----------------------------------------------------------------------------------------


def test_use_cuda_is_deprecated() -> None:
    with pytest.warns() as said:
        profiler.profile(use_cuda=True)
    assert [w.category for w in said] == [FutureWarning, UserWarning]
    assert "ProfilerActivity.CUDA" in str(said[0].message)
    with (
        pytest.warns(FutureWarning, match="use_cuda is deprecated"),
        pytest.raises(AssertionError, match="No valid profiler activities found"),
    ):
        profiler.profile(activities=[Activity.CUDA], use_cuda=False)
    with pytest.warns() as said:
        autograd_profiler.profile(use_cuda=True)
    assert [w.category for w in said] == [FutureWarning, UserWarning]
    assert str(said[0].message) == 'use_cuda is deprecated, use use_device="cuda"'


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("profile_memory", "memory is not recorded yet"),
        ("with_stack", "stacks are not recorded yet"),
        ("with_flops", "FLOPs are not counted yet"),
    ],
)
def test_what_is_not_built_is_taken_and_told(name: str, words: str) -> None:
    for make in (profiler.profile, profiler._KinetoProfile, autograd_profiler.profile):
        with pytest.warns(UserWarning, match=f"^{name}: {words}") as said:
            prof = make(**{name: True})  # type: ignore[arg-type]
        assert said[0].filename == __file__
        with prof:
            work()
        assert [e.name for e in prof.events()] == ["work"]
        assert getattr(prof, name) is True


def test_experiments_are_taken_and_told() -> None:
    config = profiler._ExperimentalConfig(verbose=True, profile_all_threads=True)
    with pytest.warns(UserWarning, match="^experimental_config: verbose cannot be had yet"):
        profiler.profile(experimental_config=config)
    assert repr(config) == "_ExperimentalConfig(verbose=True, profile_all_threads=True)"
    assert pickle.loads(pickle.dumps(config)) == config
    assert profiler._ExperimentalConfig([], False, True).verbose is True
    with pytest.raises(TypeError, match="no argument 'nothing'"):
        profiler._ExperimentalConfig(nothing=1)
    with pytest.raises(TypeError, match="'verbose' twice"):
        profiler._ExperimentalConfig([], False, True, verbose=True)
    with pytest.raises(TypeError, match="takes 14 arguments"):
        profiler._ExperimentalConfig(*range(15))


def test_a_negative_deadline_is_an_error_at_the_start() -> None:
    prof = profiler.profile(post_processing_timeout_s=-1)
    with pytest.raises(ValueError, match="post_processing_timeout_s must be non-negative"):
        prof.start()
    with profiler.profile(post_processing_timeout_s=0):
        work()


def test_compat_is_torch_or_nothing() -> None:
    with pytest.raises(ValueError, match="no compat 'kineto'"):
        profiler.profile(compat="kineto")  # type: ignore[arg-type]


def test_torchs_own_names_need_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marey._torch_args.has_torch", lambda: False)
    with pytest.raises(AttributeError, match="ExecutionTraceObserver is torch's own, and torch"):
        profiler.ExecutionTraceObserver  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        profiler.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        autograd_profiler.nothing  # noqa: B018


def test_without_torch_the_enums_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marey._torch_args.has_torch", lambda: False)
    assert profiler.ProfilerAction is marey.ProfilerAction
    assert profiler.ProfilerActivity is marey.ProfilerActivity
    assert profiler.DeviceType is autograd_profiler.DeviceType is marey.DeviceType
    assert str(marey.DeviceType.CPU) == f"{marey.DeviceType.CPU:s}" == "DeviceType.CPU"
    assert marey.DeviceType.CUDA == 1 != marey.DeviceType.CPU


# ---- before, after and out of turn ---------------------------------------------------------------------


def test_before_the_start_there_is_nothing() -> None:
    prof = profiler.profile()
    for call in (prof.events, prof.key_averages, lambda: prof.export_chrome_trace("no"),
                 lambda: prof.export_stacks("no"), prof.stop_trace):  # fmt: skip
        with pytest.raises(AssertionError, match="Profiler must be initialized before"):
            call()
    assert prof.profiler is None
    assert prof._stats() is None
    assert prof.get_trace_id() is None
    prof.toggle_collection_dynamic(False, [Activity.CPU])
    prof.step()
    assert prof.step_num == 1
    assert not Path("no").exists()


def test_no_activity_toggles_nothing() -> None:
    with profiler.profile(activities=[Activity.CPU]) as prof:
        prof.toggle_collection_dynamic(False, [])
        with profiler.record_function("on"):
            pass
        prof.toggle_collection_dynamic(False, iter([Activity.CPU]))
        with profiler.record_function("off"):
            pass
    assert [event.name for event in prof.events()] == ["on"]


def test_what_was_never_active_is_empty() -> None:
    """As with torch; marey.profile says that there is nothing."""
    prof = profiler.profile(schedule=profiler.schedule(wait=5, warmup=1, active=1))
    with pytest.warns(UserWarning, match="^0 of 1 active steps were reached in 2 steps"), prof:
        for _ in range(2):
            work()
            prof.step()
    assert len(prof.events()) == len(prof.key_averages()) == 0
    assert isinstance(prof.key_averages().table(sort_by="cuda_time_total"), str)
    assert prof.stats.n_records == 0
    strict = marey.profile(schedule=profiler.schedule(wait=5, warmup=1, active=1))
    with pytest.warns(UserWarning, match="^0 of 1"), strict:
        strict.step()
    for kind in (RuntimeError, AssertionError):  # the second is torch's
        with pytest.raises(kind, match="nothing was recorded yet"):
            strict.events()


def test_a_range_tells_what_it_was_given() -> None:
    without, *with_args = (
        profiler.record_function("a"),
        profiler.record_function("a", "b"),
        profiler.record_function("a", args="b"),
        profiler.record_function.__new__(profiler.record_function, "a", "b"),
    )
    assert (without.name, without.args, without.run_callbacks_on_exit) == ("a", None, True)
    for one in with_args:
        assert (one.name, one.args, one.run_callbacks_on_exit) == ("a", "b", True)


@pytest.mark.parametrize("start", ["start", "start_trace", "__enter__"])
def test_started_twice_it_goes_on_and_says_so(start: str) -> None:
    plan = profiler.schedule(wait=0, warmup=1, active=2, repeat=1)
    for prof in (profiler.profile(schedule=plan), profiler.profile(), profiler._KinetoProfile()):
        with prof:
            if prof.__class__ is profiler.profile:
                prof.step()
            with profiler.record_function("before"):
                pass
            with pytest.warns(UserWarning, match="runs already: it goes on") as said:
                getattr(prof, start)()
            with profiler.record_function("after"):
                pass
        assert said[0].filename == __file__
        assert {"before", "after"} <= {event.name for event in prof.events()}


def test_the_strict_profile_refuses_a_second_start_and_goes_on() -> None:
    with marey.profile() as prof:
        with pytest.raises(RuntimeError, match="runs already"):
            prof.start()
        with profiler.record_function("after"):
            pass
    assert [event.name for event in prof.events()] == ["after"]


@pytest.mark.parametrize("acc_events", [False, True])
def test_cycles_handed_over_come_up_to_acc_events(acc_events: bool) -> None:
    seen: list[list[int]] = []

    def ready(prof: Any) -> None:
        counts = [row.count for row in prof.key_averages() if row.key == "work"]
        seen.append([len([e for e in prof.events() if e.name == "work"]), *counts])

    plan = profiler.schedule(wait=0, warmup=1, active=2, repeat=3)
    with profiler.profile(
        schedule=plan, compat="torch", acc_events=acc_events, on_trace_ready=ready
    ) as prof:
        for _ in range(9):
            with profiler.record_function("work"):
                pass
            prof.step()
    assert seen == ([[2, 2], [4, 4], [6, 6]] if acc_events else [[2, 2]] * 3)


def test_an_event_equals_itself_asked_for_again() -> None:
    with profiler.profile(compat="torch") as prof:
        for _ in range(2):
            with profiler.record_function("work"):
                pass
    first, second = prof.events()
    assert first == prof.events()[0] and hash(first) == hash(prof.events()[0])
    assert first != second and second in prof.events()
    with profiler.profile(compat="torch") as other:
        with profiler.record_function("work"):
            pass
    assert first != other.events()[0]


@pytest.mark.parametrize("compat", [None, "torch"])
def test_a_tree_is_walked_by_comparing(compat: Any) -> None:
    """Not by `is`, as docs/from-torch.md says: events are made when they are asked for."""
    with profiler.profile(compat=compat) as prof:
        with profiler.record_function("outer"), profiler.record_function("inner"):
            pass
    events = prof.events()
    (outer,) = (event for event in events if event.cpu_parent is None)
    assert [event.name for event in events if event.cpu_parent == outer] == ["inner"]
    assert {event: event.name for event in events}[outer] == "outer"


def test_compat_may_be_said_twice() -> None:
    with profiler.profile(compat="torch") as prof:
        work()
    averages = prof.key_averages()
    assert averages.table(compat="torch") == averages.table()


class Derived(profiler.profile):
    """As from torch's class, with members of its own."""

    def __init__(self, **options: Any) -> None:
        self.trace = self.cycles = self.profiler = "ours"  # type: ignore[assignment]
        super().__init__(on_trace_ready=self._ready, **options)
        self.stats = {"n_ready": 0}  # type: ignore[assignment]
        self.has_cudagraphs = False  # type: ignore[misc]
        self._handles: list[Any] = []

    def _ready(self, prof: Any) -> None:
        assert prof is self
        self.stats["n_ready"] += 1  # type: ignore[index]


@pytest.mark.parametrize("compat", [None, "torch"])
def test_a_derived_class_has_its_own_names(compat: Any) -> None:
    prof = Derived(compat=compat)
    run(prof, 1)
    assert (prof.trace, prof.cycles, prof.profiler) == ("ours", "ours", "ours")
    assert prof.stats == {"n_ready": 1}
    assert n_calls(prof) == 1 and len(copy.copy(prof).events()) == len(prof.events())
    del prof.stats, prof.cycles
    assert prof.stats.n_lost == 0 and len(prof.cycles) == 1


@pytest.mark.parametrize(
    "profile", [profiler.profile, profiler._KinetoProfile, autograd_profiler.profile]
)
def test_what_is_a_drop_ins_own_is_called_so(profile: type) -> None:
    of_torch, of_python = {"_stats"}, {"_abc_impl"}
    own = {name for name in dir(profile) if name.startswith("_") and not name.startswith("__")}
    assert {name for name in own if not name.startswith("_marey_")} <= of_torch | of_python
    members = vars(profile() if profile is not profiler.profile else Derived())
    free = ("_marey_", "_handles")
    assert [name for name in members if name[0] == "_" and not name.startswith(free)] == []


def test_a_second_stop_does_nothing() -> None:
    prof = profiler.profile()
    with prof:
        work()
    prof.stop()
    assert [e.name for e in prof.events()] == ["work"]
    with prof:
        work("again")
    assert [e.name for e in prof.events()] == ["again"]


def test_the_autograd_profiler_is_entered_once() -> None:
    prof = autograd_profiler.profile()
    assert repr(prof) == "<unfinished marey.autograd_profiler.profile>"
    assert prof.function_events is None
    with pytest.raises(AssertionError, match="didn't finish running"):
        prof.table()
    with prof:
        work()
        assert prof.function_events is None
    with pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass
    assert len(prof.function_events) == 1
    assert "work" in str(prof) and "work" in prof.table(row_limit=1)
    assert prof.total_average().count == 1
    assert prof.self_cpu_time_total >= 0
    assert prof.kineto_results is None
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        prof.export_stacks("no")
    with autograd_profiler.profile(enabled=False) as nothing:
        assert nothing is None
        assert not marey.is_recording()
    with pytest.raises(AssertionError, match="use_kineto=True"):
        autograd_profiler.profile(use_cpu=False)
    with pytest.warns(UserWarning, match="The tpu is not a valid device option"):
        autograd_profiler.profile(use_device="tpu")
    with pytest.warns(UserWarning, match="MTIA is not available"):  # as torch 2.4 spells it
        assert autograd_profiler.profile(use_mtia=True).use_mtia is True


def test_the_inner_profiler_has_the_same_results() -> None:
    with profiler.profile() as prof:
        work()
    inner = prof.profiler
    assert inner is not None
    assert [e.name for e in inner.function_events] == ["work"]
    assert inner.key_averages().table() == prof.key_averages().table()
    assert isinstance(prof, profiler._KinetoProfile)


@pytest.mark.parametrize("compat", [None, "torch"])
def test_a_table_of_events_has_a_row_for_each(compat: Any) -> None:
    with autograd_profiler.profile(compat=compat) as prof:
        with marey.record_function("outer"):
            work("a")
            work("b")
        work("a")
    events = prof.function_events
    assert names_in(prof.table()) == names_in(str(prof)) == ["outer", "a", "b", "a"]
    assert events.table() == str(events) == prof.table()
    assert names_in(events.table(row_limit=1)) == ["outer"]
    assert names_in(events.table(top_level_events_only=True)) == ["outer", "a"]
    assert names_in(events.table(sort_by="cpu_time_total"))[0] == "outer"
    assert names_in(prof.key_averages().table()).count("a") == 1
    assert "Input Shapes" not in events.table()
    assert "a header" in events.table(header="a header")


def test_a_table_of_events_of_a_profile_says_torchs_and_keeps_ours() -> None:
    with profiler.profile(schedule=profiler.schedule(wait=0, warmup=1, active=2)) as prof:
        for _ in range(3):
            work()
            prof.step()
    events = prof.events()
    assert names_in(events.table()) == ["ProfilerStep#1", "work", "ProfilerStep#2", "work"]
    rows = json.loads(events.table(format="json"))["rows"]
    assert [row["self_ns"] for row in rows] == [event.self_ns for event in events]
    view = prof.trace.view(compat="torch", version=None)
    assert events.table(compat="torch") == view.events().table()
    with pytest.warns(UserWarning, match="^the table is not sorted by 'flops'.*sorted by start"):
        assert events.table(sort_by="flops") == events.table()


@pytest.mark.parametrize("compat", [None, "torch"])
def test_what_was_not_recorded_is_what_torch_has_then(compat: Any) -> None:
    with profiler.profile(compat=compat) as prof:
        with marey.record_function("outer"):
            work("inner")
    for row in (*prof.key_averages(), prof.key_averages().total_average()):
        assert (row.input_shapes, row.stack, row.overload_name) == ("", [], "")
    for row in prof.key_averages(group_by_input_shape=True)[:]:
        assert (row.input_shapes, row.stack, row.overload_name) == ([], [], "")
    outer, inner = events = prof.events()
    within = [outer.cpu_children[0], inner.cpu_parent, events[1:][0], next(reversed(list(events)))]
    if compat is None:
        within += [events.where(name="inner")[0], next(reversed(events)),
                   next(row for row in prof.key_averages() if row.key == "inner").cpu_parent]
    for event in (outer, inner, *within):
        assert (event.input_shapes, event.stack, event.overload_name) == ([], [], "")
        assert event.fwd_thread == 0
    assert within[0] == inner and within[1] == outer


def test_our_own_profile_says_that_it_does_not_know() -> None:
    with marey.profile() as prof:
        work()
    (row,), (event,) = prof.key_averages(), prof.events()
    assert (row.input_shapes, row.stack, row.overload_name) == (None, None, None)
    assert event.input_shapes is None and event.fwd_thread is None
    with profiler.profile() as drop_in:
        work()
    columns = [of_it.key_averages().to_arrow() for of_it in (prof, drop_in)]
    for name in ("input_shapes", "stack", "overload_name"):
        ours, theirs = (found.parts(found.names.index(name)) for found in columns)
        assert ours == theirs


def test_stats_are_told() -> None:
    with profiler.profile() as prof:
        work()
        running = prof._stats()
    stats = prof._stats()
    assert running is not None and running.profiling_window_duration_sec is None
    assert stats is not None and stats.number_of_events == 1
    assert stats.profiling_window_duration_sec is not None
    assert 0 < stats.profiling_window_duration_sec < 10


def test_a_trace_may_be_written_many_times(tmp_path: Path) -> None:
    with profiler.profile() as prof:
        work()
    for path in (tmp_path / "a.json", tmp_path / "b.json.gz"):
        prof.export_chrome_trace(str(path))
        prof.profiler.export_chrome_trace(str(path))  # type: ignore[union-attr]
        prof.events().export_chrome_trace(path)
        assert marey.load(path).events()[-1].name is not None
    assert prof.events().supported_export_stacks_metrics()[0] == "self_cpu_time_total"
    with pytest.warns(UserWarning, match="^no stacks were recorded, so that .*stacks2' is empty"):
        prof.events().export_stacks(tmp_path / "stacks2")
    with pytest.raises(marey.UnsupportedError, match="memory cannot be recorded yet"):
        prof.export_memory_timeline("no")


def test_files_are_written_with_torchs_arguments_in_their_place(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with profiler.profile() as prof:
        work()
    for python_export in (False, True):
        prof.export_chrome_trace(path, python_export)
        prof.profiler.export_chrome_trace(path, {"run": "[7]"}, python_export)  # type: ignore[union-attr]
        assert json.loads(path.read_text())["run"] == [7]
    with pytest.raises(FileExistsError):
        prof.export_chrome_trace(path, overwrite=False)
    with autograd_profiler.profile(custom_trace_id_callback=lambda: "ID") as inner:
        assert inner is not None and inner.create_trace_id() == "ID"
        assert len(inner.default_trace_id()) == 32


def test_stacks_are_written_by_who_asked_for_them(tmp_path: Path) -> None:
    path = tmp_path / "stacks"
    with profiler.profile() as prof:
        work()
    for of_it in (prof, prof.profiler):
        with pytest.raises(AssertionError, match="requires with_stack=True"):
            of_it.export_stacks(path)  # type: ignore[union-attr]
    assert not path.exists()
    with pytest.warns(UserWarning, match="stack"), profiler.profile(with_stack=True) as prof:
        work()
    for of_it in (prof, prof.profiler, prof.events()):
        with pytest.raises(ValueError, match="self_cpu_time_total"):
            of_it.export_stacks(path, "self_cpu")  # type: ignore[union-attr]
        with pytest.warns(UserWarning, match="^no stacks were recorded"):
            of_it.export_stacks(path)  # type: ignore[union-attr]
        assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "key", ["cpu_memory_usage", "self_cuda_memory_usage", "self_device_memory_usage",
            "cuda_memory_usage", "flops", "is_async", "device_type"],
)  # fmt: skip
def test_torchs_keys_that_are_no_order_here_sort_by_time(key: str) -> None:
    is_recorded = key in ("is_async", "device_type")
    why = "by which its rows have no order" if is_recorded else "which is not recorded"
    with profiler.profile() as prof:
        work()
        with marey.record_function("longer"):
            for _ in range(100):
                work()
    averages = prof.key_averages()
    with pytest.warns(UserWarning, match=f"^the table is not sorted by '{key}', {why}: ") as said:
        table = averages.table(sort_by=key)
    assert said[0].filename == __file__
    assert table == averages.table()
    with pytest.raises(ValueError, match="cannot sort"):
        averages.table(sort_by="no_such_key")
    with marey.profile() as strict:
        work()
    with pytest.raises(ValueError, match="cannot sort"):
        strict.key_averages().table(sort_by=key)


# ---- events and rows ---------------------------------------------------------------------------------------


def test_older_names_work_and_are_told() -> None:
    with profiler.profile() as prof:
        work()
    for thing in (prof.events()[0], prof.key_averages()[0]):
        for name in ("cuda_time", "cuda_time_total", "self_cuda_time_total",
                     "self_cuda_memory_usage"):  # fmt: skip
            with pytest.warns(FutureWarning, match=f"'{name}' is deprecated, use '(self_)?device") as said:
                assert getattr(thing, name) == 0
            assert said[0].filename == __file__
    assert "work" in prof.key_averages().table(sort_by="cuda_time_total")


@pytest.mark.parametrize("asked", ["group_by_stack_n", "group_by_overload_name"])
def test_what_averages_cannot_be_grouped_by_is_told_at_the_callers_line(asked: str) -> None:
    with profiler.profile() as prof, autograd_profiler.profile() as inner:
        work()
    for shown in (prof, inner, prof.events(), prof.profiler, prof.trace):
        with pytest.warns(UserWarning, match=f"so that {asked} changes nothing") as said:
            shown.key_averages(**{asked: 1})  # type: ignore[arg-type, union-attr]
        assert [warning.filename for warning in said] == [__file__]


def test_all_steps_are_one_row() -> None:
    plan = profiler.schedule(wait=0, warmup=1, active=3, repeat=1)
    for make, keys in (
        (profiler.profile, {"work", "ProfilerStep*"}),
        (marey.profile, {"work", "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"}),
    ):
        with make(schedule=plan) as prof:
            for _ in range(4):
                work()
                prof.step()
        for averages in (
            prof.key_averages(), prof.events().key_averages(), prof.cycles[0].key_averages(),
            prof.key_averages(group_by_input_shape=True),
        ):  # fmt: skip
            assert {row.key for row in averages} == keys
        assert prof.key_averages()[0].scope == 7


def test_events_of_a_file_have_the_names_too(data: Path) -> None:
    """Of one that torch wrote with a GPU."""
    trace = marey.load(data / "resnet18_train.json.gz")
    operation = next(event for event in trace.events() if event.is_device)
    assert operation.device_type == profiler.DeviceType.CUDA
    assert operation.use_device == "cuda"
    assert operation.thread == operation.device_resource_id == operation.track.stream
    assert operation.device_index == operation.track.device
    launcher = operation.owner
    assert launcher is not None
    assert operation.name in [kernel.name for kernel in launcher.kernels]
    assert launcher.device_type == profiler.DeviceType.CPU
    main = next(event for event in trace.events() if event.kind == "op")
    assert main.thread >= 1
    assert main.external_id == main.args["External id"]
    assert main.device_time_total_str.endswith("s")


def test_nothing_is_told_without_a_reason() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with profiler.profile(record_shapes=True, acc_events=True) as prof:
            work()
        prof.key_averages().table()
        with autograd_profiler.profile():
            work()
