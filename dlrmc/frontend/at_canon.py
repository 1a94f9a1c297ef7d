"""Whether a program is at canon as it stands, so that torch need not trace it again."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

from dlrmc.frontend.aliasing import has_storage_of_its_own
from dlrmc.frontend.liveness import live_nodes


def _aten(*names: str) -> frozenset[str]:
    return frozenset(f"aten.{name}" for name in names)


# Functional operators that canon leaves whole. What a newer torch decomposes may stay here, for the importers
# know these spellings; what writes, draws random numbers or has results of an unknown size may not come in.
WHOLE_AT_CANON: frozenset[str] = _aten(
    *("_to_copy.default", "clone.default", "where.self"),
    *("embedding.default", "embedding_bag.padding_idx"),
    *("addmm.default", "bmm.default", "linear.default", "mm.default", "scaled_dot_product_attention.default"),
    *("layer_norm.default", "softmax.int", "mean.dim", "sum.dim_IntList", "amax.default", "amin.default"),
    *("cat.default", "expand.default", "permute.default", "repeat.default", "view.default"),
    *("select.int", "slice.Tensor", "split_with_sizes.default", "squeeze.dims", "unsqueeze.default"),
    *("gather.default", "index.Tensor", "index_select.default", "full.default", "arange.start_step"),
    *("add.Tensor", "div.Tensor", "mul.Tensor", "sub.Tensor", "pow.Tensor_Scalar", "clamp.default"),
    *("abs.default", "exp.default", "log.default", "log1p.default", "neg.default", "rsqrt.default"),
    *("sqrt.default", "floor.default", "remainder.Scalar", "bitwise_not.default", "max.dim"),
    *("gelu.default", "elu.default", "leaky_relu.default", "relu.default", "sigmoid.default", "tanh.default"),
    *(f"{name}.{kind}" for name in ("eq", "ge", "gt", "le", "lt", "ne") for kind in ("Scalar", "Tensor")),
)

# Operators that canon spells in another way, which the importers read as the same; a wrong spelling of them
# (dropout that is live, a batch_norm in training) is refused by both.
READ_AS_THEY_ARE: frozenset[str] = _aten(
    *("alias.default", "contiguous.default", "detach.default", "detach_.default", "lift_fresh_copy.default"),
    *("dropout.default", "batch_norm.default", "matmul.default"),
    *("to.device", "to.dtype", "to.dtype_layout"),
    *("flatten.using_ints", "unflatten.int", "reshape.default", "squeeze.default", "squeeze.dim"),
    *("t.default", "mT.default", "transpose.int", "expand_as.default"),
    *("chunk.default", "split.Tensor", "stack.default", "unbind.int"),
    *("arange.default", "arange.start", "full_like.default", "new_zeros.default", "new_ones.default"),
    *("ones.default", "ones_like.default", "zeros.default", "zeros_like.default"),
    *("clamp_min.default", "log_softmax.int", "masked_fill.Scalar", "rsub.Scalar", "silu.default"),
)

# Operators that write into their first operand, with the one that gives the same value.
IN_PLACE: Mapping[str, str] = MappingProxyType(
    {
        "aten.add_.Tensor": "aten.add.Tensor",
        "aten.sub_.Tensor": "aten.sub.Tensor",
        "aten.mul_.Tensor": "aten.mul.Tensor",
        "aten.div_.Tensor": "aten.div.Tensor",
        "aten.relu_.default": "aten.relu.default",
        "aten.leaky_relu_.default": "aten.leaky_relu.default",
        "aten.sigmoid_.default": "aten.sigmoid.default",
        "aten.tanh_.default": "aten.tanh.default",
    }
)

# Their results have the dtype that is asked for, or one that they store.
_CASTS = _aten(
    *("_to_copy.default", "to.device", "to.dtype", "to.dtype_layout"),
    *(
        "full_like.default",
        "new_ones.default",
        "new_zeros.default",
        "ones_like.default",
        "zeros_like.default",
    ),
)

# Conditions on the types that the program was traced with, or on sizes; they have no result.
CONDITIONS: frozenset[str] = _aten(
    "_assert_scalar.default",
    "_assert_tensor_metadata.default",
    "sym_constrain_range.default",
    "sym_constrain_range_for_size.default",
)


def is_at_canon(program: ExportedProgram) -> bool:
    """Whether canon would change nothing of what the importer makes of a program.

    All of these must hold: every call that is not dead is one of the above, or computes a size, and knows its
    type; what is written is never seen by another name, and nothing is written back to a buffer or an input;
    and its tensors are plain ones of the types that they had when the program was exported.
    """
    nodes = list(program.graph.nodes)
    places = {node: place for place, node in enumerate(nodes)}
    live = live_nodes(nodes)
    return (
        all(spec.kind is OutputKind.USER_OUTPUT for spec in program.graph_signature.output_specs)
        and all(_is_at_canon(node, places) for node in nodes if node in live)
        and _has_its_tensors(program)
    )


def _is_at_canon(node: fx.Node, places: Mapping[fx.Node, int]) -> bool:
    if node.op == "output" or str(node.target) in CONDITIONS:
        return True
    if "val" not in node.meta:
        return False
    if node.op != "call_function":
        return node.op == "placeholder"
    target = str(node.target)
    if target not in _CASTS and _is_autocast(node):
        return False
    if target in IN_PLACE:
        return _writes_unseen(node, places)
    if target == "aten.matmul.default":
        return _is_plain_product(node)
    if target in WHOLE_AT_CANON or target in READ_AS_THEY_ARE or node.target is operator.getitem:
        return True
    return _computes_a_size(node)


def _is_autocast(node: fx.Node) -> bool:
    """Whether a call was traced under autocast, which casts behind the program's back.

    Also true of a few calls that promote by other rules; they are traced again for nothing.
    """
    result = node.meta["val"]
    if not isinstance(result, torch.Tensor) or not result.is_floating_point():
        return False
    operands = [each.meta.get("val") for each in node.all_input_nodes]
    floats = [each.dtype for each in operands if isinstance(each, torch.Tensor) and each.is_floating_point()]
    return bool(floats) and functools.reduce(torch.promote_types, floats) != result.dtype


def _computes_a_size(node: fx.Node) -> bool:
    """Whether a call takes a size from a type, or computes with sizes."""
    if not isinstance(node.meta["val"], int | float | torch.SymInt | torch.SymFloat | torch.SymBool):
        return False
    is_arithmetic = getattr(operator, getattr(node.target, "__name__", ""), None) is node.target
    return is_arithmetic or str(node.target) in ("aten.sym_size.int", "aten.sym_numel.default")


def _is_plain_product(node: fx.Node) -> bool:
    """Whether a matmul is one product of matrices, or one of each pair in two stacks."""
    left, right = (_shape(operand) for operand in node.args)
    return len(left) == len(right) and (len(left) == 2 or (len(left) == 3 and left[0] == right[0]))


def _shape(operand: Any) -> tuple[Any, ...]:
    """The sizes of a value; comparing these, unlike those of torch, is no condition on the program."""
    sizes = operand.meta["val"].shape
    return tuple(size.node.expr if isinstance(size, torch.SymInt) else size for size in sizes)


def _writes_unseen(node: fx.Node, places: Mapping[fx.Node, int]) -> bool:
    """Whether an in-place operator has the only name of what it writes, from then on.

    Then its result is what the functional operator gives, and nothing else changes.
    """
    written = node.args[0]
    assert isinstance(written, fx.Node)
    if not _is_alone(written) or not _has_one_dtype(node):
        return False
    others = [user for user in written.users if user is not node]
    return all(places[user] < places[node] and _is_alone(user) for user in others)


def _is_alone(node: fx.Node) -> bool:
    """Whether a call gives memory that no earlier value has, or that only this name is left for."""
    # Where an in-place operator must not write, the program is not at canon anyhow.
    return str(node.target) in IN_PLACE or has_storage_of_its_own(node)


def _has_one_dtype(node: fx.Node) -> bool:
    """Whether nothing is promoted, for an in-place operator keeps the dtype of what it writes."""
    values = [each.meta["val"] for each in (node, *node.all_input_nodes)]
    return len({value.dtype for value in values if isinstance(value, torch.Tensor)}) == 1


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
