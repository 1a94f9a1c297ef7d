"""The operands and the result of a heavy kernel as strided windows onto its parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.codegen.signature import Signature
from dlrmc.codegen.source import KernelContext
from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.strided import VIEW_OPS, reshape_strides, resolve_strided
from dlrmc.ir.types import DType

LARGEST_PACK = 4
PACK_BYTES = 16


@dataclass(frozen=True, slots=True)
class Window:
    """Element (i, j, ...) stands at `pointer[offset + i*strides[0] + j*strides[1] + ...]`.

    Args:
        dtype: of the elements.
        pointer: the C name of a pointer parameter.
        offset: in elements.
        shape: as the op sees the value.
        strides: in elements, one for each dimension.
        alignment_bytes: what the pointer is known to be a multiple of.
        is_const: whether the kernel only reads it.
        count: the C expression of the number of elements where it comes with the call; empty else.
        storage: the C type of the elements where it is not that of the dtype.
    """

    dtype: DType
    pointer: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alignment_bytes: int
    is_const: bool = True
    count: str = ""
    storage: str = ""

    @property
    def element(self) -> str:
        """The C type that a view's pointer points to."""
        return f"{'const ' if self.is_const else ''}{self.storage or STORAGE_TYPES[self.dtype]}"

    @property
    def start(self) -> str:
        """The C expression of the address of element (0, 0, ...)."""
        return f"{self.pointer} + {self.offset}" if self.offset else self.pointer

    def reshaped(self, shape: tuple[int, ...]) -> Window | None:
        """The same elements in another shape, or None where its strides would not nest."""
        strides = reshape_strides(self.shape, self.strides, shape)
        return None if strides is None else replace(self, shape=shape, strides=strides)

    def permuted(self, order: tuple[int, ...]) -> Window:
        """The same elements with the dimensions in another order."""
        shape = tuple(self.shape[axis] for axis in order)
        return replace(self, shape=shape, strides=tuple(self.strides[axis] for axis in order))

    def pack(self, columns: int, outer_strides: Iterable[int], limit: int = LARGEST_PACK) -> int:
        """How many neighbouring elements may move together: a power of two up to `limit`.

        Args:
            columns: the number of contiguous elements, which packs must divide.
            outer_strides: the strides of the other dimensions.
        """
        size = limit
        while size > 1 and not self._is_packed(size, columns, outer_strides):
            size //= 2
        return size

    def _is_packed(self, size: int, columns: int, outer_strides: Iterable[int]) -> bool:
        is_aligned = self.alignment_bytes % min(size * self.dtype.size_bytes, PACK_BYTES) == 0
        return is_aligned and all(n % size == 0 for n in (columns, self.offset, *outer_strides))


def find_anchor(impl: KernelImpl, body: Graph, ops: tuple[str, ...]) -> Node:
    """The op that a body is about: its only output, or what the output shows in another shape.

    Raises:
        CodegenError: where the body holds anything else but views of its inputs.
    """
    if len(body.outputs) != 1:
        raise impl.refuse("results", f"{len(body.outputs)} results", "one result")
    anchor = body.outputs[0]
    while anchor.is_op("view"):
        anchor = anchor.inputs[0]
    if not anchor.is_op(*ops):
        raise impl.refuse(f"%{anchor.name}", f"op {anchor.op.name}", f"one of {', '.join(ops)}")
    for node in body.nodes:
        if node is not anchor and not node.is_op(*LEAVES, *VIEW_OPS):
            raise impl.refuse(
                f"%{node.name}", f"op {node.op.name}", f"a view of an operand of %{anchor.name}"
            )
    return anchor


class OperandWindows(Protocol):
    """Makes the windows of operands: those of a kernel, or those of a stage of a row program."""

    def operand(self, node: Node) -> Window:
        """The window through which a value of the body is read."""
        ...


class Windows:
    """Makes the windows of one kernel."""

    def __init__(self, impl: KernelImpl, body: Graph, context: KernelContext, signature: Signature) -> None:
        self._impl = impl
        self._body = body
        self._context = context
        self._signature = signature

    def operand(self, node: Node) -> Window:
        """The window through which a value of the body is read.

        Raises:
            CodegenError: where it is no strided window onto an operand of the kernel.
        """
        roots = dict(zip(self._body.inputs, self._context.operand_strides, strict=True))
        found = resolve_strided(node, roots)
        if found is None or found.root not in roots:
            raise self._impl.refuse(f"%{node.name}", f"op {node.op.name}", "a strided window onto an operand")
        place = self._body.inputs.index(found.root)
        return Window(
            node.type.dtype,
            self._signature.operand_names[place],
            found.offset,
            found.shape,
            found.strides,
            self._alignment(self._context.operand_alignments, place, node),
            count=self._context.count(place, self._signature.operand_names[place]),
        )

    def result(self, anchor: Node) -> Window:
        """The window through which the anchor's value is written.

        Raises:
            CodegenError: where the result's strides do not fit the anchor's shape.
        """
        output, strides = self._body.outputs[0], self._context.result_strides[0]
        window = Window(
            anchor.type.dtype,
            self._signature.result_names[0],
            0,
            output.shape,
            strides,
            self._alignment(self._context.result_alignments, 0, anchor),
            is_const=False,
        )
        if output.shape == anchor.shape:
            return window
        reshaped = window.reshaped(anchor.shape)
        if reshaped is None:
            raise self._impl.refuse(
                f"%{output.name}",
                f"strides {list(strides)}",
                f"strides that show {anchor.type} without a copy",
            )
        return reshaped

    @staticmethod
    def _alignment(alignments: tuple[int, ...], place: int, node: Node) -> int:
        return math.lcm(alignments[place] if alignments else 1, node.type.dtype.size_bytes)


def tile_view(window: Window, row: int, feature: int, column: int, start: str | None = None) -> str:
    """The C expression of a TileView of views.cuh with these strides."""
    strides = f"{row}, {feature}, {column}"
    return f"TileView<{window.element}, {strides}>{{{window.start if start is None else start}}}"
