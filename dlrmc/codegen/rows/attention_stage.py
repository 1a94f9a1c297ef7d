"""The stage of attention: both products and what lies between them, without a score in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dlrmc.codegen.code_blocks import INDENT, CodeBlocks
from dlrmc.codegen.expressions import ExpressionWriter, Indices
from dlrmc.codegen.index_expressions import dot, render, unravel
from dlrmc.codegen.kernels.linear_tile import WARP_LANES
from dlrmc.codegen.kernels.sizes import Constant, constants_struct
from dlrmc.codegen.kernels.tile_text import call
from dlrmc.codegen.kernels.windows import Window
from dlrmc.codegen.rows.attention_choice import AttentionShape, choose_attention_tile
from dlrmc.codegen.rows.stage_text import StageContext, StageText
from dlrmc.codegen.rows.tile_windows import TileWindows
from dlrmc.codegen.scalar_types import literal, loaded
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType
from dlrmc.passes.attention import Attention, find_attention, split_entries

INCLUDES = ("attention.cuh", "scalars.cuh", "math.cuh")


@dataclass(frozen=True, slots=True)
class _Operands:
    """Windows [rows, heads, items, columns] of the stage."""

    q: Window
    k: Window
    v: Window
    o: Window

    @property
    def packs(self) -> tuple[int, int]:
        """Columns of q and k, and of v and o, that may move together."""
        return min(_pack(self.q), _pack(self.k)), min(_pack(self.v), _pack(self.o))


def emit_attention_stage(stage: Node, context: StageContext) -> StageText:
    """The text of one attention stage."""
    found = attention_of(stage)
    operands = _operands(stage, found, context)
    entries, m, width = found.product.shape
    shape = AttentionShape(entries, m, found.scores.shape[2], operands.q.shape[3], width)
    tile = choose_attention_tile(shape, context.threads)
    q_pack, v_pack = operands.packs
    constants: dict[str, Constant] = {
        "M": m,
        "N": shape.n,
        "D": shape.depth,
        "E": width,
        "QUERIES": tile.queries,
        "LANES": tile.lanes,
        "KEYS": tile.keys,
        "QK_PACK": q_pack,
        "V_PACK": v_pack,
        "NORMALISED": found.is_normalised,
        "ZERO_MASKED": found.zero_masked,
    }
    name = f"{context.name}_{stage.name}"
    per_row = entries // context.places.tile.rows
    views = (_view(window) for window in (operands.q, operands.k, operands.v, operands.o))
    count = "rows" if per_row == 1 else f"rows * {per_row}"
    arguments = (*views, "score", count, "thread", str(context.threads))
    statements = [
        *_score(stage, found, context),
        *call(f"Attention<{name}_sizes>::run", *arguments),
    ]
    warps = -(-tile.items(shape) // WARP_LANES)
    return StageText(constants_struct(f"{name}_sizes", {}, constants), statements, INCLUDES, warps)


def attention_of(stage: Node) -> Attention:
    """The match that the stage's body is.

    Raises:
        CodegenError: where it is none.
    """
    body, product = stage.body, stage.body.outputs[0]
    product = product.inputs[0] if product.is_op("view") else product
    found = find_attention(body, product)
    if found is None:
        raise CodegenError(f"stage %{stage.name}", found=repr(product), expected="a product of weights")
    return found


def _operands(stage: Node, found: Attention, context: StageContext) -> _Operands:
    windows = TileWindows(context.places, stage)
    q, k, v = (_unfolded(windows.operand(split_entries(operand))) for operand in found.operands)
    k = k if found.scores.attributes.bool("trans_b") else k.permuted((0, 1, 3, 2))
    v = v.permuted((0, 1, 3, 2)) if found.product.attributes.bool("trans_b") else v
    o = windows.result(stage.body.outputs[0])
    return _Operands(q, k, v, _unfolded(o))


def _unfolded(window: Window) -> Window:
    """[entries, items, columns] with one head."""
    if len(window.shape) == 4:
        return window
    entries, *matrix = window.shape
    shown = window.reshaped((entries, 1, *matrix))
    if shown is None:
        raise CodegenError("attention stage", found=f"strides {list(window.strides)}", expected="matrices")
    return shown


def _pack(window: Window) -> int:
    row, head, item, column = window.strides
    return window.pack(window.shape[3], (row, head, item)) if column == 1 else 1


def _view(window: Window) -> str:
    row, head, item, column = window.strides
    strides = f"{window.shape[1]}, {row}, {head}, {item}, {column}"
    return f"EntryView<{window.element}, {strides}>{{{window.start}}}"


def _score(stage: Node, found: Attention, context: StageContext) -> list[str]:
    """The function from a product, and where it stands, to a score."""
    places = {inner: context.places.of(outer) for inner, outer in stage.outer.items()}

    def load(node: Node, indices: Indices) -> str | None:
        if node is found.scores:
            return product
        place = places.get(node)
        if place is None:
            return None
        return loaded(f"({place.pointer})[{render(dot(indices, place.strides))}]", node.type.dtype)

    product = (
        "product"
        if found.scale == 1.0
        else f"product * {literal(np.array(found.scale, np.float32), DType.F32)}"
    )
    blocks = CodeBlocks()
    writer = ExpressionWriter(blocks, load, context.tables, context.sites)
    *leading, m, n = found.weighed.shape
    indices = (
        *unravel(blocks.variable("entry", math.prod(leading)), tuple(leading)),
        blocks.variable("m", m),
        blocks.variable("n", n),
    )
    value = writer.value(found.weighed, indices)
    return [
        "const auto score = [&](float product, int entry, int m, int n) -> float {",
        *(f"{INDENT}{line}" for line in blocks.lines),
        f"{INDENT}return {value};",
        "};",
    ]
