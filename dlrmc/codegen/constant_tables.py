"""Constants inside a kernel: literals, or tables in device memory."""

from __future__ import annotations

from dlrmc.codegen.index_expressions import Index, ravel, render
from dlrmc.codegen.scalar_types import STORAGE_TYPES, literal, loaded, stored_literal
from dlrmc.ir.graph import Node

VALUES_A_LINE = 12


class ConstantTables:
    """The constants of one kernel. Each table is named after the kernel and the constant."""

    def __init__(self, kernel_name: str) -> None:
        self._kernel_name = kernel_name
        self._tables: dict[Node, str] = {}

    def element(self, node: Node, indices: tuple[Index, ...]) -> str:
        """The compute value of one element of a const node."""
        position = ravel(indices, node.shape)
        if not position.terms:
            return literal(node.value.reshape(-1)[position.constant], node.type.dtype)
        return loaded(f"{self.name(node)}[{render(position)}]", node.type.dtype)

    def name(self, node: Node) -> str:
        """The C name of the table that holds a const node in row-major order."""
        if node not in self._tables:
            self._tables[node] = f"{self._kernel_name}_{node.name}"
        return self._tables[node]

    @property
    def definitions(self) -> tuple[str, ...]:
        """The tables in order of first use."""
        return tuple(_definition(name, node) for node, name in self._tables.items())


def _definition(name: str, node: Node) -> str:
    values = [stored_literal(value, node.type.dtype) for value in node.value.reshape(-1)]
    rows = [", ".join(values[at : at + VALUES_A_LINE]) for at in range(0, len(values), VALUES_A_LINE)]
    head = f"static __device__ const {STORAGE_TYPES[node.type.dtype]} {name}[{len(values)}] = {{"
    return "\n".join([head, *(f"    {row}," for row in rows), "};"])
