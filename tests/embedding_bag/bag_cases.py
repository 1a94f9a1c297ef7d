"""EmbeddingBag's table of right answers: each row as cases, with their values or with eager's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.nn import functional as F

Tensor = torch.Tensor
NAN, INF = float("nan"), float("inf")

# Row r is [2r, 2r + 1].
W = torch.arange(10.0).reshape(5, 2)
MODES = ("sum", "mean", "max")
RAW_MODES = {mode: number for number, mode in enumerate(MODES)}


def numbers(*values: int, dtype: torch.dtype = torch.int64) -> Tensor:
    """Ids or offsets."""
    return torch.tensor(values, dtype=dtype)


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Normal values, each from the seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def drawn(seed: int, rows: int, *shape: int) -> Tensor:
    """Ids below `rows`."""
    return torch.randint(rows, shape, generator=torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class BagCase:
    """One embedding bag of a model.

    Attributes:
        row: of the table of right answers.
        table: [R, D].
        ids, offsets, weights: of one request.
        options: of F.embedding_bag.
        spelling: `padding_idx`, `_embedding_bag` or `_embedding_bag_forward_only`.
        right: the answer; None where it is eager's, bit for bit.
    """

    row: str
    table: Tensor
    ids: Tensor
    offsets: Tensor | None = None
    weights: Tensor | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    spelling: str = "padding_idx"
    right: Tensor | None = None

    @property
    def inputs(self) -> dict[str, Tensor]:
        """What a request holds: tensors of its own, as torch.export takes equal objects for one input."""
        given = {"ids": self.ids, "offsets": self.offsets, "weights": self.weights}
        return {name: value.clone() for name, value in given.items() if value is not None}

    @property
    def bags(self) -> int:
        """How many there are."""
        if self.offsets is None:
            return len(self.ids)
        return len(self.offsets) - bool(self.options.get("include_last_offset"))

    def call(self, table: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
        """The bags, in torch."""
        offsets, weights = inputs.get("offsets"), inputs.get("weights")
        if self.spelling == "padding_idx":
            options = {"mode": "sum", **self.options}
            return F.embedding_bag(inputs["ids"], table, offsets, per_sample_weights=weights, **options)
        op = getattr(torch.ops.aten, self.spelling).default
        mode, last = (
            RAW_MODES[self.options.get("mode", "sum")],
            self.options.get("include_last_offset", False),
        )
        padding = self.options.get("padding_idx", -1)
        return op(table, inputs["ids"], offsets, False, mode, False, weights, last, padding)[0]

    def answer(self) -> Tensor:
        """The right answer."""
        if self.right is not None:
            return self.right
        with torch.no_grad():
            return self.call(self.table, self.inputs)


def same_bits(found: Tensor, right: Tensor) -> bool:
    """Whether dtype, shape and every bit are equal; a NaN equals any NaN, as its bits mean nothing."""
    if found.dtype != right.dtype or found.shape != right.shape:
        return False
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[right.element_size()]
    nan = torch.isnan(right)
    is_same = found.contiguous().view(integer) == right.contiguous().view(integer)
    return bool((torch.isnan(found) == nan).all() and (is_same | nan).all())


def _o01() -> dict[str, BagCase]:
    """Empty bags first, in the middle and last; then all-padding bags."""
    ids, offsets = numbers(1, 3, 4), numbers(0, 0, 2, 2, 3)
    right = {
        "sum": [[0, 0], [8, 10], [0, 0], [8, 9], [0, 0]],
        "mean": [[0, 0], [4, 5], [0, 0], [8, 9], [0, 0]],
        "max": [[0, 0], [6, 7], [0, 0], [8, 9], [0, 0]],
    }
    padded = {"sum": [[0, 0], [10, 12]], "mean": [[0, 0], [5, 6]], "max": [[0, 0], [8, 9]]}
    cases = {
        f"o01_{mode}": BagCase(
            "empty bag", W, ids, offsets, options={"mode": mode}, right=torch.tensor(right[mode]).float()
        )
        for mode in MODES
    }
    for mode in MODES:
        cases[f"o01_padding_{mode}"] = BagCase(
            "padding_idx",
            W,
            numbers(2, 2, 1, 2, 4),
            numbers(0, 2),
            options={"mode": mode, "padding_idx": 2},
            right=torch.tensor(padded[mode]).float(),
        )
        nothing = torch.zeros(2, 2)
        cases[f"all_empty_{mode}"] = BagCase(
            "empty bag", W, numbers(), numbers(0, 0), options={"mode": mode}, right=nothing
        )
    return cases


def _maxima() -> dict[str, BagCase]:
    odd = torch.tensor([[NAN, NAN], [1.0, 1.0], [-INF, -2.0]])
    return {
        "max_of_negatives": BagCase(
            "max of an all-negative bag",
            W - 20,
            numbers(0, 1, 4, 2, 3),
            numbers(0, 3),
            options={"mode": "max"},
            right=torch.tensor([[-12.0, -11.0], [-14.0, -13.0]]),
        ),
        "max_of_nan": BagCase(
            "NaN in max",
            odd,
            numbers(0, 1, 1, 0),
            numbers(0, 2),
            options={"mode": "max"},
            right=torch.tensor([[NAN, NAN], [1.0, 1.0]]),
        ),
        "max_of_minus_infinity": BagCase(
            "max of an all-negative bag",
            odd,
            numbers(2, 2),
            numbers(0, 1),
            options={"mode": "max"},
            right=torch.tensor([[-INF, -2.0], [-INF, -2.0]]),
        ),
    }


def _duplicates() -> dict[str, BagCase]:
    return {
        f"duplicates_{mode}": BagCase(
            "duplicate ids / duplicate offsets",
            normal(1, 5, 3),
            numbers(1, 1, 1, 4, 4, 0),
            numbers(0, 0, 4, 4, 4),
            options={"mode": mode},
        )
        for mode in MODES
    }


def _last_offsets() -> dict[str, BagCase]:
    """Ids after the last offset are ignored in every mode; eager 2.13 still counts them in the mean."""
    row, last = "include_last_offset", {"include_last_offset": True}
    ids = numbers(0, 0, 1, 2, 0)
    left_over = {"sum": [[2, 5], [4, 5]], "mean": [[2 / 3, 5 / 3], [4, 5]], "max": [[2, 3], [4, 5]]}
    cases = {
        "o02": BagCase(
            row, W, ids, numbers(0, 3, 5), options=last, right=torch.tensor([[2.0, 5.0], [4.0, 6.0]])
        ),
        "last_offset_alone": BagCase(row, W, ids, numbers(0), options=last, right=torch.zeros(0, 2)),
    }
    for mode in MODES:
        cases[f"o02_left_over_{mode}"] = BagCase(
            row,
            W,
            ids,
            numbers(0, 3, 4),
            options={"mode": mode, **last},
            right=torch.tensor(left_over[mode]).float(),
        )
        cases[f"last_offset_{mode}"] = BagCase(
            row, normal(2, 9, 5), drawn(2, 9, 11), numbers(0, 0, 4, 11), options={"mode": mode, **last}
        )
    return cases


def _paddings() -> dict[str, BagCase]:
    row = "padding_idx"
    poisoned = normal(3, 6, 4)
    poisoned[2] = NAN
    ids, offsets = numbers(2, 5, 2, 2, 1, 5, 0), numbers(0, 2, 4)
    cases: dict[str, BagCase] = {}
    for mode in MODES:
        for name, padding in (("last_row", -1), ("third", 2), ("none", None)):
            options = {"mode": mode, "padding_idx": padding}
            cases[f"padding_{name}_{mode}"] = BagCase(row, poisoned, ids, offsets, options=options)
    for spelling in ("_embedding_bag", "_embedding_bag_forward_only"):
        cases[f"padding_none{spelling}"] = BagCase(
            row, normal(3, 6, 4), ids, offsets, options={"padding_idx": -1}, spelling=spelling
        )
        cases[f"padding_third{spelling}"] = BagCase(
            row, poisoned, ids, offsets, options={"padding_idx": 2, "mode": "mean"}, spelling=spelling
        )
    return cases


def _weighted() -> dict[str, BagCase]:
    row, ids, offsets = "per_sample_weights", drawn(4, 9, 13), numbers(0, 5, 5)
    infinite = torch.tensor([[INF, 1.0], [2.0, 3.0]])
    return {
        "weights": BagCase(row, normal(4, 9, 7), ids, offsets, normal(5, 13)),
        "weights_to_the_last_offset": BagCase(
            row, normal(4, 9, 7), ids, numbers(0, 5, 13), normal(5, 13), {"include_last_offset": True}
        ),
        "weights_with_padding": BagCase(
            row,
            W,
            numbers(2, 1, 2, 3),
            numbers(0, 2),
            torch.tensor([NAN, 0.5, 3.0, 2.0]),
            {"padding_idx": 2},
            right=torch.tensor([[1.0, 1.5], [12.0, 14.0]]),
        ),
        "zero_times_infinity": BagCase(
            row,
            infinite,
            numbers(0, 1, 1),
            numbers(0, 2),
            torch.tensor([0.0, 1.0, 1.0]),
            right=torch.tensor([[NAN, 3.0], [2.0, 3.0]]),
        ),
        "weights_in_two_dimensions": BagCase(row, normal(4, 9, 7), drawn(6, 9, 4, 3), None, normal(7, 4, 3)),
    }


def _integers() -> dict[str, BagCase]:
    kinds = {"i32": torch.int32, "i64": torch.int64}
    return {
        f"o03_{one}_{other}": BagCase(
            "ids and offsets",
            W,
            numbers(1, 2, 4, dtype=kinds[one]),
            numbers(0, 2, dtype=kinds[other]),
            right=torch.tensor([[6.0, 8.0], [8.0, 9.0]]),
        )
        for one in kinds
        for other in kinds
    }


def _accumulation() -> dict[str, BagCase]:
    ids, offsets = drawn(9, 50, 700), numbers(0, 3, 4, 4, 650)
    cases = {
        "o07_half": BagCase(
            "accumulation",
            torch.ones(3, 2, dtype=torch.float16),
            drawn(11, 3, 4096),
            numbers(0),
            right=torch.full((1, 2), 4096.0, dtype=torch.float16),
        ),
        "f64": BagCase(
            "accumulation", normal(8, 50, 6, dtype=torch.float64), drawn(9, 50, 70), numbers(0, 9)
        ),
        "f32_weights": BagCase("accumulation", normal(8, 50, 6), ids, offsets, normal(10, 700)),
    }
    for mode in MODES:
        cases[f"f32_{mode}"] = BagCase("accumulation", normal(8, 50, 6), ids, offsets, options={"mode": mode})
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        for mode in MODES:
            cases[f"{name}_{mode}"] = _rounded_once(dtype, ids, offsets, None, mode)
        cases[f"{name}_weights"] = _rounded_once(dtype, ids, offsets, normal(10, 700, dtype=dtype), "sum")
    return cases


def _rounded_once(
    dtype: torch.dtype, ids: Tensor, offsets: Tensor, weights: Tensor | None, mode: str
) -> BagCase:
    """A 16-bit table: the bits of the float32 answer, rounded to nearest even once.

    Eager 2.13 on the CPU rounds the sum before it divides it to the mean, and ties of bfloat16 upwards.
    """
    case = BagCase("accumulation", normal(8, 50, 6, dtype=dtype), ids, offsets, weights, {"mode": mode})
    wide = replace(case, table=case.table.float(), weights=None if weights is None else weights.float())
    return replace(case, right=wide.answer().to(dtype))


def _two_dimensional() -> dict[str, BagCase]:
    return {
        f"two_dimensional_{mode}": BagCase(
            "2-D ids", normal(12, 7, 5), drawn(12, 7, 4, 3), options={"mode": mode}
        )
        for mode in MODES
    } | {
        "gradient_options": BagCase(
            "sparse, scale_grad_by_freq",
            W,
            numbers(1, 3, 3),
            numbers(0, 1),
            options={"scale_grad_by_freq": True, "sparse": True},
        )
    }


CASES: Mapping[str, BagCase] = {
    **_o01(),
    **_maxima(),
    **_duplicates(),
    **_last_offsets(),
    **_paddings(),
    **_weighted(),
    **_integers(),
    **_accumulation(),
    **_two_dimensional(),
}
