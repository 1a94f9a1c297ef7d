"""Inputs, weights and constants of a program as leaves of the graph."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec

from dlrmc.errors import FrontendError
from dlrmc.frontend.builder import MAX_CONST_ELEMENTS
from dlrmc.frontend.constants import MAX_FOLDED_ELEMENTS
from dlrmc.frontend.dtypes import array_of_tensor, dtype_of_torch
from dlrmc.frontend.program import ConstantInput, TensorInput, UserInput
from dlrmc.frontend.refusal import Refused
from dlrmc.frontend.signature import is_constant
from dlrmc.frontend.symbols import Sizes
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.types import DType, TensorType

# Index tables (pairs of an interaction, positions) up to this size are read into the graph, where rules see
# their values; what is larger, and every float parameter or buffer, is a weight.
MAX_BAKED_ELEMENTS = 1 << 16
_TENSOR_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


@dataclass
class Leaves:
    """The leaves made so far.

    Attributes:
        values: what each placeholder stands for.
        weights: the tensor of each weight, by target.
        baked: the constants whose values were read into the graph, by target.
        inputs: one entry for each flattened user input.
        holders: the weight node of each tensor, so that tied parameters are one weight.
    """

    values: dict[fx.Node, Any] = field(default_factory=dict)
    weights: dict[str, torch.Tensor] = field(default_factory=dict)
    baked: dict[str, Node] = field(default_factory=dict)
    inputs: list[UserInput] = field(default_factory=list)
    holders: dict[tuple[Any, ...], Node] = field(default_factory=dict)


def add_leaves(graph: Graph, program: ExportedProgram, paths: Sequence[str], sizes: Sizes) -> Leaves:
    """Add inputs in the order of the signature, then the weights and constants that something reads.

    Raises:
        FrontendError: an input or weight of a dtype the IR lacks, or an input that is an object.
    """
    leaves = Leaves()
    pairs = list(zip(_placeholders(program), program.graph_signature.input_specs, strict=True))
    _add_inputs(graph, leaves, [pair for pair in pairs if pair[1].kind is InputKind.USER_INPUT], paths, sizes)
    for node, spec in pairs:
        if spec.kind is InputKind.USER_INPUT:
            continue
        if spec.kind not in _TENSOR_KINDS:
            raise FrontendError(
                f"{spec.arg.name}", found=spec.kind.name, expected="tensors and Python values"
            )
        if node.users:
            leaves.values[node] = _add_tensor(graph, leaves, program, spec)
    return leaves


def _placeholders(program: ExportedProgram) -> list[fx.Node]:
    return [node for node in program.graph.nodes if node.op == "placeholder"]


def _add_inputs(
    graph: Graph,
    leaves: Leaves,
    pairs: Sequence[tuple[fx.Node, InputSpec]],
    paths: Sequence[str],
    sizes: Sizes,
) -> None:
    for (node, spec), path in zip(pairs, paths, strict=True):
        if is_constant(spec):
            leaves.values[node] = spec.arg.value  # pyright: ignore[reportAttributeAccessIssue]
            leaves.inputs.append(ConstantInput(path, leaves.values[node]))
            continue
        val = node.meta.get("val")
        if not isinstance(val, torch.Tensor):
            hint = "pass a tensor, or a plain number that the export specialises"
            raise FrontendError(
                f"input {path}", found=f"{type(val).__name__}", expected="a tensor", hint=hint
            )
        type_ = TensorType(_dtype(f"input {path}", val.dtype), sizes.shape(val.shape))
        leaves.values[node] = graph.input(node.name, type_)
        leaves.inputs.append(TensorInput(path, len(graph.inputs) - 1))


def _add_tensor(graph: Graph, leaves: Leaves, program: ExportedProgram, spec: InputSpec) -> Node:
    target = str(spec.target)
    tensor = _find_tensor(program, target)
    dtype = _dtype(f"{spec.kind.name.lower()} {target}", tensor.dtype)
    if _is_baked(spec, tensor, dtype):
        leaves.baked[target] = graph.const(target, array_of_tensor(tensor))
        return leaves.baked[target]
    key = _identity(tensor)
    if key not in leaves.holders:
        leaves.holders[key] = graph.weight(target, TensorType(dtype, tuple(tensor.shape)), target)
        leaves.weights[target] = tensor
    return leaves.holders[key]


def aliases(leaves: Leaves, program: ExportedProgram) -> dict[str, str]:
    """The other names that the program has for the tensors of weights, each with the weight's target."""
    names = {
        str(spec.target): leaves.holders.get(_identity(_find_tensor(program, str(spec.target))))
        for spec in program.graph_signature.input_specs
        if spec.kind in _TENSOR_KINDS
    }
    return {name: node.target for name, node in names.items() if node is not None and node.target != name}


def other_tensors(program: ExportedProgram, taken: Container[str]) -> dict[str, torch.Tensor]:
    """The tensors of the program's state whose names are not among those taken."""
    specs = program.graph_signature.input_specs
    names = [str(spec.target) for spec in specs if spec.kind in _TENSOR_KINDS]
    return {
        name: _find_tensor(program, name)
        for name in dict.fromkeys([*names, *program.state_dict])
        if name not in taken
    }


def _find_tensor(program: ExportedProgram, target: str) -> torch.Tensor:
    for holder in (program.state_dict, program.constants):
        found = holder.get(target)
        if isinstance(found, torch.Tensor):
            return found
    raise FrontendError(
        target, found="no tensor of that name in the program", expected="a parameter or buffer"
    )


def _is_baked(spec: InputSpec, tensor: torch.Tensor, dtype: DType) -> bool:
    if dtype in (DType.I64, DType.I32, DType.BOOL):
        return tensor.numel() <= MAX_BAKED_ELEMENTS or _repeats_small_row(spec, tensor)
    return spec.kind is InputKind.CONSTANT_TENSOR and tensor.numel() <= MAX_CONST_ELEMENTS


def _repeats_small_row(spec: InputSpec, tensor: torch.Tensor) -> bool:
    """Whether a constant that the export lifted repeats one row, as the positions of a whole batch do."""
    is_lifted = spec.kind is InputKind.CONSTANT_TENSOR and tensor.dim() > 1
    if not is_lifted or not tensor.numel() or tensor.numel() > MAX_FOLDED_ELEMENTS:
        return False
    return tensor[0].numel() <= MAX_BAKED_ELEMENTS and bool((tensor == tensor[:1]).all())


def _identity(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Equal for tensors that are the same memory read the same way; a tensor without memory is its own."""
    if tensor.numel() == 0 or tensor.device.type == "meta":
        return (id(tensor),)
    return (tensor.device, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.data_ptr())


def _dtype(place: str, dtype: torch.dtype) -> DType:
    try:
        return dtype_of_torch(dtype)
    except Refused as refusal:
        raise FrontendError(
            place, found=refusal.reason, expected="a dtype of the IR", hint="cast it"
        ) from None
