from __future__ import annotations

import dataclasses

import pytest
import torch

from dlrmc.bench.oracle import exact_scores
from dlrmc.bench.presets import PRESETS
from dlrmc.bench.variants.xla import forward, weight_arrays
from dlrmc.bench.workload import (
    Cell,
    StackedDlrm,
    build_model,
    packed_ids,
    random_inputs,
    seed_inputs,
)
from dlrmc.errors import OptionError
from tests.models.plain import SEED_CONFIG
from tests.models.plain import seed_inputs as documented_seed_inputs

CPU = torch.device("cpu")
CELLS = [
    Cell(2, 4),
    Cell(1, 1, dim=4, bag=1, rows=3, dense=2, bottom=(), top=(1,)),
    Cell(5, 7, dim=8, bag=3, rows=11, bottom=(6, 5), top=(9, 2)),
]


@pytest.mark.parametrize("cell", CELLS)
def test_eager_and_the_float64_scores_agree(cell: Cell) -> None:
    model = build_model(cell, CPU)
    for inputs in (seed_inputs(cell), random_inputs(cell)):
        exact = exact_scores(model, inputs, cell.batch)
        assert exact.dtype == torch.float64
        torch.testing.assert_close(model(*inputs).double(), exact, rtol=0, atol=1e-6)


def test_float64_scores_of_the_first_samples_only() -> None:
    cell = CELLS[2]
    model, inputs = build_model(cell, CPU), random_inputs(cell)
    assert torch.equal(exact_scores(model, inputs, 3), exact_scores(model, inputs, 7)[:3])


def test_float64_scores_follow_the_offsets() -> None:
    cell = Cell(1, 3, bag=2, rows=9)
    model = build_model(cell, CPU)
    dense, _, ids = random_inputs(cell)
    uneven = (dense, [torch.tensor([0, 0, 5])], ids)
    torch.testing.assert_close(model(*uneven).double(), exact_scores(model, uneven, 3), rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_the_rewrite_computes_the_same(cell: Cell) -> None:
    model = build_model(cell, CPU)
    dense, offsets, ids = random_inputs(cell)
    rewritten = StackedDlrm(model)
    found = rewritten(dense, packed_ids(cell, ids))
    torch.testing.assert_close(found, model(dense, offsets, ids), rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_the_jax_form_computes_the_same(cell: Cell) -> None:
    import numpy

    model = build_model(cell, CPU)
    dense, offsets, ids = random_inputs(cell)
    found = forward(numpy, weight_arrays(model), dense.numpy(), [each.numpy() for each in ids], cell.bag)
    torch.testing.assert_close(torch.from_numpy(found), model(dense, offsets, ids), rtol=0, atol=1e-6)


def test_seed_inputs_are_those_of_the_older_sweep() -> None:
    cell = Cell(3, 5)
    expected = documented_seed_inputs(dataclasses.replace(SEED_CONFIG, num_cat=3), batch=5, bag=2)
    for found, documented in zip(seed_inputs(cell), expected, strict=True):
        torch.testing.assert_close(found, documented, rtol=0, atol=0)


def test_random_inputs_are_valid_and_repeatable_and_leave_the_global_generator_alone() -> None:
    cell = Cell(2, 50, rows=7)
    before = torch.get_rng_state()
    first, second = random_inputs(cell), random_inputs(cell)
    build_model(cell, CPU)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(*pair) for pair in zip(first[2], second[2], strict=True))
    assert {int(each) for ids in first[2] for each in ids} == set(range(7))
    assert not torch.equal(random_inputs(cell, seed=2)[0], first[0])


def test_weights_are_those_of_the_seed() -> None:
    one, same, other = (build_model(CELLS[0], CPU, seed) for seed in (0, 0, 1))
    pairs = zip(one.parameters(), same.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(a, b) and not torch.equal(a, c) for a, b, c in pairs)


def test_sizes_of_the_seed_and_of_presets() -> None:
    seed = PRESETS["seed"]
    assert (seed.features, seed.interaction) == (33, 544)
    per_sample = 3 * 64 + 64 * 16 + 528 * 16 + 544 * 64 + 64 * 32 + 32
    assert seed.multiply_adds == 2048 * per_sample
    assert [PRESETS[name].interaction for name in ("kaggle", "terabyte", "mlperf")] == [367, 415, 479]
    assert seed.table_bytes == 32 * 4096 * 16 * 4


@pytest.mark.parametrize("sizes", [{"batch": 0}, {"num_cat": 0}, {"bag": -1}, {"top": ()}, {"bottom": (0,)}])
def test_a_size_below_one_is_refused(sizes: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="a size below one"):
        Cell(**{"num_cat": 2, "batch": 2, **sizes})  # type: ignore[arg-type]
