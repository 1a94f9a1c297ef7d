"""Views of weights that are laid out once, at load, for kernels that read weights as packed rows."""

from __future__ import annotations

from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.strided import views_on


def derive_view(graph: Graph, view: Node) -> Node:
    """Replace a view of a weight or constant, or of such a view, by a `derive` that holds its values."""
    chain = views_on(view)
    root = chain[-1].inputs[0]
    body = Graph("body")
    is_const = root.is_op("const")
    value = body.const(root.name, root.value, root.type) if is_const else body.input(root.name, root.type)
    for node in reversed(chain):
        value = body.add(node.op, (value,), node.attributes, name=node.name, source=node.source)
    body.set_outputs([value])
    operands = () if is_const else (root,)
    made = graph.add("derive", (operands,), name=view.name, source=view.source, body=body, place=view)
    graph.replace(view, made)
    for node in chain:
        if node in graph and not graph.use_count(node):
            graph.erase(node)
    return made
