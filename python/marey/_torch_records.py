"""What torch's events and averages have in common: the structs as they come from the
core, and the names that torch gives their members."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from marey._torch_enums import DeviceType, device_type


class Interval(NamedTuple):
    """A span in microseconds since the start of the trace."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class Kernel(NamedTuple):
    """A device operation that an event launched; duration is in microseconds."""

    name: str
    device: int
    duration: float


class TorchOptions(NamedTuple):
    """What a view was made with, given or taken from the file."""

    version: str
    profile_memory: bool
    with_flops: bool
    include_python_functions: bool


class EventRecord(NamedTuple):
    """struct marey_torch_event."""

    id: int
    name_id: str
    trace_name_id: str
    overload_id: str
    shapes_id: str
    slice_idx: int | None
    start_us: float
    end_us: float
    thread: int
    forward_thread: int | None
    sequence: int
    python_id: int
    parent_idx: int | None
    first_kernel: int
    n_kernels: int
    first_stack: int
    n_stack: int
    cpu_memory: int
    device_memory: int
    self_cpu_memory: int
    self_device_memory: int
    flops: int
    cpu_total_us: float
    self_cpu_us: float
    device_total_us: float
    self_device_us: float
    device_type: int
    device_index: int
    is_async: bool
    is_user_annotation: bool
    is_python_function: bool


class AverageRecord(NamedTuple):
    """struct marey_torch_average."""

    name_id: str
    overload_id: str
    shapes_id: str
    first_stack: int
    n_stack: int
    first_event: int | None
    count: int  # type: ignore[assignment]
    cpu_total_us: float
    self_cpu_us: float
    device_total_us: float
    self_device_us: float
    cpu_memory: int
    device_memory: int
    self_cpu_memory: int
    self_device_memory: int
    flops: int
    device_type: int
    has_parent: bool
    is_async: bool
    is_user_annotation: bool


def format_time(time_us: float) -> str:
    """A time as torch writes it."""
    if time_us >= 1_000_000:
        return f"{time_us / 1_000_000:.3f}s"
    if time_us >= 1_000:
        return f"{time_us / 1_000:.3f}ms"
    return f"{time_us:.3f}us"


# ---- what events and averages have in common ------------------------------------------------


class Timed(ABC):
    """The names of torch's FormattedTimesMixin and its twins, over a record."""

    __slots__ = ()

    @property
    @abstractmethod
    def _record(self) -> EventRecord | AverageRecord: ...

    @property
    def count(self) -> int:
        return 1

    @property
    def key(self) -> str:
        return self._record.name_id

    @property
    def overload_name(self) -> str:
        return self._record.overload_id

    @property
    def device_type(self) -> DeviceType:
        return device_type(self._record.device_type)

    @property
    def is_async(self) -> bool:
        return self._record.is_async

    @property
    def is_user_annotation(self) -> bool:
        return self._record.is_user_annotation

    @property
    def is_remote(self) -> bool:
        return False

    @property
    def is_legacy(self) -> bool:
        return False

    @property
    def node_id(self) -> int:
        return -1

    @property
    def cpu_time_total(self) -> float:
        return self._record.cpu_total_us

    @property
    def self_cpu_time_total(self) -> float:
        return self._record.self_cpu_us

    @property
    def device_time_total(self) -> float:
        return self._record.device_total_us

    @property
    def self_device_time_total(self) -> float:
        return self._record.self_device_us

    @property
    def cpu_time(self) -> float:
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        return 0.0 if self.count == 0 else self.device_time_total / self.count

    @property
    def cuda_time(self) -> float:
        """The older name of device_time."""
        return self.device_time

    @property
    def cpu_memory_usage(self) -> int:
        return self._record.cpu_memory

    @property
    def self_cpu_memory_usage(self) -> int:
        return self._record.self_cpu_memory

    @property
    def device_memory_usage(self) -> int:
        return self._record.device_memory

    @property
    def self_device_memory_usage(self) -> int:
        return self._record.self_device_memory

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)
