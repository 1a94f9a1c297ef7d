"""What the compiler makes of each golden program: after the import, at the end, and as CUDA."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dlrmc.codegen.source import ModuleSource
from dlrmc.ir.graph import Graph
from dlrmc.ir.ops.interaction import pair_indices
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.verify import verify
from dlrmc.passes import driver
from dlrmc.passes.pipeline import PIPELINE, UNFUSED_PIPELINE
from tests.golden import programs
from tests.golden.plan_runner import Emitted
from tests.models.plain import FORMS, pair_table

Golden = Callable[[str, str], None]
# Its texts are those of `plain` with more tables; only its kernels are counted.
COUNTED_ONLY = ("wide",)
NAMES = [name for name in programs.PROGRAMS if name not in COUNTED_ONLY]
# How many kernels a request takes where no rows are fused.
UNFUSED_KERNELS = {
    "plain": 7,
    "wide": 7,
    "stacked_table": 6,
    "diagonal": 6,
    "upper": 6,
    "cat": 5,
    "bf16": 6,
    "mlp": 3,
    "two_results": 6,
    "unused_input": 6,
}


def final(name: str, form: str = "undecomposed", *, is_fused: bool = True) -> Graph:
    graph = programs.imported(name, form).graph.copy()
    driver.run(graph, PIPELINE if is_fused else UNFUSED_PIPELINE)
    return graph


def kernels(graph: Graph) -> list[str]:
    """The implementation of each kernel, in order."""
    return [node.attributes.str("impl") for node in graph.nodes if node.is_op("kernel")]


def body_ops(graph: Graph) -> set[str]:
    bodies = [node.body for node in graph.nodes if node.is_op("kernel")]
    return {inner.op.name for body in bodies for inner in body.nodes}


def kernel_texts(module: ModuleSource) -> str:
    """The kernels without the device code that they include, which stands in files of its own."""
    texts = [
        f"// includes {', '.join(kernel.includes) or 'nothing'}\n{kernel.text}" for kernel in module.kernels
    ]
    return module.text[: module.text.index("\n\n")] + "\n\n" + "\n\n".join(texts)


@pytest.mark.parametrize("name", NAMES)
def test_the_import_and_final_stages(name: str, golden: Golden):
    graph = programs.imported(name).graph
    golden(f"{name}/import.ir", print_graph(graph))
    golden(f"{name}/final.ir", print_graph(final(name)))


@pytest.mark.parametrize("name", NAMES)
def test_the_kernels(name: str, golden: Golden):
    golden(f"{name}/kernels.cu", kernel_texts(Emitted.of(final(name)).module))


@pytest.mark.parametrize("name", ["plain", "cat"])
def test_the_kernels_without_fused_rows(name: str, golden: Golden):
    graph = final(name, is_fused=False)
    golden(f"{name}/unfused.ir", print_graph(graph))
    golden(f"{name}/unfused.cu", kernel_texts(Emitted.of(graph).module))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_export_ends_in_one_text(form: str, golden: Golden):
    graph = programs.imported("plain", form).graph
    golden("plain/import.ir" if form == "undecomposed" else f"plain/import_{form}.ir", print_graph(graph))
    golden("plain/final.ir", print_graph(final("plain", form)))
    golden("plain/unfused.ir", print_graph(final("plain", form, is_fused=False)))


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_the_number_of_kernels(name: str):
    # A row program takes no 16-bit floats.
    is_fused = name != "bf16"
    assert len(kernels(final(name))) == (1 if is_fused else UNFUSED_KERNELS[name])
    assert ("row_program" in kernels(final(name))) == is_fused
    assert len(kernels(final(name, is_fused=False))) == UNFUSED_KERNELS[name]


@pytest.mark.parametrize("name", ["plain", "wide"])
def test_a_plain_dlrm_is_seven_kernels_without_fused_rows(name: str):
    graph = final(name, is_fused=False)
    assert kernels(graph) == [
        "linear",
        "linear",
        "embedding_bag",
        "pairwise_dot",
        "linear",
        "linear",
        "linear",
    ]


@pytest.mark.parametrize("name", programs.PROGRAMS)
@pytest.mark.parametrize("is_fused", [True, False], ids=["fused", "unfused"])
def test_nothing_is_copied_cast_or_concatenated(name: str, is_fused: bool):
    graph = final(name, is_fused=is_fused)
    assert not body_ops(graph) & {"cat", "cast", "bmm", "index", "addmm", "embedding"}
    assert not [node for node in graph.nodes if node.is_op("assemble")]
    assert "map" not in kernels(graph)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_the_final_text_reads_back(name: str):
    text = print_graph(final(name))
    again = parse_graph(text)
    verify(again)
    assert print_graph(again) == text


@pytest.mark.parametrize(
    ("name", "pairs"), [("plain", "strict_lower"), ("diagonal", "lower"), ("upper", "strict_upper")]
)
def test_the_pairs_are_those_of_the_model(name: str, pairs: str):
    (kernel,) = [node for node in final(name).nodes if node.is_op("kernel")]
    (dots,) = [node for node in kernel.body.nodes if node.is_op("pairwise_dot")]
    assert dots.attributes.str("pairs") == pairs
    config = programs.CONFIG if name == "plain" else programs.SMALL
    interaction = {"plain": "dot", "diagonal": "dot_diag", "upper": "upper"}[name]
    tables = pair_table(programs.replace(config, interaction=interaction))
    for wanted, found in zip(tables, pair_indices(pairs, config.features), strict=True):
        assert wanted.tolist() == found.tolist()


def test_16_bit_weights_stay_16_bit():
    graph = final("bf16")
    assert {str(node.type.dtype) for node in graph.nodes if node.is_op("weight")} == {"bf16"}
    assert str(graph.outputs[0].type) == f"bf16[{programs.BATCH},1]"


def test_an_unused_input_stays_in_the_signature_and_reaches_no_kernel():
    graph = final("unused_input")
    labels = graph.inputs[-1]
    assert str(labels.type) == f"f32[{programs.BATCH}]"
    assert graph.use_count(labels) == 0
    assert len(programs.imported("unused_input").warnings) == 1


def test_two_results_are_two_outputs():
    (kernel,) = [node for node in final("two_results").nodes if node.is_op("kernel")]
    assert str(kernel.result_type) == "(f32[8,6], f32[8,1])"
    assert [str(node.type) for node in final("two_results").outputs] == ["f32[8,1]", "f32[8,6]"]
