"""Every op against torch: type rule, reference and eager agree."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.ir.op import Elementwise, complete_attributes, map_operands
from dlrmc.ir.ops import ALL_OPS, find_op, kernel, leaf
from dlrmc.ir.types import DType
from tests.ir.ops import (
    samples_binary,
    samples_embedding,
    samples_index,
    samples_linear,
    samples_order,
    samples_reduce,
    samples_shape,
    samples_unary,
)
from tests.ir.ops.sample import TOLERANCES, Sample, array_type, infer, to_numpy, to_torch

SAMPLES = (
    *samples_unary.SAMPLES,
    *samples_binary.SAMPLES,
    *samples_linear.SAMPLES,
    *samples_embedding.SAMPLES,
    *samples_shape.SAMPLES,
    *samples_reduce.SAMPLES,
    *samples_order.SAMPLES,
    *samples_index.SAMPLES,
)
COMPUTING = [op for op in ALL_OPS if op not in (*leaf.OPS, *kernel.OPS)]


@pytest.mark.parametrize("op", COMPUTING, ids=lambda op: op.name)
def test_every_op_has_a_sample(op):
    assert any(sample.op == op.name for sample in SAMPLES)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.label)
def test_reference_and_type_rule_agree_with_torch(sample: Sample):
    op = find_op(sample.op)
    inferred = infer(op, map_operands(sample.operands, array_type), sample.attributes)
    value = op.reference(sample.operands, complete_attributes(op, sample.attributes))
    wanted = to_numpy(sample.torch(*map_operands(sample.operands, to_torch)))
    assert isinstance(value, np.ndarray)
    assert str(inferred) == str(array_type(value)) == str(array_type(wanted))
    _compare(sample, value, wanted)


def _compare(sample: Sample, value: np.ndarray, wanted: np.ndarray) -> None:
    dtype = DType.of_numpy(wanted.dtype)
    if not dtype.is_float:
        np.testing.assert_array_equal(value, wanted)
        return
    # float64 holds every float dtype, and NumPy compares its NaNs as equal, which it does not those of bf16.
    value, wanted = value.astype(np.float64), wanted.astype(np.float64)
    tolerance = 0.0 if sample.is_exact else sample.tolerance or TOLERANCES[dtype]
    np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("op", COMPUTING, ids=lambda op: op.name)
def test_a_card_says_what_it_does(op):
    first = (type(op).__doc__ or "").split("\n")[0]
    assert first.endswith(".")
    assert op.operands


@pytest.mark.parametrize(("op", "target"), [(op, target) for op in ALL_OPS for target in op.aten], ids=str)
def test_aten_targets_exist(op, target):
    import torch
    import torch._prims

    namespace, name, overload = target.split(".")
    assert hasattr(getattr(getattr(torch.ops, namespace), name), overload)


def test_names_are_unique_and_elementwise_ops_know_their_expression():
    names = [op.name for op in ALL_OPS]
    assert len(set(names)) == len(names)
    for op in (op for op in ALL_OPS if isinstance(op, Elementwise)):
        attributes = complete_attributes(op, {"to": DType.I32} if op.name == "cast" else {})
        arguments = tuple(spec.name for spec in op.operands)
        dtypes = (DType.BOOL, DType.F32, DType.F32) if op.name == "where" else (DType.F32,) * len(arguments)
        assert all(name in op.cuda(arguments, dtypes, attributes) for name in arguments)
