"""The head of an emitted kernel: its parameters, and the reads of the slots that hold indirect pointers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dlrmc.codegen.code_blocks import INDENT
from dlrmc.codegen.scalar_types import STORAGE_TYPES
from dlrmc.codegen.source import KernelContext, Param
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.printer import print_node

FAULTS = Param("faults")
LONGEST_LINE = 110


@dataclass(frozen=True, slots=True)
class Signature:
    """A kernel's parameters as C declarations.

    Args:
        params: operands in order, then results, then `faults` where the kernel checks indices.
        operand_names: the C name of the pointer to each operand's data.
        result_names: likewise of each result.
        declarations: the C declaration of each parameter.
        slot_reads: statements that load the indirect pointers, to stand first in the body.
        is_chained: whether the kernel waits for the one before it.
        pointer_reads: where all pointers are one parameter, `pointers` (kernel_pointers.cuh): by its C name,
            the statement that names each.
    """

    params: tuple[Param, ...]
    operand_names: tuple[str, ...]
    result_names: tuple[str, ...]
    declarations: tuple[str, ...]
    slot_reads: tuple[str, ...]
    is_chained: bool = False
    pointer_reads: tuple[tuple[str, str], ...] = ()

    def head(self, name: str, block: int) -> str:
        """The kernel's declaration and the wait for the kernel before it."""
        declaration = self._declaration(name, block)
        return f"{declaration}\n{INDENT}wait_for_kernel_before();" if self.is_chained else declaration

    def _declaration(self, name: str, block: int) -> str:
        """The declaration, up to the opening brace; one parameter a line where they are many."""
        start = f'extern "C" __global__ void __launch_bounds__({block}) {name}('
        line = f"{start}{', '.join(self.declarations)}) {{"
        if len(line) <= LONGEST_LINE:
            return line
        return "\n".join([start, ",\n".join(f"        {text}" for text in self.declarations) + ") {"])


def as_array(signature: Signature) -> Signature:
    """The same with all pointers in one parameter: memory that holds one behind the other serves both."""
    reads: list[tuple[str, str]] = []
    for number, declaration in enumerate(signature.declarations):
        type_text, _, name = declaration.rpartition(" ")
        to = type_text.replace(" __restrict__", "")
        read = f"{to} const __restrict__ {name} = static_cast<{to}>(pointers.at[{number}]);"
        reads.append((name, read))
    array = f"const __grid_constant__ KernelPointers<{len(reads)}> pointers"
    return replace(signature, declarations=(array,), pointer_reads=tuple(reads))


def build_signature(body: Graph, context: KernelContext, *, has_faults: bool) -> Signature:
    """The signature of a kernel with that body.

    Operands are named `%x` -> `x_in`, results `%y` -> `y_out`, so that neither meets a C keyword or a local.
    """
    names = [f"{node.name}_in" for node in body.inputs]
    results = _distinct([f"{node.name}_out" for node in body.outputs])
    params: list[Param] = []
    declarations: list[str] = []
    reads: list[str] = []
    groups = (
        (body.inputs, names, context.indirect_operands, "const "),
        (body.outputs, results, context.indirect_results, ""),
    )
    for nodes, pointers, indirect, qualifier in groups:
        for node, pointer, is_slot in zip(nodes, pointers, indirect, strict=True):
            declaration, read = _parameter(node, pointer, qualifier, is_slot)
            params.append(Param(pointer, is_slot))
            declarations.append(declaration)
            reads.extend(read)
    if has_faults:
        params.append(FAULTS)
        declarations.append("Faults* __restrict__ faults")
    return Signature(
        params=tuple(params),
        operand_names=tuple(names),
        result_names=tuple(results),
        declarations=tuple(declarations),
        slot_reads=tuple(reads),
        is_chained=context.is_chained,
    )


def ir_comment(kernel: Node) -> str:
    """The IR that a kernel implements, as a C comment."""
    return "\n".join(f"// {line}" for line in print_node(kernel).splitlines())


def _parameter(node: Node, pointer: str, qualifier: str, is_slot: bool) -> tuple[str, list[str]]:
    element = f"{qualifier}{STORAGE_TYPES[node.type.dtype]}"
    if not is_slot:
        return f"{element}* __restrict__ {pointer}", []
    read = f"{element}* const __restrict__ {pointer} = *{pointer}_slot;"
    return f"{element}* const* __restrict__ {pointer}_slot", [read]


def _distinct(names: list[str]) -> list[str]:
    """The names, numbered where one stands more than once."""
    return [
        f"{name}_{names[:place].count(name) + 1}" if names[:place].count(name) else name
        for place, name in enumerate(names)
    ]
