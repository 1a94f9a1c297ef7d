from __future__ import annotations

import pytest

from dlrmc.errors import ParseError
from dlrmc.ir.tokens import Token, tokenize


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokenize(text, "f.ir")][:-1]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("value", ["%x", "%_0", "%emb_0_weight"]),
        ("graph", ["@main"]),
        ("type", ["f32[8,3]", "i64[]", "bool[ 2, 3 ]"]),
        ("string", ['"emb.0.weight"', '"a \\" b"', '""']),
        ("number", ["0", "-12", "1.5", "1e-05", "1e+20", "-inf", "inf", "nan", ".5", "1."]),
        ("word", ["linear", "row_program", "_", "true", "infinite", "nano", "f32", "strict-lower"]),
        ("mark", [*"=(){}[],:<>"]),
    ],
)
def test_each_kind(kind: str, texts: list[str]):
    for text in texts:
        assert kinds(text) == [(kind, text)]


def test_spaces_and_comments_stand_between_tokens():
    assert kinds("%a=relu(%b) // a %comment\n\t:f32[2]\r\n") == [
        ("value", "%a"),
        ("mark", "="),
        ("word", "relu"),
        ("mark", "("),
        ("value", "%b"),
        ("mark", ")"),
        ("mark", ":"),
        ("type", "f32[2]"),
    ]


def test_places_count_from_one():
    tokens = [*tokenize("a\n  %b // c\n\n(", "f.ir")]
    assert tokens == [
        Token("word", "a", 1, 1),
        Token("value", "%b", 2, 3),
        Token("mark", "(", 4, 1),
        Token("end", "end of file", 4, 2),
    ]


def test_no_text_is_the_end_only():
    assert [*tokenize("", "f.ir")] == [Token("end", "end of file", 1, 1)]


@pytest.mark.parametrize(
    ("text", "place", "found", "context"),
    [
        ("graph\n  %x = relu(?)", "f.ir:2:13", "character '?'", ["  %x = relu(?)", " " * 12 + "^"]),
        ("% x", "f.ir:1:1", "character '%'", ["% x", "^"]),
        ('"open', "f.ir:1:1", "character '\"'", ['"open', "^"]),
        ("12ab", "f.ir:1:1", "character '1'", ["12ab", "^"]),
    ],
)
def test_what_starts_no_token(text: str, place: str, found: str, context: list[str]):
    with pytest.raises(ParseError) as error:
        list(tokenize(text, "f.ir"))
    assert (error.value.place, error.value.found) == (place, found)
    assert error.value.expected == "IR text"
    assert error.value.hint == "docs/ir.md has the grammar"
    assert [*error.value.context] == context
