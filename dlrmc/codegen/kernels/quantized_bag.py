"""The `quantized_bag` kernel: bags over tables of bytes or nibbles, by QuantizedBag of quantized_bag.cuh.

Its constants are those of the `embedding_bag` kernel, in bytes where they measure the table, and besides:
    CODES     codes in a byte
    WIDTH     codes of a row
    ROW_PACK  bytes of a row that may move together
"""

from __future__ import annotations

from dataclasses import dataclass

from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.embedding_bag import BagEmission, choose_layout
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.sizes import Constant
from dlrmc.codegen.kernels.windows import Windows, find_anchor
from dlrmc.codegen.signature import build_signature, ir_comment
from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.ir.bag_tables import Bags, bags_of
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.ops.quantized_bags import ROW_FORMATS

QUANTIZED_OPS = ("quantized_embedding_bag", "quantized_embedding_bag_group")
INCLUDE = "quantized_bag.cuh"
# Codes of a lane: with 8-bit codes as many bytes as the address of a row of 16 n columns is a multiple of.
LARGEST_VECTOR = 8


class QuantizedBag(KernelImpl):
    """Body: one quantized_embedding_bag or a group of them over strided views of the operands."""

    name = "quantized_bag"

    def check(self, body: Graph) -> None:
        find_anchor(self, body, QUANTIZED_OPS)

    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        anchor = find_anchor(self, kernel.body, QUANTIZED_OPS)
        signature = build_signature(kernel.body, context, has_faults=True)
        windows = Windows(self, kernel.body, context, signature)
        sites = FaultSites(kernel.body, context)
        tables = bags_of(anchor)
        layout = choose_layout(anchor, codes_of_a_lane(anchor), kernel.attributes.int("threads"))
        emission = QuantizedEmission(
            context.name,
            signature,
            windows,
            sites,
            windows.result(anchor),
            layout,
            anchor.attributes.int("bits"),
        )
        return KernelSource(
            context.name,
            "\n".join([ir_comment(kernel), *emission.lines(tables)]),
            (INCLUDE,),
            layout.blocks * len(tables),
            layout.threads,
            0,
            signature.params,
            sites.sites,
        )


def codes_of_a_lane(anchor: Node) -> int:
    """Neighbouring columns of a lane: whole bytes, as many as divide the width."""
    columns, codes = anchor.shape[-1], ROW_FORMATS[anchor.attributes.int("bits")].codes
    vector = LARGEST_VECTOR
    while vector > codes and columns % vector:
        vector //= 2
    return vector


@dataclass(frozen=True, slots=True)
class QuantizedEmission(BagEmission):
    """Writes the text of one kernel, or of a stage of a row program; `bits` of a code."""

    bits: int

    def kind(self, bags: Bags) -> dict[str, Constant]:
        """The constants that select code."""
        table = self.windows.operand(bags.table)
        row_bytes, row_format = table.shape[1], ROW_FORMATS[self.bits]
        is_packed = table.strides[1] == 1
        return BagEmission.kind(self, bags) | {
            "CODES": row_format.codes,
            "WIDTH": row_format.width(row_bytes),
            "ROW_PACK": table.pack(row_bytes, (table.strides[0],), LARGEST_VECTOR) if is_packed else 1,
        }

    @property
    def function(self) -> str:
        """The struct whose `run` is the stage."""
        return "QuantizedBag"
