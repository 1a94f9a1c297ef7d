import pytest

from dlrmc.codegen.code_blocks import CodeBlocks


def test_blocks_nest_and_indent():
    blocks = CodeBlocks()
    with blocks.block("for (;;)"):
        blocks.write("a;")
        with blocks.block("if (x)"):
            blocks.write("b;")
        with blocks.block("else"):
            blocks.write("c;")
    assert blocks.lines == (
        "for (;;) {",
        "    a;",
        "    if (x) {",
        "        b;",
        "    } else {",
        "        c;",
        "    }",
        "}",
    )


def test_names_are_given_once():
    blocks = CodeBlocks()
    assert [blocks.free_name(n) for n in ("x", "x", "x_1", "x", "x_1")] == [
        "x",
        "x_1",
        "x_1_1",
        "x_2",
        "x_1_2",
    ]


def test_a_binding_ends_with_its_block():
    blocks = CodeBlocks()
    blocks.bind("outer", "a")
    with blocks.block("if (x)"):
        blocks.bind("inner", "b")
        assert (blocks.bound("outer"), blocks.bound("inner")) == ("a", "b")
    assert (blocks.bound("outer"), blocks.bound("inner")) == ("a", None)


def test_a_rehearsal_leaves_nothing():
    blocks = CodeBlocks()
    blocks.free_name("x")
    with blocks.rehearsal():
        blocks.write("a;")
        blocks.bind("key", "a")
        assert blocks.free_name("x") == "x_1"
    assert blocks.lines == ()
    assert blocks.bound("key") is None
    assert blocks.free_name("x") == "x_1"


def test_variables_are_seen_from_inside_and_by_depth():
    blocks = CodeBlocks(is_uniform=True)
    blocks.declare("i")
    with blocks.block("for (;;)", is_uniform=False):
        assert not blocks.is_uniform
        assert str(blocks.variable("j", 4)) == "j"
        assert blocks.declares_all(frozenset({"i", "j"}), 2)
        assert not blocks.declares_all(frozenset({"i", "j"}), 1)
    assert blocks.is_uniform
    assert not blocks.declares_all(frozenset({"j"}), 2)


def test_a_failure_inside_closes_the_block():
    blocks = CodeBlocks()
    with pytest.raises(ValueError, match="inside"), blocks.block("if (x)"):
        raise ValueError("inside")
    blocks.write("a;")
    assert blocks.lines == ("a;",)
