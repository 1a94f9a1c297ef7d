from __future__ import annotations

import pytest
from hypothesis import given, settings

from dlrmc.errors import ParseError
from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.ir.verify import verify
from dlrmc.passes.form_kernels import form_kernels
from tests.fuzz.graphs import graphs

PROGRAM = """\
graph @main {
  input %dense : f32[8,3]
  input %ids : i64[16]
  input %unused : bool[]
  weight %bot_0_weight : f32[4,3] = "bot.0.weight"
  weight %bot_0_bias : bf16[4] = "a \\"quoted\\" \\u00e9"
  weight %table : f32[10,4] = "emb.0.weight"
  weight %t : f32[9,4] = "t"
  const %off : i32[8] = [0,2,4,6,8,10,12,14]
  const %i : i64[1,1] = [1]
  const %one : f32[] = 1.0
  const %flag : bool[2] = [true,false]
  %bias = cast(%bot_0_bias) {to=f32} : f32[4]
  %relu = linear(%dense, %bot_0_weight, %bias) {act=relu, alpha=0.5} : f32[8,4]
  %o = cast(%off) {to=i64} : i64[8]
  %bag = embedding_bag(%table, %ids, %o) {mode=mean} : f32[8,4]
  %group = embedding_bag_group([%table, %t], [%ids, %ids], [%o, %o], [_, _]) {modes=[sum,max]} : f32[8,2,4]
  %dots = pairwise_dot(%relu, %bag, %group) {pairs=lower} : f32[8,10]
  %picked = index(%group, _, %i) : f32[8,1,1,4]
  %top = linear([%relu, %dots], %wide) : f32[8,5]
  %k = kernel row_program<batch=8, rows=4>(%dots, %p=%relu, %q=%relu) {
    const %two : f32[] = 2.0
    %mul = mul(%p, %two) : f32[8,4]
    %inner = kernel map(%mul) {
      yield %mul
    } : f32[8,4]
    yield %inner, %dots, %q
  } : (f32[8,4], f32[8,10], f32[8,4])
  %part = item(%k) {index=1} : f32[8,10]
  %d = derive(%table) {
    %sum = sum(%table) {dims=[0,1]} : f32[]
    yield %sum
  } : f32[]
  return %part, %part, %top, %d, %picked
}
""".replace("  %bias = cast", '  weight %wide : f32[5,14] = "wide"\n  %bias = cast')


def test_a_text_with_every_construct_round_trips():
    graph = parse_graph(PROGRAM)
    verify(graph)
    assert print_graph(graph) == PROGRAM


def test_what_was_read():
    graph = parse_graph(PROGRAM)
    assert graph.name == "main"
    assert [node.name for node in graph.inputs] == ["dense", "ids", "unused"]
    assert graph.find("bot_0_bias").target == 'a "quoted" é'
    assert graph.find("i").value.tolist() == [[1]]
    assert graph.find("relu").attributes.float("alpha") == 0.5
    assert graph.find("bag").operands[3] is None
    assert graph.find("group").operands[3] == (None, None)
    kernel = graph.find("k")
    assert [node.name for node in kernel.inputs] == ["dots", "relu", "relu"]
    assert [node.name for node in kernel.body.inputs] == ["dots", "p", "q"]
    assert (kernel.attributes.str("impl"), kernel.attributes.int("rows")) == ("row_program", 4)
    assert [node.name for node in graph.outputs] == ["part", "part", "top", "d", "picked"]


def test_layout_comments_and_trailing_commas_do_not_matter():
    text = """graph @g{input %x:f32[2,3] // the input
    %y=cat(%x,%x,){dim=1,}:f32[2,6] return %y,}"""
    assert print_graph(parse_graph(text)) == (
        "graph @g {\n  input %x : f32[2,3]\n  %y = cat(%x, %x) {dim=1} : f32[2,6]\n  return %y\n}\n"
    )


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_a_random_graph_round_trips(graph: Graph):
    text = print_graph(graph)
    again = parse_graph(text)
    verify(again)
    assert print_graph(again) == text


@settings(max_examples=60, deadline=None)
@given(graphs(max_steps=6))
def test_a_random_graph_of_kernels_round_trips(graph: Graph):
    form_kernels(graph)
    text = print_graph(graph)
    again = parse_graph(text)
    verify(again)
    assert print_graph(again) == text


HEAD = "graph @g {\n  input %x : f32[2,3]\n"


def parse_error(text: str) -> ParseError:
    with pytest.raises(ParseError) as error:
        parse_graph(text, "f.ir")
    return error.value


def test_the_whole_message():
    assert str(parse_error(HEAD + "  %y = relu(%z) : f32[2,3]\n  return %y\n}\n")) == (
        "f.ir:3:13: '%z'\n"
        "  expected: a value defined above\n"
        "  to mend: docs/ir.md has the grammar\n"
        "  |   %y = relu(%z) : f32[2,3]\n"
        "  |             ^"
    )


@pytest.mark.parametrize(
    ("line", "column", "found", "expected"),
    [
        ("%x = relu(%x) : f32[2,3]", 3, "'%x'", "a name that is not taken"),
        ("%1 = relu(%x) : f32[2,3]", 3, "'%1'", "a name that begins with a letter or an underscore"),
        ("%y = relu(%x) : f32[3,2]", 19, "f32[3,2]", "f32[2,3], which the op's type rule gives"),
        ("%y = relu(%x) f32[2,3]", 17, "'f32[2,3]'", "':'"),
        ("%y = relu(%x) : f32", 19, "'f32'", "a type such as f32[8,3]"),
        ("%y relu(%x)", 6, "'relu'", "'='"),
        ("%y = %x", 8, "'%x'", "the name of an op"),
        ("%y = relu %x", 13, "'%x'", "'('"),
        ("%y = relu()", 13, "')'", "a value such as %x"),
        ("%y = relu(_) : f32[2,3]", 3, "relu: operand x is absent", "a value"),
        ("%y = relu([%x]) : f32[2,3]", 3, "relu: operand x is a list", "one value"),
        ("%y = relu(%x, %x)", 17, "'%x'", "')' after the 1 operands of relu"),
        ("%y = add(%x %x)", 15, "'%x'", "',' or ')'"),
        ("%y = cat(%x %x)", 15, "'%x'", "',' or ')'"),
        ("%y = cat(%x, %x) : f32[2,6]", 3, "cat: no attribute 'dim'", "dim=int"),
        ("%y = cat(%x, %x) {dim=2} : f32[2,6]", 3, "cat: dim=2", "0 <= dim < 2"),
        ("%y = cat(%x, %x) {dim=1.5} : f32[2,6]", 25, "'1.5'", "an integer"),
        ("%y = cat(%x, %x) {dim=1, dim=0}", 28, "'dim'", "each attribute once"),
        ("%y = cat(%x, %x) {axis=1}", 21, "'axis'", "one of dim"),
        ("%y = relu(%x) {slope=1}", 18, "'slope'", "no attributes"),
        ("%y = cat(%x, %x) {dim=1 : f32[2,6]", 27, "':'", "',' or '}'"),
        ("%y = cat(%x, %x) {dim 1}", 25, "'1'", "'='"),
        (
            "%y = cast(%x) {to=f33} : f32[2,3]",
            21,
            "'f33'",
            "one of f64, f32, f16, bf16, i64, i32, u8, i8, bool",
        ),
        ("const %k : i64[] = 1 input %y : f32[2]", 24, "'input'", "inputs before all other statements"),
        ("weigth %w : f32[2]", 3, "'weigth'", "a statement (%name = ..., weight, const) or return"),
        ("weight %w : f32[2] = w", 24, "'w'", 'a quoted name such as "emb.0.weight"'),
        ('weight %w : f32[2] = "\\q"', 24, "'\"\\\\q\"'", "a string as JSON writes it"),
        ("const %k : i64[2] = [1]", 23, "1 element", "2 for i64[2]"),
        ("const %k = 1", 12, "'='", "':'"),
        ("%k = kernel (%x) {", 15, "'('", "an implementation such as linear"),
        ("%k = kernel map<speed=1>(%x) {", 19, "'speed'", "one of impl, batch, rows, threads"),
        ("%k = kernel map(%x, %x) {", 23, "'%x'", "a name that the body has no input of yet, such as %y=%x"),
        ("%k = kernel map(x) {", 19, "'x'", "a value such as %x"),
        ("%k = kernel map(%p=%z) {", 22, "'%z'", "a value defined above"),
        (
            "%k = kernel map(%x) { return %x }",
            25,
            "'return'",
            "a statement (%name = ..., weight, const) or yield",
        ),
        (
            "%k = kernel map(%x) { yield %x } : f32[3]",
            38,
            "f32[3]",
            "f32[2,3], which the op's type rule gives",
        ),
        (
            "%k = item(%x) {index=0} : f32[2,3]",
            3,
            "item: item 0 of f32[2,3]",
            "an index into a kernel with several results",
        ),
    ],
)
def test_an_error_in_a_statement(line: str, column: int, found: str, expected: str):
    error = parse_error(f"{HEAD}  {line}\n  const %last : i64[] = 0\n  return\n}}\n")
    assert (error.place, error.found, error.expected) == (f"f.ir:3:{column}", found, expected)
    assert [*error.context] == [f"  {line}", " " * (column - 1) + "^"]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("%y = rleu(%x) : f32[2,3]", "did you mean relu?"),
        ("%dense = relu(%x) : f32[2,3] %y = relu(%dens)", "did you mean %dense?"),
        ("%y = cat(%x, %x) {dim=2} : f32[2,6]", "negative dims are counted from the front"),
        ("%y = relu(%nothing) : f32[2,3]", "docs/ir.md has the grammar"),
    ],
)
def test_what_to_do_about_it(line: str, hint: str):
    assert parse_error(f"{HEAD}  {line}\n  return\n}}\n").hint == hint


@pytest.mark.parametrize(
    ("text", "place", "found", "expected"),
    [
        ("", "f.ir:1:1", "end of file", "'graph'"),
        ("module @g {", "f.ir:1:1", "'module'", "'graph'"),
        ("graph g {", "f.ir:1:7", "'g'", "a graph name such as @model"),
        ("graph @1 {", "f.ir:1:7", "'@1'", "a name that begins with a letter or an underscore"),
        ("graph @g\n", "f.ir:2:1", "end of file", "'{'"),
        ("graph @g {", "f.ir:1:11", "end of file", "a statement (%name = ..., weight, const) or return"),
        ("graph @g {\n  return %x\n}", "f.ir:2:10", "'%x'", "a value defined above"),
        ("graph @g {\n  return\n", "f.ir:3:1", "end of file", "'}'"),
        ("graph @g {\n  return\n}\ngraph", "f.ir:4:1", "'graph'", "the end of the text"),
        ("graph @g {\n  input x : f32[2]", "f.ir:2:9", "'x'", "a new name such as %x"),
        ("graph @g {\n  input %x f32[2]", "f.ir:2:12", "'f32[2]'", "':'"),
        (
            "graph @g {\n  input %x : f32[2]\n  input %x : f32[2]",
            "f.ir:3:9",
            "'%x'",
            "a name that is not taken",
        ),
    ],
)
def test_an_error_around_statements(text: str, place: str, found: str, expected: str):
    error = parse_error(text)
    assert (error.place, error.found, error.expected) == (place, found, expected)


def test_the_default_name_of_the_text():
    with pytest.raises(ParseError, match=r"^<text>:1:1: "):
        parse_graph("nothing")
