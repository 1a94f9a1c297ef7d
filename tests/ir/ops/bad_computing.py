"""Operands and attributes that the elementwise ops, products and reductions refuse."""

from __future__ import annotations

import math

from dlrmc.ir.types import DType
from tests.ir.ops.sample import Bad

ELEMENTWISE = (
    Bad(
        "sigmoid",
        ("i64[3]",),
        "sigmoid: x is i64[3]\n  expected: a floating-point dtype\n  to mend: insert a cast",
    ),
    Bad(
        "relu",
        ("bool[3]",),
        "relu: x is bool[3]\n  expected: a floating-point or integer dtype\n  to mend: insert a cast",
    ),
    Bad("round_tf32", ("f64[3]",), "round_tf32: x of f64\n  expected: f32"),
    Bad(
        "add",
        ("f32[2]", "i64[2]"),
        "add: operands f32[2], i64[2]\n  expected: equal dtypes\n  to mend: insert a cast",
    ),
    Bad("add", ("f32[2,3]", "f32[4]"), "add: shapes [2,3], [4]\n  expected: shapes that broadcast together"),
    Bad(
        "sub",
        ("bool[2]", "bool[2]"),
        "sub: a is bool[2]\n  expected: a floating-point or integer dtype\n  to mend: insert a cast",
    ),
    Bad(
        "div",
        ("f32[2]", "i64[2]"),
        "div: b is i64[2]\n  expected: a floating-point dtype\n  to mend: insert a cast",
    ),
    Bad(
        "eq",
        ("i32[]", "i64[]"),
        "eq: operands i32[], i64[]\n  expected: equal dtypes\n  to mend: insert a cast",
    ),
    Bad(
        "where",
        ("f32[2]", "f32[2]", "f32[2]"),
        "where: cond is f32[2]\n  expected: dtype bool\n  to mend: insert a cast",
    ),
    Bad(
        "where",
        ("bool[2]", "f32[2]", "f64[2]"),
        "where: operands f32[2], f64[2]\n  expected: equal dtypes\n  to mend: insert a cast",
    ),
    Bad(
        "where",
        ("bool[2]", "f32[3]", "f32[]"),
        "where: shapes [2], [3], []\n  expected: shapes that broadcast together",
    ),
    Bad(
        "bitwise_and",
        ("bool[2]", "bool[2]"),
        "bitwise_and: a is bool[2]\n  expected: an integer dtype\n"
        "  to mend: bool has logical ops; cast a float",
    ),
    Bad("clamp", ("f32[2]",), "clamp: min=nan\n  expected: a number", {"min": math.nan}),
    Bad(
        "clamp",
        ("i64[2]",),
        "clamp: max=0.5 for i64\n  expected: an integer of at most 53 bits that i64 holds\n"
        "  to mend: insert a cast",
        {"max": 0.5},
    ),
    Bad(
        "clamp",
        ("u8[2]",),
        "clamp: min=-1.0 for u8\n  expected: an integer of at most 53 bits that u8 holds\n"
        "  to mend: insert a cast",
        {"min": -1.0},
    ),
    Bad(
        "clamp",
        ("i64[2]",),
        "clamp: min=1e+17 for i64\n  expected: an integer of at most 53 bits that i64 holds\n"
        "  to mend: insert a cast",
        {"min": 1e17},
    ),
    Bad("cast", ("f32[2]",), "cast: no attribute 'to'\n  expected: to=dtype"),
    Bad("relu", ("f32[2]",), "relu: attribute 'to'\n  expected: none", {"to": DType.F32}),
    Bad(
        "gelu",
        ("f32[2]",),
        "gelu: approximate=erf\n  expected: approximate one of none, tanh",
        {"approximate": "erf"},
    ),
    Bad("add", ("f32[2]",), "add: number of operands 1\n  expected: 2 (a, b)"),
)

PRODUCTS = (
    Bad("linear", ((), "f32[4,5]", None), "linear: no part of x\n  expected: at least one"),
    Bad(
        "linear",
        (("f32[3,5]",), "f32[4,6]", None),
        "linear: x of width 5 with w f32[4,6]\n  expected: x of width 6",
    ),
    Bad(
        "linear",
        (("f32[3,5]", "f32[2,1]"), "f32[4,6]", None),
        "linear: parts f32[3,5], f32[2,1]\n  expected: equal shapes up to the last dimension",
    ),
    Bad(
        "linear", (("f32[]",), "f32[4,6]", None), "linear: a part of x of rank 0\n  expected: rank 1 or more"
    ),
    Bad("linear", (("f32[5]",), "f32[5]", None), "linear: w is f32[5]\n  expected: 2 dimensions"),
    Bad("linear", (("f32[5]",), "f32[4,5]", "f32[5]"), "linear: bias is f32[5]\n  expected: shape [4]"),
    Bad(
        "linear",
        (("f32[5]",), "f16[4,5]", None),
        "linear: operands f32[5], f16[4,5]\n  expected: equal dtypes\n  to mend: insert a cast",
    ),
    Bad(
        "linear",
        (("i64[5]",), "i64[4,5]", None),
        "linear: w is i64[4,5]\n  expected: a floating-point dtype\n  to mend: insert a cast",
    ),
    Bad(
        "linear",
        (("f32[5]",), "f32[4,5]", None),
        "linear: act=elu\n"
        "  expected: act one of none, relu, sigmoid, tanh, gelu, gelu_tanh, silu, leaky_relu",
        {"act": "elu"},
    ),
    Bad(
        "mm", ("f32[2,3]", "f32[2,3]"), "mm: 3 columns of a, 2 rows of b\n  expected: equal inner dimensions"
    ),
    Bad("mm", ("f32[2]", "f32[2,3]"), "mm: a is f32[2]\n  expected: 2 dimensions"),
    Bad(
        "addmm",
        ("f32[4]", "f32[2,3]", "f32[3,5]"),
        "addmm: bias is f32[4]\n  expected: a shape that broadcasts to [2,5]",
    ),
    Bad(
        "addmm",
        ("f32[1,2,5]", "f32[2,3]", "f32[3,5]"),
        "addmm: bias is f32[1,2,5]\n  expected: a shape that broadcasts to [2,5]",
    ),
    Bad(
        "bmm",
        ("f32[2,3,4]", "f32[3,4,5]"),
        "bmm: a is f32[2,3,4], b is f32[3,4,5]\n  expected: equal first dimensions",
    ),
    Bad(
        "bmm",
        ("f32[2,3,4]", "f32[2,4,5]"),
        "bmm: 4 columns of a, 5 rows of b\n  expected: equal inner dimensions",
        {"trans_b": True},
    ),
    Bad("bmm", ("f32[3,4]", "f32[2,4,5]"), "bmm: a is f32[3,4]\n  expected: 3 dimensions"),
)

REDUCTIONS = (
    Bad(
        "sum",
        ("f32[2,3]",),
        "sum: dims=[1,0]\n  expected: distinct sorted dims in 0 <= dim < 2",
        {"dims": (1, 0)},
    ),
    Bad(
        "sum",
        ("f32[2]",),
        "sum: dims=[-1]\n  expected: distinct sorted dims in 0 <= dim < 1",
        {"dims": (-1,)},
    ),
    Bad(
        "prod",
        ("f32[2]",),
        "prod: dims=[0,0]\n  expected: distinct sorted dims in 0 <= dim < 1",
        {"dims": (0, 0)},
    ),
    Bad(
        "mean",
        ("i64[2]",),
        "mean: x is i64[2]\n  expected: a floating-point dtype\n  to mend: insert a cast",
        {"dims": (0,)},
    ),
    Bad(
        "amax",
        ("f32[2,0]",),
        "amax: x is f32[2,0]\n  expected: a size of 1 or more in each reduced dimension",
        {"dims": (1,)},
    ),
    Bad(
        "softmax",
        ("f32[2,3]",),
        "softmax: dim=2\n  expected: 0 <= dim < 2\n  to mend: negative dims are counted from the front",
        {"dim": 2},
    ),
    Bad(
        "log_softmax",
        ("f32[]",),
        "log_softmax: dim=-1\n  expected: 0 <= dim < 1\n  to mend: negative dims are counted from the front",
        {"dim": -1},
    ),
    Bad(
        "layer_norm",
        ("f32[]", None, None),
        "layer_norm: x is f32[]\n  expected: rank 1 or more",
        {"eps": 1e-5},
    ),
    Bad(
        "layer_norm",
        ("f32[2,3]", "f32[2]", None),
        "layer_norm: w is f32[2]\n  expected: shape [3]",
        {"eps": 1e-5},
    ),
    Bad(
        "layer_norm",
        ("f32[2,3]", None, "f16[3]"),
        "layer_norm: operands f32[2,3], f16[3]\n  expected: equal dtypes\n  to mend: insert a cast",
        {"eps": 1e-5},
    ),
    Bad("layer_norm", ("f32[3]", None, None), "layer_norm: no attribute 'eps'\n  expected: eps=float"),
)

ORDERS = (
    Bad(
        "argsort",
        ("f32[2,3]",),
        "argsort: count=4 of 3\n  expected: 0 <= count <= 3",
        {"dim": 1, "count": 4},
    ),
    Bad(
        "argsort",
        ("f32[2,3]",),
        "argsort: count=-1 of 2\n  expected: 0 <= count <= 2",
        {"dim": 0, "count": -1},
    ),
    Bad(
        "cumsum",
        ("f32[]",),
        "cumsum: dim=0\n  expected: 0 <= dim < 0\n  to mend: negative dims are counted from the front",
        {"dim": 0},
    ),
    Bad(
        "remainder",
        ("bool[2]", "bool[2]"),
        "remainder: a is bool[2]\n  expected: a floating-point or integer dtype\n  to mend: insert a cast",
    ),
    Bad(
        "atan2",
        ("i64[2]", "i64[2]"),
        "atan2: a is i64[2]\n  expected: a floating-point dtype\n  to mend: insert a cast",
    ),
)

BAD = (*ELEMENTWISE, *PRODUCTS, *REDUCTIONS, *ORDERS)
