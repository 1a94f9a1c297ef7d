"""What an embedding bag cannot be compiled with is refused by name, at compile."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import dlrmc
from dlrmc.errors import UnsupportedOpsError
from tests.embedding_bag.bag_cases import numbers


@pytest.mark.parametrize("is_core", [False, True], ids=["undecomposed", "core"])
@pytest.mark.parametrize("kind", [nn.EmbeddingBag, nn.Embedding])
def test_o08_max_norm(kind: type[nn.Module], is_core: bool) -> None:
    """Eager writes the rows that it reads: row 0 becomes [.6, .8]."""
    model = kind(3, 2, max_norm=1.0).eval()
    model.weight.data = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    args = (numbers(0, 1), numbers(0)) if kind is nn.EmbeddingBag else (numbers(0, 1),)
    program = torch.export.export(model, args)
    program = program.run_decompositions() if is_core else program
    before = model.weight.detach().clone()
    with pytest.raises(UnsupportedOpsError, match="max_norm writes to the table"):
        dlrmc.compile(program, target="reference")
    assert torch.equal(model.weight, before)


class Weighted(nn.Module):
    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        raw = torch.ops.aten._embedding_bag_forward_only.default
        return raw(self.table, ids, offsets, False, 0, False, weights)[0]


def test_o07_weights_of_another_dtype_than_the_table() -> None:
    """Eager refuses them, the export does where it looks; nothing reads float32 weights as halves."""
    args = (numbers(0, 1), numbers(0), torch.ones(2))
    model = Weighted(torch.ones(3, 2, dtype=torch.float16))
    with pytest.raises(RuntimeError, match="same type"):
        F.embedding_bag(args[0], model.table, args[1], mode="sum", per_sample_weights=args[2])
    program = torch.export.export(model, args)
    with pytest.raises(UnsupportedOpsError, match=r"embedding_bag: operands f16\[3,2\], f32\[2\]"):
        dlrmc.compile(program, target="reference")


class Pruned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.ops.quantized.embedding_bag_byte_prepack(torch.ones(3, 4)))

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor, mapping: torch.Tensor) -> torch.Tensor:
        op = torch.ops.quantized.embedding_bag_byte_rowwise_offsets
        return op(self.table, ids, offsets, pruned_weights=True, compressed_indices_mapping=mapping)


def test_a_pruned_quantised_table() -> None:
    args = (numbers(0, 1), numbers(0), torch.tensor([0, 1, -1], dtype=torch.int32))
    with pytest.raises(UnsupportedOpsError, match="a pruned table"):
        dlrmc.compile(torch.export.export(Pruned(), args), target="reference")
