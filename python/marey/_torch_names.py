"""The names that torch gives the members of its events and averages, over our numbers.

Times are microseconds and None where they are not known; what no recording has yet is what
torch has without it: no memory, no FLOPs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marey._torch_enums import DeviceType, device_type
from marey._torch_records import Kernel, format_time
from marey._warn import warn

if TYPE_CHECKING:
    from marey._events import Event, Events, Track
    from marey._trace import Trace

FUNCTION_SCOPE, BACKWARD_SCOPE, USER_SCOPE = 0, 1, 7
"""torch's RecordScope."""

EVALUATE = "autograd::engine::evaluate_function: "


def _time_str(name: str) -> property:
    def text(self: Any) -> str:
        time_us = getattr(self, name)
        return "" if time_us is None else format_time(time_us)

    return property(text, doc=f"{name} as torch writes it.")


def _older(name: str, newer: str) -> property:
    def value(self: Any) -> Any:
        warn(f"'{name}' is deprecated, use '{newer}'", FutureWarning)
        return getattr(self, newer)

    return property(value, doc=f"The older name of {newer}.")


class TorchNames:
    """What events and averages have in common."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def kind(self) -> str: ...
        @property
        def is_device(self) -> bool: ...
        def _trace_of(self) -> Trace | None: ...

    is_remote = False
    is_legacy = False
    node_id = -1
    flops = 0

    cpu_time_str = _time_str("cpu_time")
    cpu_time_total_str = _time_str("cpu_time_total")
    self_cpu_time_total_str = _time_str("self_cpu_time_total")
    device_time_str = _time_str("device_time")
    device_time_total_str = _time_str("device_time_total")
    self_device_time_total_str = _time_str("self_device_time_total")

    cuda_time = _older("cuda_time", "device_time")
    cuda_time_total = _older("cuda_time_total", "device_time_total")
    self_cuda_time_total = _older("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _older("self_cuda_memory_usage", "self_device_memory_usage")

    @property
    def device_type(self) -> DeviceType:
        return device_type(1 if self.is_device else 0)

    @property
    def use_device(self) -> str | None:
        """"cuda" where the trace has operations of a device."""
        trace = self._trace_of()
        return "cuda" if trace is not None and trace._has_device else None

    @property
    def is_user_annotation(self) -> bool:
        return self.kind in ("annotation", "device annotation")

    @property
    def is_python_function(self) -> bool:
        return self.kind == "python"

    def _memory(self, name: str) -> int:
        """None was recorded: 0, as in torch. Of a file that has some only torch's view can tell."""
        trace = self._trace_of()
        if trace is not None and any(len(column) for column in trace._core.memory_records().values()):
            raise AttributeError(
                f'the memory of this trace is not added up yet, torch\'s {name} is that of'
                ' trace.view(compat="torch")'
            )
        return 0

    @property
    def cpu_memory_usage(self) -> int:
        return self._memory("cpu_memory_usage")

    @property
    def self_cpu_memory_usage(self) -> int:
        return self._memory("self_cpu_memory_usage")

    @property
    def device_memory_usage(self) -> int:
        return self._memory("device_memory_usage")

    @property
    def self_device_memory_usage(self) -> int:
        return self._memory("self_device_memory_usage")


class TorchEventNames(TorchNames):
    """What only events have."""

    __slots__ = ()

    if TYPE_CHECKING:
        @property
        def name(self) -> str | None: ...
        @property
        def category(self) -> str | None: ...
        @property
        def args(self) -> dict[str, Any]: ...
        @property
        def parent(self) -> Event | None: ...
        @property
        def owned(self) -> Events: ...
        @property
        def track(self) -> Track: ...
        @property
        def correlation(self) -> int | None: ...

    overload_name = ""
    flow_id = 0
    flow_type = 0
    flow_start = False
    """Arrows are those of the trace: columns("flows")."""
    self_cpu_percent = total_cpu_percent = total_device_percent = ""
    """torch writes them while it prints a table."""
    kwinputs: dict[str, Any] = {}  # noqa: RUF012 - read-only, as what nobody recorded
    event_metadata = None

    @property
    def trace_name(self) -> str | None:
        return self.name

    @property
    def id(self) -> int:
        """torch's correlation id; 0: none."""
        return self.external_id or self.correlation or 0

    @property
    def external_id(self) -> int:
        return self._number("External id", 0)

    @property
    def thread(self) -> int:
        """torch's number of the thread: 1 is the main one. Of a device operation its stream."""
        if self.is_device:
            return self.device_resource_id
        trace = self._trace_of()
        assert trace is not None
        return trace._thread_numbers[self.track.index]

    @property
    def fwd_thread(self) -> int | None:
        number = self.args.get("Fwd thread id")
        return number if isinstance(number, int) else None

    @property
    def device_index(self) -> int:
        """The device, or the process."""
        track = self.track
        return _int_of(track.device if self.is_device else track.process)

    @property
    def device_resource_id(self) -> int:
        """The stream, or the thread as the system numbers it."""
        track = self.track
        return _int_of(track.stream if self.is_device else track.thread)

    @property
    def scope(self) -> int:
        """torch's RecordScope as far as a trace tells it: 0, 1 for a node of autograd, 7 for what
        the program marks."""
        if self.is_user_annotation:
            return USER_SCOPE
        parent = self.parent
        is_node = parent is not None and parent.name == f"{EVALUATE}{self.name}"
        return BACKWARD_SCOPE if is_node else FUNCTION_SCOPE

    @property
    def metadata_json(self) -> str:
        """torch's older text of what is in args now."""
        warn("'metadata_json' is deprecated, use 'args'", FutureWarning)
        return ""

    @property
    def activity_type(self) -> str | None:
        return self.category

    @property
    def kernels(self) -> list[Kernel]:
        """The device operations that belong to it."""
        return [
            Kernel(operation.name or "", operation.device_index, (operation.dur_ns or 0) / 1000)
            for operation in self.owned
        ]

    @property
    def stack(self) -> list[str]:
        """Innermost first; empty where none was recorded."""
        stack = self.args.get("Call stack")
        return stack.split(";") if isinstance(stack, str) and stack else []

    @property
    def structured_input_shapes(self) -> list[Any]:
        """Lists of tensors nested."""
        return self._list("Input Dims")

    @property
    def structured_input_strides(self) -> list[Any]:
        return self._list("Input Strides")

    @property
    def input_dtypes(self) -> list[str]:
        return self._list("Input type")

    @property
    def concrete_inputs(self) -> list[Any]:
        return self._list("Concrete Inputs")

    @property
    def python_id(self) -> int:
        return self._number("Python id", -1)

    @property
    def python_parent_id(self) -> int:
        return self._number("Python parent id", -1)

    @property
    def python_module_id(self) -> int:
        return self._number("Python module id", -1)

    @property
    def linked_correlation_id(self) -> int:
        """Of a device operation: the id of the op that it belongs to."""
        return self.external_id if self.is_device else 0

    def _number(self, key: str, default: int) -> int:
        number = self.args.get(key)
        return number if isinstance(number, int) else default

    def _list(self, key: str) -> list[Any]:
        items = self.args.get(key)
        return items if isinstance(items, list) else []


class TorchRowNames(TorchNames):
    """What only averages have."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def kind(self) -> str: ...
        @property
        def first(self) -> Event | None: ...
        @property
        def _left_scope(self) -> int | None: ...

    @property
    def cpu_parent(self) -> Event | None:
        """The parent of the first of them."""
        return None if self.first is None else self.first.cpu_parent

    @property
    def cpu_children(self) -> Any:
        return () if self.first is None else self.first.cpu_children

    @property
    def is_async(self) -> bool:
        return self.first is not None and self.first.is_async

    @property
    def scope(self) -> int:
        if self.first is not None:
            return self.first.scope
        if self._left_scope is not None:
            return self._left_scope
        is_user = self.kind in ("annotation", "device annotation")
        return USER_SCOPE if is_user else FUNCTION_SCOPE


def _int_of(value: Any) -> int:
    """-1 for what is no number, as a thread of a file may be."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return -1
