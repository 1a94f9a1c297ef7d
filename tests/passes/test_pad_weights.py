"""Weights of wide layers get columns of zeros at load, so that a bulk copy leaves no two rows in one bank."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.reference import evaluate
from dlrmc.passes.fuse_rows import fuse_rows


def fused(n: int, k: int, dtype: str = "f32") -> Graph:
    graph = parse_graph(f"""graph @g {{
        input %x : {dtype}[8,{k}]
        weight %w : {dtype}[{n},{k}] = "w"
        %a = relu(%x) : {dtype}[8,{k}]
        %b = linear(%a, %w) {{act=relu}} : {dtype}[8,{n}]
        return %b
    }}""")
    fuse_rows(graph)
    return graph


def padded(graph: Graph) -> list[tuple[int, ...]]:
    return [node.shape for node in graph.nodes if node.is_op("derive")]


def test_a_k_of_whole_rows_of_banks_is_padded() -> None:
    graph = fused(16, 96)
    assert padded(graph) == [(16, 112)]
    (kernel,) = [node for node in graph.nodes if node.is_op("kernel")]
    assert [node.op.name for node in kernel.body.nodes if not node.is_op("input")] == [
        "relu",
        "slice",
        "linear",
    ]


@pytest.mark.parametrize(("n", "k"), [(16, 112), (8, 96), (16, 32), (16, 100)])
def test_other_layers_keep_their_weights(n: int, k: int) -> None:
    assert padded(fused(n, k)) == []


def test_the_value_stays() -> None:
    generator = np.random.default_rng(1)
    x = generator.standard_normal((8, 96), np.float32)
    w = generator.standard_normal((16, 96), np.float32)
    (value,) = evaluate(fused(16, 96), {"x": x}, {"w": w})
    np.testing.assert_allclose(value, np.maximum(np.maximum(x, 0) @ w.T, 0), rtol=1e-5)
