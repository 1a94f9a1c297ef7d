from __future__ import annotations

import pytest

from dlrmc.errors import ParseError
from dlrmc.ir.cursor import Cursor


def test_tokens_are_taken_in_order_and_the_end_stays():
    cursor = Cursor("a ( %b", "f.ir")
    assert cursor.at("a")
    assert not cursor.accept("(")
    assert cursor.take().text == "a"
    assert cursor.accept("(")
    assert cursor.expect_kind("value", "a value").text == "%b"
    assert [cursor.take().kind for _ in range(2)] == ["end", "end"]
    assert not cursor.at("end of file")


def test_what_else_is_expected_is_said_with_a_caret():
    cursor = Cursor("graph\n  @g [", "f.ir")
    cursor.expect("graph")
    cursor.take()
    with pytest.raises(ParseError) as error:
        cursor.expect("{")
    assert str(error.value) == (
        "f.ir:2:6: '['\n  expected: '{'\n  to mend: docs/ir.md has the grammar\n  |   @g [\n  |      ^"
    )


def test_the_end_of_the_text_is_told_without_quotes():
    cursor = Cursor("a\n", "f.ir")
    cursor.take()
    with pytest.raises(ParseError) as error:
        cursor.expect_kind("word", "a word")
    assert (error.value.place, error.value.found) == ("f.ir:2:1", "end of file")
    assert [*error.value.context] == ["", "^"]


def test_an_error_may_point_at_an_earlier_token():
    cursor = Cursor("first second", "f.ir")
    token = cursor.take()
    error = cursor.error("a third", token, found="two", hint="try again")
    assert (error.place, error.found, error.hint) == ("f.ir:1:1", "two", "try again")
    assert [*error.context] == ["first second", "^"]


@pytest.mark.parametrize(
    ("text", "items"), [("]", ()), ("a]", ("a",)), ("a, b]", ("a", "b")), ("a, b,]", ("a", "b"))]
)
def test_separated_items(text: str, items: tuple[str, ...]):
    cursor = Cursor(text, "f.ir")
    assert cursor.separated(lambda: cursor.take().text, "]") == items
    assert cursor.at_kind("end")


@pytest.mark.parametrize("text", ["a b]", "a", "a)"])
def test_items_without_a_comma_are_refused(text: str):
    cursor = Cursor(text, "f.ir")
    with pytest.raises(ParseError) as error:
        cursor.separated(lambda: cursor.take().text, "]")
    assert error.value.expected == "',' or ']'"
