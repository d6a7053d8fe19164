"""Tensors without plain sizes, and inputs that are too many: nothing crashes, nothing is
asked of Python, and what is not known is not made up.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from host import (  # noqa: E402
    BOOL,
    DOUBLE,
    GENERIC_LIST,
    INT,
    MAX_INPUT_WORDS,
    NONE,
    OTHER,
    SCALAR_LIST,
    STRING,
    TENSOR,
    TENSOR_LIST,
    UNDEFINED,
    WANT_INPUTS,
    WANT_OPS,
    Host,
    Op,
    custom_ops,
)

ALL = WANT_OPS | WANT_INPUTS


def types(op: Op) -> list[int]:
    return [value.type for value in op.inputs]


# ---- kinds of values -----------------------------------------------------------------------


def test_each_kind_of_value_has_its_type(host: Host) -> None:
    x = torch.ones(2, 3)
    with host.recording(ALL) as recording:
        torch.full((2, 3), 1.5)
        torch.div(x, x, rounding_mode="floor")
        torch.clamp(x, min=0.5, max=None)
        x.mul(1 + 2j)
        x[None, torch.tensor([0, 1])]
        torch.bernoulli(x, generator=torch.Generator())
        torch.add(x, x, alpha=3)
    full = recording.one("aten::full")
    assert types(full) == [SCALAR_LIST, DOUBLE, NONE, NONE, OTHER, BOOL]
    assert [item.value for item in full.inputs[0].items or []] == [2, 3]
    assert full.inputs[1].value == 1.5
    assert full.inputs[4].text == "Device"
    assert full.inputs[5].value is False
    assert types(recording.one("aten::div")) == [TENSOR, TENSOR, STRING]
    assert types(recording.one("aten::clamp")) == [TENSOR, DOUBLE, NONE]
    texts = [value.text for value in recording.one("aten::bernoulli").inputs]
    assert texts == ["float", "Generator"]
    index = recording.one("aten::index")
    assert types(index) == [TENSOR, GENERIC_LIST]
    items = index.inputs[1].items or []
    assert [(item.type, item.text) for item in items] == [(UNDEFINED, ""), (TENSOR, "long int")]
    add = recording.one("aten::add")
    assert add.inputs[0].sizes == (2, 3) and add.inputs[0].strides == (3, 1)
    assert (add.inputs[2].type, add.inputs[2].value) == (INT, 3)


def test_complex_scalars_are_named(host: Host) -> None:
    with host.recording(ALL) as recording:
        torch.full((1,), 1 + 2j)
    inputs = recording.one("aten::full").inputs
    assert (OTHER, "ComplexDouble") in [(value.type, value.text) for value in inputs]


def test_undefined_tensors_are_told(host: Host) -> None:
    with host.recording(ALL) as recording:
        torch.nn.functional.layer_norm(torch.ones(2, 3), (3,), None, None)
        torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), None)
    for name in ("aten::layer_norm", "aten::linear"):
        assert set(types(recording.one(name))) & {NONE, UNDEFINED}


# ---- tensors without plain sizes -------------------------------------------------------------


def test_sparse_tensors_have_sizes_but_no_strides(host: Host) -> None:
    x = torch.eye(3)
    tensors = [x.to_sparse(), x.to_sparse_csr(), x.to_sparse_csc()]
    if torch.backends.mkldnn.is_available():
        tensors.append(torch.eye(3).to_mkldnn())
    for tensor in tensors:
        with host.recording(ALL) as recording:
            tensor.to_dense()
        value = recording.ops[0].inputs[0]
        assert (value.type, value.sizes, value.strides) == (TENSOR, (3, 3), None)
        assert value.text == "float"


@pytest.mark.filterwarnings("ignore")
def test_nested_tensors_are_unknown(host: Host) -> None:
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    for layout in (torch.strided, torch.jagged):
        nested = torch.nested.nested_tensor(parts, layout=layout)
        with host.recording(ALL) as recording:
            (nested * 2).relu().unbind()
        unary = [op for op in recording.ops if op.name in ("aten::relu", "aten::mul")]
        assert any(UNDEFINED in types(op) for op in unary)


def test_functorch_tensors_do_no_harm(host: Host) -> None:
    def loss(x: Any) -> Any:
        return (x.exp() @ torch.ones(3)).sum()

    with host.recording(ALL) as recording:
        torch.func.vmap(torch.func.grad(loss))(torch.ones(5, 2, 3))
        torch.func.jvp(loss, (torch.ones(2, 3),), (torch.ones(2, 3),))
        torch.func.functionalize(lambda x: x.add_(1).view(-1).mul_(2))(torch.ones(2, 3))
        torch.func.hessian(loss)(torch.ones(2, 3))
    assert "aten::exp" in recording.names
    assert not recording.open_ops


def test_fake_and_symbolic_tensors_do_no_harm(host: Host) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv())
    plain = mode.from_tensor(torch.ones(4, 3), static_shapes=True)
    symbolic = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    with mode, host.recording(ALL) as recording:
        plain.exp()
        torch.cat([symbolic, symbolic]).view(-1, 3).expand(symbolic.shape[0] * 2, 3).relu()
    assert recording.ops
    assert not recording.open_ops
    with host.recording(ALL):
        torch.ones(2, 3, device="meta").relu()


def test_make_fx_with_symbols_does_no_harm(host: Host) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    def work(x: Any) -> Any:
        return torch.func.functionalize(lambda y: y.add_(1).view(-1).relu())(x)

    with host.recording(ALL) as recording:
        make_fx(work, tracing_mode="symbolic")(torch.ones(2, 3))
    assert not recording.open_ops


class Stubborn(torch.Tensor):
    """Its sizes are Python's to tell, and Python counts who asks."""

    n_asked = 0

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype,
            dispatch_sizes_strides_policy="sizes", dispatch_layout=True, dispatch_device=True)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None,
                           ) -> Any:
        words = ("size", "stride", "layout", "device", "dim", "numel")
        if any(word in str(function) for word in words):
            cls.n_asked += 1
        return function(*(arg.inner if isinstance(arg, Stubborn) else arg for arg in args))


def test_python_is_not_asked_for_sizes(host: Host) -> None:
    tensor = Stubborn(torch.ones(2, 3))
    torch.relu(tensor)
    before = Stubborn.n_asked
    torch.relu(tensor)
    asked_without = Stubborn.n_asked - before
    with host.recording(ALL) as recording:
        before = Stubborn.n_asked
        torch.relu(tensor)
        asked_with = Stubborn.n_asked - before
    assert asked_with == asked_without
    value = next(op for op in recording.ops if op.name == "aten::relu").inputs[0]
    assert (value.type, value.sizes, value.strides) == (TENSOR, (2, 3), (3, 1))


def test_python_is_not_asked_behind_a_functional_wrapper(host: Host) -> None:
    wrapper = torch._to_functional_tensor(Stubborn(torch.ones(2, 3)))
    with host.recording(ALL) as recording:
        before = Stubborn.n_asked
        torch.ops.aten.alias(wrapper)
    assert recording.ops
    asked_with = Stubborn.n_asked - before
    before = Stubborn.n_asked
    torch.ops.aten.alias(wrapper)
    assert asked_with == Stubborn.n_asked - before


def test_inputs_are_borrowed(host: Host) -> None:
    x = torch.ones(3)
    before = x._use_count()
    with host.recording(ALL):
        torch.cat([x, x])
        x.relu()
    assert x._use_count() == before


# ---- too much ----------------------------------------------------------------------------------


def test_lists_that_do_not_fit_are_cut(host: Host) -> None:
    x = torch.ones(2, 3, 4)
    with host.recording(ALL) as recording:
        for n in (1, 20, 33, 60, 300, 70_000):
            torch.cat([x] * n, dim=1)
    ops = [op for op in recording.ops if op.name == "aten::cat"]
    lists = [op.inputs[0] for op in ops]
    assert [value.type for value in lists] == [TENSOR_LIST] * 6
    assert [value.n_items for value in lists] == [1, 20, 33, 60, 300, 65535]
    assert [value.items is None for value in lists] == [False, False, False, True, True, True]
    # What comes after a list is still there.
    assert [op.inputs[1].value for op in ops] == [1] * 6
    assert all(op.n_words <= MAX_INPUT_WORDS for op in ops)


def test_strides_give_way_before_the_list_does(host: Host) -> None:
    x = torch.ones(2, 3, 4, 5)
    with host.recording(ALL) as recording:
        torch.cat([x] * 25)
        torch.cat([x] * 40)
        torch.cat([x] * 50)
    strides = [[item.strides for item in op.inputs[0].items or []] for op in recording.ops
               if op.name == "aten::cat"]
    assert strides == [[(60, 20, 5, 1)] * 25, [None] * 40, []]


def test_scalar_lists_of_any_length(host: Host) -> None:
    x = torch.ones(400)
    with host.recording(ALL) as recording:
        torch.split(x, [4] * 100)
        torch.split(x, [1] * 400)
    first, second = (op.inputs[1] for op in recording.ops if op.name == "aten::split_with_sizes")
    assert [item.value for item in first.items or []] == [4] * 100
    assert (second.n_items, second.items) == (400, None)


@pytest.mark.parametrize("n_dims", range(8))
def test_a_record_ends_with_the_last_tensor_that_fits(host: Host, n_dims: int) -> None:
    n_fit = MAX_INPUT_WORDS // (1 + 2 * n_dims)
    n = min(n_fit + 3, 64)  # which is the most that torch takes
    sizes = tuple(range(1, n_dims + 1))
    with custom_ops("marey_tensors") as library:
        library.define(f"many({', '.join(f'Tensor x{i}' for i in range(n))}) -> ()")
        library.impl("many", lambda *values: None, "CompositeExplicitAutograd")
        with host.recording(ALL) as recording:
            torch.ops.marey_tensors.many(*[torch.ones(sizes)] * n)
    op = recording.one("marey_tensors::many")
    assert [value.sizes for value in op.inputs] == [sizes] * min(n, n_fit)
    assert {value.strides for value in op.inputs} == {torch.ones(sizes).stride()}


def test_lists_have_the_type_of_their_items(host: Host) -> None:
    kinds = ("Tensor[]", "int[]", "float[]", "bool[]", "Tensor?[]", "str[]")
    values = ([torch.ones(1)], [1], [0.5], [True], [None], ["a"])
    with custom_ops("marey_lists") as library:
        library.define(f"lists({', '.join(f'{kind} x{i}' for i, kind in enumerate(kinds))}) -> ()")
        library.impl("lists", lambda *values: None, "CompositeExplicitAutograd")
        with host.recording(ALL) as recording:
            torch.ops.marey_lists.lists(*[[] for _ in kinds])
            torch.ops.marey_lists.lists(*values)
    empty, full = (types(op) for op in recording.ops if op.name == "marey_lists::lists")
    assert empty == [TENSOR_LIST] + [SCALAR_LIST] * 5
    assert full == [TENSOR_LIST] + [SCALAR_LIST] * 3 + [GENERIC_LIST] * 2


def test_a_list_leaves_room_for_what_comes_after_it(host: Host) -> None:
    """Nine words an input: of all lists of up to three integers near the end of the room."""
    n_tensors, words_of_tensor, most_ints = MAX_INPUT_WORDS // 9 - 4, 9, 20
    x = torch.ones(1, 2, 1, 2)
    expected, found = [], []
    with custom_ops("marey_room") as library:
        for n_ints, n_after in itertools.product(range(most_ints + 1), (0, 1, 4)):
            name = f"full_{n_ints}_{n_after}"
            schema = [*(f"Tensor x{i}" for i in range(n_tensors)),
                      *(f"int i{i}" for i in range(n_ints)), "int[] list",
                      *(f"int n{i}" for i in range(n_after))]
            library.define(f"{name}({', '.join(schema)}) -> ()")
            library.impl(name, lambda *values: None, "CompositeExplicitAutograd")
            left = MAX_INPUT_WORDS - n_tensors * words_of_tensor - 2 * n_ints
            for items in ([], [7], [7, 8], [7, 8, 9]):
                with host.recording(ALL) as recording:
                    getattr(torch.ops.marey_room, name)(
                        *[x] * n_tensors, *range(n_ints), items, *[3] * n_after)
                op = recording.one(f"marey_room::{name}")
                assert op.n_words <= MAX_INPUT_WORDS
                is_whole = 1 + 2 * len(items) + words_of_tensor * n_after <= left
                expected.append(items if is_whole else None)
                values = op.inputs[n_tensors + n_ints].items
                found.append(None if values is None else [value.value for value in values])
    assert found == expected
    assert None in found and [7, 8, 9] in found


def test_many_dimensions(host: Host) -> None:
    x = torch.ones([1] * 64)
    with host.recording(ALL) as recording:
        x.relu()
        torch.where(x > 0, x, x)
        torch.cat([x, x])
    assert recording.one("aten::relu").inputs[0].sizes == (1,) * 64
    # Of three such tensors one fits; a record ends at an input's border.
    where = recording.one("aten::where")
    assert [value.sizes for value in where.inputs] == [(1,) * 64]
    assert where.n_words == 129


def test_lists_in_lists_are_cut(host: Host) -> None:
    with custom_ops("marey_test") as library:
        library.define("nested(int[][] a, Tensor[][] b, Tensor x) -> Tensor")
        library.impl("nested", lambda a, b, x: x.clone(), "CompositeExplicitAutograd")
        x = torch.ones(2)
        with host.recording(ALL) as recording:
            torch.ops.marey_test.nested([[1, 2], []], [[x]], x)
        a, b, last = recording.one("marey_test::nested").inputs
        assert (a.type, b.type, last.type) == (GENERIC_LIST, GENERIC_LIST, TENSOR)
        assert [(item.type, item.n_items, item.items) for item in a.items or []] == [
            (SCALAR_LIST, 2, None), (SCALAR_LIST, 0, [])]
        assert [(item.type, item.n_items) for item in b.items or []] == [(TENSOR_LIST, 1)]
