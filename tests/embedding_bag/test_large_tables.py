"""O05: tables above 2^31 elements. The files are sparse, so that only the rows that are read take memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.embedding_bag.bag_cases import numbers
from tests.embedding_bag.bag_programs import compile_with

ROWS, DIM = 2**24 + 8, 128
LAST = ROWS - 1
# Row, code of all its columns, scale and bias.
CODED_ROWS = ((0, 1, 1.0, 0.0), (LAST, 3, 2.0, 1.0))
WAYS = (("reference", "fused"), ("emulate", "fused"), ("emulate", "unfused"))


class Large(nn.Module):
    """The bags of one large table, and their negatives; 8-bit rows where the table is of bytes."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> Any:
        if self.table.dtype is torch.uint8:
            bags = torch.ops.quantized.embedding_bag_byte_rowwise_offsets(self.table, ids, offsets)
        else:
            bags = F.embedding_bag(ids, self.table, offsets, mode="sum")
        return bags, -bags


def sparse(folder: Path, dtype: str, width: int) -> np.ndarray:
    return np.memmap(folder / "table", dtype=dtype, mode="w+", shape=(ROWS, width))


def halves(folder: Path) -> torch.Tensor:
    """Zeros but for row 0 of ones and the last of sevens."""
    table = sparse(folder, "float16", DIM)
    table[0], table[LAST] = 1.0, 7.0
    return torch.from_numpy(table)


def floats(folder: Path) -> torch.Tensor:
    table = sparse(folder, "float32", DIM)
    table[0], table[LAST] = 1.0, 7.0
    return torch.from_numpy(table)


def codes(folder: Path) -> torch.Tensor:
    """The same in bytes: row 0 is 1 * 1 + 0, the last 2 * 3 + 1."""
    table = sparse(folder, "uint8", DIM + 8)
    for row, code, scale, bias in CODED_ROWS:
        table[row, :DIM] = code
        table[row, DIM:] = np.array([scale, bias], np.float32).view(np.uint8)
    return torch.from_numpy(table)


TABLES = {"f16": halves, "f32": floats, "8 bits": codes}


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=["i32", "i64"])
@pytest.mark.parametrize("kind", TABLES)
def test_o05(kind: str, dtype: torch.dtype, tmp_path: Path) -> None:
    table = TABLES[kind](tmp_path)
    assert ROWS * DIM > 2**31
    args = (numbers(LAST, 0, LAST, dtype=dtype), numbers(0, 1, dtype=dtype))
    program = torch.export.export(Large(table).eval(), args)
    right = torch.tensor([[7.0], [8.0]]).expand(2, DIM)
    for target, pipeline in WAYS:
        compiled = compile_with(pipeline, program, target=target, bounds="raise")
        bags, negatives = compiled(*args)
        assert torch.equal(bags.float(), right), (target, pipeline)
        assert torch.equal(negatives, -bags), (target, pipeline)


@pytest.mark.parametrize("kind", TABLES)
def test_the_offset_of_a_row_is_widened_before_it_is_multiplied(kind: str, tmp_path: Path) -> None:
    """In the text: the id is a long long, and so is the stride that it is multiplied by."""
    args = (numbers(LAST, dtype=torch.int32), numbers(0, dtype=torch.int32))
    program = torch.export.export(Large(TABLES[kind](tmp_path)).eval(), args)
    for pipeline in ("fused", "unfused"):
        text = compile_with(pipeline, program, target="reference").cuda_source
        assert f"static constexpr long long TABLE_ROW = {DIM + 8 * (kind == '8 bits')};" in text
        assert "const long long id = " in text
        assert set(re.findall(r"\w+ \* Kind::TABLE_ROW", text)) == {"id * Kind::TABLE_ROW"}
