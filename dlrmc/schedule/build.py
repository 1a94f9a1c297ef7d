"""From a graph of kernels to the plan of one request."""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.errors import PassError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.strided import input_window
from dlrmc.schedule.bag_counts import read_by_bags_alone
from dlrmc.schedule.buffers import Placements, place, result_types
from dlrmc.schedule.plan import Launch, Plan, Slot

RESIDENT_OPS = ("weight", "const", "derive")


def build_plan(graph: Graph, counted: Sequence[int] = ()) -> Plan:
    """Order the kernels, place their buffers, and list what must live on the device.

    A kernel whose results are all empty has nothing to do and is left out.

    Args:
        graph: of kernels.
        counted: the numbers of the inputs that may have any number of elements. They do in the plan if bags
            alone read them; else each has the number that its type says.

    Raises:
        PassError: where a computing op stands outside of a kernel, or no kernel writes an output, or one
            value is returned twice.
    """
    _check_formed(graph)
    launches = tuple(node for node in graph.nodes if node.is_op("kernel") and _computes(node))
    residents = _residents(launches)
    kept = tuple(counted) if read_by_bags_alone(graph, [graph.inputs[each] for each in counted]) else ()
    placements = place(graph, launches, residents, kept)
    return Plan(
        launches=tuple(_launch(kernel, placements) for kernel in launches),
        residents=residents,
        inputs=tuple(Slot(node.name, node.type) for node in graph.inputs),
        outputs=tuple(Slot(node.name, node.type) for node in graph.outputs),
        arena_bytes=placements.arena_bytes,
        counted=kept,
    )


def _check_formed(graph: Graph) -> None:
    for node in graph.nodes:
        is_placed = node.is_op("input", "kernel", "item", "assemble", *RESIDENT_OPS)
        if not is_placed and input_window(node) is None:
            raise PassError(
                f"planning @{graph.name}",
                found=f"%{node.name} = {node.op.name} outside of a kernel",
                expected="kernels only",
                hint="run form-kernels first",
            )
    for index, output in enumerate(graph.outputs):
        if output.is_op("input", *RESIDENT_OPS) or output in graph.outputs[:index]:
            why = "returned twice" if output in graph.outputs[:index] else f"the {output.op.name}"
            raise PassError(
                f"planning @{graph.name}",
                found=f"output %{output.name}, {why}",
                expected="a buffer that a kernel writes for each output",
                hint="run form-kernels first",
            )


def _computes(kernel: Node) -> bool:
    return any(kept.numel > 0 for kept in result_types(kernel))


def _residents(launches: tuple[Node, ...]) -> tuple[Node, ...]:
    read = [operand for kernel in launches for operand in kernel.inputs if operand.is_op(*RESIDENT_OPS)]
    return tuple(dict.fromkeys(read))


def _launch(kernel: Node, placements: Placements) -> Launch:
    operands = tuple(placements.operands[operand] for operand in kernel.inputs)
    results = tuple(placements.results[kernel, index] for index in range(len(result_types(kernel))))
    return Launch(
        kernel=kernel,
        operands=tuple(placement.buffer for placement in operands),
        results=tuple(placement.buffer for placement in results),
        operand_strides=tuple(placement.strides for placement in operands),
        result_strides=tuple(placement.strides for placement in results),
    )
