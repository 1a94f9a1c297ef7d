"""The user's side of an exported program: argument paths, tensor and constant inputs, results."""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec
from torch.utils import _pytree as pytree


def user_input_specs(program: ExportedProgram) -> list[InputSpec]:
    """The specs of the user's flattened inputs, in pytree order."""
    return [s for s in program.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]


def is_constant(spec: InputSpec) -> bool:
    """Whether the export specialised the input to a Python value."""
    return isinstance(spec.arg, ConstantArgument)


def input_paths(program: ExportedProgram) -> list[str]:
    """The user's own name of every flattened input: `dense`, `offsets[3]`, `batch['user']`."""
    in_spec = program.call_spec.in_spec
    specs = user_input_specs(program)
    if in_spec is None:
        return [spec.arg.name for spec in specs]
    names = _positional_names(program)
    numbered = pytree.tree_unflatten(list(range(in_spec.num_leaves)), in_spec)
    keyed, _spec = pytree.tree_flatten_with_path(numbered)
    paths = [_path(keys, names) for keys, _leaf in keyed]
    if len(paths) != len(specs):
        return [spec.arg.name for spec in specs]
    return paths


def _positional_names(program: ExportedProgram) -> list[str]:
    root = next((entry for entry in program.module_call_graph if entry.fqn == ""), None)
    signature = root.signature if root is not None else None
    return list(getattr(signature, "forward_arg_names", None) or [])


def _path(keys: tuple[Any, ...], names: list[str]) -> str:
    # keys[0] says args (0) or kwargs (1), keys[1] which of them.
    if keys[0].idx == 1:
        head = str(keys[1].key)
    else:
        position = keys[1].idx
        head = names[position] if position < len(names) else f"args[{position}]"
    return head + pytree.keystr(keys[2:])
