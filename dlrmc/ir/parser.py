"""IR text back into a graph: `print_graph(parse_graph(text)) == text` for any text that the printer wrote."""

from __future__ import annotations

import difflib
import json

from dlrmc.errors import DlrmcError
from dlrmc.ir.attributes import Attribute
from dlrmc.ir.cursor import Cursor
from dlrmc.ir.graph import Graph, Node, safe_name
from dlrmc.ir.literals import convert, read_array, read_attribute
from dlrmc.ir.op import Arity, Op, Operand, Operands, OperandSpec
from dlrmc.ir.ops import find_op
from dlrmc.ir.tokens import Token
from dlrmc.ir.types import TensorType, TupleType, Type, parse_tensor_type


def parse_graph(text: str, file: str = "<text>") -> Graph:
    """Read one graph.

    Args:
        text: what `print_graph` wrote, or a person did. `//` starts a comment.
        file: the name to show in errors.

    Raises:
        ParseError: with file, line and column, what was found and what was expected.
    """
    return _Parser(Cursor(text, file)).graph()


class _Parser:
    """Recursive descent; `graph` is the start symbol."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    # -- statements ------------------------------------------------------------------------------------------

    def graph(self) -> Graph:
        cursor = self._cursor
        cursor.expect("graph")
        token = cursor.expect_kind("graph", "a graph name such as @model")
        graph = Graph(self._checked_name(token))
        cursor.expect("{")
        while cursor.at("input"):
            self._input(graph)
        self._statements(graph, "return")
        cursor.expect("}")
        if not cursor.at_kind("end"):
            raise cursor.error("the end of the text")
        return graph

    def _statements(self, graph: Graph, last: str) -> None:
        cursor = self._cursor
        while not cursor.accept(last):
            self._statement(graph, last)
        outputs: list[Node] = []
        while cursor.at_kind("value"):
            outputs.append(self._reference(graph))
            if not cursor.accept(","):
                break
        graph.set_outputs(outputs)

    def _statement(self, graph: Graph, last: str) -> None:
        cursor = self._cursor
        if cursor.at("weight"):
            self._weight(graph)
        elif cursor.at("const"):
            self._const(graph)
        elif cursor.at_kind("value"):
            self._operation(graph)
        elif cursor.at("input"):
            raise cursor.error("inputs before all other statements")
        else:
            raise cursor.error(f"a statement (%name = ..., weight, const) or {last}")

    def _input(self, graph: Graph) -> None:
        name, kept = self._declaration(graph)
        graph.input(name, kept)

    def _weight(self, graph: Graph) -> None:
        name, kept = self._declaration(graph)
        self._cursor.expect("=")
        token = self._cursor.expect_kind("string", 'a quoted name such as "emb.0.weight"')
        target = convert(self._cursor, json.loads, token, "a string as JSON writes it")
        graph.weight(name, kept, target)

    def _const(self, graph: Graph) -> None:
        name, kept = self._declaration(graph)
        self._cursor.expect("=")
        graph.const(name, read_array(self._cursor, kept), kept)

    def _declaration(self, graph: Graph) -> tuple[str, TensorType]:
        """A keyword, a new name and its type."""
        self._cursor.take()
        name = self._new_name(graph)
        self._cursor.expect(":")
        return name, self._tensor_type()

    def _operation(self, graph: Graph) -> None:
        cursor = self._cursor
        start = cursor.next
        name = self._new_name(graph)
        cursor.expect("=")
        op = self._card(cursor.expect_kind("word", "the name of an op"))
        if op.name in ("kernel", "derive"):
            node = self._with_body(graph, op, name, start)
        else:
            cursor.expect("(")
            operands = self._operands(graph, op)
            attributes = self._attributes(op, "{", "}")
            node = self._build(graph, op, operands, attributes, name, start)
        cursor.expect(":")
        type_token = cursor.next
        declared = self._type()
        if declared != node.result_type:
            expected = f"{node.result_type}, which the op's type rule gives"
            raise cursor.error(expected, type_token, found=str(declared))

    def _with_body(self, graph: Graph, op: Op, name: str, start: Token) -> Node:
        cursor = self._cursor
        attributes: dict[str, Attribute] = {}
        if op.name == "kernel":
            attributes["impl"] = cursor.expect_kind("word", "an implementation such as linear").text
            attributes |= self._attributes(op, "<", ">")
        cursor.expect("(")
        body = Graph("body")
        outer = cursor.separated(lambda: self._body_argument(graph, body), ")")
        cursor.expect("{")
        self._statements(body, "yield")
        cursor.expect("}")
        return self._build(graph, op, (outer,), attributes, name, start, body)

    def _body_argument(self, graph: Graph, body: Graph) -> Node:
        """`%x`, or `%inner=%outer` where the body calls it otherwise."""
        token = self._cursor.expect_kind("value", "a value such as %x")
        node = self._reference(graph) if self._cursor.accept("=") else self._lookup(graph, token)
        if body.has_name(token.text[1:]):
            raise self._cursor.error("a name that the body has no input of yet, such as %y=%x", token)
        body.input(self._checked_name(token), node.type)
        return node

    def _build(
        self,
        graph: Graph,
        op: Op,
        operands: Operands[Node],
        attributes: dict[str, Attribute],
        name: str,
        start: Token,
        body: Graph | None = None,
    ) -> Node:
        try:
            return graph.add(op, operands, attributes, name=name, body=body)
        except DlrmcError as error:
            found = f"{op.name}: {error.found}"
            raise self._cursor.error(error.expected, start, found=found, hint=error.hint) from error

    # -- operands and attributes -----------------------------------------------------------------------------

    def _operands(self, graph: Graph, op: Op) -> Operands[Node]:
        operands: list[Operand[Node]] = []
        for spec in op.operands:
            if spec.arity is Arity.REST:
                operands.append(self._cursor.separated(lambda: self._optional_reference(graph), ")"))
                return tuple(operands)
            operands.append(self._operand(graph, spec))
        if not self._cursor.accept(")"):
            raise self._cursor.error(f"')' after the {len(operands)} operands of {op.name}")
        return tuple(operands)

    def _operand(self, graph: Graph, spec: OperandSpec) -> Operand[Node]:
        cursor = self._cursor
        if cursor.at(")") and spec.arity is Arity.OPTIONAL:
            return None
        if cursor.accept("["):
            operand: Operand[Node] = cursor.separated(lambda: self._optional_reference(graph), "]")
        elif spec.arity is Arity.PARTS:
            operand = (self._reference(graph),)
        else:
            operand = self._optional_reference(graph)
        if not cursor.accept(",") and not cursor.at(")"):
            raise cursor.error("',' or ')'")
        return operand

    def _attributes(self, op: Op, opening: str, closing: str) -> dict[str, Attribute]:
        attributes: dict[str, Attribute] = {}
        if self._cursor.accept(opening):
            self._cursor.separated(lambda: self._attribute(op, attributes), closing)
        return attributes

    def _attribute(self, op: Op, attributes: dict[str, Attribute]) -> None:
        """Read `name=value` into `attributes`."""
        cursor = self._cursor
        word = cursor.expect_kind("word", "the name of an attribute")
        specs = {spec.name: spec for spec in op.attributes}
        if word.text not in specs:
            raise cursor.error(f"one of {', '.join(specs)}" if specs else "no attributes", word)
        if word.text in attributes:
            raise cursor.error("each attribute once", word)
        cursor.expect("=")
        attributes[word.text] = read_attribute(cursor, specs[word.text])

    # -- names and types -------------------------------------------------------------------------------------

    def _new_name(self, graph: Graph) -> str:
        token = self._cursor.expect_kind("value", "a new name such as %x")
        name = self._checked_name(token)
        if graph.has_name(name):
            raise self._cursor.error("a name that is not taken", token)
        return name

    def _checked_name(self, token: Token) -> str:
        """The name without its first character, % or @."""
        name = token.text[1:]
        if name != safe_name(name):
            raise self._cursor.error("a name that begins with a letter or an underscore", token)
        return name

    def _optional_reference(self, graph: Graph) -> Node | None:
        return None if self._cursor.accept("_") else self._reference(graph)

    def _reference(self, graph: Graph) -> Node:
        return self._lookup(graph, self._cursor.expect_kind("value", "a value such as %x"))

    def _lookup(self, graph: Graph, token: Token) -> Node:
        name = token.text[1:]
        if graph.has_name(name):
            return graph.find(name)
        near = difflib.get_close_matches(name, [node.name for node in graph.nodes], n=1)
        hint = f"did you mean %{near[0]}?" if near else ""
        raise self._cursor.error("a value defined above", token, hint=hint)

    def _card(self, token: Token) -> Op:
        try:
            return find_op(token.text)
        except DlrmcError as error:
            raise self._cursor.error(error.expected, token, found=error.found, hint=error.hint) from error

    def _tensor_type(self) -> TensorType:
        return parse_tensor_type(self._cursor.expect_kind("type", "a type such as f32[8,3]").text)

    def _type(self) -> Type:
        if not self._cursor.accept("("):
            return self._tensor_type()
        return TupleType(self._cursor.separated(self._tensor_type, ")"))
