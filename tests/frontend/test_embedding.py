"""Embedding rows and bags: every spelling and option, against eager."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend import import_program
from dlrmc.ir.graph import Graph, Node
from tests.frontend.imported import Family, assert_equals_eager, evaluate_imported, run_family

# Row r is [2r, 2r + 1].
TABLE = torch.arange(10.0).reshape(5, 2)
IDS = torch.tensor([1, 3, 4, 2, 2, 0])
OFFSETS = torch.tensor([0, 0, 2, 5])
ENDS = torch.tensor([0, 0, 2, 5, 6])
WEIGHTS = torch.tensor([0.5, -1.0, 2.0, 1.0, 3.0, 0.25])
GRID = torch.tensor([[1, 2, 3], [4, 0, 2]])
ARGS = (TABLE, IDS, OFFSETS, ENDS, WEIGHTS, GRID)

bag = F.embedding_bag
raw = torch.ops.aten._embedding_bag.default
forward_only = torch.ops.aten._embedding_bag_forward_only.default

CASES: dict[str, Callable[..., Any]] = {
    "embedding": lambda t, i, o, e, w, g: (F.embedding(i, t), F.embedding(g, t)),
    "embedding_does_not_mask_padding": lambda t, i, o, e, w, g: F.embedding(g, t, padding_idx=2),
    "embedding_of_int32": lambda t, i, o, e, w, g: F.embedding(g.int(), t),
    "sum": lambda t, i, o, e, w, g: bag(i, t, o, mode="sum"),
    "mean": lambda t, i, o, e, w, g: bag(i, t, o, mode="mean"),
    "max": lambda t, i, o, e, w, g: bag(i, t - 20, o, mode="max"),
    "include_last_offset": lambda t, i, o, e, w, g: bag(i, t, e, mode="sum", include_last_offset=True),
    "padding": lambda t, i, o, e, w, g: bag(i, t, o, mode="mean", padding_idx=2),
    "padding_of_the_last_row": lambda t, i, o, e, w, g: bag(i, t, o, mode="sum", padding_idx=-1),
    "per_sample_weights": lambda t, i, o, e, w, g: bag(i, t, o, mode="sum", per_sample_weights=w),
    "mixed_integers": lambda t, i, o, e, w, g: (bag(i.int(), t, o), bag(i, t, o.int())),
    "two_dimensional": lambda t, i, o, e, w, g: [bag(g, t, mode=m) for m in ("sum", "mean", "max")],
    "two_dimensional_weighted": lambda t, i, o, e, w, g: bag(
        g, t, mode="sum", per_sample_weights=w.view(2, 3)
    ),
    "gradient_options": lambda t, i, o, e, w, g: bag(i, t, o, scale_grad_by_freq=True, mode="sum"),
    "raw": lambda t, i, o, e, w, g: raw(t, i, o)[0],
    "raw_padding_minus_one_is_none": lambda t, i, o, e, w, g: raw(t, i, o, False, 1, False, None, False, -1)[
        0
    ],
    "raw_padding": lambda t, i, o, e, w, g: raw(t, i, o, False, 0, False, None, False, 2)[0],
    "raw_last_offset": lambda t, i, o, e, w, g: raw(t, i, e, False, 0, False, None, True)[0],
    "forward_only": lambda t, i, o, e, w, g: forward_only(t, i, o)[0],
    "forward_only_weights": lambda t, i, o, e, w, g: forward_only(t, i, o, False, 0, False, w)[0],
}


@functools.cache
def family(core: bool) -> Family:
    return run_family(CASES, ARGS, core)


@pytest.mark.parametrize("core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name: str, core: bool) -> None:
    run = family(core)
    assert_equals_eager(run.found[name], run.eager[name])


def test_the_three_spellings_are_met() -> None:
    assert {
        "aten.embedding_bag.padding_idx",
        "aten._embedding_bag.default",
        "aten._embedding_bag_forward_only.default",
    } <= family(False).targets


def only_bag(graph: Graph) -> Node:
    (node,) = [node for node in graph.nodes if node.is_op("embedding_bag")]
    return node


@pytest.mark.parametrize(
    ("padding", "expected"), [(None, -1), (-1, 4), (-5, 0), (3, 3)], ids=["none", "last", "first", "third"]
)
def test_padding_of_the_whole_form_counts_from_the_end(padding: int | None, expected: int) -> None:
    run = run_family({"f": lambda t, i, o: bag(i, t, o, padding_idx=padding)}, (TABLE, IDS, OFFSETS))
    assert only_bag(run.imported.graph).attributes.int("padding_idx") == expected
    assert_equals_eager(run.found, run.eager)


@pytest.mark.parametrize("id_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("offset_dtype", [torch.int32, torch.int64])
def test_ids_and_offsets_are_read_as_given(id_dtype: torch.dtype, offset_dtype: torch.dtype) -> None:
    args = (TABLE, torch.tensor([1, 2, 4], dtype=id_dtype), torch.tensor([0, 2], dtype=offset_dtype))
    run = run_family({"f": lambda t, i, o: bag(i, t, o, mode="sum")}, args)
    assert not [node for node in run.imported.graph.nodes if node.is_op("cast")]
    np.testing.assert_array_equal(run.found["f"], [[6, 8], [8, 9]])


def test_narrow_ids_are_widened() -> None:
    run = run_family({"f": lambda t, i: F.embedding(i.to(torch.uint8).long(), t)}, (TABLE, IDS))
    assert_equals_eager(run.found, run.eager)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_table_dtypes(dtype: torch.dtype) -> None:
    model = nn.EmbeddingBag(5, 2, mode="sum", dtype=dtype)
    args = (IDS, OFFSETS)
    imported = import_program(torch.export.export(model, args))
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, args, {}), model(*args))


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("core", [True, False])
def test_a_module_with_or_without_gradient(trained: bool, core: bool) -> None:
    model = nn.EmbeddingBag(5, 2, mode="mean").requires_grad_(trained)
    program = torch.export.export(model, (IDS, OFFSETS))
    imported = import_program(program.run_decompositions() if core else program)
    assert [n.op.name for n in imported.graph.nodes] == ["input", "input", "weight", "embedding_bag"]
    with torch.no_grad():
        assert_equals_eager(evaluate_imported(imported, (IDS, OFFSETS), {}), model(IDS, OFFSETS))


class OneTable(nn.Module):
    """One table that serves two of three features."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(5, 2, mode="sum") for _ in range(2)])
        self.tables[0].weight.data = TABLE.clone()
        self.tables[1].weight.data = TABLE * 10

    def forward(self, ids: list[torch.Tensor]) -> torch.Tensor:
        zero = torch.zeros(1, dtype=torch.int64)
        return torch.cat([self.tables[k](i, zero) for k, i in zip((0, 1, 0), ids, strict=True)], 1)


def test_one_table_for_several_features_is_one_weight() -> None:
    args = ([torch.tensor([1, 2]), torch.tensor([4]), torch.tensor([0])],)
    imported = import_program(torch.export.export(OneTable(), args))
    assert list(imported.weights) == ["tables.0.weight", "tables.1.weight"]
    np.testing.assert_array_equal(evaluate_imported(imported, args, {}), [[6, 8, 80, 90, 0, 1]])


@pytest.mark.parametrize("core", [True, False])
def test_max_norm_is_refused_by_name(core: bool) -> None:
    model = nn.EmbeddingBag(5, 2, mode="sum", max_norm=1.0).eval()
    program = torch.export.export(model, (IDS, OFFSETS))
    with pytest.raises(UnsupportedOpsError, match="max_norm writes to the table") as caught:
        import_program(program.run_decompositions() if core else program)
    assert len(caught.value.items) == 1


def test_max_norm_of_a_plain_embedding_is_refused_too() -> None:
    program = torch.export.export(nn.Embedding(5, 2, max_norm=1.0).eval(), (IDS,))
    with pytest.raises(UnsupportedOpsError, match="max_norm writes to the table"):
        import_program(program)


def test_other_results_of_a_bag_are_refused() -> None:
    with pytest.raises(UnsupportedOpsError, match="only the first result of embedding_bag"):
        run_family({"f": lambda t, i, o: raw(t, i, o)[2]}, (TABLE, IDS, OFFSETS))
