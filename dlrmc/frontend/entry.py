"""The entry: an exported program, brought to canon once, imported for any set of input shapes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, OutputKind

from dlrmc.errors import FrontendError, UnsupportedOp, UnsupportedOpsError, UnusedInputWarning
from dlrmc.frontend.canon import canonicalise
from dlrmc.frontend.importer import MISSING, Importer
from dlrmc.frontend.leaves import add_leaves
from dlrmc.frontend.program import (
    ConstantOutput,
    ImportedProgram,
    InputDim,
    InputOutput,
    UserOutput,
    ValueOutput,
)
from dlrmc.frontend.screen import mutations, screen, without_repeats
from dlrmc.frontend.signature import input_paths, is_constant, user_input_specs
from dlrmc.frontend.symbols import Sizes, bind_symbols
from dlrmc.ir.graph import Graph, Node


def import_program(
    program: ExportedProgram, *, name: str | None = None, input_shapes: Sequence[Sequence[int]] | None = None
) -> ImportedProgram:
    """Import an exported program; it is not changed, and its weights are shared.

    Args:
        program: any `torch.export.ExportedProgram`: undecomposed, core or in between.
        name: the graph's name; by default `main`.
        input_shapes: for a program with dynamic dimensions, the shape of every tensor input, in order.

    Raises:
        UnsupportedOpsError: ops that cannot be taken, all of them, each with the user's source line.
        FrontendError: an input or weight that cannot be taken, missing or contradictory `input_shapes`.
    """
    return prepare(program, name=name).specialise(input_shapes)


@dataclass(frozen=True)
class PreparedProgram:
    """A program at canon, to be imported for one set of input shapes or, if dynamic, for many."""

    name: str
    canon: ExportedProgram
    paths: tuple[str, ...]
    screened: tuple[UnsupportedOp, ...]

    @property
    def declared_shapes(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Path and shape of every tensor input; a dynamic size is a SymInt."""
        nodes = {node.name: node for node in self.canon.graph.nodes if node.op == "placeholder"}
        pairs = zip(self.paths, user_input_specs(self.canon), strict=True)
        tensors = [(path, nodes[spec.arg.name].meta["val"]) for path, spec in pairs if not is_constant(spec)]
        return tuple((path, tuple(v.shape)) for path, v in tensors if isinstance(v, torch.Tensor))

    @property
    def is_dynamic(self) -> bool:
        """Whether any input dimension may differ from call to call."""
        return any(not isinstance(size, int) for _path, shape in self.declared_shapes for size in shape)

    def specialise(self, input_shapes: Sequence[Sequence[int]] | None = None) -> ImportedProgram:
        """Import for the given shape of every tensor input; None will do for a static program.

        Raises:
            UnsupportedOpsError, FrontendError: as `import_program`.
        """
        declared = self.declared_shapes
        bindings = bind_symbols(declared, input_shapes)
        ranges = _ranges(self.canon)
        _check_ranges(declared, bindings, ranges)
        sizes = Sizes(bindings)
        graph = Graph(self.name)
        leaves = add_leaves(graph, self.canon, self.paths, sizes)
        nodes = list(self.canon.graph.nodes)
        importer = Importer(graph, sizes, leaves.values)
        importer.run(nodes)
        self._raise_unsupported(importer.unsupported, nodes)
        outputs = _add_outputs(graph, self.canon, leaves.values, sizes)
        _erase_unread(graph)
        kept = {node.target for node in graph.nodes if node.is_op("weight")}
        return ImportedProgram(
            graph=graph,
            weights={target: tensor for target, tensor in leaves.weights.items() if target in kept},
            baked=tuple(leaves.baked),
            in_spec=self.canon.call_spec.in_spec,
            out_spec=self.canon.call_spec.out_spec,
            inputs=tuple(leaves.inputs),
            outputs=outputs,
            input_dims=_input_dims(declared, sizes, ranges),
            warnings=_warn_unused(self.canon, self.paths),
        )

    def _raise_unsupported(self, found: Sequence[UnsupportedOp], nodes: Sequence[fx.Node]) -> None:
        by_name = {node.name: node for node in nodes}
        items = without_repeats([*found, *mutations(self.canon, by_name)], self.screened)
        if items:
            raise UnsupportedOpsError(f"program {self.name!r}", items)


def prepare(program: ExportedProgram, *, name: str | None = None) -> PreparedProgram:
    """Bring a program to canon, the slow part of an import.

    Raises:
        FrontendError: it is no ExportedProgram, or torch cannot decompose it.
    """
    if not isinstance(program, ExportedProgram):
        raise FrontendError(
            "import_program",
            found=f"a {type(program).__name__}",
            expected="a torch.export.ExportedProgram",
            hint="export first: torch.export.export(model.eval(), args)",
        )
    screened = screen(program)
    try:
        canon = canonicalise(program)
    except Exception as error:
        if screened:
            raise UnsupportedOpsError(f"program {name or 'main'!r}", screened) from error
        raise FrontendError(
            f"program {name or 'main'!r}",
            found=f"torch could not decompose it: {type(error).__name__}: {error}",
            expected="a program that ExportedProgram.run_decompositions takes",
        ) from error
    return PreparedProgram(name or "main", canon, tuple(input_paths(program)), tuple(screened))


def _add_outputs(
    graph: Graph, program: ExportedProgram, values: Mapping[fx.Node, Any], sizes: Sizes
) -> tuple[UserOutput, ...]:
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
        node = by_name[spec.arg.name]
        outputs.append(_output(returned, sizes.number(values[node]), positions.get(spec.arg.name)))
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


def _erase_unread(graph: Graph) -> None:
    """Erase what nothing reads; dead inputs stay in the signature."""
    for node in reversed(graph.nodes):
        if not node.is_op("input") and graph.use_count(node) == 0:
            graph.erase(node)


def _warn_unused(program: ExportedProgram, paths: Sequence[str]) -> tuple[str, ...]:
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    pairs = zip(paths, user_input_specs(program), strict=True)
    unread = [path for path, spec in pairs if not is_constant(spec) and not nodes[spec.arg.name].users]
    if not unread:
        return ()
    inputs = "inputs" if len(unread) > 1 else "input"
    message = (
        f"{inputs} {', '.join(unread)}: read by no op. torch.export merges inputs that were the same tensor object "
        "in the example: if the model does read it, export again with distinct tensors"
    )
    warnings.warn(UnusedInputWarning(message), stacklevel=4)
    return (message,)


def _ranges(program: ExportedProgram) -> dict[sympy.Expr, tuple[int | None, int | None]]:
    ranges: dict[sympy.Expr, tuple[int | None, int | None]] = {}
    for symbol, bounds in program.range_constraints.items():
        ranges[symbol] = (_finite(bounds.lower), _finite(bounds.upper))
    return ranges


def _finite(bound: Any) -> int | None:
    # torch writes "no limit" as an infinity of its own or as the largest size.
    if not getattr(bound, "is_finite", True) or not getattr(bound, "is_Integer", True):
        return None
    return int(bound) if abs(int(bound)) < 2**62 else None


def _check_ranges(
    declared: Sequence[tuple[str, Sequence[Any]]],
    bindings: Mapping[sympy.Symbol, int],
    ranges: Mapping[sympy.Expr, tuple[int | None, int | None]],
) -> None:
    for symbol, size in bindings.items():
        low, high = ranges.get(symbol, (None, None))
        if (low is None or low <= size) and (high is None or size <= high):
            continue
        places = [
            f"{path}[{dim}]"
            for path, shape in declared
            for dim, each in enumerate(shape)
            if not isinstance(each, int) and symbol in each.node.expr.free_symbols
        ]
        raise FrontendError(
            f"input {places[0]}" if places else str(symbol),
            found=f"{symbol} = {size}",
            expected=f"{low if low is not None else ''} <= {symbol} <= {high if high is not None else 'any'}",
            hint="export again with a wider torch.export.Dim",
        )


def _input_dims(
    declared: Sequence[tuple[str, Sequence[Any]]],
    sizes: Sizes,
    ranges: Mapping[sympy.Expr, tuple[int | None, int | None]],
) -> tuple[InputDim, ...]:
    dims: list[InputDim] = []
    for path, shape in declared:
        for dim, size in enumerate(shape):
            if isinstance(size, int):
                dims.append(InputDim(path, dim, size))
                continue
            expression = size.node.expr
            low, high = ranges.get(expression, (None, None))
            dims.append(InputDim(path, dim, int(sizes.number(size)), str(expression), low, high))
    return tuple(dims)


__all__ = ["MISSING", "PreparedProgram", "import_program", "prepare"]
