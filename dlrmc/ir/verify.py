"""The invariants of a graph, numbered; checked after every pass.

V1  every edge of the networkx graph is an operand, at its position, and every operand has its edge
V2  every operand, output and input belongs to the graph
V3  the graph is acyclic: no value is computed from itself
V4  names are unique and are IR names
V5  operands have the structure that the op card declares
V6  attributes are complete, and of the kind that the card declares
V7  the type is the one that the card infers from the operands' types, and a const's array has it
V8  inputs stand in the signature once each; nothing but inputs stands there
V9  a body is a graph without weights that meets V1 to V10, and its inputs have the operands' types
V10 a derive reads only weights, constants and other derived values
"""

from __future__ import annotations

from dlrmc.errors import DlrmcError, VerifyError
from dlrmc.ir.graph import LEAVES, Graph, Node, safe_name
from dlrmc.ir.inference import infer_type
from dlrmc.ir.op import check_arity, complete_attributes
from dlrmc.ir.printer import print_node
from dlrmc.ir.types import DType, TensorType


def verify(graph: Graph, after: str = "") -> None:
    """Check V1 to V10.

    Args:
        graph: the graph.
        after: what has just been done to it, for the error: a pass or a rule.

    Raises:
        VerifyError: with the number of the invariant and the IR around the fault.
    """
    _verify(graph, f"graph @{graph.name}" + (f" after {after}" if after else ""))


def _verify(graph: Graph, place: str) -> None:
    try:
        nodes = graph.nodes
    except DlrmcError as error:
        raise VerifyError(f"{place}: V3", found=error.found, expected=error.expected) from error
    _verify_members(graph, place)
    for node in nodes:
        _verify_edges(graph, node, place)
    _verify_order(nodes, place)
    for node in nodes:
        _verify_name(graph, node, place)
        if node.is_op(*LEAVES):
            _verify_leaf(node, place)
            continue
        if node.has_body:
            _verify_body(node, place)
        _verify_card(node, place)


def _fault(place: str, number: int, node: Node, found: str, expected: str) -> VerifyError:
    return VerifyError(
        f"{place}: V{number}", found=f"%{node.name}: {found}", expected=expected, context=_lines(node)
    )


def _lines(node: Node) -> list[str]:
    """The text of the node, or its fields where it is so broken that it has none."""
    try:
        return print_node(node).split("\n")
    except (DlrmcError, LookupError, ValueError):
        operands = ", ".join(f"%{operand.name}" for operand in node.inputs)
        return [f"%{node.name} = {node.op.name}({operands}) {node.attributes!r} : {node.result_type}"]


def _verify_members(graph: Graph, place: str) -> None:
    for kind, members in (("input", graph.inputs), ("output", graph.outputs)):
        for member in members:
            if member not in graph:
                raise _fault(place, 2, member, f"an {kind} that is not in the graph", "a value of the graph")
    signature = [node.name for node in graph.inputs]
    inputs = [node.name for node in graph.nodes if node.is_op("input")]
    if sorted(signature) != sorted(inputs):
        raise VerifyError(
            f"{place}: V8", found=f"signature {signature}", expected=f"inputs {inputs}, once each"
        )


def _verify_edges(graph: Graph, node: Node, place: str) -> None:
    for operand in node.inputs:
        if operand not in graph:
            raise _fault(place, 2, node, f"operand %{operand.name} of another graph", "a value of the graph")
    edges = graph.operand_edges(node)
    operands = dict(enumerate(node.inputs))
    if edges != operands:
        found, expected = (_positions(kept) for kept in (edges, operands))
        raise _fault(place, 1, node, f"edges from {found}", f"edges from {expected}")


def _positions(sources: dict[int, Node]) -> str:
    return ", ".join(f"{position}: %{source.name}" for position, source in sources.items()) or "nothing"


def _verify_order(nodes: tuple[Node, ...], place: str) -> None:
    """The order that the graph gives has operands before users, and so no cycle; it may be a kept one."""
    position = {node: number for number, node in enumerate(nodes)}
    for node in nodes:
        for operand in node.inputs:
            if position.get(operand, len(nodes)) >= position[node]:
                raise _fault(place, 3, node, f"operand %{operand.name}, which comes later", "operands first")


def _verify_name(graph: Graph, node: Node, place: str) -> None:
    is_known = graph.has_name(node.name) and graph.find(node.name) is node
    if not is_known or node.name != safe_name(node.name):
        raise _fault(place, 4, node, "a name that is taken or malformed", "a unique IR name")


def _verify_leaf(node: Node, place: str) -> None:
    if node.operands or node.has_body:
        raise _fault(place, 5, node, "operands or a body", f"neither, for {node.op.name} is a leaf")
    if not isinstance(node.result_type, TensorType):
        raise _fault(place, 7, node, f"type {node.result_type}", "a tensor")
    if not node.is_op("const"):
        return
    array = node.value
    held = TensorType(DType.of_numpy(array.dtype), array.shape)
    if held != node.result_type or array.flags.writeable:
        writeable = "a writeable array" if array.flags.writeable else "an array"
        raise _fault(place, 7, node, f"{writeable} of type {held}", f"a read-only one of {node.result_type}")


def _verify_card(node: Node, place: str) -> None:
    number = 5
    try:
        check_arity(node.op, node.operands)
        number = 6
        complete = complete_attributes(node.op, node.attributes)
        number = 7
        inferred = infer_type(node.op, node.operands, complete, node.body if node.has_body else None)
    except DlrmcError as error:
        raise _fault(place, number, node, error.found, error.expected) from error
    # Their texts are compared, which tells 1 from 1.0 and sees the order.
    if repr(complete) != repr(node.attributes):
        raise _fault(place, 6, node, repr(node.attributes), repr(complete))
    if inferred != node.result_type:
        raise _fault(place, 7, node, f"type {node.result_type}", f"{inferred}, which the card infers")


def _verify_body(node: Node, place: str) -> None:
    weights = [inner.name for inner in node.body.nodes if inner.is_op("weight")]
    if weights:
        expected = "a body that reads weights as operands"
        raise _fault(place, 9, node, f"weight %{weights[0]} in a body", expected)
    given = [str(operand.result_type) for operand in node.inputs]
    wanted = [str(inner.result_type) for inner in node.body.inputs]
    if given != wanted:
        expected = f"the body's {', '.join(wanted) or 'none'}"
        raise _fault(place, 9, node, f"operands of types {', '.join(given) or 'none'}", expected)
    _verify(node.body, f"{place}, body of %{node.name}")
    if not node.is_op("derive"):
        return
    for operand in node.inputs:
        if not operand.is_op("weight", "const", "derive"):
            found = f"operand %{operand.name}, a {operand.op.name}"
            raise _fault(place, 10, node, found, "weights, constants and derived values")
