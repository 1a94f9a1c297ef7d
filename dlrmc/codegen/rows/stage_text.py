"""What the emitter of one stage hands back to the emitter of the row program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlrmc.codegen.constant_tables import ConstantTables
from dlrmc.codegen.fault_sites import FaultSites
from dlrmc.codegen.kernels.linear_tensor import TENSOR_PRODUCTS
from dlrmc.codegen.rows.layout import Layout
from dlrmc.codegen.rows.tile_windows import TilePlaces

# Files of the stages that use tensor cores.
TENSOR_INCLUDES = ("linear_tensor.cuh", "pairwise_tensor.cuh")


@dataclass(frozen=True, slots=True)
class StageText:
    """One stage.

    Args:
        definitions: structs and tables that must stand before the kernel.
        statements: the call or the loop. They use `thread` (this thread's number in the block, turned so
            that stages of one phase begin with different warps), `rows` and `first_row`.
        includes: files of codegen/cuda.
        warps: how many warps have work, to turn the next stage's threads by.
        prologue: statements that stand once before all phases.
        early: statements that start the stage's loads, at the begin of a tile; the stage itself may run some
            phases later, and uses what they declare.
        early_bytes: what these ask for, about.
    """

    definitions: Sequence[str]
    statements: Sequence[str]
    includes: tuple[str, ...]
    warps: int
    prologue: Sequence[str] = ()
    early: Sequence[str] = ()
    early_bytes: int = 0


@dataclass(frozen=True)
class StageContext:
    """What the emitters of all stages of one program share.

    Args:
        name: of the kernel, the prefix of what a stage defines.
        threads: of a block.
        places: where values live.
        tables: the constants of the kernel.
        sites: the fault sites of the kernel.
        precision: of products on tensor cores.
    """

    name: str
    threads: int
    places: TilePlaces
    tables: ConstantTables
    sites: FaultSites
    precision: str

    @property
    def products(self) -> int:
        """How many products of TF32 make one: three have the precision of f32. For bf16 TF32 will do."""
        return 3 if self.precision == "fp32" else 1

    @property
    def tensor_products(self) -> str:
        """The same in words."""
        return TENSOR_PRODUCTS["fp32" if self.precision == "fp32" else "tf32"]

    @property
    def layout(self) -> Layout:
        """The plan of the tile."""
        return self.places.layout
