"""Reading by integer tensors, and tensors made of constants, against eager."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from dlrmc.frontend import import_program
from dlrmc.frontend.leaves import MAX_BAKED_ELEMENTS
from tests.frontend.imported import Family, assert_equals_eager, evaluate_imported, run_family

X = torch.arange(60.0).reshape(3, 4, 5)
I = torch.tensor([0, 2, -1, 1])  # noqa: E741
J = torch.tensor([1, -2, 3, 0])
GRID = torch.tensor([[0, 2], [1, 1]])
ARGS = (X, I, J, GRID)

CASES: dict[str, Callable[..., Any]] = {
    "none_i_j": lambda x, i, j, g: x[:, i, j],
    "none_i": lambda x, i, j, g: x[:, i],
    "i_j": lambda x, i, j, g: x[i, j],
    "i": lambda x, i, j, g: x[i],
    "i_none_j": lambda x, i, j, g: x[i, :, j],
    "trailing_none": lambda x, i, j, g: torch.ops.aten.index.Tensor(x, [i, None]),
    "grid": lambda x, i, j, g: (x[g], x[:, g, i[:2]]),
    "int32": lambda x, i, j, g: x[i.int()],
    "lists": lambda x, i, j, g: x[:, [0, 3], [4, -5]],
    "repeat_interleave_by_a_request": lambda x, i, j, g: x[:2].repeat_interleave(g[0], 0, output_size=2),
    "index_select": lambda x, i, j, g: (x.index_select(0, i.abs()), x.index_select(-1, g[0])),
    "index_select_by_a_scalar": lambda x, i, j, g: x.index_select(1, i[1]),
    "gather": lambda x, i, j, g: (x.gather(2, g[None].expand(3, 2, 2)), x[0].gather(-1, g)),
    "arange": lambda x, i, j, g: (
        torch.arange(4) + i,
        torch.arange(1, 9, 2) + i,
        torch.arange(0, 2, 0.5) + j,
    ),
    "full": lambda x, i, j, g: (torch.full((2, 2), 7) + g, torch.full_like(x, -2.5) * x),
    "zeros_ones": lambda x, i, j, g: (torch.zeros(5) + x, torch.ones_like(x) * x, x.new_zeros(5) + x),
    "new_ones_full": lambda x, i, j, g: (x.new_ones(5, dtype=torch.int64), x.new_full((2,), 3.0)),
    "a_large_full": lambda x, i, j, g: torch.full((40, 50), 2.0)[:4, :5] + x,
    "one_hot_by_comparison": lambda x, i, j, g: (torch.arange(4)[None] == i[:, None]).float(),
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_a_large_uniform_tensor_is_an_expanded_scalar() -> None:
    run = run_family({"f": lambda x: torch.full((400, 5), 2.0) * x[0, :1]}, (X,))
    constants = [node for node in run.imported.graph.nodes if node.is_op("const")]
    assert [str(node.type) for node in constants] == ["f32[]"]


class Held(nn.Module):
    """Index tables as attribute and buffer, a non-persistent float buffer, a float constant in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.i = torch.tensor([1, 2, 2])
        self.register_buffer("j", torch.tensor([0, 0, 1]))
        self.register_buffer("scale", torch.tensor([2.0, 3.0, 4.0]), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, self.i, self.j] * self.scale + torch.tensor([0.5, 1.5, 2.5])


def test_index_tables_are_read_into_the_graph_and_float_buffers_are_weights() -> None:
    imported = import_program(torch.export.export(Held(), (X,)))
    constants = {n.name: n.value.tolist() for n in imported.graph.nodes if n.is_op("const")}
    assert constants == {"i": [1, 2, 2], "j": [0, 0, 1], "lifted_tensor_0": [0.5, 1.5, 2.5]}
    assert sorted(imported.baked) == ["i", "j", "lifted_tensor_0"]
    assert list(imported.weights) == ["scale"]
    np.testing.assert_allclose(evaluate_imported(imported, (X,), {}), Held()(X).numpy())


class Positions(nn.Module):
    """Positions of a whole batch as an attribute, which the export lifts."""

    def __init__(self, positions: torch.Tensor) -> None:
        super().__init__()
        self.positions = positions

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.positions


def test_a_large_lifted_constant_is_read_where_it_repeats_one_row() -> None:
    repeated = torch.arange(50).repeat(2000, 1)
    assert repeated.numel() > MAX_BAKED_ELEMENTS
    other = repeated.clone()
    other[7, 7] = 0
    for positions, is_baked in ((repeated, True), (other, False)):
        program = torch.export.export(Positions(positions), (torch.ones(2000, 50),))
        imported = import_program(program)
        assert bool(imported.baked) is is_baked
        assert bool(imported.weights) is not is_baked
