"""Marey: traces of PyTorch programs, read exactly.

    import marey

    trace = marey.load("run.pt.trace.json.gz")
    print(trace.key_averages().table())
    print(trace.view(compat="torch").key_averages().table(sort_by="cpu_time_total"))

Times are integers in nanoseconds wherever a name ends in ``_ns``; what is not known is
None. Everything that a trace hands out keeps it alive.
"""

from marey._averages import Averages, Row, Totals
from marey._core import (
    VERSION as __version__,
    ChangedError,
    FormatError,
    LimitError,
    MareyError,
    UnsupportedError,
    counter,
    is_recording,
    mark,
    record_function,
    thread_name,
)
from marey._errors import CollectorError
from marey._events import AsyncSpan, Event, Events, Track
from marey._profile import ProfileAverages, ProfileEvents, SessionStats, profile
from marey._schedule import ProfilerAction, ProfilerActivity, schedule
from marey._torch import (
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
    TorchAverages,
    TorchView,
)
from marey._trace import NONE, UNKNOWN, Ledger, LedgerRow, Source, Trace, load

__all__ = [
    "NONE",
    "UNKNOWN",
    "AsyncSpan",
    "Averages",
    "ChangedError",
    "CollectorError",
    "DeviceType",
    "Event",
    "EventList",
    "Events",
    "FormatError",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "Ledger",
    "LedgerRow",
    "LimitError",
    "MareyError",
    "ProfileAverages",
    "ProfileEvents",
    "ProfilerAction",
    "ProfilerActivity",
    "Row",
    "SessionStats",
    "Source",
    "TorchAverages",
    "TorchView",
    "Totals",
    "Trace",
    "Track",
    "UnsupportedError",
    "__version__",
    "counter",
    "is_recording",
    "load",
    "mark",
    "profile",
    "record_function",
    "schedule",
    "thread_name",
]
