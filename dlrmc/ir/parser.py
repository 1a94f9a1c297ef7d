"""IR text back into a graph: `print_graph(parse_graph(text)) == text` for any text that the printer wrote."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dlrmc.errors import DlrmcError, ParseError
from dlrmc.ir.attributes import Attribute
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import Arity, Array, AttributeSpec, Op, Operand, Operands
from dlrmc.ir.ops import find_op
from dlrmc.ir.tokens import Token, tokenize
from dlrmc.ir.types import DType, TensorType, TupleType, Type, parse_tensor_type

T = TypeVar("T")


def parse_graph(text: str, file: str = "<text>") -> Graph:
    """Read one graph.

    Args:
        text: what `print_graph` wrote, or a person did. `//` starts a comment.
        file: the name to show in errors.

    Raises:
        ParseError: with file, line and column, what was found and what was expected.
    """
    return _Parser(text, file).graph()


class _Parser:
    """Recursive descent over the token list; `graph` is the start symbol."""

    def __init__(self, text: str, file: str) -> None:
        self._lines = text.split("\n")
        self._file = file
        self._tokens = list(tokenize(text, file))
        self._position = 0

    # -- tokens ----------------------------------------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self._tokens[self._position]

    def _take(self) -> Token:
        token = self._next
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _accept(self, text: str) -> bool:
        if self._next.text != text or self._next.kind == "string":
            return False
        self._take()
        return True

    def _expect(self, text: str) -> Token:
        if self._next.text != text:
            raise self._error(repr(text))
        return self._take()

    def _expect_kind(self, kind: str, what: str) -> Token:
        if self._next.kind != kind:
            raise self._error(what)
        return self._take()

    def _error(
        self, expected: str, token: Token | None = None, *, found: str = "", hint: str = ""
    ) -> ParseError:
        at = token or self._next
        return ParseError(
            f"{self._file}:{at.line}:{at.column}",
            found=found or repr(at.text),
            expected=expected,
            hint=hint or "docs/ir.md has the grammar",
            context=[self._lines[at.line - 1], " " * (at.column - 1) + "^"],
        )

    # -- grammar ---------------------------------------------------------------------------------------------

    def graph(self) -> Graph:
        self._expect("graph")
        graph = Graph(self._expect_kind("graph", "a graph name such as @model").text[1:])
        self._expect("{")
        while self._next.text == "input":
            self._input(graph)
        self._statements(graph, "return")
        self._expect("}")
        if self._next.kind != "end":
            raise self._error("the end of the text")
        return graph

    def _statements(self, graph: Graph, last: str) -> None:
        while self._next.text != last:
            self._statement(graph, last)
        self._take()
        outputs: list[Node] = []
        while self._next.kind == "value":
            outputs.append(self._reference(graph))
            if not self._accept(","):
                break
        graph.set_outputs(outputs)

    def _statement(self, graph: Graph, last: str) -> None:
        match self._next.text:
            case "weight":
                self._weight(graph)
            case "const":
                self._const(graph)
            case _ if self._next.kind == "value":
                self._operation(graph)
            case _:
                raise self._error(f"a statement (%name = ..., weight, const) or {last}")

    def _input(self, graph: Graph) -> None:
        self._take()
        name = self._new_name(graph)
        self._expect(":")
        graph.input(name, self._tensor_type())

    def _weight(self, graph: Graph) -> None:
        self._take()
        name = self._new_name(graph)
        self._expect(":")
        kept = self._tensor_type()
        self._expect("=")
        target = json.loads(self._expect_kind("string", 'a quoted name such as "emb.0.weight"').text)
        graph.weight(name, kept, target)

    def _const(self, graph: Graph) -> None:
        self._take()
        name = self._new_name(graph)
        self._expect(":")
        kept = self._tensor_type()
        self._expect("=")
        start = self._next
        array = self._array(kept)
        if array.size != kept.numel:
            raise self._error(f"{kept.numel} elements for {kept}", start, found=f"{array.size} elements")
        graph.const(name, array.reshape(kept.shape), kept)

    def _array(self, kept: TensorType) -> Array:
        tokens = self._list(self._take) if self._next.text == "[" else (self._take(),)
        if kept.dtype is DType.BOOL:
            return np.array([self._boolean(token) for token in tokens], dtype=np.bool_)
        for token in tokens:
            if token.kind != "number" and token.text not in ("inf", "nan"):
                raise self._error("a number", token)
        if kept.dtype.is_integer:
            return np.array(
                [self._convert(int, token, "an integer") for token in tokens], dtype=kept.dtype.numpy
            )
        values = [self._convert(float, token, "a number") for token in tokens]
        return np.array(values, dtype=np.float64).astype(kept.dtype.numpy)

    def _operation(self, graph: Graph) -> None:
        start = self._next
        name = self._new_name(graph)
        self._expect("=")
        word = self._expect_kind("word", "the name of an op")
        op = self._card(word)
        if op.name in ("kernel", "derive"):
            node = self._with_body(graph, op, name, start)
        else:
            self._expect("(")
            operands = self._operands(graph, op)
            attributes = self._attributes(op, "{", "}")
            node = self._build(graph, op, operands, attributes, name, start)
        self._expect(":")
        type_token = self._next
        declared = self._type()
        if declared != node.result_type:
            raise self._error(f"{node.result_type}, which the op's type rule gives", type_token)

    def _with_body(self, graph: Graph, op: Op, name: str, start: Token) -> Node:
        attributes: dict[str, Attribute] = {}
        if op.name == "kernel":
            attributes["impl"] = self._expect_kind("word", "an implementation such as linear").text
            attributes |= self._attributes(op, "<", ">")
        self._expect("(")
        body = Graph("body")
        outer = self._body_arguments(graph, body)
        self._expect("{")
        self._statements(body, "yield")
        self._expect("}")
        return self._build(graph, op, (tuple(outer),), attributes, name, start, body)

    def _body_arguments(self, graph: Graph, body: Graph) -> list[Node]:
        outer: list[Node] = []
        while not self._accept(")"):
            token = self._expect_kind("value", "a value such as %x")
            inner_name = token.text[1:]
            node = self._reference(graph) if self._accept("=") else self._lookup(graph, token)
            body.input(inner_name, node.type)
            outer.append(node)
            if not self._accept(",") and self._next.text != ")":
                raise self._error("',' or ')'")
        return outer

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
        except ParseError:
            raise
        except DlrmcError as error:
            raise self._error(
                error.expected, start, found=f"{op.name}: {error.found}", hint=error.hint
            ) from error

    def _operands(self, graph: Graph, op: Op) -> Operands[Node]:
        operands: list[Operand[Node]] = []
        for spec in op.operands:
            if spec.arity is Arity.REST:
                operands.append(self._rest(graph))
            elif self._next.text == ")" and spec.arity is Arity.OPTIONAL:
                operands.append(None)
            else:
                operands.append(self._operand(graph, spec.arity))
                self._accept(",")
        self._expect(")")
        return tuple(operands)

    def _operand(self, graph: Graph, arity: Arity) -> Operand[Node]:
        if self._next.text == "[":
            return self._list(lambda: self._optional_reference(graph))
        if arity is Arity.PARTS:
            return (self._reference(graph),)
        return self._optional_reference(graph)

    def _rest(self, graph: Graph) -> tuple[Node | None, ...]:
        items: list[Node | None] = []
        while self._next.text != ")":
            items.append(self._optional_reference(graph))
            if not self._accept(","):
                break
        return tuple(items)

    def _attributes(self, op: Op, opening: str, closing: str) -> dict[str, Attribute]:
        attributes: dict[str, Attribute] = {}
        if not self._accept(opening):
            return attributes
        specs = {spec.name: spec for spec in op.attributes}
        while not self._accept(closing):
            word = self._expect_kind("word", "the name of an attribute")
            if word.text not in specs:
                raise self._error(f"one of {', '.join(specs) or 'no attributes'}", word)
            self._expect("=")
            attributes[word.text] = self._attribute(specs[word.text])
            if not self._accept(",") and self._next.text != closing:
                raise self._error(f"',' or {closing!r}")
        return attributes

    def _attribute(self, spec: AttributeSpec) -> Attribute:
        if spec.kind in ("ints", "bools", "strs"):
            tokens = self._list(self._take)
            return tuple(self._scalar(spec.kind[:-1], token) for token in tokens)  # pyright: ignore[reportReturnType]
        return self._scalar(spec.kind, self._take())

    def _scalar(self, kind: str, token: Token) -> int | float | bool | str | DType:
        match kind:
            case "bool":
                return self._boolean(token)
            case "int":
                return self._convert(int, token, "an integer")
            case "float":
                return self._convert(float, token, "a number")
            case "dtype":
                return self._convert(DType, token, "a dtype such as f32")
            case _:
                return token.text

    def _boolean(self, token: Token) -> bool:
        if token.text not in ("true", "false"):
            raise self._error("true or false", token)
        return token.text == "true"

    def _convert(self, function: Callable[[str], T], token: Token, what: str) -> T:
        try:
            return function(token.text)
        except ValueError as error:
            raise self._error(what, token) from error

    def _list(self, item: Callable[[], T]) -> tuple[T, ...]:
        self._expect("[")
        items: list[T] = []
        while not self._accept("]"):
            items.append(item())
            if not self._accept(",") and self._next.text != "]":
                raise self._error("',' or ']'")
        return tuple(items)

    # -- names and types -------------------------------------------------------------------------------------

    def _new_name(self, graph: Graph) -> str:
        token = self._expect_kind("value", "a new name such as %x")
        if graph.has_name(token.text[1:]):
            raise self._error("a name that is not taken", token)
        return token.text[1:]

    def _optional_reference(self, graph: Graph) -> Node | None:
        return None if self._accept("_") else self._reference(graph)

    def _reference(self, graph: Graph) -> Node:
        return self._lookup(graph, self._expect_kind("value", "a value such as %x"))

    def _lookup(self, graph: Graph, token: Token) -> Node:
        name = token.text[1:]
        if graph.has_name(name):
            return graph.find(name)
        near = difflib.get_close_matches(name, [node.name for node in graph.nodes], n=1)
        hint = f"did you mean %{near[0]}?" if near else ""
        raise self._error("a value defined above", token, hint=hint)

    def _card(self, token: Token) -> Op:
        try:
            return find_op(token.text)
        except DlrmcError as error:
            raise self._error(error.expected, token, found=error.found, hint=error.hint) from error

    def _tensor_type(self) -> TensorType:
        return parse_tensor_type(self._expect_kind("type", "a type such as f32[8,3]").text)

    def _type(self) -> Type:
        if not self._accept("("):
            return self._tensor_type()
        items = [self._tensor_type()]
        while self._accept(","):
            items.append(self._tensor_type())
        self._expect(")")
        return TupleType(tuple(items))
