"""The inputs that the torch collector hands over, beside what torch.profiler shows of the same
calls: name, sequence number, forward thread, dims, strides, types and values of every operator.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import torch_view  # noqa: E402
from host import BACKWARD, WANT_INPUTS, WANT_OPS, WANT_RANGES, Host, Op, custom_ops  # noqa: E402
from torch import nn  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

ALL = WANT_RANGES | WANT_OPS | WANT_INPUTS


# ---- programs ------------------------------------------------------------------------------


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradients[0] * 3 * x * x


def train(model: nn.Module, *inputs: Any) -> None:
    model(*inputs).sum().backward()


def mlp() -> None:
    train(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), torch.randn(4, 8))


def convolution() -> None:
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
    train(nn.Sequential(*layers), torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last))


def transformer() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    train(layer, torch.randn(2, 5, 16))
    layer.eval()
    with torch.no_grad():
        layer(torch.randn(2, 5, 16))


def embedding() -> None:
    train(nn.Embedding(10, 4, padding_idx=0), torch.randint(0, 10, (2, 3)))
    train(nn.EmbeddingBag(10, 4, mode="mean"), torch.randint(0, 10, (6,)), torch.tensor([0, 4]))


def lists() -> None:
    x = torch.randn(2, 3)
    torch.cat([x, x, x[:, :1].expand(2, 3)], dim=0)
    torch.stack((x, x), 1)
    x.permute(1, 0).reshape(-1)
    torch.einsum("ij,kj->ik", x, x)
    torch.split(x, [1, 2], dim=1)
    torch.broadcast_tensors(x, x[0])


def any_list() -> None:
    with custom_ops("marey_any") as library:
        library.define("all(Any a, Scalar[] b, float[] c) -> ()")
        library.impl("all", lambda *values: None, "CompositeExplicitAutograd")
        for some in ([1, None], [None, 2.5], [True], [1, 2]):
            torch.ops.marey_any.all(some, [1, 2.5, True], [0.5, 1.0])


def indices() -> None:
    x = torch.randn(4, 5, 6)
    i = torch.tensor([0, 2])
    x[:, i]
    x[i, :, i]
    x[x > 0]
    x[1:3, None, ..., ::2] = 2.5


def scalars() -> None:
    x = torch.zeros(3)
    for value in (0.1, 1e-9, 1e9, 1e10, 1e20, 123456.789, -0.0, -3.0, 2**53 + 1.0, float("inf"),
                  -float("inf"), float("nan"), 7, -(2**40), 2**63 - 1, True):
        x.clamp_max(value)
    x.clamp(min=0, max=None)
    torch.full((2,), 1.5, dtype=torch.float64, device="cpu")
    torch.arange(0, 1, 0.25)
    torch.quantile(x, 0.5, interpolation="lower")
    torch.ones(2, 2, dtype=torch.int64).amax(0)  # fills with - 2^63
    x.to(torch.bfloat16).to("cpu", torch.float16, copy=True)
    nn.functional.interpolate(torch.randn(1, 1, 4, 4), scale_factor=(2.0, 1.5), mode="bilinear")


def dtypes() -> None:
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
                  torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
                  torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2):
        torch.zeros(2, 1, dtype=dtype).clone()
    torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.qint8).dequantize()


def autograd_function() -> None:
    x = torch.randn(3, requires_grad=True)
    Cube.apply(x).sum().backward()


def optimizers() -> None:
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        for foreach in (False, True):
            model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
            optimizer = kind(model.parameters(), lr=0.01, foreach=foreach)
            train(model, torch.randn(2, 4))
            optimizer.step()
            optimizer.zero_grad()


def recurrent() -> None:
    model = nn.LSTM(4, 8, num_layers=2, batch_first=True)
    model(torch.randn(2, 3, 4))[0].sum().backward()


def views() -> None:
    x = torch.randn(4, 6)
    x.t()[::2].as_strided((2, 2), (1, 3), 1).contiguous()
    torch.empty(0, 3).sum()
    torch.tensor(1.0) + 1
    x.expand(3, 4, 6).sum((0, -1), keepdim=True)
    for n in range(4, 9):  # up to five a tensor keeps within itself
        y = x.reshape([1] * (n - 2) + [4, 6]).permute(*reversed(range(n))).flip([0, 1])
        torch.where(y > 0, y, y.sum([n - 1], keepdim=True))


def sparse() -> None:
    x = torch.eye(4).to_sparse()
    torch.sparse.mm(x, torch.randn(4, 2))
    (x + x).coalesce().to_dense()
    y = torch.eye(4).to_sparse_csr()
    y @ torch.randn(4)
    torch.eye(4).to_sparse_bsr((2, 2))
    torch.eye(4).to_sparse_csc().to_dense()


def ranges() -> None:
    with record_function("outer"), record_function("inner", "with args"):
        torch.ones(2).relu()


CASES: tuple[Callable[[], None], ...] = (
    mlp, convolution, transformer, embedding, lists, any_list, indices, scalars, dtypes,
    autograd_function, optimizers, recurrent, views, sparse, ranges)


def with_copies(ops: list[Op]) -> list[Op]:
    """torch shows an evaluate_function with what the node in it has."""
    for op, following in zip(ops, ops[1:]):
        if op.name.startswith(torch_view.EVALUATE) and following.scope == BACKWARD:
            op.sequence, op.forward_thread = following.sequence, following.forward_thread
    return ops


def differences(ours: list[torch_view.Shown], theirs: list[torch_view.Shown]) -> list[str]:
    wrong = [f"{a}\n{b}" for a, b in zip(ours, theirs) if a != b]
    if len(ours) != len(theirs):
        wrong.append(f"{len(ours)} operators, torch has {len(theirs)}")
    return wrong


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_inputs_are_those_of_torch(case: Callable[[], None], host: Host, tmp_path: Path) -> None:
    torch.manual_seed(1)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        with host.recording(ALL) as recording:
            case()
    theirs = [op for _, op in torch_view.recorded(prof, tmp_path)]
    ours = [torch_view.shown(op) for op in with_copies(recording.ops)]
    assert theirs
    wrong = differences(ours, theirs)
    assert not wrong, "\n\n".join(wrong[:5])
    assert not recording.open_ops
    assert recording.n_unmatched_ends == recording.n_crossings == 0
