"""Whether a program is at canon as it stands, so that torch need not trace it again."""

from __future__ import annotations

from operator import getitem
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

# Functional operators that canon leaves whole, and one that it spells in another way the importer reads the
# same: `transpose.int`, a permute. A program of these alone comes out of canon as it went in. What a newer
# torch decomposes may stay here, for the importers know these spellings; what writes, asserts, draws random
# numbers or has results of an unknown size may not come in.
WHOLE_AT_CANON: frozenset[str] = frozenset(
    f"aten.{name}"
    for name in (
        *("_to_copy.default", "clone.default", "where.self"),
        *("embedding.default", "embedding_bag.padding_idx"),
        *("addmm.default", "bmm.default", "linear.default", "mm.default"),
        *("layer_norm.default", "softmax.int", "mean.dim", "sum.dim_IntList", "amax.default", "amin.default"),
        *("cat.default", "expand.default", "permute.default", "transpose.int", "view.default"),
        *("select.int", "slice.Tensor", "squeeze.dims", "unsqueeze.default"),
        *("gather.default", "index.Tensor", "index_select.default"),
        *("add.Tensor", "div.Tensor", "mul.Tensor", "sub.Tensor", "pow.Tensor_Scalar", "clamp.default"),
        *("abs.default", "exp.default", "log.default", "neg.default", "rsqrt.default", "sqrt.default"),
        *("gelu.default", "leaky_relu.default", "relu.default", "sigmoid.default", "tanh.default"),
        *("eq.Scalar", "ge.Scalar", "gt.Scalar", "le.Scalar", "lt.Scalar", "ne.Scalar"),
    )
)


def is_at_canon(program: ExportedProgram) -> bool:
    """Whether canon would change nothing of a program that the importer sees.

    All of these must hold: its sizes are fixed; every call is of `WHOLE_AT_CANON` and knows its type; nothing
    is written back; no call but an item of a result goes unread; and its tensors are plain ones of the types
    that they had when the program was exported.
    """
    return (
        all(spec.kind is OutputKind.USER_OUTPUT for spec in program.graph_signature.output_specs)
        and all(_is_at_canon(node) for node in program.graph.nodes)
        and _has_its_tensors(program)
    )


def _is_at_canon(node: fx.Node) -> bool:
    if node.op == "output":
        return True
    if "val" not in node.meta or not _has_fixed_sizes(node.meta["val"]):
        return False
    if node.op != "call_function":
        return node.op == "placeholder"
    return node.target is getitem or (bool(node.users) and str(node.target) in WHOLE_AT_CANON)


def _has_fixed_sizes(val: Any) -> bool:
    if isinstance(val, list | tuple):
        return all(_has_fixed_sizes(item) for item in val)
    if isinstance(val, torch.Tensor):
        return all(isinstance(size, int) for size in val.shape)
    return not isinstance(val, torch.SymInt | torch.SymFloat | torch.SymBool)


def _has_its_tensors(program: ExportedProgram) -> bool:
    placeholders = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        if spec.target is None:
            continue
        found = program.state_dict.get(spec.target, program.constants.get(spec.target))
        traced = placeholders.get(spec.arg.name)
        if type(found) not in (torch.Tensor, torch.nn.Parameter) or not isinstance(traced, torch.Tensor):
            return False
        if (found.dtype, found.shape) != (traced.dtype, traced.shape):
            return False
    return True
