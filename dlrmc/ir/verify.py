"""The invariants of a graph, numbered; checked after every pass.

V1  every edge of the networkx graph is an operand, at its position, and every operand has its edge
V2  every operand, output and input belongs to the graph
V3  the graph is acyclic
V4  names are unique and are IR names
V5  operands have the structure that the op card declares
V6  attributes are complete, and of the kind that the card declares
V7  the type is the one that the card infers from the operands' types
V8  inputs stand in the signature once each; nothing but inputs stands there
V9  a body is a graph without weights that meets V1 to V9, and its inputs have the operands' types
V10 a derive reads only weights, constants and other derived values
"""

from __future__ import annotations

import re

from dlrmc.errors import DlrmcError, VerifyError
from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.inference import infer_type
from dlrmc.ir.op import check_arity, complete_attributes
from dlrmc.ir.printer import print_node


def verify(graph: Graph, after: str = "") -> None:
    """Check V1 to V10.

    Args:
        graph: the graph.
        after: what has just been done to it, for the error: a pass or a rule.

    Raises:
        VerifyError: with the number of the invariant and the IR around the fault.
    """
    place = f"graph @{graph.name}" + (f" after {after}" if after else "")
    try:
        nodes = graph.nodes
    except DlrmcError as error:
        raise VerifyError(f"{place}: V3", found=error.found, expected=error.expected) from error
    _verify_members(graph, place)
    for node in nodes:
        _verify_edges(graph, node, place)
        _verify_node(graph, node, place)
        if node.has_body:
            _verify_body(node, place)


def _fault(place: str, number: int, node: Node, found: str, expected: str) -> VerifyError:
    text = print_node(node).split("\n")
    return VerifyError(f"{place}: V{number}", found=f"%{node.name}: {found}", expected=expected, context=text)


def _verify_members(graph: Graph, place: str) -> None:
    for output in graph.outputs:
        if output not in graph:
            raise _fault(place, 2, output, "an output that is not in the graph", "a value of the graph")
    inputs = [node for node in graph.nodes if node.is_op("input")]
    if len(set(graph.inputs)) != len(graph.inputs) or set(inputs) != set(graph.inputs):
        raise VerifyError(
            f"{place}: V8",
            found=f"inputs {[node.name for node in inputs]}",
            expected=f"the signature {[node.name for node in graph.inputs]}",
        )


def _verify_edges(graph: Graph, node: Node, place: str) -> None:
    for operand in node.inputs:
        if operand not in graph:
            raise _fault(place, 2, node, f"operand %{operand.name} of another graph", "a value of the graph")
    edges = graph.operand_edges(node)
    if edges != node.inputs:
        names = [edge.name for edge in edges]
        raise _fault(place, 1, node, f"edges from {names}", f"edges from {[n.name for n in node.inputs]}")


def _verify_node(graph: Graph, node: Node, place: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", node.name) or graph.find(node.name) is not node:
        raise _fault(place, 4, node, "a name that is taken or malformed", "a unique IR name")
    if node.is_op(*LEAVES):
        return
    number = 5
    try:
        check_arity(node.op, node.operands)
        number = 6
        complete = complete_attributes(node.op, node.attributes)
        number = 7
        inferred = infer_type(node.op, node.operands, complete, node.body if node.has_body else None)
    except DlrmcError as error:
        raise _fault(place, number, node, error.found, error.expected) from error
    if inferred != node.result_type:
        raise _fault(place, 7, node, f"type {node.result_type}", f"{inferred}, which the card infers")


def _verify_body(node: Node, place: str) -> None:
    weights = [inner.name for inner in node.body.nodes if inner.is_op("weight")]
    if weights:
        expected = "a body that reads weights as operands"
        raise _fault(place, 9, node, f"weight %{weights[0]} in a body", expected)
    verify(node.body, f"%{node.name} of {place}")
    if not node.is_op("derive"):
        return
    for operand in node.inputs:
        if not operand.is_op("weight", "const", "derive"):
            found = f"operand %{operand.name}, a {operand.op.name}"
            raise _fault(place, 10, node, found, "weights and constants")
