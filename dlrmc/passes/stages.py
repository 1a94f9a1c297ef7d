"""Stage specs: which ops may stand in a graph after which pass.

A pass that is not named here may leave any op. The driver checks the others, so that a pass that forgets a
case fails where it does and not in the code generator.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from dlrmc.ir.graph import LEAVES
from dlrmc.ir.strided import VIEW_OPS

_AFTER: Final = MappingProxyType(
    {
        # Every op that computes is inside a kernel; views of inputs may be operands of kernels.
        "form-kernels": (*LEAVES, "derive", "kernel", "item", "assemble", *VIEW_OPS),
    }
)


def ops_allowed_after(name: str) -> tuple[str, ...] | None:
    """The ops that may stand outside of bodies after the pass of that name; None where all may."""
    return _AFTER.get(name)
