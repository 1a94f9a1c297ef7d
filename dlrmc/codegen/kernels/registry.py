"""The implementations of kernels: an explicit tuple, found by the name in a kernel's `impl` attribute."""

from __future__ import annotations

import difflib

from dlrmc.codegen.kernels.bmm import Bmm
from dlrmc.codegen.kernels.embedding_bag import EmbeddingBag
from dlrmc.codegen.kernels.impl import KernelImpl
from dlrmc.codegen.kernels.linear import Linear
from dlrmc.codegen.kernels.map import Map
from dlrmc.codegen.kernels.pairwise_dot import PairwiseDot
from dlrmc.codegen.kernels.quantized_bag import QuantizedBag
from dlrmc.codegen.kernels.row_program import RowProgram
from dlrmc.errors import CodegenError

__all__ = ["ALL_KERNEL_IMPLS", "KernelImpl", "find_kernel_impl"]

ALL_KERNEL_IMPLS: tuple[KernelImpl, ...] = (
    Map(),
    Linear(),
    Bmm(),
    EmbeddingBag(),
    QuantizedBag(),
    PairwiseDot(),
    RowProgram(),
)


def find_kernel_impl(name: str) -> KernelImpl:
    """The implementation of that name.

    Raises:
        CodegenError: where there is none; the message names the nearest.
    """
    impls = {impl.name: impl for impl in ALL_KERNEL_IMPLS}
    if name in impls:
        return impls[name]
    near = difflib.get_close_matches(name, impls, n=1)
    raise CodegenError(
        "kernel",
        found=f"unknown implementation {name!r}",
        expected=f"one of {', '.join(impls)}",
        hint=f"did you mean {near[0]}?" if near else "docs/kernels.md lists all implementations",
    )
