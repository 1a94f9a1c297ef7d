"""Programs that are one row program each, with arrays for their inputs and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dlrmc.codegen.emit import emit_module
from dlrmc.ir.graph import Graph
from dlrmc.ir.op import Array
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.types import DType
from dlrmc.passes import driver
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.schedule.build import build_plan
from dlrmc.schedule.limits import DeviceLimits
from tests.golden.plan_runner import Emitted

# With few multiprocessors tiles are tall and blocks work on several of them at small batches too.
SMALL_DEVICE = DeviceLimits(multiprocessors=2)


@dataclass(frozen=True)
class RowCase:
    """A program and a request.

    Args:
        emitted: the fused program.
        inputs: by name.
        weights: by target.
    """

    emitted: Emitted
    inputs: Mapping[str, Array]
    weights: Mapping[str, Array]


def row_case(text: str, seed: int = 0, limits: DeviceLimits = SMALL_DEVICE) -> RowCase:
    """The case of a program whose integer inputs are ids below 7, or offsets where named `off...`."""
    graph = parse_graph(text)
    rng = np.random.default_rng(seed)
    counts = {node.name.removeprefix("ids"): node.type.numel for node in graph.inputs if _is_ids(node.name)}
    inputs = {node.name: _input(node, rng, counts) for node in graph.inputs}
    weights = {
        node.target: (0.15 * rng.standard_normal(node.shape)).astype(node.type.dtype.numpy)
        for node in graph.nodes
        if node.is_op("weight")
    }
    driver.run(graph, PIPELINE)
    return RowCase(_emit(graph, limits), inputs, weights)


def _is_ids(name: str) -> bool:
    return name.startswith("ids")


def _input(node, rng: np.random.Generator, counts: Mapping[str, int]) -> Array:
    if node.type.dtype is DType.F32:
        return rng.standard_normal(node.shape).astype(np.float32)
    if _is_ids(node.name):
        return rng.integers(0, 7, node.shape).astype(node.type.dtype.numpy)
    cuts = np.sort(rng.integers(0, counts[node.name.removeprefix("off")] + 1, node.shape))
    cuts[0] = 0
    return cuts.astype(node.type.dtype.numpy)


def _emit(graph: Graph, limits: DeviceLimits) -> Emitted:
    plan = build_plan(graph)
    return Emitted(graph, plan, emit_module(plan, limits, graph))


def dot_model(batch: int, tables: int, dim: int, ids_dtype: str = "i64", top: int = 10) -> str:
    """Bags of `tables` tables, pair dots with a dense row, and a linear layer over both."""
    features = tables + 1
    pairs = features * (features - 1) // 2
    each = range(tables)
    lines = [
        "graph @dots {",
        f"  input %x : f32[{batch},3]",
        *(f"  input %ids{t} : {ids_dtype}[{3 * batch + t}]" for t in each),
        *(f"  input %off{t} : i64[{batch}]" for t in each),
        f'  weight %w : f32[{dim},3] = "w"',
        f'  weight %b : f32[{dim}] = "b"',
        f'  weight %v : f32[{top},{dim + pairs}] = "v"',
        *(f'  weight %t{t} : f32[{7 + t},{dim}] = "t{t}"' for t in each),
        f"  %d = linear(%x, %w, %b) {{act=relu}} : f32[{batch},{dim}]",
        *(f"  %e{t} = embedding_bag(%t{t}, %ids{t}, %off{t}) : f32[{batch},{dim}]" for t in each),
        f"  %p = pairwise_dot(%d, {', '.join(f'%e{t}' for t in each)}) : f32[{batch},{pairs}]",
        f"  %y = linear([%d, %p], %v) {{act=sigmoid}} : f32[{batch},{top}]",
        "  return %y, %d",
        "}",
    ]
    return "\n".join(lines) + "\n"


def mixed_model(batch: int) -> str:
    """A cross layer, lookups, attention within a request, norms, and three results."""
    return f"""graph @mixed {{
  input %x : f32[{batch},5]
  input %ids : i32[{batch},2]
  weight %t : f32[9,3] = "t"
  weight %w : f32[11,11] = "w"
  weight %b : f32[11] = "b"
  weight %v : f32[2,11] = "v"
  %e = embedding(%t, %ids) : f32[{batch},2,3]
  %flat = view(%e) {{shape=[{batch},6]}} : f32[{batch},6]
  %x0 = cat(%x, %flat) {{dim=1}} : f32[{batch},11]
  %l = linear(%x0, %w, %b) : f32[{batch},11]
  %m = mul(%x0, %l) : f32[{batch},11]
  %x1 = add(%m, %x0) : f32[{batch},11]
  %n = layer_norm(%x1) {{eps=1e-05}} : f32[{batch},11]
  %s = softmax(%n) {{dim=1}} : f32[{batch},11]
  %q = bmm(%e, %e) {{trans_b=true}} : f32[{batch},2,2]
  %a = amax(%q) {{dims=[1]}} : f32[{batch},2]
  %y = linear(%s, %v) {{act=tanh}} : f32[{batch},2]
  return %y, %a, %x1
}}
"""


def attention_model(batch: int, time: int, heads: int, width: int) -> str:
    """Attention with time in front and the heads beside the batch, as `nn.MultiheadAttention` computes it."""
    size, every = width // heads, batch * heads
    return f"""graph @attention {{
  input %ids : i64[{batch},{time}]
  weight %t : f32[9,{width}] = "t"
  weight %w : f32[{3 * width},{width}] = "w"
  weight %v : f32[{width},{width}] = "v"
  %e = embedding(%t, %ids) : f32[{batch},{time},{width}]
  %x = permute(%e) {{perm=[1,0,2]}} : f32[{time},{batch},{width}]
  %l = linear(%x, %w) : f32[{time},{batch},{3 * width}]
  %split = view(%l) {{shape=[{time},{batch},3,{width}]}} : f32[{time},{batch},3,{width}]
  %q = select(%split) {{dim=2, index=0}} : f32[{time},{batch},{width}]
  %k = select(%split) {{dim=2, index=1}} : f32[{time},{batch},{width}]
  %qh = view(%q) {{shape=[{time},{every},{size}]}} : f32[{time},{every},{size}]
  %kh = view(%k) {{shape=[{time},{every},{size}]}} : f32[{time},{every},{size}]
  %u = linear(%x, %v) : f32[{time},{batch},{width}]
  %uh = view(%u) {{shape=[{time},{every},{size}]}} : f32[{time},{every},{size}]
  %qb = permute(%qh) {{perm=[1,0,2]}} : f32[{every},{time},{size}]
  %kb = permute(%kh) {{perm=[1,0,2]}} : f32[{every},{time},{size}]
  %ub = permute(%uh) {{perm=[1,0,2]}} : f32[{every},{time},{size}]
  %z = bmm(%qb, %kb) {{trans_b=true}} : f32[{every},{time},{time}]
  %p = softmax(%z) {{dim=2}} : f32[{every},{time},{time}]
  %o = bmm(%p, %ub) : f32[{every},{time},{size}]
  %ot = permute(%o) {{perm=[1,0,2]}} : f32[{time},{every},{size}]
  %flat = view(%ot) {{shape=[{time},{batch},{width}]}} : f32[{time},{batch},{width}]
  %y = select(%flat) {{dim=0, index={time - 1}}} : f32[{batch},{width}]
  return %y
}}
"""


def softmax_model(batch: int, size: int) -> str:
    """A softmax over each line of a matrix a row, whose sums follow."""
    return f"""graph @lines {{
  input %x : f32[{batch},2,{size}]
  %e = sin(%x) : f32[{batch},2,{size}]
  %p = softmax(%e) {{dim=2}} : f32[{batch},2,{size}]
  %y = amax(%p) {{dims=[1]}} : f32[{batch},{size}]
  return %y
}}
"""
