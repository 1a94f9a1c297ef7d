"""What every implementation of a kernel offers to the emitter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from dlrmc.codegen.source import KernelContext, KernelSource
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import Graph, Node


class KernelImpl(ABC):
    """One way to compute a kernel's body on a GPU. Instances hold no state.

    `name` is the value of the kernel's `impl` attribute.
    """

    name: ClassVar[str]

    @abstractmethod
    def check(self, body: Graph) -> None:
        """Accept a body, or say why it does not fit.

        Raises:
            CodegenError: where the body is not of the kind that this implementation computes.
        """

    @abstractmethod
    def emit(self, kernel: Node, context: KernelContext) -> KernelSource:
        """The CUDA source of one kernel node whose body `check` accepts.

        Raises:
            CodegenError: where the body does not fit.
        """

    def refuse(self, place: str, found: str, expected: str) -> CodegenError:
        """The error of a body that does not fit, to be raised by the caller."""
        return CodegenError(
            f"kernel {self.name}, {place}",
            found=found,
            expected=expected,
            hint="give the kernel another impl; docs/kernels.md says what each accepts",
        )
