"""Making traces: records of Kineto's schema as text, with exact decimal times, and
strategies that make up many of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

CATEGORIES = ("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver")


def us(ns: int) -> str:
    """Nanoseconds as the decimal text of microseconds."""
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


@dataclass(frozen=True)
class Record:
    """A complete event."""

    name: str
    start_ns: int
    dur_ns: int
    cat: str = "cpu_op"
    pid: int = 1
    tid: int = 1
    args: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        args = f', "args": {json.dumps(self.args)}' if self.args else ""
        return (
            f'{{"ph": "X", "cat": "{self.cat}", "name": {json.dumps(self.name)},'
            f' "pid": {self.pid}, "tid": {self.tid},'
            f' "ts": {us(self.start_ns)}, "dur": {us(self.dur_ns)}{args}}}'
        )


def launch(start_ns: int, dur_ns: int, correlation: int, tid: int = 1) -> Record:
    args = {"correlation": correlation}
    return Record("cudaLaunchKernel", start_ns, dur_ns, "cuda_runtime", 1, tid, args)


def kernel(
    name: str, start_ns: int, dur_ns: int, correlation: int, stream: int = 7, device: int = 0
) -> Record:
    args = {"device": device, "context": 1, "stream": stream, "correlation": correlation}
    return Record(name, start_ns, dur_ns, "kernel", device, stream, args)


def document(records: Iterable[Record | str], **head: Any) -> bytes:
    """A trace file of these records."""
    texts = [record if isinstance(record, str) else record.text() for record in records]
    members = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    body = ",\n".join(texts)
    return f'{{{members}"traceEvents": [\n{body}\n]}}\n'.encode()


# ---- strategies ---------------------------------------------------------------------------

# A coarse grid makes equal, touching, zero-length and crossing intervals common; the odd
# step makes digits below the microsecond matter.
STEP_NS = 333
times = st.integers(0, 24).map(lambda n: n * STEP_NS)
lengths = st.integers(0, 12).map(lambda n: n * STEP_NS)

host_records = st.builds(
    Record,
    name=st.sampled_from(["a", "b", "c", "äö", 'q"\\']),
    start_ns=times,
    dur_ns=lengths,
    cat=st.sampled_from(CATEGORIES),
    pid=st.just(1),
    tid=st.integers(1, 3),
    args=st.just({}) | st.fixed_dictionaries({"External id": st.integers(0, 2**63)}),
)

correlations = st.integers(1, 6)
launches = st.builds(
    launch, start_ns=times, dur_ns=lengths, correlation=correlations, tid=st.integers(1, 2)
)
kernels = st.builds(
    kernel,
    name=st.sampled_from(["k1", "k2"]),
    # Not 0: an operation at 0 of length 0 was not collected and is set aside.
    start_ns=times.map(lambda ns: ns + STEP_NS),
    dur_ns=lengths,
    correlation=correlations,
    stream=st.integers(7, 8),
    device=st.integers(0, 1),
)

host_traces = st.lists(host_records, max_size=24)
traces = st.lists(host_records | launches | kernels, max_size=30)
