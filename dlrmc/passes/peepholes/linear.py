"""Every form of x @ w.T + b becomes `linear` on the weight as stored, reading its input in parts."""

from __future__ import annotations

import math

import numpy as np

from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.predicates import is_read_by_parts, is_uniform
from dlrmc.passes.rule import Rule


def _is_row_vector(m: Match) -> bool:
    """Whether %b : T[*U,N] adds the same N values to every row of %y : T[*S,N]."""
    return math.prod(m.U) == 1 and len(m.U) <= len(m.S)


def _with_bias(b: Builder, m: Match) -> Node:
    return b.linear(m.x, m.w, b.view_if_needed(m.b, (m.N,)), alpha=m.p)


def _add_to_bias(b: Builder, m: Match) -> Node:
    bias = b.add(m.c, b.view_if_needed(m.b, (m.N,)))
    return b.linear(m.x, m.w, bias, alpha=m.p)


def _general_addmm(b: Builder, m: Match) -> Node:
    """An addmm whose bias is a matrix or a column: the bias is added by an op of its own."""
    product = b.linear(m.x, b.permute(m.w, (1, 0)), alpha=m.p)
    if m.q == 0.0:
        return product
    bias = m.b
    if m.q != 1.0:
        scale = np.array(m.q, dtype=m.b.type.dtype.numpy)
        bias = b.mul(m.b, b.const(scale))
    return b.add(product, bias)


def _same_linear(b: Builder, m: Match, parts: tuple[Node, ...]) -> Node:
    """The linear %y of the pattern with another x."""
    return b.op("linear", parts, m.w, m.b, **m.y.attributes)


def _scaled(b: Builder, m: Match) -> Node:
    """The scale of each output goes into the rows of the weight and into the bias."""
    scale = b.view_if_needed(m.s, (m.N,))
    weight = b.mul(m.w, b.view(scale, (m.N, 1)))
    return b.linear(m.x, weight, None if m.b is None else b.mul(m.b, scale), alpha=m.p)


def _is_uniform_scale(m: Match) -> bool:
    # In 16 bits the scaled weight would be rounded, which torch does not do.
    if m.T not in (DType.F32, DType.F64):
        return False
    parameters = (m.w, m.s) if m.b is None else (m.w, m.s, m.b)
    return _is_row_vector(m) and all(is_uniform(value) for value in parameters)


def _is_one_weight(m: Match) -> bool:
    """Whether %w : T[*U,K,N], or [*U,N,K], is one matrix that no request changes."""
    return math.prod(m.U) == 1 and is_uniform(m.w) and not is_uniform(m.x)


def _is_repeated_weight(m: Match) -> bool:
    """The same where %e repeats it for each matrix of %x."""
    return _is_one_weight(m) and m.e.shape[-2:] == m.w.shape[-2:]


def _by_weight(b: Builder, m: Match) -> Node:
    """X @ w, or x @ w.T where the product reads its right side transposed."""
    weight = b.view_if_needed(m.w, m.w.shape[-2:])
    return b.linear(m.x, weight if m.t else b.permute(weight, (1, 0)))


def _by_one_weight(b: Builder, m: Match) -> Node:
    """The product of all rows of the one matrix [1,M,K], as those of a matrix."""
    rows = b.view(m.x, m.x.shape[1:])
    weight = b.view_if_needed(m.w, m.w.shape[-2:])
    return b.view(b.linear(rows, weight if m.t else b.permute(weight, (1, 0))), m.y.shape)


RULES: tuple[Rule, ...] = (
    Rule(
        name="mm-of-transposed-to-linear",
        why="`linear` reads the weight as it is stored.",
        match="""%t = permute(%w) {perm=[1,0]}
                 %y = mm(%x, %t)""",
        shared=("t",),
        build=lambda b, m: b.linear(m.x, m.w),
    ),
    Rule(
        name="mm-of-weight-to-linear",
        why="A weight stored the other way round is read with other strides.",
        match="%y = mm(%x, %w)",
        where=lambda m: is_uniform(m.w) and not is_uniform(m.x),
        build=lambda b, m: b.linear(m.x, b.permute(m.w, (1, 0))),
    ),
    Rule(
        name="addmm-of-transposed-to-linear",
        why="`linear` reads the weight as it is stored and adds the bias in its epilogue.",
        match="""%b : T[N]
                 %t = permute(%w) {perm=[1,0]}
                 %y = addmm(%b, %x, %t) {alpha=$p, beta=$q} : T[M,N]""",
        shared=("t",),
        build=lambda b, m: b.linear(m.x, m.w, m.b, alpha=m.p, beta=m.q),
    ),
    Rule(
        name="addmm-to-linear",
        why="A weight stored the other way round is read with other strides.",
        match="""%b : T[N]
                 %y = addmm(%b, %x, %w) {alpha=$p, beta=$q} : T[M,N]""",
        build=lambda b, m: b.linear(m.x, b.permute(m.w, (1, 0)), m.b, alpha=m.p, beta=m.q),
    ),
    Rule(
        name="addmm-of-matrix-to-linear-and-add",
        why="A bias that differs by row is an operand of its own.",
        match="%y = addmm(%b, %x, %w) {alpha=$p, beta=$q}",
        build=_general_addmm,
    ),
    Rule(
        name="bmm-of-one-weight-to-linear",
        why="A product with one weight is one of all rows, however many matrices they are of.",
        match="""%x : T[1,M,K]
                 %w : T[*U,P,Q]
                 %y = bmm(%x, %w) {trans_b=$t}""",
        where=_is_one_weight,
        build=_by_one_weight,
    ),
    Rule(
        name="bmm-of-repeated-weight-to-linear",
        why="A product with one weight is one of all rows, however many matrices they are of.",
        match="""%w : T[*U,P,Q]
                 %e = expand(%w) {shape=$s}
                 %y = bmm(%x, %e) {trans_b=$t}""",
        shared=("e",),
        where=_is_repeated_weight,
        build=_by_weight,
    ),
    Rule(
        name="bmm-of-viewed-repeated-weight-to-linear",
        why="A product with one weight is one of all rows, however many matrices they are of.",
        match="""%w : T[*U,P,Q]
                 %e = expand(%w) {shape=$s}
                 %v = view(%e) {shape=$r} : T[B,P,Q]
                 %y = bmm(%x, %v) {trans_b=$t}""",
        shared=("e", "v"),
        where=_is_repeated_weight,
        build=_by_weight,
    ),
    Rule(
        name="add-to-linear-bias",
        why="The bias is added in the epilogue.",
        match="""%b : T[*U,N]
                 %y = linear([*%x], %w) {alpha=$p, beta=$q} : T[*S,N]
                 %z = add(%y, %b) : T[*S,N]""",
        # With one row, any addend looks like a bias; but row programs take weights only for one.
        where=lambda m: _is_row_vector(m) and is_uniform(m.b),
        build=_with_bias,
    ),
    Rule(
        name="add-to-bias-of-linear",
        why="Two biases that are the same for every request are added once, at load.",
        match="""%b : T[*U,N]
                 %y = linear([*%x], %w, %c) {alpha=$p} : T[*S,N]
                 %z = add(%y, %b) : T[*S,N]""",
        where=lambda m: _is_row_vector(m) and is_uniform(m.b) and is_uniform(m.c),
        build=_add_to_bias,
    ),
    Rule(
        name="scale-into-linear",
        why="A scale that no request changes, such as a batch norm's, goes into the weight at load.",
        match="""%s : T[*U,N]
                 %y = linear([*%x], %w, ?%b) {alpha=$p} : T[*S,N]
                 %z = mul(%y, %s) : T[*S,N]""",
        where=_is_uniform_scale,
        build=_scaled,
    ),
    Rule(
        name="linear-between-views",
        why="`linear` takes any rank, so the rows need not be flattened and unflattened.",
        match="""%x : T[*S,K]
                 %v = view(%x) {shape=$f} : T[M,K]
                 %y = linear(%v, %w, ?%b) {...} : T[M,N]
                 %z = view(%y) {shape=$s} : T[*S,N]""",
        shared=("v",),
        build=lambda b, m: _same_linear(b, m, (m.x,)),
    ),
    Rule(
        name="linear-of-cat-to-parts",
        why="The parts are read where they are; the concatenation is never made.",
        match="""%c = cat(*%parts) {dim=$d} : T[*S,K]
                 %y = linear([*%before, %c, *%after], %w, ?%b) {...}""",
        shared=("c",),
        where=lambda m: m.d == len(m.S) and is_read_by_parts(m, m.c),
        build=lambda b, m: _same_linear(b, m, (*m.before, *m.parts, *m.after)),
    ),
)
