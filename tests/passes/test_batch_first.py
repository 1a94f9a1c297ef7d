"""batch-first: where the batch is found, what is laid out anew, and what is left as it is."""

from __future__ import annotations

import pytest

from dlrmc.ir.graph import Graph
from dlrmc.passes import batch_first
from dlrmc.passes.engine import apply_rules
from dlrmc.passes.fuse_rows import fuse_rows
from dlrmc.passes.peepholes import ALL_RULES
from tests.passes.feeds import assert_same_meaning
from tests.passes.pass_case import check_pass, check_unchanged
from tests.passes.rule_case import graph_of


def programs_after(body: str) -> list[list[str]]:
    """The computing ops of each row program that comes of a body, views left out."""
    before, graph = graph_of(body), graph_of(body)
    batch_first.run(graph)
    apply_rules(graph, ALL_RULES)
    assert batch_first.run(graph).changes == 0
    fuse_rows(graph)
    assert_same_meaning(before, graph)
    return [_computing(node.body) for node in graph.nodes if node.is_op("kernel")]


def _computing(graph: Graph) -> list[str]:
    views = ("input", "view", "permute", "expand", "slice", "select")
    return [node.op.name for node in graph.nodes if not node.is_op(*views)]


def test_layers_with_time_in_front_are_computed_with_the_batch_in_front() -> None:
    check_pass(
        batch_first.run,
        """input %x : f32[5,3,4]
           weight %w : f32[2,4] = "w"
           %a = relu(%x) : f32[5,3,4]
           %p = permute(%a) {perm=[1,0,2]} : f32[3,5,4]
           %l = linear(%p, %w) : f32[3,5,2]
           %s = softmax(%l) {dim=0} : f32[3,5,2]
           %y = select(%s) {dim=0, index=2} : f32[5,2]
           return %y""",
        """input %x : f32[5,3,4]
           weight %w : f32[2,4] = "w"
           %a = relu(%x) : f32[5,3,4]
           %l_bf = linear(%a, %w) : f32[5,3,2]
           %s_bf = softmax(%l_bf) {dim=1} : f32[5,3,2]
           %y = select(%s_bf) {dim=1, index=2} : f32[5,2]
           return %y""",
        {"moved": 2},
    )


def test_heads_stacked_along_the_batch_get_a_dimension_of_their_own() -> None:
    check_pass(
        batch_first.run,
        """input %x : f32[5,3,4]
           %a = relu(%x) : f32[5,3,4]
           %h0 = slice(%a) {dim=2, start=0, stop=2} : f32[5,3,2]
           %h1 = slice(%a) {dim=2, start=2, stop=4} : f32[5,3,2]
           %q = cat(%h0, %h1) {dim=0} : f32[10,3,2]
           %z = bmm(%q, %q) {trans_b=true} : f32[10,3,3]
           %o = slice(%z) {dim=0, start=5, stop=10} : f32[5,3,3]
           return %o""",
        """input %x : f32[5,3,4]
           %a = relu(%x) : f32[5,3,4]
           %h0 = slice(%a) {dim=2, start=0, stop=2} : f32[5,3,2]
           %h1 = slice(%a) {dim=2, start=2, stop=4} : f32[5,3,2]
           %view = view(%h0) {shape=[5,1,3,2]} : f32[5,1,3,2]
           %view_1 = view(%h1) {shape=[5,1,3,2]} : f32[5,1,3,2]
           %q_bf = cat(%view, %view_1) {dim=1} : f32[5,2,3,2]
           %view_2 = view(%q_bf) {shape=[10,3,2]} : f32[10,3,2]
           %z_bf = bmm(%view_2, %view_2) {trans_b=true} : f32[10,3,3]
           %view_3 = view(%z_bf) {shape=[5,2,3,3]} : f32[5,2,3,3]
           %o_bf = slice(%view_3) {dim=1, start=1, stop=2} : f32[5,1,3,3]
           %o = view(%o_bf) {shape=[5,3,3]} : f32[5,3,3]
           return %o""",
        {"moved": 2},
    )


def test_what_is_the_same_for_all_rows_is_computed_for_one() -> None:
    check_pass(
        batch_first.run,
        """input %x : f32[5,3]
           weight %w : f32[2,3] = "w"
           weight %v : f32[2,4] = "v"
           const %zero : f32[1,1] = [0.0]
           %l = linear(%x, %w) : f32[5,2]
           %h = expand(%zero) {shape=[5,4]} : f32[5,4]
           %u = linear(%h, %v) : f32[5,2]
           %a = add(%l, %u) : f32[5,2]
           %y = sigmoid(%a) : f32[5,2]
           return %y""",
        """input %x : f32[5,3]
           weight %w : f32[2,3] = "w"
           weight %v : f32[2,4] = "v"
           const %zero : f32[1,1] = [0.0]
           %l = linear(%x, %w) : f32[5,2]
           %expand = expand(%zero) {shape=[1,4]} : f32[1,4]
           %u_bf = linear(%expand, %v) : f32[1,2]
           %a = add(%l, %u_bf) : f32[5,2]
           %y = sigmoid(%a) : f32[5,2]
           return %y""",
        {"moved": 1},
    )


def test_a_constant_with_equal_rows_is_read_once() -> None:
    check_pass(
        batch_first.run,
        """input %x : f32[5,2]
           weight %w : f32[3,2] = "w"
           const %i : i64[5,2] = [0,2,0,2,0,2,0,2,0,2]
           %v = view(%x) {shape=[5,1,2]} : f32[5,1,2]
           %r = exp(%v) : f32[5,1,2]
           %e = embedding(%w, %i) : f32[5,2,2]
           %a = add(%e, %r) : f32[5,2,2]
           %y = sin(%a) : f32[5,2,2]
           return %y""",
        """input %x : f32[5,2]
           weight %w : f32[3,2] = "w"
           const %i_1 : i64[1,2] = [0,2]
           %v = view(%x) {shape=[5,1,2]} : f32[5,1,2]
           %r = exp(%v) : f32[5,1,2]
           %e_bf = embedding(%w, %i_1) : f32[1,2,2]
           %a = add(%e_bf, %r) : f32[5,2,2]
           %y = sin(%a) : f32[5,2,2]
           return %y""",
        {"moved": 1},
    )


_ATTENTION = """
    input %x : f32[3,5,4]
    weight %w : f32[12,4] = "w"
    weight %o : f32[4,4] = "o"
    %qkv = linear(%x, %w) : f32[3,5,12]
    %split = view(%qkv) {shape=[3,5,3,4]} : f32[3,5,3,4]
    %front = permute(%split) {perm=[2,0,1,3]} : f32[3,3,5,4]
    %q = select(%front) {dim=0, index=0} : f32[3,5,4]
    %k = select(%front) {dim=0, index=1} : f32[3,5,4]
    %v = select(%front) {dim=0, index=2} : f32[3,5,4]
    %qh = view(%q) {shape=[3,10,2]} : f32[3,10,2]
    %kh = view(%k) {shape=[3,10,2]} : f32[3,10,2]
    %vh = view(%v) {shape=[3,10,2]} : f32[3,10,2]
    %qb = permute(%qh) {perm=[1,0,2]} : f32[10,3,2]
    %kb = permute(%kh) {perm=[1,2,0]} : f32[10,2,3]
    %vb = permute(%vh) {perm=[1,0,2]} : f32[10,3,2]
    %scores = bmm(%qb, %kb) : f32[10,3,3]
    %p = softmax(%scores) {dim=2} : f32[10,3,3]
    %z = bmm(%p, %vb) : f32[10,3,2]
    %zt = permute(%z) {perm=[1,0,2]} : f32[3,10,2]
    %flat = view(%zt) {shape=[15,4]} : f32[15,4]
    %y = linear(%flat, %o) : f32[15,4]
    %yt = view(%y) {shape=[3,5,4]} : f32[3,5,4]
    %last = select(%yt) {dim=0, index=2} : f32[5,4]
    return %last
"""


def test_attention_with_time_in_front_and_heads_beside_the_batch_is_one_program() -> None:
    assert programs_after(_ATTENTION) == [["linear", "bmm", "softmax", "bmm", "linear"]]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            """input %x : f32[3,5,4]
               weight %w : f32[2,4] = "w"
               %y = linear(%x, %w) : f32[3,5,2]
               %z = softmax(%y) {dim=2} : f32[3,5,2]
               return %z""",
            id="two copies for two kernels",
        ),
        pytest.param(
            """input %x : f32[5,3]
               %a = relu(%x) : f32[5,3]
               %p = permute(%a) {perm=[1,0]} : f32[3,5]
               return %p""",
            id="views only",
        ),
        pytest.param(
            """input %x : f32[5,3]
               weight %w : f32[5,2] = "w"
               %a = relu(%x) : f32[5,3]
               %p = permute(%a) {perm=[1,0]} : f32[3,5]
               %y = mm(%p, %w) : f32[3,2]
               return %y""",
            id="a sum over the batch",
        ),
        pytest.param(
            """input %x : f32[5,3]
               %a = relu(%x) : f32[5,3]
               %b = exp(%a) : f32[5,3]
               return %b""",
            id="rows already",
        ),
        pytest.param("return", id="nothing"),
    ],
)
def test_what_would_gain_nothing_stays(body: str) -> None:
    check_unchanged(batch_first.run, body)


def test_inputs_with_the_batch_in_a_later_dimension_are_copied_once_each() -> None:
    body = """input %x : f32[3,5,4]
              weight %w : f32[2,4] = "w"
              %l = linear(%x, %w) : f32[3,5,2]
              %s = softmax(%l) {dim=0} : f32[3,5,2]
              %t = cumsum(%s) {dim=0} : f32[3,5,2]
              %y = sum(%t) {dims=[0]} : f32[5,2]
              return %y"""
    assert programs_after(body) == [["linear", "softmax", "cumsum", "sum"]]


_STEPS = (
    "%y = sum(%t) {dims=[0,2]} : f32[5]",
    "%y = amax(%t) {dims=[2], keepdim=true} : f32[3,5,1]",
    "%y = layer_norm(%t, _, _) {eps=1e-05} : f32[3,5,4]",
    "%y = argsort(%t) {dim=0, count=2} : i64[2,5,4]",
    "%y = log_softmax(%t) {dim=2} : f32[3,5,4]",
    "%y = slice(%t) {dim=0, start=1, stop=3} : f32[2,5,4]",
    "%y = index(%t, _, _, %places) : f32[3,5,2]",
    "%y = index(%t, %places) : f32[2,5,4]",
    "%y = index(%t, %pairs) : f32[2,2,5,4]",
    "%y = index_select(%t, %places) {dim=0} : f32[2,5,4]",
    """%g = argsort(%t) {dim=2, count=1} : i64[3,5,1]
       %y = gather(%t, %g) {dim=2} : f32[3,5,1]""",
    """%g = argsort(%t) {dim=2, count=2} : i64[3,5,2]
       %y = embedding(%table, %g) : f32[3,5,2,4]""",
    """%g = argsort(%t) {dim=2, count=2} : i64[3,5,2]
       %v = view(%g) {shape=[15,2]} : i64[15,2]
       %y = embedding_bag(%table, %v) : f32[15,4]""",
    "%y = pairwise_dot(%turned) : f32[10,3]",
    "%y = cat(%t, %t) {dim=2} : f32[3,5,8]",
    "%y = cat(%t, %t) {dim=0} : f32[6,5,4]",
    "%y = cat(%t, %t) {dim=1} : f32[3,10,4]",
    """%v = view(%t) {shape=[3,5,2,2]} : f32[3,5,2,2]
       %y = expand(%v) {shape=[2,3,5,2,2]} : f32[2,3,5,2,2]""",
    """%v = view(%t) {shape=[3,1,5,4]} : f32[3,1,5,4]
       %y = expand(%v) {shape=[3,2,5,4]} : f32[3,2,5,4]""",
    "%y = view(%t) {shape=[15,4]} : f32[15,4]",
    "%y = view(%t) {shape=[3,20]} : f32[3,20]",
    "%y = add(%t, %vector) : f32[3,5,4]",
    "%y = add(%t, %column) : f32[3,5,4]",
    "%y = where(%flags, %t, %vector) : f32[3,5,4]",
)


@pytest.mark.parametrize("steps", _STEPS)
def test_every_kind_of_op_is_computed_with_the_batch_in_front(steps: str) -> None:
    result = steps.rsplit(":", 1)[1]
    body = f"""input %x : f32[5,3,4]
               weight %vector : f32[4] = "v"
               weight %column : f32[3,1,1] = "c"
               weight %table : f32[9,4] = "t"
               const %places : i64[2] = [2,0]
               const %pairs : i64[2,2] = [2,0,1,0]
               const %flags : bool[1,5,1] = [true,true,true,true,true]
               %a = relu(%x) : f32[5,3,4]
               %p = permute(%a) {{perm=[1,0,2]}} : f32[3,5,4]
               %s = sin(%p) : f32[3,5,4]
               %m = softmax(%s) {{dim=0}} : f32[3,5,4]
               %t = cumsum(%m) {{dim=0}} : f32[3,5,4]
               %split = view(%t) {{shape=[3,10,2]}} : f32[3,10,2]
               %turned = permute(%split) {{perm=[1,0,2]}} : f32[10,3,2]
               {steps}
               %z = abs(%y) : {result}
               return %z"""
    assert len(programs_after(body)) == 1


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param("%y = sum(%t) {dims=[1]} : f32[3,4]", id="a sum over the batch"),
        pytest.param("%y = softmax(%t) {dim=1} : f32[3,5,4]", id="a softmax over the batch"),
        pytest.param("%y = select(%t) {dim=1, index=0} : f32[3,4]", id="one row"),
        pytest.param("%y = slice(%t) {dim=1, start=1, stop=4} : f32[3,3,4]", id="some rows"),
        pytest.param("%y = add(%t, %rows) : f32[3,5,4]", id="a weight with rows"),
        pytest.param("%y = index(%t, _, %places) : f32[3,2,4]", id="chosen rows"),
    ],
)
def test_what_mixes_rows_reads_the_old_layout(steps: str) -> None:
    result = steps.rsplit(":", 1)[1]
    body = f"""input %x : f32[5,3,4]
               weight %rows : f32[5,1] = "r"
               const %places : i64[2] = [2,0]
               %a = relu(%x) : f32[5,3,4]
               %p = permute(%a) {{perm=[1,0,2]}} : f32[3,5,4]
               %m = softmax(%p) {{dim=0}} : f32[3,5,4]
               %s = cumsum(%m) {{dim=0}} : f32[3,5,4]
               %t = cumprod(%s) {{dim=0}} : f32[3,5,4]
               {steps}
               %z = abs(%y) : {result}
               return %z"""
    assert programs_after(body)[0] == ["relu", "softmax", "cumsum", "cumprod"]
