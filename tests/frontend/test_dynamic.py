"""Dynamic dimensions: one prepared program, specialised for shapes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

from dlrmc.errors import FrontendError
from dlrmc.frontend import PreparedProgram, import_program, prepare
from tests.frontend.imported import assert_equals_eager, evaluate_imported
from tests.models.plain import PlainConfig, build, example_inputs, export

CONFIG = PlainConfig(num_cat=2)
BATCH = Dim("batch", min=1, max=64)


def prepared(dense: Any, offsets: Any, ids: Any) -> PreparedProgram:
    args, _kwargs = example_inputs(CONFIG, batch=3)
    shapes = (dense, [offsets] * 2, ids)
    return prepare(export(build(CONFIG), args, dynamic_shapes=shapes))


@pytest.mark.parametrize("batch", [1, 2, 7, 64])
def test_a_named_dim_is_specialised_for_any_batch(batch: int) -> None:
    program = prepared({0: BATCH}, {0: BATCH}, [{0: Dim("n0")}, {0: Dim("n1")}])
    args, _kwargs = example_inputs(CONFIG, batch=batch)
    dense, offsets, ids = args
    imported = program.specialise([tuple(t.shape) for t in (dense, *offsets, *ids)])
    assert imported.graph.outputs[0].shape == (batch, 1)
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, args, {}), build(CONFIG)(*args))


def test_derived_sizes_are_checked_against_each_other() -> None:
    batch = Dim("batch")
    program = prepared({0: batch}, {0: batch}, [{0: 2 * batch}] * 2)
    assert program.specialise([(5, 3), (5,), (5,), (10,), (10,)]).graph.outputs[0].shape == (5, 1)
    with pytest.raises(FrontendError, match=r"input indices\[1\], dimension 0: size 11\n  expected: .* = 10"):
        program.specialise([(5, 3), (5,), (5,), (10,), (11,)])


def test_dynamic_and_frozen_dims_are_told_apart() -> None:
    program = prepared({0: BATCH}, {0: BATCH}, [{0: Dim("n0")}, {0: Dim("n1")}])
    assert program.is_dynamic
    imported = program.specialise([(2, 3), (2,), (2,), (9,), (4,)])
    assert [str(dim) for dim in imported.frozen_dims] == ["dense: dimension 1 is fixed at 3"]
    first = imported.dynamic_dims[0]
    assert (first.path, first.dim, first.size, first.minimum, first.maximum) == ("dense", 0, 2, 1, 64)


def test_a_size_outside_the_declared_range() -> None:
    program = prepared({0: BATCH}, {0: BATCH}, [{0: Dim("n0")}, {0: Dim("n1")}])
    with pytest.raises(FrontendError, match=r"input dense, dimension 0: s\d+ = 65\n.*1 <= s\d+ <= 64"):
        program.specialise([(65, 3), (65,), (65,), (130,), (130,)])


def test_missing_shapes_name_the_dynamic_dimensions() -> None:
    program = prepared({0: BATCH}, {0: BATCH}, [{0: Dim("n0")}, {0: Dim("n1")}])
    with pytest.raises(FrontendError, match=r"dynamic dimensions dense\[0\], offsets\[0\]\[0\]"):
        program.specialise()


class Sizes(nn.Module):
    """Asks for its batch, and has an offset more than bags."""

    def forward(
        self, x: torch.Tensor, ends: torch.Tensor, ids: torch.Tensor, table: torch.Tensor
    ) -> torch.Tensor:
        bags = nn.functional.embedding_bag(ids, table, ends, mode="sum", include_last_offset=True)
        ones = torch.ones(x.shape[0], 1)
        return torch.cat([bags, ones.expand(-1, 2), x.reshape(x.shape[0] // 1, -1)], 1) * (x.shape[0] + 1)


def test_sizes_asked_for_in_forward_and_an_offset_more() -> None:
    batch = Dim("batch")
    args = (torch.randn(3, 2), torch.tensor([0, 1, 2, 4]), torch.tensor([0, 1, 2, 1]), torch.randn(3, 2))
    shapes = ({0: batch}, {0: batch + 1}, {0: Dim("n")}, None)
    program = prepare(torch.export.export(Sizes(), args, dynamic_shapes=shapes))
    new = (torch.randn(2, 2), torch.tensor([0, 3, 5]), torch.tensor([0, 1, 2, 1, 2]), args[3])
    imported = program.specialise([tuple(t.shape) for t in new])
    assert_equals_eager(evaluate_imported(imported, new, {}), Sizes()(*new))


class SizeOutput(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        return x + 1, x.shape[0] * 2


def test_a_size_as_result_is_a_number() -> None:
    program = prepare(
        torch.export.export(SizeOutput(), (torch.randn(3, 2),), dynamic_shapes=({0: Dim("b")},))
    )
    x = torch.randn(5, 2)
    assert_equals_eager(evaluate_imported(program.specialise([(5, 2)]), (x,), {}), SizeOutput()(x))


def test_a_batch_that_the_export_froze_is_refused_with_the_way_out() -> None:
    program = prepare(torch.export.export(SizeOutput(), (torch.randn(1, 2),)))
    assert not program.is_dynamic
    with pytest.raises(
        FrontendError, match=r"input x, dimension 0: size 4\n  expected: 1.*\n.*export again"
    ) as caught:
        program.specialise([(4, 2)])
    assert "dynamic" in str(caught.value)


def test_dim_auto_with_a_batch_of_one_is_frozen_and_reported() -> None:
    program = torch.export.export(SizeOutput(), (torch.randn(1, 2),), dynamic_shapes=({0: Dim.AUTO},))
    assert str(import_program(program).frozen_dims[0]) == "x: dimension 0 is fixed at 1"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [([(3, 2)] * 2, "2 shapes\n  expected: 1"), ([(3,)], "input x: rank 1\n  expected: rank 2")],
)
def test_shapes_of_the_wrong_number_or_rank(shapes: list[tuple[int, ...]], message: str) -> None:
    program = prepare(torch.export.export(SizeOutput(), (torch.randn(3, 2),)))
    with pytest.raises(FrontendError, match=message):
        program.specialise(shapes)
