"""What a program returns, and which of its inputs nothing reads."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, OutputKind

from dlrmc.errors import UnusedInputWarning
from dlrmc.frontend.liveness import live_nodes
from dlrmc.frontend.program import ConstantOutput, InputOutput, UserOutput, ValueOutput
from dlrmc.frontend.signature import is_constant, user_input_specs
from dlrmc.frontend.symbols import Sizes
from dlrmc.ir.graph import Graph, Node


def add_outputs(
    graph: Graph, program: ExportedProgram, values: Mapping[fx.Node, Any], sizes: Sizes
) -> tuple[UserOutput, ...]:
    """Set the graph's outputs, each value once; an entry for every leaf of the result's pytree."""
    by_name = {node.name: node for node in values}
    positions = {spec.arg.name: position for position, spec in enumerate(user_input_specs(program))}
    returned: list[Node] = []
    outputs: list[UserOutput] = []
    for spec in program.graph_signature.output_specs:
        if spec.kind is not OutputKind.USER_OUTPUT:
            continue
        if isinstance(spec.arg, ConstantArgument):
            outputs.append(ConstantOutput(spec.arg.value))
            continue
        value = sizes.number(values[by_name[spec.arg.name]])
        outputs.append(_output(returned, value, positions.get(spec.arg.name)))
    graph.set_outputs(returned)
    return tuple(outputs)


def _output(returned: list[Node], value: Any, input_position: int | None) -> UserOutput:
    if input_position is not None:
        return InputOutput(input_position)
    if not isinstance(value, Node):
        return ConstantOutput(value)
    if not any(value is each for each in returned):
        returned.append(value)
    return ValueOutput(next(k for k, each in enumerate(returned) if each is value))


def erase_unread(graph: Graph) -> None:
    """Erase what nothing reads; dead inputs stay in the signature."""
    for node in reversed(graph.nodes):
        if not node.is_op("input") and graph.use_count(node) == 0:
            graph.erase(node)


def warn_of_unread(program: ExportedProgram, paths: Sequence[str], stacklevel: int) -> tuple[str, ...]:
    """Warn once, naming all tensor inputs that no op reads; the message is returned, if any."""
    read = {node.name for node in live_nodes(list(program.graph.nodes)) if node.op == "placeholder"}
    pairs = zip(paths, user_input_specs(program), strict=True)
    unread = [path for path, spec in pairs if not is_constant(spec) and spec.arg.name not in read]
    if not unread:
        return ()
    plural = "s" if len(unread) > 1 else ""
    message = (
        f"input{plural} {', '.join(unread)}: read by no op. torch.export merges inputs that were the same "
        "tensor object in the example: if the model does read it, export again with distinct tensors"
    )
    warnings.warn(UnusedInputWarning(message), stacklevel=stacklevel)
    return (message,)
