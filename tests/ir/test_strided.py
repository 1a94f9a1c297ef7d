"""Strided windows against NumPy's as_strided."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from numpy.lib.stride_tricks import as_strided

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Array
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.reference import evaluate_all
from dlrmc.ir.strided import (
    Strided,
    packed_strides,
    reshape_strides,
    resolve_strided,
    row_strides,
)
from dlrmc.ir.types import DType, TensorType
from tests.fuzz import graphs as steps

VIEWS = (steps._view, steps._permute, steps._expand, steps._slice, steps._select)


def read(buffer: Array, window: Strided) -> Array:
    """What the window shows of the root's flat buffer."""
    strides = tuple(stride * buffer.itemsize for stride in window.strides)
    return as_strided(buffer[window.offset :], window.shape, strides)


def contents(node: Node) -> tuple[Array, dict[str, Array]]:
    """Every element of the root by its number, and all values."""
    graph_inputs = np.arange(node.type.numel, dtype=np.float32)
    return graph_inputs, {node.name: graph_inputs.reshape(node.shape)}


@st.composite
def chains(draw: DrawFn) -> Graph:
    """A chain of views on one input."""
    draft = steps.Draft(draw, batch=2)
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    draft.float_input(shape)
    for step in draw(st.lists(st.sampled_from(VIEWS), min_size=1, max_size=6)):
        draft.values = draft.values[-1:]
        step(draft)
    draft.graph.set_outputs(draft.values[-1:])
    return draft.graph


@settings(max_examples=150, deadline=None)
@given(chains())
def test_a_window_shows_what_the_chain_of_views_gives(graph: Graph):
    root = graph.inputs[0]
    buffer, inputs = contents(root)
    values = evaluate_all(graph, inputs, {})
    for node in graph.nodes:
        window = resolve_strided(node)
        if window is None:
            continue
        assert window.root is root
        assert window.shape == node.shape
        np.testing.assert_array_equal(read(buffer, window), values[node.name])


@settings(max_examples=150, deadline=None)
@given(chains())
def test_no_window_means_that_numpy_copies_too(graph: Graph):
    """A view that resolves to nothing cannot be had by strides: NumPy's reshape has to copy."""
    root = graph.inputs[0]
    buffer, _ = contents(root)
    for node in graph.nodes:
        if not node.is_op("view"):
            continue
        below = resolve_strided(node.inputs[0])
        if below is None or 0 in below.strides:
            continue
        shown = read(buffer, below)
        is_copy = not np.shares_memory(shown.reshape(node.shape), buffer)
        assert (resolve_strided(node) is None) == is_copy


@settings(max_examples=100, deadline=None)
@given(chains())
def test_contiguous_and_rows(graph: Graph):
    buffer, inputs = contents(graph.inputs[0])
    node = graph.outputs[0]
    value = evaluate_all(graph, inputs, {})[node.name]
    window = resolve_strided(node)
    if window is None:
        return
    if window.is_contiguous:
        part = buffer[window.offset : window.offset + node.type.numel]
        np.testing.assert_array_equal(part, value.reshape(-1))
    rows = row_strides(window)
    if rows is not None:
        shape = (math.prod(node.shape[:-1]), node.shape[-1])
        matrix = as_strided(buffer[window.offset :], shape, tuple(4 * stride for stride in rows))
        np.testing.assert_array_equal(matrix, value.reshape(shape))


def window_of(text: str) -> Strided | None:
    graph = parse_graph(f"graph @g {{ input %x : f32[2,3,4] {text} return }}")
    return resolve_strided(graph.nodes[-1])


@pytest.mark.parametrize(
    ("text", "offset", "strides"),
    [
        ("", 0, (12, 4, 1)),
        ("%y = permute(%x) {perm=[0,2,1]} : f32[2,4,3]", 0, (12, 1, 4)),
        ("%y = select(%x) {dim=1, index=2} : f32[2,4]", 8, (12, 1)),
        ("%y = slice(%x) {dim=2, start=1, stop=4, step=2} : f32[2,3,2]", 1, (12, 4, 2)),
        ("%y = view(%x) {shape=[6,4]} : f32[6,4]", 0, (4, 1)),
        ("%y = view(%x) {shape=[2,1,12]} : f32[2,1,12]", 0, (12, 12, 1)),
        (
            "%s = select(%x) {dim=0, index=1} : f32[3,4] %y = expand(%s) {shape=[5,3,4]} : f32[5,3,4]",
            12,
            (0, 4, 1),
        ),
    ],
)
def test_single_views(text: str, offset: int, strides: tuple[int, ...]):
    window = window_of(text)
    assert window is not None
    assert (window.offset, window.strides) == (offset, strides)


def test_a_view_across_strides_has_no_window():
    assert (
        window_of("%p = permute(%x) {perm=[2,1,0]} : f32[4,3,2] %y = view(%p) {shape=[24]} : f32[24]") is None
    )


def test_a_view_on_what_has_no_window_has_none():
    text = "%p = permute(%x) {perm=[2,1,0]} : f32[4,3,2] %y = view(%p) {shape=[24]} : f32[24]"
    assert window_of(f"{text} %z = slice(%y) {{dim=0, start=0, stop=1}} : f32[1]") is None


def test_what_is_no_view_is_its_own_root():
    window = window_of("%y = relu(%x) : f32[2,3,4]")
    assert window is not None
    assert window.root.name == "y"
    assert window.is_contiguous


def test_a_root_may_have_strides_of_its_own():
    graph = parse_graph(
        "graph @g { input %x : f32[2,3] %y = permute(%x) {perm=[1,0]} : f32[3,2] "
        "%z = view(%x) {shape=[6]} : f32[6] return }"
    )
    strides = {graph.find("x"): (8, 1)}
    window = resolve_strided(graph.find("y"), strides)
    assert window == Strided(graph.find("x"), 0, (3, 2), (1, 8))
    assert resolve_strided(graph.find("z"), strides) is None


@pytest.mark.parametrize(
    ("shape", "strides", "target", "result"),
    [
        ((2, 3), (3, 1), (6,), (1,)),
        ((2, 3), (8, 1), (6,), None),
        ((2, 3), (8, 1), (1, 2, 1, 3, 1), (1, 8, 3, 1, 1)),
        ((6,), (2,), (2, 3), (6, 2)),
        ((4, 6), (1, 4), (2, 2, 3, 2), (2, 1, 8, 4)),
        ((4, 6), (1, 4), (8, 3), None),
        ((3, 4), (0, 1), (12,), None),
        ((3, 4), (0, 0), (12,), (0,)),
        ((), (), (1, 1), (1, 1)),
        ((1, 1), (7, 9), (), ()),
        ((0, 3), (3, 1), (3, 0), (0, 1)),
    ],
)
def test_strides_in_another_shape(
    shape: Sequence[int], strides: Sequence[int], target: Sequence[int], result: Sequence[int] | None
):
    found = reshape_strides(tuple(shape), tuple(strides), tuple(target))
    if result is None:
        assert found is None
        return
    assert found is not None
    # Only the strides of dimensions that have more than one element are read.
    read_ones = [(a, b) for a, b, size in zip(found, result, target, strict=True) if size > 1]
    assert all(a == b for a, b in read_ones)


def test_packed_strides():
    assert packed_strides((2, 3, 4)) == (12, 4, 1)
    assert packed_strides(()) == ()
    assert packed_strides((2, 1, 4), like=(9, 9, 9)) == (4, 9, 1)


@pytest.mark.parametrize(
    ("shape", "strides", "rows"),
    [
        ((2, 3, 4), (12, 4, 1), (4, 1)),
        ((2, 3, 4), (24, 4, 1), None),
        ((2, 4), (9, 2), (9, 2)),
        ((4,), (3,), (1, 3)),
        ((5, 1), (7, 99), (7, 1)),
        ((), (), None),
    ],
)
def test_rows_of_a_window(shape: tuple[int, ...], strides: tuple[int, ...], rows: tuple[int, int] | None):
    root = Graph("g").input("x", TensorType(DType.F32, shape))
    assert row_strides(Strided(root, 0, shape, strides)) == rows


@pytest.mark.parametrize(
    ("shape", "strides", "is_contiguous"),
    [((2, 3), (3, 1), True), ((2, 1), (1, 77), True), ((2, 3), (1, 2), False), ((2, 3), (0, 1), False)],
)
def test_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], is_contiguous: bool):
    root = Graph("g").input("x", TensorType(DType.F32, shape))
    assert Strided(root, 3, shape, strides).is_contiguous == is_contiguous
