"""A graph of Dynamo as an exported program: weights, numbers and sizes of one call put in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from dlrmc.errors import FrontendError


def export_graph(
    graph: fx.GraphModule,
    weights: Sequence[int],
    numbers: Sequence[int],
    args: Sequence[Any],
    counts: Mapping[int, str] | None = None,
) -> torch.export.ExportedProgram:
    """A Dynamo graph for one set of arguments as an exported program.

    Args:
        graph: is not changed.
        weights: the numbers of the placeholders that become parameters and buffers.
        numbers: the numbers of those that become Python numbers.
        args: for all placeholders.
        counts: the placeholders of ids in any number, and what Dynamo calls the number.

    Raises:
        FrontendError: torch cannot export it.
    """
    copy = fx.Graph()
    copy.output(copy.graph_copy(graph.graph, mapping := {}))
    module = fx.GraphModule(graph, copy)
    originals = [node for node in graph.graph.nodes if node.op == "placeholder"]
    nodes = [mapping[node] for node in originals]
    for place in weights:
        _make_weight(module, nodes[place], args[place])
    for place in numbers:
        _make_number(module, nodes[place], plain_number(args[place]))
    chosen = {*weights, *numbers}
    rest = [place for place in range(len(nodes)) if place not in chosen]
    for place in rest:
        nodes[place]._rename(_plain_name(nodes[place].name))  # another name where a value has this one
        nodes[place].target = nodes[place].name
    module.graph.lint()
    module.recompile()
    try:
        with torch.no_grad():
            return torch.export.export(
                module,
                tuple(args[place] for place in rest),
                dynamic_shapes=_dynamic_shapes(rest, counts) if counts else None,
                strict=False,
            )
    except Exception as error:
        raise FrontendError(
            "a graph of torch.compile",
            found=f"torch could not export it: {type(error).__name__}: {error}",
            expected="a graph that torch.export takes",
        ) from error


def _make_weight(module: fx.GraphModule, node: fx.Node, value: torch.Tensor) -> None:
    """Turn a placeholder into an attribute of the module."""
    name = node.name if hasattr(module, _plain_name(node.name)) else _plain_name(node.name)
    if isinstance(value, torch.nn.Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)
    with module.graph.inserting_before(node):
        attribute = module.graph.get_attr(name)
    node.replace_all_uses_with(attribute)
    module.graph.erase_node(node)


def _make_number(module: fx.GraphModule, node: fx.Node, value: float) -> None:
    """Put a number wherever a placeholder, or what `.item()` reads from it, is used."""
    for user in list(node.users):
        if user.op == "call_method" and user.target == "item":
            _make_number(module, user, value)
            continue
        user.args = map_arg(user.args, lambda each: value if each is node else each)
        user.kwargs = map_arg(user.kwargs, lambda each: value if each is node else each)
    module.graph.erase_node(node)


def _dynamic_shapes(places: Sequence[int], counts: Mapping[int, str]) -> tuple[Any, ...]:
    dims = {symbol: torch.export.Dim(f"count_{symbol}", min=0) for symbol in counts.values()}
    return tuple({0: dims[counts[place]]} if place in counts else None for place in places)


def id_counts(graph: fx.Graph, tensors: Sequence[int]) -> dict[int, str]:
    """The placeholders that may be ids in any number, or their weights, and what Dynamo calls the number.

    They are vectors of a size that nothing else in the graph shows. Whether bags alone read them is found out
    when they are compiled.

    Args:
        graph: of Dynamo.
        tensors: the numbers of the placeholders that are tensors of a call.
    """
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    shapes = {place: _shape(placeholders[place]) for place in tensors}
    vectors = {place: str(shape[0]) for place, shape in shapes.items() if len(shape) == 1}
    shown = {name for place, shape in shapes.items() if place not in vectors for name in _symbols(shape)}
    for node in graph.nodes:
        if node.op != "placeholder":
            shown |= {name for value in _values(node) for name in _symbols(value)}
        elif node.users and isinstance(node.meta.get("example_value"), torch.SymInt):
            shown |= _symbols([node.meta["example_value"]])
    return {place: size for place, size in vectors.items() if size.isidentifier() and size not in shown}


def _shape(node: fx.Node) -> Sequence[Any]:
    return getattr(node.meta.get("example_value"), "shape", ())


def _values(node: fx.Node) -> Iterator[Sequence[Any]]:
    """The shapes and sizes that a node gives."""
    for value in pytree.tree_leaves(node.meta.get("example_value")):
        yield value.shape if isinstance(value, torch.Tensor) else [value]


def _symbols(sizes: Sequence[Any]) -> set[str]:
    """The names of the symbols in sizes; what is no SymInt has none."""
    symbolic = [size for size in sizes if isinstance(size, torch.SymInt)]
    return {str(symbol) for size in symbolic for symbol in size.node.expr.free_symbols}


def dynamic_sizes(tensors: Sequence[tuple[int, fx.Node]]) -> list[tuple[int, int]]:
    """Placeholder and dimension of each size that may vary, the same size of several tensors once."""
    found: dict[str, tuple[int, int]] = {}
    for place, node in tensors:
        for dim, size in enumerate(getattr(node.meta.get("example_value"), "shape", ())):
            if not isinstance(size, int):
                found.setdefault(str(size), (place, dim))
    return list(found.values())


def plain_number(value: Any) -> Any:
    """The Python number that Dynamo passes, by itself or in a tensor."""
    return value.item() if isinstance(value, torch.Tensor) else value


def _plain_name(name: str) -> str:
    """The user's name in Dynamo's: `dense` for `l_dense_`."""
    plain = name.removeprefix("l_").rstrip("_")
    return plain if plain.isidentifier() else name
