"""The entry: an exported program, brought to canon once, imported for any set of input shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from dlrmc.errors import FrontendError, UnsupportedOp, UnsupportedOpsError
from dlrmc.frontend.canon import canonicalise
from dlrmc.frontend.id_counts import counted_inputs, id_count_symbols
from dlrmc.frontend.importer import Importer
from dlrmc.frontend.leaves import add_leaves, aliases, other_tensors
from dlrmc.frontend.program import ImportedProgram
from dlrmc.frontend.ranges import check_ranges, declared_ranges, input_dims
from dlrmc.frontend.results import add_outputs, erase_unread, warn_of_unread
from dlrmc.frontend.screen import mutations, screen, without_repeats
from dlrmc.frontend.signature import input_paths, is_constant, user_input_specs
from dlrmc.frontend.symbols import Sizes, bind_symbols
from dlrmc.ir.graph import Graph

DEFAULT_NAME = "main"


@dataclass(frozen=True)
class PreparedProgram:
    """A program at canon, to be imported for one set of input shapes or, if dynamic, for many.

    Attributes:
        name: the name of the graphs made of it.
        canon: the program at canon.
        paths: the user's name of every flattened input.
        screened: ops that were refused before canon.
    """

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

    @property
    def example_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape that every tensor input had in the example of the export."""
        return tuple(
            tuple(size if isinstance(size, int) else int(size.node.hint) for size in shape)
            for _path, shape in self.declared_shapes
        )

    def specialise(
        self, input_shapes: Sequence[Sequence[int]] | None = None, *, stacklevel: int = 3
    ) -> ImportedProgram:
        """Import for the given shape of every tensor input; None will do for a static program.

        Raises:
            UnsupportedOpsError, FrontendError: as `import_program`.
        """
        declared, ranges = self.declared_shapes, declared_ranges(self.canon)
        bindings = bind_symbols(declared, input_shapes)
        check_ranges(declared, bindings, ranges)
        sizes = Sizes(bindings)
        graph = Graph(self.name)
        leaves = add_leaves(graph, self.canon, self.paths, sizes)
        nodes = list(self.canon.graph.nodes)
        importer = Importer(graph, sizes, leaves.values)
        importer.run(nodes)
        self._raise_unsupported(importer.unsupported, nodes)
        outputs = add_outputs(graph, self.canon, leaves.values, sizes)
        erase_unread(graph)
        shapes = [shape for _path, shape in declared]
        targets = {node.target for node in graph.nodes if node.is_op("weight")}
        names = aliases(leaves, self.canon)
        names = {name: target for name, target in names.items() if target in targets}
        return ImportedProgram(
            graph=graph,
            weights={target: tensor for target, tensor in leaves.weights.items() if target in targets},
            aliases=names,
            baked=tuple(
                target
                for target, node in leaves.baked.items()
                if node in graph or node in importer.read_constants
            ),
            in_spec=self.canon.call_spec.in_spec,
            out_spec=self.canon.call_spec.out_spec,
            inputs=tuple(leaves.inputs),
            outputs=outputs,
            input_dims=input_dims(declared, sizes, ranges),
            warnings=warn_of_unread(self.canon, self.paths, stacklevel),
            others=other_tensors(self.canon, {*targets, *names}),
            counted=counted_inputs(shapes, id_count_symbols(self.canon, shapes)),
        )

    def _raise_unsupported(self, found: Sequence[UnsupportedOp], nodes: Sequence[fx.Node]) -> None:
        written = mutations(self.canon, {node.name: node for node in nodes})
        items = without_repeats(self.screened, found, written)
        if items:
            raise UnsupportedOpsError(f"program {self.name!r}", items)


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
    return prepare(program, name=name).specialise(input_shapes, stacklevel=4)


def prepare(program: ExportedProgram, *, name: str | None = None) -> PreparedProgram:
    """Bring a program to canon, the slow part of an import.

    Raises:
        UnsupportedOpsError: torch cannot decompose it, and some of its ops are refused in any case.
        FrontendError: it is no ExportedProgram, or torch cannot decompose it.
    """
    if not isinstance(program, ExportedProgram):
        raise FrontendError(
            "import_program",
            found=f"a {type(program).__name__}",
            expected="a torch.export.ExportedProgram",
            hint="export first: torch.export.export(model.eval(), args)",
        )
    name = name or DEFAULT_NAME
    screened = screen(program)
    try:
        canon = canonicalise(program)
    except Exception as error:
        if screened:
            raise UnsupportedOpsError(f"program {name!r}", screened) from error
        raise FrontendError(
            f"program {name!r}",
            found=f"torch could not decompose it: {type(error).__name__}: {error}",
            expected="a program that ExportedProgram.run_decompositions takes",
        ) from error
    return PreparedProgram(name, canon, tuple(input_paths(program)), tuple(screened))
