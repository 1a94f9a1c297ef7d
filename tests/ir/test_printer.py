from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import format_array, format_attribute, format_scalar, print_graph, print_node
from dlrmc.ir.types import DType, TensorType, parse_tensor_type

F = parse_tensor_type("f32[2,3]")


def test_a_whole_graph():
    graph = Graph("main")
    w = graph.weight("bot.0.weight", parse_tensor_type("f32[4,3]"), "bot.0.weight")
    k = graph.const("k", np.array([1, 2, 2]))
    x = graph.input("x", F)
    relu = graph.add("linear", ((x,), w, None), {"act": "relu"}, name="relu")
    graph.set_outputs([relu, k])
    assert print_graph(graph) == (
        "graph @main {\n"
        "  input %x : f32[2,3]\n"
        '  weight %bot_0_weight : f32[4,3] = "bot.0.weight"\n'
        "  const %k : i64[3] = [1,2,2]\n"
        "  %relu = linear(%x, %bot_0_weight) {act=relu} : f32[2,4]\n"
        "  return %relu, %k\n"
        "}\n"
    )


def test_an_empty_graph():
    assert print_graph(Graph("g")) == "graph @g {\n  return\n}\n"


def test_a_kernel_and_its_items():
    graph, body = Graph("g"), Graph("body")
    x = graph.input("x", F)
    inner = body.input("x", F)
    renamed = body.input("p", F)
    body.set_outputs([body.add("add", (inner, renamed)), inner])
    schedule = {"impl": "row_program", "batch": 2, "threads": 64}
    kernel = graph.add("kernel", ((x, x),), schedule, body=body, name="k")
    graph.set_outputs([graph.add("item", (kernel,), {"index": 1})])
    assert print_graph(graph) == (
        "graph @g {\n"
        "  input %x : f32[2,3]\n"
        "  %k = kernel row_program<batch=2, threads=64>(%x, %p=%x) {\n"
        "    %add = add(%x, %p) : f32[2,3]\n"
        "    yield %add, %x\n"
        "  } : (f32[2,3], f32[2,3])\n"
        "  %item = item(%k) {index=1} : f32[2,3]\n"
        "  return %item\n"
        "}\n"
    )


def test_sources_are_comments_on_request():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.set_outputs([graph.add("relu", (x,), source="model.py:7 in forward")])
    assert "//" not in print_graph(graph)
    text = print_graph(graph, sources=True)
    assert "  %relu = relu(%x) : f32[2,3]  // model.py:7 in forward\n" in text
    assert print_graph(parse_graph(text)) == print_graph(graph)


def test_absent_operands():
    graph = Graph("g")
    table = graph.input("t", parse_tensor_type("f32[5,4]"))
    ids = graph.input("i", parse_tensor_type("i64[6]"))
    offsets = graph.input("o", parse_tensor_type("i64[3]"))
    weights = graph.input("w", parse_tensor_type("f32[6]"))
    bags = [
        graph.add("embedding_bag", (table, ids, offsets, None), name="plain"),
        graph.add("embedding_bag", (table, ids, offsets, weights), name="weighted"),
        graph.add("embedding_bag_group", ((table,), (ids,), (offsets,), (None,)), name="group"),
        graph.add("index", (graph.input("x", F), (None, offsets)), name="right"),
        graph.add("index", (table, (ids, None)), name="left"),
    ]
    texts = [print_node(bag).partition("(")[2].partition(")")[0] for bag in bags]
    assert texts == [
        "%t, %i, %o",
        "%t, %i, %o, %w",
        "[%t], [%i], [%o], [_]",
        "%x, _, %o",
        "%t, %i, _",
    ]


def test_a_list_of_one_part_is_bare():
    graph = Graph("g")
    x, w = graph.input("x", F), graph.input("w", parse_tensor_type("f32[4,6]"))
    one = graph.add("linear", ((x,), graph.input("v", F), None))
    two = graph.add("linear", ((x, x), w, None))
    assert print_node(one).startswith("%linear = linear(%x, %v) ")
    assert print_node(two).startswith("%linear_1 = linear([%x, %x], %w) ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (1.0, "1.0"),
        (1e-5, "1e-05"),
        (float("-inf"), "-inf"),
        ("relu", "relu"),
        (DType.BF16, "bf16"),
        ((), "[]"),
        ((0, 2, 1), "[0,2,1]"),
        ((True, False), "[true,false]"),
        (("sum", "max"), "[sum,max]"),
    ],
)
def test_attributes(value, text: str):
    assert format_attribute(value) == text


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(2.5, np.float32), "2.5"),
        (np.array([[1, 2], [3, 4]]).T, "[1,3,2,4]"),
        (np.array([True, False]), "[true,false]"),
        (np.zeros((2, 0), np.float32), "[]"),
        (np.array([0.1, -0.0, np.nan, -np.inf], np.float32), "[0.1,-0.0,nan,-inf]"),
        (np.array([0.1], DType.BF16.numpy), "[0.1]"),
        (np.array([0.1], np.float16), "[0.1]"),
        (np.array([0.1], np.float64), "[0.1]"),
        (np.array([-128], np.int8), "[-128]"),
    ],
)
def test_arrays(array: np.ndarray, text: str):
    assert format_array(array) == text


def const_of(array: np.ndarray) -> Graph:
    graph = Graph("g")
    graph.set_outputs([graph.const("k", array)])
    return graph


def assert_reads_back(array: np.ndarray) -> None:
    """The text of a constant gives its bits, but for which NaN it is."""
    text = print_graph(const_of(array))
    read = parse_graph(text).find("k")
    assert print_graph(parse_graph(text)) == text
    assert read.type == TensorType(DType.of_numpy(array.dtype), array.shape)
    is_nan = array != array
    assert np.array_equal(is_nan, read.value != read.value)
    assert np.where(is_nan, 0, read.value).tobytes() == np.where(is_nan, 0, array).tobytes()


@given(arrays.arrays(st.sampled_from([np.float32, np.float64, np.float16]), arrays.array_shapes(min_dims=0)))
def test_a_float_constant_reads_back(array: np.ndarray):
    assert_reads_back(array)


@given(arrays.arrays(st.sampled_from([np.int64, np.int32, np.uint8, np.int8, np.bool_]), (3,)))
def test_an_integer_constant_reads_back(array: np.ndarray):
    assert_reads_back(array)


def test_bf16_numbers_read_back():
    everything = np.arange(0, 1 << 16, 11, dtype=np.uint16).view(DType.BF16.numpy)
    texts = [format_scalar(item) for item in everything]
    back = np.array([float(text) for text in texts]).astype(DType.BF16.numpy)
    is_number = ~np.isnan(everything.astype(np.float32))
    assert np.array_equal(back[is_number].view(np.uint16), everything[is_number].view(np.uint16))
    assert set(np.array(texts)[~is_number]) == {"nan"}


PROGRAM = """
import numpy as np
from dlrmc.ir.graph import Graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.types import parse_tensor_type

graph = Graph("g")
x = graph.input("x", parse_tensor_type("f32[2,3]"))
first = [graph.add(op, (x,)) for op in ("relu", "tanh", "exp", "neg", "abs", "sqrt", "sigmoid")]
for node in {*first}:
    graph.users(node)
graph.replace(first[3], graph.add("log", (first[0],)))
graph.set_outputs([graph.add("cat", (tuple(graph.users(x)),), {"dim": 1})])
print(print_graph(graph.copy()), end="")
"""


def test_the_same_bytes_under_two_hash_seeds():
    texts = []
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROGRAM]
        texts.append(
            subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
        )
    assert texts[0] == texts[1]
    assert texts[0].count("\n") == 12
