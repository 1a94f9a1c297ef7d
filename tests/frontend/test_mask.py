"""Selection by constant masks becomes selection by constant ids; any other mask is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend import import_program, prepare
from tests.frontend.imported import assert_equals_eager, evaluate_imported

FIELDS = 4
X = torch.arange(5.0 * FIELDS * FIELDS).reshape(5, FIELDS, FIELDS)
UPPER = torch.triu(torch.ones(FIELDS, FIELDS, dtype=torch.bool), 1)
PAIRS = FIELDS * (FIELDS - 1) // 2

CASES: dict[str, Callable[[Any, torch.Tensor], torch.Tensor]] = {
    "buffer": lambda m, x: torch.masked_select(x, m.mask).view(-1, PAIRS),
    "parameter": lambda m, x: torch.masked_select(x, m.fixed).view(-1, PAIRS),
    "attribute": lambda m, x: torch.masked_select(x, m.plain).view(x.shape[0], -1),
    "made in forward": lambda m, x: torch.masked_select(
        x, torch.triu(torch.ones(FIELDS, FIELDS), diagonal=1).bool()
    ).view(-1, PAIRS),
    "expanded": lambda m, x: torch.masked_select(x, m.mask.unsqueeze(0).expand(x.shape[0], -1, -1)).reshape(
        -1, PAIRS
    ),
    "inverted": lambda m, x: torch.masked_select(x, ~m.mask).view(-1, FIELDS**2 - PAIRS),
    "of rows": lambda m, x: torch.masked_select(x, m.rows).view(-1, 2 * FIELDS),
    "index": lambda m, x: x[:, m.mask],
    "index of one dimension": lambda m, x: x[:, :, m.some],
    "index, then ids": lambda m, x: x[:, m.some][:, [1, 0]],
    "nonzero": lambda m, x: x[:, torch.nonzero(m.mask)[:, 0], torch.nonzero(m.mask)[:, 1]],
    "nonzero as a tuple": lambda m, x: x[(slice(None), *torch.nonzero(m.mask, as_tuple=True))],
    "where": lambda m, x: x[:, torch.where(m.some)[0]],
    "none selected": lambda m, x: torch.masked_select(x, m.none).sum() + x,
    "all selected": lambda m, x: torch.masked_select(x, ~m.none).view(x.shape) * 2,
    "indices of a triangle": lambda m, x: x[
        :, torch.tril_indices(FIELDS, FIELDS, -1)[0], torch.triu_indices(FIELDS, FIELDS, 1)[1]
    ],
}


class Masked(nn.Module):
    """One way to use a mask, which it has in every form."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.register_buffer("mask", UPPER.clone())
        self.register_buffer("rows", torch.tensor([[True], [False], [False], [True]]))
        self.register_buffer("some", torch.tensor([True, False, True, True]))
        self.register_buffer("none", torch.zeros(FIELDS, FIELDS, dtype=torch.bool), persistent=False)
        self.fixed = nn.Parameter(UPPER.clone(), requires_grad=False)
        self.plain = UPPER.clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return CASES[self.name](self, x)


@pytest.mark.parametrize("name", CASES)
def test_a_constant_mask(name: str) -> None:
    model = Masked(name)
    imported = import_program(torch.export.export(model, (X,)))
    assert_equals_eager(evaluate_imported(imported, (X,), {}), model(X))


@pytest.mark.parametrize("name", ["buffer", "made in forward", "expanded", "index", "nonzero"])
def test_a_constant_mask_and_a_dynamic_batch(name: str) -> None:
    model = Masked(name)
    program = prepare(torch.export.export(model, (X,), dynamic_shapes=({0: Dim.DYNAMIC},)))
    for batch in (2, 7):
        x = torch.randn(batch, FIELDS, FIELDS)
        imported = program.specialise([tuple(x.shape)])
        assert_equals_eager(evaluate_imported(imported, (x,), {}), model(x))


def test_the_mask_of_a_whole_batch_is_one_row_of_ids() -> None:
    imported = import_program(torch.export.export(Masked("expanded"), (X,)))
    [ids] = [node.value for node in imported.graph.nodes if node.is_op("const")]
    np.testing.assert_array_equal(ids, np.flatnonzero(UPPER.numpy()))


def test_a_mask_that_differs_by_sample() -> None:
    class BySample(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.masked_select(x, torch.arange(5)[:, None, None] % 2 == 0).view(3, -1)

    imported = import_program(torch.export.export(BySample(), (X,)))
    assert_equals_eager(evaluate_imported(imported, (X,), {}), BySample()(X))


def test_a_folded_mask_counts_as_read() -> None:
    """A later change of the buffer must not go unseen."""
    assert import_program(torch.export.export(Masked("buffer"), (X,))).baked == ("mask",)
    assert import_program(torch.export.export(Masked("parameter"), (X,))).baked == ("fixed",)


@pytest.mark.parametrize(
    ("select", "what"),
    [
        (lambda x: torch.masked_select(x, x > 3), "masked_select"),
        (lambda x: x[x > 3], "indexing"),
        (lambda x: torch.nonzero(x > 3), "nonzero"),
    ],
)
def test_a_mask_of_inputs_is_refused_with_the_line(select: Any, what: str) -> None:
    class OfInputs(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return select(x).sum()

    with pytest.raises(UnsupportedOpsError) as caught:
        import_program(torch.export.export(OfInputs(), (X,)))
    [item] = caught.value.items
    assert item.reason == (
        f"{what} by a mask (bool[5,4,4]) that is no constant: the result's shape depends on its values "
        "(multiply by the mask or use torch.where instead)"
    )
    assert "test_mask.py" in item.source
