"""Samples of embeddings and embedding bags: the right answers are torch's on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from dlrmc.ir.types import DType
from tests.ir.ops.sample import ALL, FLOATS, IDS, Sample, ids, values

ROWS = 11
MODES = ("sum", "mean", "max")


def _bag(mode: str = "sum", include_last_offset: bool = False, padding_idx: int = -1):
    """F.embedding_bag with operands in the order of the card."""

    def call(table, ids, offsets, weights):
        if include_last_offset and mode != "sum":
            # The sum ignores ids after the last offset. torch 2.13 counts them in the mean, and takes them in
            # the max.
            ids = ids[: int(offsets[-1])]
        return F.embedding_bag(
            ids,
            table,
            offsets,
            mode=mode,
            per_sample_weights=weights,
            include_last_offset=include_last_offset,
            padding_idx=None if padding_idx == -1 else padding_idx,
        )

    return call


def _sample(operands: tuple[Any, ...], **options: Any) -> Sample:
    # Where there are weights and a padding_idx, torch rounds each product before it adds it.
    is_exact = operands[0].dtype == np.float32 and (operands[3] is None or "padding_idx" not in options)
    return Sample("embedding_bag", operands, _bag(**options), options, is_exact=is_exact)


def _table(dtype: DType = DType.F32, width: int = 5) -> np.ndarray:
    return values(dtype, ROWS, width)


def _offsets(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def _embeddings() -> list[Sample]:
    samples: list[Sample] = []
    for shape in ((), (4,), (2, 3), (2, 1, 3), (2, 1, 2, 1), (0,), (3, 0)):
        for dtype in IDS:
            samples.append(
                Sample("embedding", (_table(), ids(dtype, ROWS, *shape)), _embedding, is_exact=True)
            )
    for dtype in ALL:
        samples.append(
            Sample("embedding", (values(dtype, ROWS, 3), ids(DType.I64, ROWS, 4)), _embedding, is_exact=True)
        )
    return samples


def _embedding(table, ids):
    return torch.index_select(table, 0, ids.reshape(-1)).reshape(*ids.shape, table.shape[1])


# Twelve ids: bags of several lengths; empty ones first, in the middle, last; all empty but one; one bag.
_LAYOUTS = ((0, 3, 4, 9), (0, 0, 3, 3, 3, 12, 12), (0, 12, 12), (0,), (0, 0, 0))


def _bags_by_mode() -> list[Sample]:
    samples: list[Sample] = []
    twelve = ids(DType.I64, ROWS, 12)
    for mode in MODES:
        for layout in _LAYOUTS:
            samples.append(_sample((_table(), twelve, _offsets(*layout), None), mode=mode))
            samples.append(
                _sample((_table(), twelve, _offsets(*layout, 12), None), mode=mode, include_last_offset=True)
            )
        for table in (_table(), -np.abs(_table()) - 1):
            samples.append(_sample((table, ids(DType.I64, ROWS, 4, 3), None, None), mode=mode))
        samples.append(
            _sample((_table(), twelve, _offsets(0, 4, 9), None), mode=mode, include_last_offset=True)
        )
        samples.append(_sample((_table(), twelve, _offsets(0), None), mode=mode, include_last_offset=True))
        none = ids(DType.I64, ROWS, 0)
        samples.append(_sample((_table(), none, _offsets(0, 0), None), mode=mode))
    return samples


def _paddings() -> list[Sample]:
    samples: list[Sample] = []
    numbers = np.array([2, 2, 1, 0, 2, 3, 3, 2, 2, 2, 5, 2])
    poisoned = _table()
    poisoned[2] = np.nan
    for mode in MODES:
        for table in (_table(), poisoned):
            samples.append(
                _sample((table, numbers, _offsets(0, 2, 3, 7, 10, 10), None), mode=mode, padding_idx=2)
            )
        samples.append(_sample((_table(), numbers.reshape(4, 3), None, None), mode=mode, padding_idx=2))
        samples.append(_sample((_table(), numbers, _offsets(0, 5), None), mode=mode, padding_idx=0))
    weights = values(DType.F32, 12)
    samples.append(_sample((_table(), numbers, _offsets(0, 2, 7), weights), padding_idx=2))
    return samples


def _weighted() -> list[Sample]:
    numbers, weights = ids(DType.I64, ROWS, 60), values(DType.F32, 60)
    infinite = _table()
    infinite[4] = np.inf
    zero = np.zeros(60, np.float32)
    return [
        _sample((_table(width=19), numbers, _offsets(0, 0, 3, 40), weights)),
        _sample((_table(width=19), numbers, _offsets(0, 3, 40, 60), weights), include_last_offset=True),
        _sample((_table(), numbers.reshape(4, 15), None, weights.reshape(4, 15))),
        _sample((infinite, numbers, _offsets(0, 10), zero)),
    ]


def _dtypes() -> list[Sample]:
    samples: list[Sample] = []
    for id_dtype in IDS:
        for offset_dtype in IDS:
            offsets = np.array([0, 2, 2], offset_dtype.numpy)
            for mode in MODES:
                samples.append(_sample((_table(), ids(id_dtype, ROWS, 6), offsets, None), mode=mode))
    for dtype in FLOATS:
        for mode in MODES:
            samples.append(
                _sample((_table(dtype), ids(DType.I64, ROWS, 40), _offsets(0, 5, 5), None), mode=mode)
            )
        weights = values(dtype, 40)
        samples.append(_sample((_table(dtype), ids(DType.I64, ROWS, 40), _offsets(0, 5, 5), weights)))
    return samples


def _nans() -> list[Sample]:
    """A NaN stays in max only where it comes first."""
    table = np.array([[np.nan], [1.0], [-3.0]], np.float32)
    numbers = np.array([0, 1, 1, 0, 2, 0, 1])
    return [_sample((table, numbers, _offsets(0, 2, 4), None), mode=mode) for mode in MODES]


def _group(options: list[dict[str, Any]]):
    def call(tables, ids, offsets, weights):
        nothing = (None,) * len(tables)
        columns = zip(tables, ids, offsets or nothing, weights or nothing, options, strict=True)
        return torch.stack([_bag(**o)(t, i, off, w) for t, i, off, w, o in columns], 1)

    return call


def _groups() -> list[Sample]:
    tables = (values(DType.F32, 7, 4), values(DType.F32, 3, 4, seed=1), values(DType.F32, 100, 4, seed=2))
    numbers = (ids(DType.I64, 7, 9), ids(DType.I32, 3, 4), ids(DType.I64, 100, 30))
    offsets = (_offsets(0, 2), np.array([0, 4, 4], np.int32), _offsets(0, 0))
    weights = (None, None, values(DType.F32, 30))
    mixed = [
        {"mode": "mean", "padding_idx": 3},
        {"mode": "max", "include_last_offset": True},
        {"mode": "sum"},
    ]
    attributes = {
        "modes": ("mean", "max", "sum"),
        "include_last_offset": (False, True, False),
        "padding_idx": (3, -1, -1),
    }
    rows = (ids(DType.I64, 7, 2, 3), ids(DType.I64, 3, 2, 1), ids(DType.I32, 100, 2, 5))
    plain = [{}, {}, {}]
    return [
        Sample(
            "embedding_bag_group",
            (tables, numbers, offsets, weights),
            _group(mixed),
            attributes,
            is_exact=True,
        ),
        Sample("embedding_bag_group", (tables, rows, (), ()), _group(plain), is_exact=True),
        Sample("embedding_bag_group", (tables, rows, (None,) * 3, (None,) * 3), _group(plain), is_exact=True),
        Sample("embedding_bag_group", (tables[:1], rows[:1], (), ()), _group(plain[:1]), is_exact=True),
        Sample(
            "embedding_bag_group",
            (tables[:2], (numbers[0], rows[1]), (_offsets(0, 5), None), ()),
            _group([{"mode": "mean"}] * 2),
            {"modes": ("mean", "mean")},
            is_exact=True,
        ),
    ]


def _quantized(bits: int, include_last_offset: bool = False):
    ops = torch.ops.quantized
    op = {8: ops.embedding_bag_byte_rowwise_offsets, 4: ops.embedding_bag_4bit_rowwise_offsets}[bits]

    def call(table, ids, offsets, weights):
        if include_last_offset:
            # With ids after the last offset the 4-bit op of torch 2.13 raises; the byte op ignores them.
            ids, weights = (
                None if each is None else each[: int(offsets[-1])].clone() for each in (ids, weights)
            )
        return op(table, ids, offsets, per_sample_weights=weights, include_last_offset=include_last_offset)

    return call


def _quantized_bags() -> list[Sample]:
    ops = torch.ops.quantized
    samples: list[Sample] = []
    for bits, pack in ((8, ops.embedding_bag_byte_prepack), (4, ops.embedding_bag_4bit_prepack)):
        for width in (5, 12, 33, 16) if bits == 8 else (2, 12, 34):
            table = pack(torch.from_numpy(_table(width=width))).numpy()
            for dtype in IDS:
                for weights in (None, values(DType.F32, 12)):
                    for last in (False, True):
                        offsets = np.array([0, 0, 3, 7, 7] + [11] * last, dtype.numpy)
                        operands = (table, ids(DType.I64, ROWS, 12), offsets, weights)
                        options = {"bits": bits, "include_last_offset": last}
                        samples.append(
                            Sample(
                                "quantized_embedding_bag",
                                operands,
                                _quantized(**options),
                                options,
                                is_exact=True,
                            )
                        )
            grid = (table, ids(DType.I32, ROWS, 4, 3), None, None)
            samples.append(
                Sample("quantized_embedding_bag", grid, _quantized(bits), {"bits": bits}, is_exact=True)
            )
        samples.append(_quantized_group(bits, pack))
    return samples


def _quantized_group(bits: int, pack: Callable[[torch.Tensor], torch.Tensor]) -> Sample:
    """Tables of different rows; ids with offsets, in two dimensions, and with weights and the last offset."""
    tables = tuple(pack(torch.from_numpy(_table(width=12)[:rows])).numpy() for rows in (ROWS, 3, ROWS))
    numbers = (ids(DType.I64, ROWS, 7), ids(DType.I32, 3, 2, 4), ids(DType.I64, ROWS, 6))
    offsets = (np.array([0, 3]), None, np.array([0, 2, 6]))
    weights = (None, None, values(DType.F32, 6))
    ends = (False, False, True)

    def call(*columns: Any) -> torch.Tensor:
        bags = [_quantized(bits, is_last)(*each) for is_last, *each in zip(ends, *columns, strict=True)]
        return torch.stack(bags, 1)

    attributes = {"bits": bits, "include_last_offset": ends}
    return Sample(
        "quantized_embedding_bag_group", (tables, numbers, offsets, weights), call, attributes, is_exact=True
    )


SAMPLES = (
    *_embeddings(),
    *_bags_by_mode(),
    *_paddings(),
    *_weighted(),
    *_dtypes(),
    *_nans(),
    *_groups(),
    *_quantized_bags(),
)
