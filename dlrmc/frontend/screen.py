"""What must be refused before canon hides it: ops that write, and training mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from dlrmc.errors import UnsupportedOp
from dlrmc.frontend.aliasing import lost_writes
from dlrmc.frontend.aten.embedding import MAX_NORM_REASON
from dlrmc.frontend.aten.noop import DROPOUT_REASON
from dlrmc.frontend.aten.normalise import TRAINING_REASON
from dlrmc.frontend.call import schema_arguments
from dlrmc.frontend.source import source_of

Arguments = Mapping[str, Any]
LOST_REASON = (
    "writes what is read later on the other side of dropout; in evaluation dropout returns the value that "
    "it is given, but torch copies it there when it traces the program again"
)

_SCREEN: Mapping[str, Callable[[Arguments], str]] = MappingProxyType(
    {
        "aten.embedding_renorm_.default": lambda _a: MAX_NORM_REASON,
        "aten.embedding_renorm.default": lambda _a: MAX_NORM_REASON,
        "aten.batch_norm.default": lambda a: TRAINING_REASON if a["training"] else "",
        "aten._native_batch_norm_legit_functional.default": lambda _a: TRAINING_REASON,
        "aten.dropout.default": lambda a: DROPOUT_REASON if a["train"] and a["p"] else "",
        "aten.native_dropout.default": lambda a: DROPOUT_REASON if a["train"] and a["p"] else "",
        "aten.feature_dropout.default": lambda a: DROPOUT_REASON if a["train"] and a["p"] else "",
    }
)


def screen(program: ExportedProgram) -> list[UnsupportedOp]:
    """The ops of a program, as the user exported it, that can never be taken."""
    refused: list[UnsupportedOp] = []
    nodes = list(program.graph.nodes)
    lost = lost_writes(nodes)
    for node in nodes:
        reason = (LOST_REASON if node in lost else _reason(node)) if node.op == "call_function" else ""
        if reason:
            refused.append(UnsupportedOp(str(node.target), node.name, source_of(node), reason))
    return refused


def _reason(node: fx.Node) -> str:
    check = _SCREEN.get(str(node.target))
    return check(schema_arguments(node, node.args, node.kwargs)) if check else ""


def mutations(program: ExportedProgram, nodes: Mapping[str, fx.Node]) -> list[UnsupportedOp]:
    """The values of a canon program that are written back to a parameter, a buffer or an input."""
    written: list[UnsupportedOp] = []
    for spec in program.graph_signature.output_specs:
        if spec.kind is OutputKind.USER_OUTPUT:
            continue
        node = nodes.get(spec.arg.name)
        source = source_of(node) if node is not None else ""
        what = spec.kind.name.lower().replace("_", " ")
        reason = f"{what} of {spec.target!r}: a compiled program computes, and changes nothing"
        written.append(
            UnsupportedOp(str(node.target) if node is not None else what, spec.arg.name, source, reason)
        )
    return written


def without_repeats(
    screened: Sequence[UnsupportedOp], found: Sequence[UnsupportedOp], written: Sequence[UnsupportedOp]
) -> list[UnsupportedOp]:
    """All refusals, each once: canon spells a screened op in other words, and shows what it writes."""
    lines = {item.source for item in screened}
    reasons = {item.reason for item in screened}
    new = [item for item in found if item.source not in lines or item.reason not in reasons]
    return [*screened, *new, *(item for item in written if item.source not in lines)]
