"""What depends on weights only is computed once, at load, and again after a weight update."""

from __future__ import annotations

from dlrmc.ir.bag_tables import BAG_OPS
from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.op import map_operands
from dlrmc.ir.strided import VIEW_OPS, resolve_strided
from dlrmc.passes.pass_types import PassResult

# A table that is computed from a larger one stays in the program: memory for a second table is not ours to
# take.
TABLE_BYTES_MAX = 64 << 20

_LOOKUPS = ("embedding", *BAG_OPS)


def run(graph: Graph) -> PassResult:
    """Make one `derive` of each maximal subgraph over weights and consts that a request's values read.

    A plain view of a weight stays a view, which costs nothing.
    """
    uniform = _uniform(graph)
    made = 0
    for root in _roots(graph, uniform):
        if root in graph and not _is_large_table(graph, root):
            _derive(graph, root)
            made += 1
    return PassResult.of({"derived": made})


def _uniform(graph: Graph) -> dict[Node, None]:
    """The values that are the same for every request, in topological order."""
    uniform: dict[Node, None] = {}
    for node in graph.nodes:
        is_leaf = node.is_op("weight", "const", "derive")
        if is_leaf or (node.inputs and not node.is_op("kernel") and all(o in uniform for o in node.inputs)):
            uniform[node] = None
    return uniform


def _roots(graph: Graph, uniform: dict[Node, None]) -> list[Node]:
    """The computed values below the views that requests read, in topological order."""
    roots: dict[Node, None] = {}
    for node in uniform:
        is_output = graph.returns(node)
        if is_output or any(user not in uniform for user in graph.users(node)):
            roots[_base(node)] = None
    return [node for node in uniform if node in roots and not node.is_op(*LEAVES, "derive")]


def _base(node: Node) -> Node:
    """The value below the views, where these are windows onto its buffer; else the node itself."""
    window = resolve_strided(node)
    return node if window is None else window.root


def _is_large_table(graph: Graph, root: Node) -> bool:
    return root.type.size_bytes > TABLE_BYTES_MAX and any(
        _is_looked_up(graph, root, user) for user in graph.users(root)
    )


def _is_looked_up(graph: Graph, value: Node, user: Node) -> bool:
    if user.is_op(*VIEW_OPS):
        return any(_is_looked_up(graph, user, further) for further in graph.users(user))
    return user.is_op(*_LOOKUPS) and any(operand is value for operand in user.inputs)


def _derive(graph: Graph, root: Node) -> None:
    members = _members(graph, root)
    outer = [node for node in members if node.is_op("weight", "derive")]
    body = Graph("body")
    inner = {node: body.input(node.name, node.type) for node in outer}
    for node in members:
        if node in inner:
            continue
        if node.is_op("const"):
            inner[node] = body.const(node.name, node.value, node.type)
            continue
        operands = map_operands(node.operands, lambda operand: inner[operand])
        inner[node] = body.add(node.op, operands, node.attributes, name=node.name, source=node.source)
    body.set_outputs([inner[root]])
    made = graph.add("derive", (tuple(outer),), name=root.name, source=root.source, body=body, place=root)
    graph.replace(root, made)
    for node in reversed(members):
        if node in graph and node is not root and not graph.use_count(node):
            graph.erase(node)


def _members(graph: Graph, root: Node) -> list[Node]:
    """The root and all that it is made of, down to weights, consts and derived values, operands first."""
    above = {root}
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        fresh = [] if node.is_op("derive") else [operand for operand in node.inputs if operand not in above]
        above.update(fresh)
        open_nodes.extend(fresh)
    return [node for node in graph.nodes if node in above]
