"""Evaluate an imported program on torch tensors, by the NumPy reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from dlrmc.frontend import (
    ConstantOutput,
    ImportedProgram,
    InputOutput,
    TensorInput,
    import_program,
)
from dlrmc.frontend.dtypes import array_of_tensor
from dlrmc.ir.reference import evaluate
from dlrmc.ir.verify import verify

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def evaluate_imported(imported: ImportedProgram, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The results in the model's own structure, tensors as NumPy arrays."""
    verify(imported.graph)
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    assert spec == imported.in_spec
    inputs = {
        imported.graph.inputs[each.index].name: array_of_tensor(leaf)
        for each, leaf in zip(imported.inputs, leaves, strict=True)
        if isinstance(each, TensorInput)
    }
    weights = {target: array_of_tensor(tensor) for target, tensor in imported.weights.items()}
    values = evaluate(imported.graph, inputs, weights)
    results: list[Any] = []
    for output in imported.outputs:
        if isinstance(output, ConstantOutput):
            results.append(output.value)
        elif isinstance(output, InputOutput):
            results.append(array_of_tensor(leaves[output.index]))
        else:
            results.append(values[output.index])
    return pytree.tree_unflatten(results, imported.out_spec)


def assert_equals_eager(found: Any, eager: Any, rtol: float = 2e-5, atol: float = 1e-6) -> None:
    """Compare structure, dtypes, shapes and values; tolerances are for float32."""
    found_leaves, found_spec = pytree.tree_flatten(found)
    eager_leaves, eager_spec = pytree.tree_flatten(eager)
    assert found_spec == eager_spec
    for got, want in zip(found_leaves, eager_leaves, strict=True):
        if not isinstance(want, torch.Tensor):
            assert got == want
            continue
        expected = array_of_tensor(want)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        scale = {2: 400.0}.get(expected.dtype.itemsize, 1.0) if expected.dtype.kind in "fV" else 1.0
        exact = expected.dtype.kind in "iub"
        wide = (got, expected) if exact else (got.astype(np.float64), expected.astype(np.float64))
        np.testing.assert_allclose(
            *wide, rtol=0 if exact else rtol * scale, atol=0 if exact else atol * scale
        )


class Functions(nn.Module):
    """A module that calls many functions of the same arguments and returns their results by name."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = dict(functions)

    def forward(self, *args: Any) -> dict[str, Any]:
        return {name: function(*args) for name, function in self.functions.items()}


@dataclass(frozen=True)
class Family:
    """Functions exported together, evaluated by import and by eager."""

    program: ExportedProgram
    imported: ImportedProgram
    found: dict[str, Any]
    eager: dict[str, Any]

    @property
    def targets(self) -> set[str]:
        """The aten targets of the exported program."""
        return {str(n.target) for n in self.program.graph.nodes if n.op == "call_function"}


def run_family(
    functions: Mapping[str, Callable[..., Any]], args: tuple[Any, ...], core: bool = False
) -> Family:
    """Export, import, and evaluate both ways."""
    module = Functions(functions).eval()
    program = torch.export.export(module, args)
    program = program.run_decompositions() if core else program
    imported = import_program(program)
    with torch.no_grad():
        eager = module(*args)
    return Family(program, imported, evaluate_imported(imported, args, {}), eager)
