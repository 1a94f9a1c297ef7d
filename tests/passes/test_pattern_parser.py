"""The notation of patterns, and what is wrong with bad ones."""

from __future__ import annotations

import pytest

from dlrmc.errors import ParseError
from dlrmc.ir.types import DType
from dlrmc.passes.pattern import Absent, Run, TypePattern, Value, Variable
from dlrmc.passes.pattern_parser import parse_pattern


def test_every_part_of_the_notation() -> None:
    pattern = parse_pattern(
        """%w : T[N,K]
           %l = linear([*%before, %x, *%after], %w, ?%b) {act=none, alpha=$a, ...} : T[*S,N]
           %y = index(%l, _, %i) : f32[2,P]""",
        "all",
    )
    assert pattern.root == "y"
    assert pattern.root_op == "index"
    assert pattern.inner == ("l",)
    line = pattern.lines["l"]
    assert line.operands == (
        (Run("before"), Value("x"), Run("after")),
        Value("w"),
        Value("b", may_be_absent=True),
    )
    assert dict(line.attributes) == {"act": "none", "alpha": Variable("a")}
    assert line.type == TypePattern(Variable("T"), (Run("S"), Variable("N")))
    assert pattern.lines["y"].operands == (Value("l"), (Absent(), Value("i")))
    assert pattern.lines["y"].type == TypePattern(DType.F32, (2, Variable("P")))


def test_attributes_that_are_not_written_have_their_defaults() -> None:
    line = parse_pattern("%y = linear(%x, %w)", "defaults").lines["y"]
    assert dict(line.attributes) == {"act": "none", "alpha": 1.0, "beta": 1.0, "slope": 0.01}
    assert line.operands == ((Value("x"),), Value("w"), Absent())


def test_literals_of_every_kind() -> None:
    line = parse_pattern("%y = slice(%x) {dim=1, start=0, stop=-2, step=$s}", "literals").lines["y"]
    assert dict(line.attributes) == {"dim": 1, "start": 0, "stop": -2, "step": Variable("s")}
    line = parse_pattern("%y = sum(%x) {dims=[1,2], keepdim=true}", "literals").lines["y"]
    assert dict(line.attributes) == {"dims": (1, 2), "keepdim": True}
    line = parse_pattern("%y = clamp(%x) {min=-inf, max=1e3}", "literals").lines["y"]
    assert dict(line.attributes) == {"min": float("-inf"), "max": 1000.0}
    line = parse_pattern("%y = cast(%x) {to=bf16}", "literals").lines["y"]
    assert dict(line.attributes) == {"to": DType.BF16}


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("", "no op on the last line", "the root of the match"),
        ("%x : T[B]", "no op on the last line", "the root of the match"),
        ("%y = rleu(%x)", "'('", "the name of an op"),
        ("%y = relu %x", "'%x'", "'('"),
        ("%y = relu(%x", "'the end of the line'", "')'"),
        ("%y = relu(%x) {slope=1.0}", "'='", "one of no attributes"),
        ("%y = permute(%x)", "'the end of the line'", "perm=ints (or `...`)"),
        ("%y = permute(%x) {perm=0}", "'0'", "'['"),
        ("%y = select(%x) {dim=one, index=0}", "','", "a literal of kind int"),
        ("%y = relu(%x) : T[*A,*B]", "'the end of the line'", "at most one run of dimensions"),
        ("%y = relu(%x) : T[B] also", "'also'", "the end of the line"),
        ("%y = relu(%x)\n%y = relu(%y)", "%y is defined twice", "one line a value"),
        ("%a = relu(%x)\n%y = relu(%x)", "no line reads %a", "one connected pattern"),
        ("%y = permute(%y1) {perm=$y}", "'y' is a value and a attribute", "one kind a name"),
        ("%y = relu(%root)", "'root' is a word of Match and a value", "one kind a name"),
        ("%b = relu(%c)\n%y = linear(%x, %w, ?%b)", "?%b with a line of its own", "a free value"),
    ],
)
def test_bad_patterns(text: str, found: str, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_pattern(text, "bad")
    assert caught.value.place == "rule bad"
    assert caught.value.found == found
    assert caught.value.expected.endswith(expected)
