"""Operands and attributes that the ops of shapes, ids, bags and interactions refuse."""

from __future__ import annotations

from tests.ir.ops.sample import Bad

SHAPES = (
    Bad(
        "view",
        ("f32[2,3]",),
        "view: shape=[4] of 4 elements\n  expected: a shape of 6 elements for f32[2,3]",
        {"shape": (4,)},
    ),
    Bad(
        "view",
        ("f32[2,3]",),
        "view: shape=[-1,-6] of 6 elements\n  expected: a shape of 6 elements for f32[2,3]",
        {"shape": (-1, -6)},
    ),
    Bad(
        "permute",
        ("f32[2,3]",),
        "permute: perm=[0,0] for f32[2,3]\n  expected: each of 0 to 1 once",
        {"perm": (0, 0)},
    ),
    Bad(
        "expand",
        ("f32[2,3]",),
        "expand: shape=[4,3]\n  expected: a shape that f32[2,3] broadcasts to",
        {"shape": (4, 3)},
    ),
    Bad(
        "expand",
        ("f32[1,3]",),
        "expand: shape=[3]\n  expected: a shape that f32[1,3] broadcasts to",
        {"shape": (3,)},
    ),
    Bad(
        "expand",
        ("f32[1,3]",),
        "expand: shape=[-1,3]\n  expected: a shape that f32[1,3] broadcasts to",
        {"shape": (-1, 3)},
    ),
    Bad(
        "slice",
        ("f32[4]",),
        "slice: start=2, stop=5 of 4\n  expected: 0 <= start <= stop <= 4",
        {"dim": 0, "start": 2, "stop": 5},
    ),
    Bad(
        "slice",
        ("f32[4]",),
        "slice: step=0\n  expected: step >= 1",
        {"dim": 0, "start": 0, "stop": 4, "step": 0},
    ),
    Bad(
        "slice",
        ("f32[]",),
        "slice: dim=0\n  expected: 0 <= dim < 0\n  to mend: negative dims are counted from the front",
        {"dim": 0, "start": 0, "stop": 0},
    ),
    Bad("select", ("f32[2,3]",), "select: index=3 of 3\n  expected: 0 <= index < 3", {"dim": 1, "index": 3}),
    Bad(
        "select", ("f32[2,3]",), "select: index=-1 of 3\n  expected: 0 <= index < 3", {"dim": 1, "index": -1}
    ),
    Bad("cat", ((),), "cat: no parts\n  expected: at least one", {"dim": 0}),
    Bad(
        "cat",
        (("f32[2,3]", "f32[3,3]"),),
        "cat: parts f32[2,3], f32[3,3]\n  expected: equal shapes but for dimension 1",
        {"dim": 1},
    ),
    Bad(
        "cat",
        (("f32[2]", "f32[2,1]"),),
        "cat: parts f32[2], f32[2,1]\n  expected: equal shapes but for dimension 0",
        {"dim": 0},
    ),
    Bad(
        "cat",
        (("f32[2]", "i64[2]"),),
        "cat: operands f32[2], i64[2]\n  expected: equal dtypes\n  to mend: insert a cast",
        {"dim": 0},
    ),
)

IDS = (
    Bad("index", ("f32[2]", (None,)), "index: no index tensor\n  expected: at least one"),
    Bad("index", ("f32[2]", ("i64[3]", "i64[3]")), "index: 2 indices for f32[2]\n  expected: at most 1"),
    Bad(
        "index",
        ("f32[2,3]", (None, "bool[3]")),
        "index: indices[1] is bool[3]\n  expected: dtype i64 or i32\n"
        "  to mend: turn a mask into indices first",
    ),
    Bad(
        "index",
        ("f32[2,3]", ("i64[2]", "i64[3]")),
        "index: shapes [2], [3]\n  expected: shapes that broadcast together",
    ),
    Bad(
        "index_select",
        ("f32[2]", "f32[2]"),
        "index_select: ids is f32[2]\n  expected: dtype i64 or i32\n  to mend: insert a cast",
        {"dim": 0},
    ),
    Bad(
        "index_select",
        ("f32[2]", "i64[2,2]"),
        "index_select: ids is i64[2,2]\n  expected: 1 dimension",
        {"dim": 0},
    ),
    Bad("gather", ("f32[2,3]", "i64[2]"), "gather: ids is i64[2]\n  expected: 2 dimensions", {"dim": 0}),
    Bad(
        "gather",
        ("f32[2,3]", "i64[3,3]"),
        "gather: ids is i64[3,3]\n  expected: at most [2,3] but in dimension 1",
        {"dim": 1},
    ),
    Bad("embedding", ("f32[2]", "i64[2]"), "embedding: table is f32[2]\n  expected: 2 dimensions"),
    Bad(
        "embedding",
        ("f32[2,3]", "u8[2]"),
        "embedding: ids is u8[2]\n  expected: dtype i64 or i32\n  to mend: insert a cast",
    ),
)

BAGS = (
    Bad(
        "embedding_bag",
        ("i64[9,4]", "i64[6]", "i64[2]", None),
        "embedding_bag: table is i64[9,4]\n  expected: a floating-point dtype\n  to mend: insert a cast",
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", None, None),
        "embedding_bag: ids is i64[6] without offsets\n  expected: 2 dimensions, or offsets",
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[2,3]", "i64[2]", None),
        "embedding_bag: ids is i64[2,3]\n  expected: 1 dimension",
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", "i64[0]", None),
        "embedding_bag: offsets is i64[0] with include_last_offset\n  expected: at least one offset",
        {"include_last_offset": True},
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[2,3]", None, None),
        "embedding_bag: include_last_offset=true without offsets\n  expected: offsets",
        {"include_last_offset": True},
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", "f32[2]", None),
        "embedding_bag: offsets is f32[2]\n  expected: dtype i64 or i32\n  to mend: insert a cast",
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", "i64[2]", "f32[5]"),
        "embedding_bag: weights is f32[5]\n  expected: shape [6]",
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", "i64[2]", "f16[6]"),
        "embedding_bag: operands f32[9,4], f16[6]\n  expected: equal dtypes\n  to mend: insert a cast",
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", "i64[2]", "f32[6]"),
        "embedding_bag: weights with mode=mean\n  expected: mode=sum",
        {"mode": "mean"},
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", "i64[2]", None),
        "embedding_bag: padding_idx=9\n  expected: -1 (none) or a row of the table, below 9",
        {"padding_idx": 9},
    ),
    Bad(
        "embedding_bag",
        ("f32[9,4]", "i64[6]", "i64[2]", None),
        "embedding_bag: mode=prod\n  expected: mode one of sum, mean, max",
        {"mode": "prod"},
    ),
    Bad(
        "quantized_embedding_bag",
        ("f32[9,12]", "i64[6]", "i64[2]", None),
        "quantized_embedding_bag: table is f32[9,12]\n  expected: dtype u8",
    ),
    Bad(
        "quantized_embedding_bag",
        ("u8[9,8]", "i64[6]", "i64[2]", None),
        "quantized_embedding_bag: table is u8[9,8]\n  expected: rows of more than 8 bytes, scale and bias",
    ),
    Bad(
        "quantized_embedding_bag",
        ("u8[9,12]", "i64[6]", "i64[2]", None),
        "quantized_embedding_bag: bits=2\n  expected: bits one of 8, 4",
        {"bits": 2},
    ),
    Bad(
        "quantized_embedding_bag",
        ("u8[9,12]", "i64[6]", "i64[2]", "f16[6]"),
        "quantized_embedding_bag: weights is f16[6]\n  expected: dtype f32\n  to mend: insert a cast",
    ),
    Bad(
        "quantized_embedding_bag",
        ("u8[9,12]", "i64[6]", None, None),
        "quantized_embedding_bag: ids is i64[6] without offsets\n  expected: 2 dimensions, or offsets",
    ),
    Bad(
        "quantized_embedding_bag_group",
        ((), (), (), ()),
        "quantized_embedding_bag_group: no tables\n  expected: at least one",
    ),
    Bad(
        "quantized_embedding_bag_group",
        (("u8[9,12]",), ("i64[2,3]",), (), ()),
        "quantized_embedding_bag_group: 2 include_last_offset\n  expected: 1, one for each table",
        {"include_last_offset": (True, True)},
    ),
    Bad(
        "quantized_embedding_bag_group",
        (("u8[9,12]", "u8[9,13]"), ("i64[2,3]", "i64[2,3]"), (), ()),
        "quantized_embedding_bag_group: bags f32[2,4], f32[2,5]\n  expected: equal number of bags and width",
    ),
    Bad("embedding_bag_group", ((), (), (), ()), "embedding_bag_group: no tables\n  expected: at least one"),
    Bad(
        "embedding_bag_group",
        (("f32[9,4]",), ("i64[2,3]", "i64[2,3]"), (), ()),
        "embedding_bag_group: 2 ids\n  expected: 1, one for each table",
    ),
    Bad(
        "embedding_bag_group",
        (("f32[9,4]",), ("i64[2,3]",), (), ()),
        "embedding_bag_group: 2 modes\n  expected: 1, one for each table",
        {"modes": ("sum", "max")},
    ),
    Bad(
        "embedding_bag_group",
        (("f32[9,4]",), ("i64[2,3]",), (), ()),
        "embedding_bag_group: mode=prod\n  expected: one of sum, mean, max",
        {"modes": ("prod",)},
    ),
    Bad(
        "embedding_bag_group",
        (("f32[9,4]", "f32[9,8]"), ("i64[2,3]", "i64[2,3]"), (), ()),
        "embedding_bag_group: bags f32[2,4], f32[2,8]\n  expected: equal dtype, number of bags and width",
    ),
    Bad(
        "embedding_bag_group",
        (("f32[9,4]", "f32[9,4]"), ("i64[2,3]", "i64[3,3]"), (), ()),
        "embedding_bag_group: bags f32[2,4], f32[3,4]\n  expected: equal dtype, number of bags and width",
    ),
)

INTERACTIONS = (
    Bad("pairwise_dot", ((),), "pairwise_dot: no parts\n  expected: at least one"),
    Bad("pairwise_dot", (("f32[4]",),), "pairwise_dot: parts[0] is f32[4]\n  expected: [B,D] or [B,T,D]"),
    Bad(
        "pairwise_dot",
        (("f32[2,4]", "f32[2,3,5]"),),
        "pairwise_dot: parts f32[2,4], f32[2,3,5]\n  expected: equal first and equal last dimensions",
    ),
    Bad(
        "pairwise_dot",
        (("i64[2,4]",),),
        "pairwise_dot: parts[0] is i64[2,4]\n  expected: a floating-point dtype\n  to mend: insert a cast",
    ),
    Bad(
        "pairwise_dot",
        (("f32[2,4]",),),
        "pairwise_dot: pairs=all\n  expected: pairs one of strict_lower, lower, strict_upper, upper",
        {"pairs": "all"},
    ),
)

BAD = (*SHAPES, *IDS, *BAGS, *INTERACTIONS)
