"""Chains of elementwise ops that are one op."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match
from dlrmc.passes.predicates import is_filled_with
from dlrmc.passes.rule import Rule

_BINARY = (
    "add", "sub", "mul", "div", "pow", "maximum", "minimum",
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
)  # fmt: skip

# Every value of the first dtype is a value of the others.
_WIDENS = MappingProxyType(
    {
        DType.F16: (DType.F32, DType.F64),
        DType.BF16: (DType.F32, DType.F64),
        DType.F32: (DType.F64,),
        DType.I32: (DType.I64, DType.F64),
        DType.U8: (DType.I32, DType.I64, DType.F32, DType.F64),
        DType.I8: (DType.I32, DType.I64, DType.F32, DType.F64),
        DType.BOOL: (DType.U8, DType.I8, DType.I32, DType.I64, DType.F32, DType.F64),
    }
)


def _widens(m: Match) -> bool:
    return m.t in _WIDENS.get(m.x.type.dtype, ())


def _is_scalar_slope(m: Match) -> bool:
    return is_filled_with(m.zero, 0) and m.slope.op.name == "const" and m.slope.type.numel == 1


def _leaky(b: Builder, m: Match) -> Node:
    return b.leaky_relu(m.x, slope=float(m.slope.value.reshape(-1)[0]))


def _broadcast_shape(m: Match) -> tuple[int, ...]:
    return tuple(int(size) for size in np.broadcast_shapes(m.x.shape, m.y.shape))


def _expand_in_binary(op: str, side: str) -> Rule:
    operands = "%v, %y" if side == "left" else "%y, %v"
    return Rule(
        name=f"expand-on-the-{side}-of-{op.replace('_', '-')}",
        why="Elementwise ops broadcast by themselves.",
        match=f"""%v = expand(%x) {{shape=$s}}
                  %z = {op}({operands}) : T[*R]""",
        shared=("v",),
        where=lambda m: _broadcast_shape(m) == m.R,
        build=lambda b, m: b.op(op, m.x, m.y) if side == "left" else b.op(op, m.y, m.x),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        name="mul-by-own-sigmoid-to-silu",
        why="One op, which a linear can apply in its epilogue.",
        match="""%s = sigmoid(%x)
                 %y = mul(%x, %s)""",
        build=lambda b, m: b.silu(m.x),
    ),
    Rule(
        name="where-positive-to-leaky-relu",
        why="One op, which a linear can apply in its epilogue.",
        match="""%x : T[*S]
                 %c = gt(%x, %zero) : bool[*S]
                 %n = mul(%x, %slope) : T[*S]
                 %y = where(%c, %x, %n)""",
        where=_is_scalar_slope,
        build=_leaky,
    ),
    Rule(
        name="clamp-at-zero-to-relu",
        why="One op, which a linear can apply in its epilogue.",
        match="%y = clamp(%x) {min=0.0}",
        build=lambda b, m: b.relu(m.x),
    ),
    Rule(
        name="maximum-with-zero-to-relu",
        why="One op, which a linear can apply in its epilogue.",
        match="""%x : T[*S]
                 %y = maximum(%x, %zero) : T[*S]""",
        where=lambda m: is_filled_with(m.zero, 0) and m.T is not DType.BOOL,
        build=lambda b, m: b.relu(m.x),
    ),
    Rule(
        name="square-to-mul",
        why="One product instead of a power.",
        match="""%x : T[*S]
                 %y = pow(%x, %two) : T[*S]""",
        where=lambda m: is_filled_with(m.two, 2),
        build=lambda b, m: b.mul(m.x, m.x),
    ),
    Rule(
        name="cast-of-widening-cast",
        why="The first cast loses nothing, so the second can start from its operand.",
        match="""%c = cast(%x) {to=$t}
                 %y = cast(%c) {to=$u}""",
        shared=("c",),
        where=_widens,
        build=lambda b, m: b.cast(m.x, m.u),
    ),
    *(_expand_in_binary(op, side) for op in _BINARY for side in ("left", "right")),
)
