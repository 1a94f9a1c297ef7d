"""The order of the passes, and what they leave of real exported programs."""

from __future__ import annotations

import re
import warnings
from functools import cache

import numpy as np
import pytest
import torch

from dlrmc.frontend import import_program
from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.reference import evaluate
from dlrmc.passes.driver import find_passes, run
from dlrmc.passes.pipeline import PIPELINE, THEME_PASSES
from tests.models.plain import (
    FORMS,
    INDEX_FORMS,
    INPUT_FORMS,
    PlainConfig,
    StackedTableDlrm,
    build,
    example_inputs,
    export,
)
from tests.passes.feeds import assert_same_meaning

# What stands before vertical fusion and form-kernels.
BEFORE_KERNELS = PIPELINE[: next(i for i, each in enumerate(PIPELINE) if each.name == "fuse-rows")]
SEED_WIDTHS = {"rows": 4096, "dim": 16, "bottom": (64,), "top": (64, 32)}


@cache
def imported(config: PlainConfig, form: str) -> str:
    """The text of an exported plain model."""
    args, kwargs = example_inputs(config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return print_graph(import_program(export(build(config), args, kwargs, form)).graph)


def passed(text: str) -> Graph:
    """The graph of a text after the passes before the kernels; they keep its meaning."""
    before, graph = parse_graph(text), parse_graph(text)
    run(graph, BEFORE_KERNELS)
    assert_same_meaning(before, graph, seeds=(0,))
    return graph


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not node.is_op("input", "weight", "const")]


def test_names_are_those_of_the_files() -> None:
    for each in (*PIPELINE, *THEME_PASSES):
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", each.name)
        assert each.why.endswith(".")
    assert PIPELINE[-1].name == "form-kernels"


@pytest.mark.parametrize("num_cat", [3, 32])
@pytest.mark.parametrize("form", FORMS)
def test_the_plain_model_is_seven_ops(num_cat: int, form: str) -> None:
    graph = passed(imported(PlainConfig(num_cat=num_cat, **SEED_WIDTHS), form))
    assert ops(graph) == [
        *["linear"] * 2,
        "embedding_bag_group",
        "pairwise_dot",
        *["linear"] * 3,
    ]
    lines = print_graph(graph).splitlines()
    assert sum("{act=relu}" in line for line in lines) == 4
    assert sum("{act=sigmoid}" in line for line in lines) == 1
    assert any("pairwise_dot(%relu_1, %bags)" in line for line in lines)
    assert any("linear([%relu_1, %index], %top_0_weight, %top_0_bias)" in line for line in lines)


@pytest.mark.parametrize("num_cat", [3, 32])
def test_all_forms_of_import_give_the_same_text(num_cat: int) -> None:
    config = PlainConfig(num_cat=num_cat, **SEED_WIDTHS)
    texts = {form: print_graph(passed(imported(config, form))) for form in FORMS}
    assert texts["canon"] == texts["undecomposed"]
    assert texts["core"] == texts["undecomposed"]


@pytest.mark.parametrize(
    ("interaction", "join", "form"),
    [
        *(("dot", join, form) for join in ("cat", "stack", "view") for form in FORMS),
        *((interaction, "cat", "undecomposed") for interaction in ("dot_diag", "upper")),
    ],
)
def test_every_way_to_write_the_interaction(interaction: str, join: str, form: str) -> None:
    graph = passed(imported(PlainConfig(interaction=interaction, join=join), form))
    assert ops(graph) == ["linear", "linear", "embedding_bag_group", "pairwise_dot", "linear", "linear"]
    [dots] = [node for node in graph.nodes if node.is_op("pairwise_dot")]
    pairs = {"dot": "strict_lower", "dot_diag": "lower", "upper": "strict_upper"}
    assert dots.attributes.str("pairs") == pairs[interaction]
    assert [operand.name for operand in dots.inputs] == ["relu_1", "bags"]


@pytest.mark.parametrize("join", ["cat", "stack", "view"])
def test_interaction_by_cat_reads_the_group_as_columns(join: str) -> None:
    graph = passed(imported(PlainConfig(interaction="cat", join=join), "undecomposed"))
    assert ops(graph) == ["linear", "linear", "embedding_bag_group", "view", "linear", "linear"]


@pytest.mark.parametrize("index_form", INDEX_FORMS)
def test_every_way_to_hold_the_pair_table(index_form: str) -> None:
    assert "pairwise_dot" in ops(passed(imported(PlainConfig(index_form=index_form), "undecomposed")))


@pytest.mark.parametrize("inputs", INPUT_FORMS)
def test_every_way_to_pass_the_inputs(inputs: str) -> None:
    graph = passed(imported(PlainConfig(inputs=inputs), "canon"))
    kept = [op for op in ops(graph) if op != "select"]
    assert kept == ["linear", "linear", "embedding_bag_group", "pairwise_dot", "linear", "linear"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", ["mean", "max"])
def test_other_dtypes_and_modes(dtype: torch.dtype, mode: str) -> None:
    graph = passed(imported(PlainConfig(dtype=dtype, mode=mode), "undecomposed"))
    assert ops(graph) == ["linear", "linear", "embedding_bag_group", "pairwise_dot", "linear", "linear"]


@pytest.mark.parametrize("form", FORMS)
def test_one_stacked_table_by_index_select_view_sum(form: str) -> None:
    config = PlainConfig()
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3), torch.randint(0, config.num_cat * config.rows, (2 * config.num_cat * 2,)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        program = import_program(export(StackedTableDlrm(config).eval(), inputs, None, form))
    graph = passed(print_graph(program.graph))
    kept = [op for op in ops(graph) if op != "view"]
    assert kept == ["linear", "linear", "embedding_bag", "pairwise_dot", "linear", "linear"]


def test_shuffled_pairs_keep_the_product_and_the_lookup() -> None:
    text = imported(PlainConfig(), "undecomposed")
    shuffled = text.replace("[1,2,2,3,3,3]", "[2,1,2,3,3,3]")
    assert shuffled != text
    graph = passed(shuffled)
    assert "pairwise_dot" not in ops(graph)
    assert {"bmm", "index"} <= set(ops(graph))


def test_a_gram_matrix_that_is_returned_too_is_kept() -> None:
    text = imported(PlainConfig(), "undecomposed")
    graph = passed(text.replace("return %sigmoid", "return %sigmoid, %bmm"))
    assert "pairwise_dot" not in ops(graph)
    assert {"bmm", "index", "cat"} <= set(ops(graph))


def test_ragged_and_empty_bags_score_as_before() -> None:
    before = parse_graph(imported(PlainConfig(), "undecomposed"))
    after = passed(print_graph(before))
    random = np.random.default_rng(3)
    weights = {
        node.target: random.standard_normal(node.shape).astype(np.float32)
        for node in before.nodes
        if node.is_op("weight")
    }
    inputs = {node.name: random.standard_normal(node.shape).astype(np.float32) for node in before.inputs}
    inputs |= {f"indices_{k}": random.integers(0, 50, 4) for k in range(3)}
    for offsets in ([0, 0], [0, 4], [0, 1], [0, 3]):
        inputs |= {f"offsets_{k}": np.array(offsets) for k in range(3)}
        [wanted], [found] = evaluate(before, inputs, weights), evaluate(after, inputs, weights)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_a_second_run_of_any_pass_changes_nothing(form: str) -> None:
    graph = parse_graph(imported(PlainConfig(), form))
    for each in (*PIPELINE, *THEME_PASSES):
        run(graph, (each,))
        text = print_graph(graph)
        again = run(graph, (each,))
        assert again[0].changes == 0, each.name
        assert print_graph(graph) == text


def test_the_themes_are_the_peepholes() -> None:
    text = imported(PlainConfig(), "core")
    whole, parts = parse_graph(text), parse_graph(text)
    run(whole, find_passes(["peepholes", "dce"], PIPELINE))
    for _ in range(4):
        run(parts, THEME_PASSES)
    run(parts, find_passes(["dce"], PIPELINE))
    assert print_graph(parts) == print_graph(whole)
