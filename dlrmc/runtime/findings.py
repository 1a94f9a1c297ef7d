"""What a user of a compiled program would otherwise find out by chance; errors under `strict`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from dlrmc.errors import FrontendError
from dlrmc.frontend.program import ImportedProgram
from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.op import Elementwise
from dlrmc.options import Options
from dlrmc.passes.layer_cost import SMALL_WEIGHT_BYTES
from dlrmc.passes.row_stages import STAGE_DTYPES, STAGE_OPS

# Names that one line lists.
_MOST_NAMES = 8


def find_warnings(program: ImportedProgram, device: torch.device) -> list[str]:
    """The warnings of the compiler, one text each.

    Args:
        program: as imported.
        device: where kernels run.
    """
    found = list(program.warnings)
    if buffers := [name for name in program.baked if name in program.others]:
        found.append(f"values read into the program at compile time, new ones are refused: {_list(buffers)}")
    moved = [name for name, tensor in program.weights.items() if tensor.device != device]
    if moved:
        found.append(f"weights that lie on another device than {device}, copied there: {_list(moved)}")
    return found


def check_strict(program: ImportedProgram, device: torch.device, options: Options) -> None:
    """Refuse a program with warnings where the user asked to.

    Raises:
        FrontendError: `options.strict` is set and there is a warning; all of them are listed.
    """
    found = find_warnings(program, device) if options.strict else []
    if found:
        raise FrontendError(
            "option strict",
            found=f"{len(found)} warning{'s' if len(found) > 1 else ''} of the compiler",
            expected="none, since strict=True makes them errors",
            hint="change the model or its export, or leave strict out",
            context=found,
        )


def find_unfused(graph: Graph) -> Iterator[tuple[str, str]]:
    """Each kernel that is no row program: the ops that it computes, and why no row program has them."""
    for kernel in graph.nodes:
        if kernel.is_op("kernel") and kernel.attributes.str("impl") != "row_program":
            nodes = [node for node in kernel.body.nodes if not node.is_op(*LEAVES)]
            yield ", ".join(node.op.name for node in nodes) or "a copy", _reason(nodes)


def _reason(nodes: Sequence[Node]) -> str:
    for node in nodes:
        dtypes = [value.type.dtype for value in (node, *node.inputs)]
        other = next((dtype for dtype in dtypes if dtype not in STAGE_DTYPES), None)
        if other is not None:
            return f"row programs take no {other}"
        if not isinstance(node.op, Elementwise) and not node.is_op(*STAGE_OPS):
            return f"row programs have no {node.op.name}"
        if node.is_op("linear"):
            weight = node.inputs[-1 if node.operands[2] is None else -2]
            if weight.type.size_bytes > SMALL_WEIGHT_BYTES:
                return (
                    f"its weight of {weight.type.size_bytes} bytes is read less often by a kernel of its own"
                )
    return "it mixes rows of the batch, or has no neighbour to share a kernel with"


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
