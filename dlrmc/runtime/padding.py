"""Requests padded to a batch that is built already: which programs allow it, and how rows are added.

Rows may be added where row r of every result depends on row r of the request alone. Then the added rows are
computed for nothing and cut off. Added rows are zeros, which are good ids; added bags are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from dlrmc.errors import InputError, OptionError
from dlrmc.frontend.program import ImportedProgram, InputOutput
from dlrmc.ir.bag_tables import BAG_OPS, Bags, bags_of
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.rows import Rows
from dlrmc.passes import driver
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.passes.row_tags import tag_rows
from dlrmc.runtime.tensors import describe

PLACE = "option pad_batches"
Shapes = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Filling:
    """How one input is padded.

    Args:
        offsets_of: for offsets without a last one, the number of the input that holds the ids: added bags
            begin behind them. None for any other input.
        repeats_last: whether the last entry is repeated, as that of offsets with the last included.
    """

    offsets_of: int | None = None
    repeats_last: bool = False


class Padding:
    """Pads requests of one program up to the next of some batches.

    Args:
        buckets: the batches to pad to.
        shapes_of: the shapes of all tensor inputs of a batch; those of ids of any number do not matter.
        import_for: the program for such shapes.

    Raises:
        OptionError: rows of a result depend on more than their own row of the request.
    """

    def __init__(
        self,
        buckets: Sequence[int],
        shapes_of: Callable[[int], Shapes],
        import_for: Callable[[Shapes], ImportedProgram],
    ) -> None:
        self._buckets = sorted(buckets)
        self._shapes_of = cache(shapes_of)
        # Two batches of no common factor, so that no other size is taken for rows of both.
        largest = max(self._buckets[-1], 3)
        batches = largest - 1, largest
        small, large = (import_for(shapes_of(batch)) for batch in batches)
        if any(isinstance(each, InputOutput) for each in small.outputs):
            raise _refusal("a result is one of the arguments")
        graphs = _simplified(small.graph), _simplified(large.graph)
        _check_rows(*graphs, batches)
        pairs = zip(small.graph.inputs, large.graph.inputs, strict=True)
        self._padded = [number for number, (a, b) in enumerate(pairs) if a.shape != b.shape]
        self._fillings = _fillings(graphs[0], self._padded)
        self._zeros: dict[tuple[int, torch.device], torch.Tensor] = {}

    def bucket(self, tensors: Sequence[Any]) -> tuple[int, int] | None:
        """The batch of a request and the one to pad it to; None where there is none or sizes contradict."""
        first = self._padded[0]
        rows = tensors[first].shape[0]
        for batch in self._buckets:
            if self._shapes_of(batch)[first][0] < rows:
                continue
            own = self._own_batch(rows, first, batch)
            shapes = self._shapes_of(own)
            is_good = all(tuple(tensors[number].shape) == shapes[number] for number in self._padded)
            return (own, batch) if is_good else None
        return None

    def _own_batch(self, rows: int, number: int, batch: int) -> int:
        """The batch for which an input has so many rows; sizes grow by equal steps."""
        step = self._shapes_of(batch)[number][0] - self._shapes_of(batch - 1)[number][0]
        return batch - (self._shapes_of(batch)[number][0] - rows) // step

    def pad(self, tensors: Sequence[torch.Tensor], batch: int) -> list[torch.Tensor]:
        """The tensors of a request with the rows of a batch."""
        padded = list(tensors)
        with torch.no_grad():
            for number in self._padded:
                missing = self._shapes_of(batch)[number][0] - tensors[number].shape[0]
                padded[number] = torch.cat([tensors[number], self._filler(tensors, number, missing)])
        return padded

    def _filler(self, tensors: Sequence[torch.Tensor], number: int, missing: int) -> torch.Tensor:
        tensor, filling = tensors[number], self._fillings[number]
        if filling.repeats_last:
            return tensor[-1:].expand(missing)
        if filling.offsets_of is not None:
            return tensor.new_full((missing,), tensors[filling.offsets_of].shape[0])
        key = number, tensor.device
        if key not in self._zeros:
            shape = self._shapes_of(self._buckets[-1])[number]
            self._zeros[key] = torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
        return self._zeros[key][:missing]


def cut(results: torch.Tensor, batch: int, padded: int) -> torch.Tensor:
    """The rows of a result that belong to the request."""
    return results[: results.shape[0] // padded * batch]


def copy_out(results: Any, out: Any) -> Any:
    """Copy results into the caller's own tensors of the same structure, which are returned.

    Raises:
        InputError: another structure, shape or dtype.
    """
    found, spec = pytree.tree_flatten(results)
    given, own_spec = pytree.tree_flatten(out)
    if spec != own_spec:
        raise InputError("out", found=str(own_spec), expected=f"the structure of the results: {spec}")
    for target, result in zip(given, found, strict=True):
        if not isinstance(result, torch.Tensor):
            continue
        if not isinstance(target, torch.Tensor) or (target.shape, target.dtype) != (
            result.shape,
            result.dtype,
        ):
            text = describe(target) if isinstance(target, torch.Tensor) else f"a {type(target).__name__}"
            raise InputError("out", found=text, expected=describe(result))
        target.copy_(result)
    return out


# -- which programs ------------------------------------------------------------------------------------------


def _simplified(graph: Graph) -> Graph:
    """The graph after the passes that come before kernels."""
    graph = graph.copy()
    names = [each.name for each in PIPELINE]
    driver.run(graph, PIPELINE[: names.index("fuse-rows")])
    return graph


def _check_rows(small: Graph, large: Graph, batches: tuple[int, int]) -> None:
    """Refuse a program whose results are not row by row, by its graphs for two batches."""
    tags = tag_rows(small, batches[0]), tag_rows(large, batches[1])
    for graph_outputs, own_tags in zip((small.outputs, large.outputs), tags, strict=True):
        for output in graph_outputs:
            if not isinstance(own_tags[output], Rows):
                raise _refusal(f"result %{output.name} depends on other rows, too")
    if any(a.shape[1:] != b.shape[1:] for a, b in zip(small.inputs, large.inputs, strict=True)):
        raise _refusal("an input has the batch in another dimension than the first")
    if len(small.nodes) != len(large.nodes):
        raise _refusal("it computes something else for another batch")
    different = next(_differences(small, large, batches), None)
    if different is not None:
        raise _refusal(f"%{different.name} = {different.op.name} uses the size of the batch as a number")


def _differences(small: Graph, large: Graph, batches: tuple[int, int]) -> Iterator[Node]:
    """The nodes that differ between two batches by more than the number of rows."""
    for node, twin in zip(small.nodes, large.nodes, strict=True):
        if node.is_op("const"):
            if node.shape != twin.shape or not np.array_equal(node.value, twin.value, equal_nan=True):
                yield node
        elif node.is_op("view", "expand"):
            if _rows_first(node, batches[0]) != _rows_first(twin, batches[1]):
                yield node
        elif node.attributes != twin.attributes:
            yield node


def _rows_first(node: Node, batch: int) -> tuple[object, ...]:
    """A shape with its leading dimension in rows of the batch where it is that."""
    first, *rest = node.attributes.ints("shape")
    return ("rows", first // batch, *rest) if first % batch == 0 else (first, *rest)


def _fillings(graph: Graph, padded: Sequence[int]) -> dict[int, Filling]:
    """How each padded input is filled up; bags must find ids and offsets among the inputs as they are."""
    numbers = {node: number for number, node in enumerate(graph.inputs)}
    fillings = dict.fromkeys(padded, Filling())
    for bags in _jagged_bags(graph):
        ids, offsets = bags.ids, bags.offsets
        if offsets is None or not all(each in numbers for each in (ids, offsets, bags.weights or ids)):
            raise _refusal(f"bags of %{bags.table.name} have ids or offsets that the program computes")
        is_last = bags.options.include_last_offset
        filling = Filling(None if is_last else numbers[ids], is_last)
        if fillings.setdefault(numbers[offsets], filling) not in (Filling(), filling):
            raise _refusal(f"%{offsets.name} are offsets of bags of different ids")
        fillings[numbers[offsets]] = filling
    return fillings


def _jagged_bags(graph: Graph) -> Iterator[Bags]:
    for node in graph.nodes:
        if node.is_op(*BAG_OPS):
            yield from (bags for bags in bags_of(node) if bags.offsets is not None)


def _refusal(found: str) -> OptionError:
    return OptionError(
        PLACE,
        found=found,
        expected="a program whose results are row by row those of the request",
        hint="leave the option out: each batch is built when a call first has it",
    )
