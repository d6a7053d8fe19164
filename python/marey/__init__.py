"""Marey: what a PyTorch program does when, recorded or read exactly.

    import marey

    with marey.profile() as prof:
        train()
    print(prof.key_averages().table())

    trace = marey.load("run.pt.trace.json.gz")
    print(trace.key_averages().table())
    print(trace.view(compat="torch").key_averages().table(sort_by="cpu_time_total"))

Times are integers in nanoseconds wherever a name ends in ``_ns``; what is not known is
None. Everything that a trace hands out keeps it alive.
"""

from __future__ import annotations

from marey import _live_torch
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from marey._averages import Averages, Row, Totals
    from marey._cycle import Cycle
    from marey._errors import CollectorError
    from marey._events import (
        NONE,
        UNKNOWN,
        AsyncSpan,
        CounterValue,
        Event,
        Events,
        Instant,
        Track,
    )
    from marey._exports import Export, wait_for_exports
    from marey._profile import profile
    from marey._results import ProfileAverages, ProfileEvents, SessionStats
    from marey._schedule import ProfilerAction, ProfilerActivity, schedule
    from marey._torch import EventList, FunctionEvent, FunctionEventAvg, TorchAverages, TorchView
    from marey._torch_enums import DeviceType
    from marey._torch_records import Interval, Kernel
    from marey._trace import Ledger, LedgerRow, Source, Trace, load

# What only marks ranges pays for no more than that, and `marey run` brings no module of the
# standard library into a program: the rest is imported when it is first asked for.
_HOMES = {
    "_averages": ("Averages", "Row", "Totals"),
    "_cycle": ("Cycle",),
    "_errors": ("CollectorError",),
    "_events": (
        "NONE",
        "UNKNOWN",
        "AsyncSpan",
        "CounterValue",
        "Event",
        "Events",
        "Instant",
        "Track",
    ),
    "_exports": ("Export", "wait_for_exports"),
    "_profile": ("profile",),
    "_results": ("ProfileAverages", "ProfileEvents", "SessionStats"),
    "_schedule": ("ProfilerAction", "ProfilerActivity", "schedule"),
    "_torch": (
        "EventList",
        "FunctionEvent",
        "FunctionEventAvg",
        "TorchAverages",
        "TorchView",
    ),
    "_torch_enums": ("DeviceType",),
    "_torch_records": ("Interval", "Kernel"),
    "_trace": ("Ledger", "LedgerRow", "Source", "Trace", "load"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


_live_torch.adapt_compiler()


def __getattr__(name: str) -> Any:
    """Takes in all of the rest: whoever asks for one of them needs most. And takes itself away,
    as a module with this function is slower at every attribute, 40 ns at each
    `marey.record_function`."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'marey' has no attribute {name!r}")
    for home, names in _HOMES.items():
        module = __import__(f"marey.{home}", fromlist=names)
        globals().update({each: getattr(module, each) for each in names})
    globals().pop("__getattr__", None)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "NONE",
    "UNKNOWN",
    "AsyncSpan",
    "Averages",
    "ChangedError",
    "CollectorError",
    "CounterValue",
    "Cycle",
    "DeviceType",
    "Event",
    "EventList",
    "Events",
    "Export",
    "FormatError",
    "FunctionEvent",
    "FunctionEventAvg",
    "Instant",
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
    "wait_for_exports",
]
