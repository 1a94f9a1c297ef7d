from __future__ import annotations

import pytest

from dlrmc.ir.parser import parse_graph
from dlrmc.passes.batch_size import guess_batch

_COLUMNS = "%s = sum(%y) {dims=[0]} : f32[4]"


@pytest.mark.parametrize(
    ("text", "batch"),
    [
        pytest.param("input %x : f32[9,4] return %x", 0, id="nothing computed"),
        pytest.param("input %x : f32[9,4] %y = relu(%x) : f32[9,4] return %y", 9, id="one op"),
        pytest.param(
            f"input %x : f32[9,4] %y = relu(%x) : f32[9,4] {_COLUMNS} return %y, %s", 9, id="a sum over rows"
        ),
        pytest.param(
            "input %x : f32[0,4] %y = relu(%x) : f32[0,4] %s = sum(%x) {dims=[0,1]} : f32[] return %y, %s",
            0,
            id="no rows",
        ),
        pytest.param(
            """input %x : f32[3,7,4]
               %a = cumsum(%x) {dim=0} : f32[3,7,4]
               %b = cumsum(%a) {dim=2} : f32[3,7,4]
               %y = sum(%b) {dims=[0]} : f32[7,4]
               return %y""",
            7,
            id="time in front",
        ),
        pytest.param(
            """input %dense : f32[4,3]
               input %ids : i64[12]
               input %off : i64[4]
               weight %w : f32[9,3] = "w"
               %i = neg(%ids) : i64[12]
               %j = abs(%i) : i64[12]
               %b = embedding_bag(%w, %j, %off) : f32[4,3]
               %y = add(%dense, %b) : f32[4,3]
               return %y""",
            4,
            id="more ids than rows",
        ),
        pytest.param(
            """input %x : f32[1,6]
               %a = softmax(%x) {dim=1} : f32[1,6]
               %y = sum(%a) {dims=[1]} : f32[1]
               return %y""",
            1,
            id="one row",
        ),
        pytest.param(
            """input %x : f32[6,3]
               %a = view(%x) {shape=[1,18]} : f32[1,18]
               %b = relu(%a) : f32[1,18]
               %c = view(%b) {shape=[6,3]} : f32[6,3]
               %y = softmax(%c) {dim=1} : f32[6,3]
               return %y""",
            6,
            id="one matrix of all rows",
        ),
    ],
)
def test_the_batch_is_the_size_for_which_most_ops_work_on_each_row_by_itself(text: str, batch: int) -> None:
    assert guess_batch(parse_graph(f"graph @g {{ {text} }}")) == batch
