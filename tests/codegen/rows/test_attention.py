"""The attention stage in the emulator: against the reference at ragged sizes, with masks, at infinities."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.codegen.rows.attention_choice import AttentionShape, choose_attention_tile
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.reference import evaluate
from dlrmc.passes.attention import find_attention
from tests.codegen.rows.row_cases import row_case
from tests.codegen.rows.test_row_programs import assert_right, kernel, run


def heads_model(batch: int, sizes: tuple[int, int, int], depth: int, width: int, between: str) -> str:
    """Heads of `depth` columns that attend to values of `width` columns; `between` makes %p of %z.

    `sizes`: heads, queries, keys.
    """
    heads, m, n = sizes
    entries = batch * heads
    return f"""graph @heads {{
  input %x : f32[{batch},{m},{heads * depth}]
  input %c : f32[{batch},{n},{heads * depth}]
  input %k_mask : f32[{batch},1,1,{n}]
  weight %w : f32[{heads * depth},{heads * depth}] = "w"
  weight %v : f32[{heads * width},{heads * depth}] = "v"
  const %zero : f32[] = 0.0
  const %none : f32[] = -inf
  const %scale : f32[] = 0.3
  %q = linear(%x, %w) : f32[{batch},{m},{heads * depth}]
  %k = linear(%c, %w) {{act=tanh}} : f32[{batch},{n},{heads * depth}]
  %u = linear(%c, %v) : f32[{batch},{n},{heads * width}]
  %q4 = view(%q) {{shape=[{batch},{m},{heads},{depth}]}} : f32[{batch},{m},{heads},{depth}]
  %k4 = view(%k) {{shape=[{batch},{n},{heads},{depth}]}} : f32[{batch},{n},{heads},{depth}]
  %u4 = view(%u) {{shape=[{batch},{n},{heads},{width}]}} : f32[{batch},{n},{heads},{width}]
  %qp = permute(%q4) {{perm=[0,2,1,3]}} : f32[{batch},{heads},{m},{depth}]
  %kp = permute(%k4) {{perm=[0,2,3,1]}} : f32[{batch},{heads},{depth},{n}]
  %up = permute(%u4) {{perm=[0,2,1,3]}} : f32[{batch},{heads},{n},{width}]
  %q3 = view(%qp) {{shape=[{entries},{m},{depth}]}} : f32[{entries},{m},{depth}]
  %k3 = view(%kp) {{shape=[{entries},{depth},{n}]}} : f32[{entries},{depth},{n}]
  %u3 = view(%up) {{shape=[{entries},{n},{width}]}} : f32[{entries},{n},{width}]
  %z = bmm(%q3, %k3) : f32[{entries},{m},{n}]
  {between.format(batch=batch, heads=heads, entries=entries, m=m, n=n)}
  %o = bmm(%p, %u3) : f32[{entries},{m},{width}]
  %o4 = view(%o) {{shape=[{batch},{heads},{m},{width}]}} : f32[{batch},{heads},{m},{width}]
  %op = permute(%o4) {{perm=[0,2,1,3]}} : f32[{batch},{m},{heads},{width}]
  %y = view(%op) {{shape=[{batch},{m},{heads * width}]}} : f32[{batch},{m},{heads * width}]
  %t = tanh(%y) : f32[{batch},{m},{heads * width}]
  return %t
}}
"""


PLAIN = "%p = softmax(%z) {{dim=2}} : f32[{entries},{m},{n}]"
SCALED = """%s = mul(%z, %scale) : f32[{entries},{m},{n}]
  %p = softmax(%s) {{dim=2}} : f32[{entries},{m},{n}]"""
MASKED = """%z4 = view(%z) {{shape=[{batch},{heads},{m},{n}]}} : f32[{batch},{heads},{m},{n}]
  %s = add(%z4, %k_mask) : f32[{batch},{heads},{m},{n}]
  %p4 = softmax(%s) {{dim=3}} : f32[{batch},{heads},{m},{n}]
  %p = view(%p4) {{shape=[{entries},{m},{n}]}} : f32[{entries},{m},{n}]"""
GUARDED = """%z4 = view(%z) {{shape=[{batch},{heads},{m},{n}]}} : f32[{batch},{heads},{m},{n}]
  %s = add(%z4, %k_mask) : f32[{batch},{heads},{m},{n}]
  %a = amax(%s) {{dims=[3], keepdim=true}} : f32[{batch},{heads},{m},1]
  %e = eq(%a, %none) : bool[{batch},{heads},{m},1]
  %f = softmax(%s) {{dim=3}} : f32[{batch},{heads},{m},{n}]
  %p4 = where(%e, %zero, %f) : f32[{batch},{heads},{m},{n}]
  %p = view(%p4) {{shape=[{entries},{m},{n}]}} : f32[{entries},{m},{n}]"""
WITHOUT_SOFTMAX = """%s = silu(%z) : f32[{entries},{m},{n}]
  %p = mul(%s, %scale) : f32[{entries},{m},{n}]"""


@pytest.mark.parametrize("between", [PLAIN, SCALED, MASKED, GUARDED, WITHOUT_SOFTMAX])
@pytest.mark.parametrize("batch", [1, 5])
def test_what_stands_between_the_products(own_cache, between, batch):
    case = row_case(heads_model(batch, (2, 5, 9), 4, 4, between))
    assert "Attention<" in kernel(case).text
    assert_right(case, run(case, own_cache))


@pytest.mark.parametrize(
    ("sizes", "depth", "width"),
    [
        ((1, 1, 1), 1, 1),
        ((1, 3, 2), 3, 5),
        ((3, 7, 17), 6, 2),
        ((2, 26, 26), 8, 8),
        ((1, 9, 33), 40, 12),
        ((1, 4, 5), 100, 68),
    ],
)
@pytest.mark.parametrize("batch", [1, 5])
def test_ragged_sizes(own_cache, sizes, depth, width, batch):
    case = row_case(heads_model(batch, sizes, depth, width, SCALED))
    assert "Attention<" in kernel(case).text
    assert_right(case, run(case, own_cache))


@pytest.mark.parametrize("returned", ["%t", "%t, %qs"])
def test_the_products_are_scaled_where_the_queries_were(own_cache, returned):
    scaled = "%qs = mul(%scale, %q3) : f32[10,5,4]\n  %z = bmm(%qs, %k3)"
    text = heads_model(5, (2, 5, 9), 4, 4, PLAIN).replace("%z = bmm(%q3, %k3)", scaled)
    case = row_case(text.replace("return %t", f"return {returned}"))
    assert "product * 0.3" in kernel(case).text
    assert_right(case, run(case, own_cache))


@pytest.mark.parametrize(("keys", "values"), [("s", "s"), ("s", "e"), ("e", "s")])
@pytest.mark.parametrize("time", [1, 3])
def test_scaled_rows_that_attend_to_each_other(own_cache, time, keys, values):
    """Queries times a number that are keys or values, too, as of embeddings times sqrt(width)."""
    case = row_case(
        f"""graph @own {{
              input %ids : i64[5,{time}]
              weight %t : f32[9,4] = "t"
              weight %w : f32[4,4] = "w"
              const %two : f32[] = 2.0
              %e = embedding(%t, %ids) : f32[5,{time},4]
              %s = mul(%e, %two) : f32[5,{time},4]
              %z = bmm(%s, %{keys}) {{trans_b=true}} : f32[5,{time},{time}]
              %p = softmax(%z) {{dim=2}} : f32[5,{time},{time}]
              %o = bmm(%p, %{values}) : f32[5,{time},4]
              %y = linear(%o, %w) : f32[5,{time},4]
              return %y
            }}
        """
    )
    assert "Attention<" in kernel(case).text
    assert_right(case, run(case, own_cache))


def test_the_order_of_threads_does_not_matter(own_cache):
    case = row_case(heads_model(5, (2, 6, 7), 20, 24, MASKED))
    assert_right(case, run(case, own_cache, every_order=True))


def test_results_go_into_the_operand_tile_of_the_next_layer(own_cache):
    text = heads_model(5, (2, 6, 7), 20, 24, SCALED)
    text = text.replace('= "v"', '= "v"\n  weight %l : f32[10,48] = "l"')
    text = text.replace("%t = tanh(%y) : f32[5,6,48]", "%t = linear(%y, %l) : f32[5,6,10]")
    case = row_case(text)
    assert "{t_x_tile}" in kernel(case).text
    assert_right(case, run(case, own_cache, every_order=True))


@pytest.mark.parametrize("between", [MASKED, GUARDED])
def test_masked_keys_and_rows(own_cache, between):
    case = row_case(heads_model(5, (2, 5, 9), 4, 4, between))
    mask = case.inputs["k_mask"]
    mask[0, :, :, 3:] = -np.inf
    mask[1] = -np.inf
    mask[2, :, :, :8] = -np.inf
    mask[3, :, :, 0] = np.inf
    mask[4, :, :, 2] = np.nan
    assert_same_infinities(case, run(case, own_cache))


def test_infinite_values_meet_weights_of_zero(own_cache):
    case = row_case(heads_model(3, (1, 2, 9), 4, 4, MASKED))
    case.inputs["k_mask"][:, :, :, 4] = -np.inf
    case.inputs["c"][0, 4] = np.inf
    assert_same_infinities(case, run(case, own_cache))


def test_results_that_tf32_products_read_are_rounded(own_cache):
    text = heads_model(5, (1, 5, 9), 4, 8, PLAIN)
    head, _, _ = text.partition("  %o4 = ")
    case = row_case(f"{head}  %r = round_tf32(%o) : f32[5,5,8]\n  return %r\n}}\n")
    assert "EntryView<tf32" in kernel(case).text
    ran = run(case, own_cache)
    # A product that lies near the middle of two TF32 numbers may be rounded to either.
    wanted = evaluate(case.emitted.graph, case.inputs, case.weights)
    np.testing.assert_allclose(ran.outputs[0], wanted[0], rtol=2**-10)
    assert not np.any(ran.outputs[0].view(np.uint32) & 0x1FFF)


def assert_same_infinities(case, ran) -> None:
    with np.errstate(all="ignore"):
        wanted = evaluate(case.emitted.graph, case.inputs, case.weights)
    for found, right in zip(ran.outputs, wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=3e-6, atol=3e-6, equal_nan=True)


@pytest.mark.parametrize(
    "unfused",
    [
        # Another reader of the scores, of the weights; a softmax over the queries; a mean in between.
        "%p = softmax(%z) {{dim=1}} : f32[{entries},{m},{n}]",
        """%r = amax(%z) {{dims=[2], keepdim=true}} : f32[{entries},{m},1]
  %s = sub(%z, %r) : f32[{entries},{m},{n}]
  %p = softmax(%s) {{dim=2}} : f32[{entries},{m},{n}]""",
        """%s = softmax(%z) {{dim=2}} : f32[{entries},{m},{n}]
  %p = mul(%s, %s) : f32[{entries},{m},{n}]""",
    ],
)
def test_near_misses_keep_their_stages(own_cache, unfused):
    case = row_case(heads_model(3, (2, 4, 13), 4, 4, unfused))
    assert "Attention<" not in kernel(case).text
    assert_right(case, run(case, own_cache))


@pytest.mark.parametrize(("keepdim", "shape"), [("true", "3,3,1"), ("false", "3,3")])
def test_the_guard_of_masked_rows_is_of_the_same_rows(keepdim, shape):
    """Without its last dimension the condition broadcasts to other rows, where sizes are equal."""
    graph = parse_graph(f"""graph @guarded {{
  input %q : f32[3,3,4]
  input %v : f32[3,3,4]
  const %none : f32[] = -inf
  const %zero : f32[] = 0.0
  %s = bmm(%q, %v) {{trans_b=true}} : f32[3,3,3]
  %a = amax(%s) {{dims=[2], keepdim={keepdim}}} : f32[{shape}]
  %e = eq(%a, %none) : bool[{shape}]
  %f = softmax(%s) {{dim=2}} : f32[3,3,3]
  %p = where(%e, %zero, %f) : f32[3,3,3]
  %o = bmm(%p, %v) : f32[3,3,4]
  return %o
}}
""")
    found = find_attention(graph, graph.outputs[0])
    assert (found is not None) == (keepdim == "true")


@pytest.mark.parametrize("threads", [32, 256, 512])
def test_a_thread_keeps_what_its_registers_hold(threads):
    for depth in (1, 8, 64, 256):
        for entries, m in ((1, 1), (16, 26), (4, 200)):
            shape = AttentionShape(entries, m, 50, depth, depth)
            tile = choose_attention_tile(shape, threads)
            assert tile.kept(shape) <= 64
            assert tile.queries <= m
