from __future__ import annotations

import pytest

from dlrmc.ir.parser import parse_graph
from dlrmc.schedule.cost import Cost, kernel_cost


def cost_of(operands: str, body: str, result: str) -> Cost:
    """The cost of one kernel %k with this body over inputs and weights."""
    names = [line.split()[1] for line in operands.strip().splitlines()]
    text = f"""graph @g {{
{operands}
  %k = kernel map({", ".join(names)}) {{
{body}
    yield %k
  }} : {result}
  return %k
}}
"""
    graph = parse_graph(text)
    return kernel_cost(graph.find("k"))


def test_a_linear_reads_x_weight_and_bias_once() -> None:
    cost = cost_of(
        'input %x : f32[8,3]\nweight %w : f32[5,3] = "w"\nweight %b : f32[5] = "b"',
        "%k = linear(%x, %w, %b) {act=relu} : f32[8,5]",
        "f32[8,5]",
    )
    assert cost == Cost(
        read_bytes=4 * (24 + 15 + 5),
        written_bytes=4 * 40,
        multiply_adds=8 * 5 * 3,
        other_flops=2 * 40,
    )
    assert (cost.bytes, cost.flops) == (4 * 84, 2 * 120 + 80)


def test_a_linear_without_bias_and_activation_only_multiplies() -> None:
    cost = cost_of(
        'input %x : f32[8,3]\nweight %w : f32[5,3] = "w"', "%k = linear(%x, %w) : f32[8,5]", "f32[8,5]"
    )
    assert (cost.multiply_adds, cost.other_flops) == (120, 0)


@pytest.mark.parametrize(
    ("rows", "read_rows"),
    [(1000, 12), (5, 5)],  # never more than the table has
)
def test_bags_read_the_rows_of_their_ids(rows: int, read_rows: int) -> None:
    cost = cost_of(
        f'input %i : i64[12]\ninput %o : i64[4]\nweight %t : f32[{rows},16] = "t"',
        "%k = embedding_bag(%t, %i, %o) : f32[4,16]",
        "f32[4,16]",
    )
    assert cost == Cost(8 * 16 + 4 * 16 * read_rows, 4 * 64, 0, 12 * 16)


def test_a_group_of_bags_counts_each_table() -> None:
    operands = (
        "input %i : i64[12]\ninput %j : i64[6]\ninput %o : i64[6]\n"
        'weight %t : f32[100,16] = "t"\nweight %u : f32[3,16] = "u"'
    )
    body = "%k = embedding_bag_group([%t, %u], [%i, %j], [%o, %o], []) : f32[6,2,16]"
    cost = cost_of(operands, body, "f32[6,2,16]")
    assert cost.read_bytes == 8 * (12 + 6 + 6) + 64 * (12 + 3)
    assert cost.other_flops == 16 * (12 + 6)


def test_pairs_are_products_over_the_width() -> None:
    cost = cost_of(
        "input %x : f32[8,16]\ninput %y : f32[8,2,16]", "%k = pairwise_dot(%x, %y) : f32[8,3]", "f32[8,3]"
    )
    assert cost == Cost(4 * (128 + 256), 4 * 24, 8 * 3 * 16, 0)


@pytest.mark.parametrize(
    ("operands", "body", "result", "expected"),
    [
        ("input %a : f32[2,3]\ninput %b : f32[3,5]", "%k = mm(%a, %b) : f32[2,5]", "f32[2,5]", 30),
        ("input %a : f32[7,2,3]\ninput %b : f32[7,3,5]", "%k = bmm(%a, %b) : f32[7,2,5]", "f32[7,2,5]", 210),
        (
            "input %a : f32[7,3,2]\ninput %b : f32[7,3,5]",
            "%k = bmm(%a, %b) {trans_a=true} : f32[7,2,5]",
            "f32[7,2,5]",
            210,
        ),
        (
            "input %c : f32[5]\ninput %a : f32[2,3]\ninput %b : f32[3,5]",
            "%k = addmm(%c, %a, %b) : f32[2,5]",
            "f32[2,5]",
            30,
        ),
    ],
)
def test_products(operands: str, body: str, result: str, expected: int) -> None:
    assert cost_of(operands, body, result).multiply_adds == expected


def test_a_slice_reads_only_itself_unless_the_rest_is_read_too() -> None:
    sliced = "%k = slice(%x) {dim=1, start=0, stop=2} : f32[8,2]"
    assert cost_of("input %x : f32[8,9]", sliced, "f32[8,2]") == Cost(64, 64, 0, 0)
    both = """%s = slice(%x) {dim=1, start=0, stop=9, step=1} : f32[8,9]
    %k = add(%x, %s) : f32[8,9]"""
    assert cost_of("input %x : f32[8,9]", both, "f32[8,9]") == Cost(288, 288, 0, 72)


def test_moving_is_free_and_reducing_costs_what_it_reads() -> None:
    body = """%v = view(%x) {shape=[9,8]} : f32[9,8]
    %k = sum(%v) {dims=[1]} : f32[9]"""
    assert cost_of("input %x : f32[8,9]", body, "f32[9]") == Cost(288, 36, 0, 72)


def test_an_operand_that_is_only_passed_on_is_read_whole() -> None:
    assert cost_of("input %x : f32[4]", "%k = view(%x) {shape=[2,2]} : f32[2,2]", "f32[2,2]").read_bytes == 16


def test_costs_add_up() -> None:
    assert Cost(1, 2, 3, 4) + Cost(10, 20, 30, 40) == Cost(11, 22, 33, 44)
