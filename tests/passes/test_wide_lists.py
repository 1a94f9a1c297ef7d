from __future__ import annotations

import pytest

from dlrmc.ir.verify import verify
from dlrmc.passes import wide_lists
from dlrmc.passes.wide_lists import LARGEST_LIST
from tests.passes.feeds import assert_same_meaning
from tests.passes.pass_case import check_unchanged
from tests.passes.rule_case import graph_of


def text(count: int, reader: str, width: int) -> str:
    """So many values [2, 1], each computed, and a reader of all of them."""
    lines = ["input %x : f32[2,1]", f'weight %w : f32[3,{count}] = "w"']
    lines.append("%v_0 = relu(%x) : f32[2,1]")
    lines += [f"%v_{n} = sin(%v_{n - 1}) : f32[2,1]" for n in range(1, count)]
    values = ", ".join(f"%v_{n}" for n in range(count))
    return "\n".join([*lines, f"%y = {reader.format(values=values)} : f32[2,{width}]", "return %y"])


READERS = {
    "cat": ("cat({values}) {{dim=1}}", lambda count: count),
    "linear": ("linear([{values}], %w)", lambda count: 3),
    "pairwise_dot": ("pairwise_dot({values})", lambda count: count * (count - 1) // 2),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("count", [LARGEST_LIST + 1, 2 * LARGEST_LIST + 7])
def test_a_long_list_is_one_of_cats_made_behind_their_last_value(name: str, count: int) -> None:
    reader, width = READERS[name]
    source = text(count, reader, width(count))
    old, graph = graph_of(source), graph_of(source)
    assert wide_lists.run(graph).counts == {"lists": 1}
    verify(graph)
    assert_same_meaning(old, graph)
    (output,) = graph.outputs
    assert len(output.operands[0]) == -(-count // LARGEST_LIST)
    first = output.operands[0][0]
    order = list(graph.nodes)
    assert first.is_op("cat")
    assert order.index(first) < next(at for at, node in enumerate(order) if node.name == f"v_{LARGEST_LIST}")
    assert wide_lists.run(graph).changes == 0


def test_a_list_that_fits_stays() -> None:
    reader, width = READERS["cat"]
    check_unchanged(wide_lists.run, text(LARGEST_LIST, reader, width(LARGEST_LIST)))
