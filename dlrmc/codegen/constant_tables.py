"""Constants inside a kernel: literals, or tables in device memory."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from dlrmc.codegen.index_expressions import Index, ravel, render
from dlrmc.codegen.scalar_types import STORAGE_TYPES, bits_literal, literal, loaded, stored_literal
from dlrmc.ir.graph import Node
from dlrmc.ir.types import DType

VALUES_A_LINE = 12
_BIT_TYPES = MappingProxyType({DType.F32: "int", DType.F64: "long long"})
_FROM_BITS = MappingProxyType({DType.F32: "__uint_as_float", DType.F64: "__longlong_as_double"})


class ConstantTables:
    """The constants of one kernel. Each table is named after the kernel and the constant."""

    def __init__(self, kernel_name: str) -> None:
        self._kernel_name = kernel_name
        self._names: dict[tuple[DType, bytes], str] = {}
        self._nodes: dict[str, Node] = {}

    def element(self, node: Node, indices: tuple[Index, ...]) -> str:
        """The compute value of one element of a const node."""
        position = ravel(indices, node.shape)
        if not position.terms:
            return literal(node.value.reshape(-1)[position.constant], node.type.dtype)
        element = f"{self.name(node)}[{render(position)}]"
        if _is_held_as_bits(node):
            return f"{_FROM_BITS[node.type.dtype]}({element})"
        return loaded(element, node.type.dtype)

    def name(self, node: Node) -> str:
        """The C name of the table that holds a const node in row-major order; equal values share one."""
        key = (node.type.dtype, node.value.tobytes())
        if key not in self._names:
            wanted = f"{self._kernel_name}_{node.name}"
            same = sum(name == wanted or name.startswith(f"{wanted}__") for name in self._nodes)
            self._names[key] = f"{wanted}__{same}" if same else wanted
            self._nodes[self._names[key]] = node
        return self._names[key]

    @property
    def definitions(self) -> tuple[str, ...]:
        """The tables in order of first use."""
        return tuple(_definition(name, node) for name, node in self._nodes.items())


def _is_held_as_bits(node: Node) -> bool:
    """Infinities and NaNs have no constant expression without a header: a table with one holds bits."""
    return node.type.dtype in _FROM_BITS and not bool(np.all(np.isfinite(node.value)))


def _definition(name: str, node: Node) -> str:
    dtype = node.type.dtype
    is_bits = _is_held_as_bits(node)
    element_type = f"unsigned {_BIT_TYPES[dtype]}" if is_bits else STORAGE_TYPES[dtype]
    write = bits_literal if is_bits else stored_literal
    values = [write(value, dtype) for value in node.value.reshape(-1)]
    rows = [", ".join(values[at : at + VALUES_A_LINE]) for at in range(0, len(values), VALUES_A_LINE)]
    head = f"static __device__ const {element_type} {name}[{len(values)}] = {{"
    return "\n".join([head, *(f"    {row}," for row in rows), "};"])
