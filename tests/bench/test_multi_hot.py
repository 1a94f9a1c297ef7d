from __future__ import annotations

import dataclasses

import pytest
import torch

import dlrmc
from dlrmc.bench.multi_hot import (
    MULTI_HOT_PRESETS,
    MultiHotCell,
    build_multi_hot,
    exact_multi_hot_scores,
    multi_hot_inputs,
)
from dlrmc.errors import OptionError

CPU = torch.device("cpu")
SMALL = MultiHotCell(
    rows=(9, 3, 40, 1), bags=(2, 1, 11, 3), batch=5, dim=8, dense=3, bottom=(6, 8), top=(7, 1), cross_rank=4
)
CELLS = {"cross": SMALL, "cat": dataclasses.replace(SMALL, cross_rank=0)}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("last_rows", [0, 2])
def test_eager_and_the_float64_scores_agree(name: str, last_rows: int) -> None:
    model, inputs = build_multi_hot(CELLS[name], CPU), multi_hot_inputs(CELLS[name], last_rows=last_rows)
    exact = exact_multi_hot_scores(model, inputs, 5)
    assert exact.dtype == torch.float64
    torch.testing.assert_close(model(*inputs).double(), exact, rtol=0, atol=1e-6)
    assert torch.equal(exact_multi_hot_scores(model, inputs, 3), exact[:3])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["f32", "f16"])
@pytest.mark.parametrize("name", CELLS)
def test_compiled_scores_are_eager_ones(name: str, dtype: torch.dtype) -> None:
    model, inputs = build_multi_hot(CELLS[name], CPU, dtype=dtype), multi_hot_inputs(CELLS[name])
    compiled = dlrmc.compile(torch.export.export(model, inputs), target="emulate", bounds="raise")
    torch.testing.assert_close(compiled(*inputs), model(*inputs), rtol=0, atol=1e-6)


def test_ids_of_the_last_rows() -> None:
    _, _, ids = multi_hot_inputs(SMALL, last_rows=2)
    assert all(int(each.min()) >= rows - 2 for each, rows in zip(ids, SMALL.rows, strict=True))
    assert all(int(each.max()) < rows for each, rows in zip(ids, SMALL.rows, strict=True))


def test_the_presets_are_of_the_known_sizes() -> None:
    dcnv2 = MULTI_HOT_PRESETS["dcnv2"]
    assert round(dcnv2.table_bytes / 2**30, 1) == 97.4
    assert (sum(dcnv2.bags), dcnv2.interaction) == (214, 3456)
    widths = {name: MULTI_HOT_PRESETS[name].interaction for name in ("rmc1", "rmc2", "rmc3")}
    assert widths == {"rmc1": 288, "rmc2": 2112, "rmc3": 352}


def test_scaled_rows() -> None:
    assert SMALL.scaled(0.1).rows == (1, 1, 4, 1)


@pytest.mark.parametrize("change", [{"rows": (1,)}, {"bottom": ()}, {"dim": 0}])
def test_impossible_sizes_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        dataclasses.replace(SMALL, **change)
