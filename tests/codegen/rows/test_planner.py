"""The plan of a tile: phases, places, and what stays in shared memory."""

from __future__ import annotations

import pytest

from dlrmc.codegen.rows.layout import Layout, anchor_of
from dlrmc.codegen.rows.operand_tiles import operand_tiles, uses_tensor_cores
from dlrmc.codegen.rows.planner import lay_out
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.parser import parse_graph
from dlrmc.passes import driver
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.schedule.row_tiles import cut_tile
from tests.codegen.rows.row_cases import dot_model, mixed_model

LIMIT_BYTES = 232448


def stage_graph(text: str, rows: int) -> Graph:
    graph = parse_graph(text)
    driver.run(graph, PIPELINE)
    (kernel,) = (node for node in graph.nodes if node.is_op("kernel"))
    tile = cut_tile(kernel, rows)
    form_kernels(tile.graph)
    return tile.graph


def plan(stages: Graph, *, limit_bytes: int = LIMIT_BYTES, is_persistent: bool = False) -> Layout:
    return lay_out(stages, frozenset(), 256, limit_bytes, is_persistent=is_persistent)


def stages_of(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.is_op("kernel")]


@pytest.mark.parametrize("text", [dot_model(64, tables=20, dim=16, top=40), mixed_model(64)])
@pytest.mark.parametrize("rows", [1, 4, 16])
def test_what_lives_at_once_shares_no_byte(text, rows):
    layout = plan(stage_graph(text, rows))
    for number, one in enumerate(layout.buffers):
        assert one.offset_bytes + one.size_bytes <= layout.shared_bytes
        for other in layout.buffers[:number]:
            together = one.first <= other.last and other.first <= one.last
            apart = (
                one.offset_bytes + one.size_bytes <= other.offset_bytes
                or other.offset_bytes + other.size_bytes <= one.offset_bytes
            )
            assert apart or not together, (one.name, other.name)


@pytest.mark.parametrize("text", [dot_model(64, tables=5, dim=6), mixed_model(64)])
def test_a_stage_runs_after_everything_that_it_reads(text):
    graph = stage_graph(text, 8)
    layout = plan(graph)
    for stage in stages_of(graph):
        for operand in stage.inputs:
            if operand.is_op("kernel"):
                assert layout.phases[operand] < layout.phases[stage]
        for placed in layout.tiles[stage]:
            assert all(copy.phase < layout.phases[stage] for copy in placed.copies)


def test_a_producer_writes_straight_into_its_readers_tile():
    graph = stage_graph(dot_model(64, tables=5, dim=6), 8)
    layout = plan(graph)
    bags = next(stage for stage in stages_of(graph) if anchor_of(stage).is_op("embedding_bag_group"))
    dots = next(stage for stage in stages_of(graph) if anchor_of(stage).is_op("pairwise_dot"))
    assert layout.homes[bags].buffer is layout.tiles[dots][0].buffer
    # The dense row has one home: in the features; the last layer's tile gets a copy.
    assert [copy.part.value.name for copy in layout.copies] == ["x", "d"]


def test_weights_stay_in_shared_memory_as_far_as_they_fit():
    graph = stage_graph(dot_model(64, tables=20, dim=16, top=40), 16)
    roomy = plan(graph)
    assert len(roomy.weights) == 2
    without = plan(graph, limit_bytes=0)
    assert len(without.weights) == 0
    tight = plan(graph, limit_bytes=without.shared_bytes + 4096)
    assert 0 < len(tight.weights) < 2
    assert tight.shared_bytes <= without.shared_bytes + 4096


def test_weights_outlive_a_tile_where_there_are_several():
    layout = plan(stage_graph(dot_model(64, tables=5, dim=6), 8), is_persistent=True)
    assert {buffer.last for buffer in layout.weights.values()} == {layout.phase_count - 1}


@pytest.mark.parametrize("rows", [1, 3, 8, 16])
def test_operand_tiles_hold_every_part(rows):
    for text in (dot_model(64, tables=13, dim=5, top=20), mixed_model(64)):
        for stage in stages_of(stage_graph(text, rows)):
            if stage.attributes.str("impl") == "map":
                continue
            for tile in operand_tiles(anchor_of(stage)):
                for part in tile.parts:
                    sizes = zip(part.value.shape, part.strides, strict=True)
                    last = part.offset + sum((size - 1) * stride for size, stride in sizes)
                    assert last < tile.elements


def test_tensor_cores_are_for_tall_and_wide_tiles():
    wide = stage_graph(dot_model(64, tables=20, dim=16, top=40), 16)
    assert [uses_tensor_cores(anchor_of(s)) for s in stages_of(wide) if anchor_of(s).is_op("linear")] == [
        False,
        True,
    ]
    flat = stage_graph(dot_model(64, tables=20, dim=16, top=40), 1)
    assert not any(uses_tensor_cores(anchor_of(s)) for s in stages_of(flat) if anchor_of(s).is_op("linear"))
