from __future__ import annotations

import pytest

from dlrmc.passes.layer_cost import layers_apart
from tests.passes.rule_case import graph_of


def _apart(batch: int, columns: int, depth: int, row_bytes: int) -> bool:
    graph = graph_of(
        f"""input %x : f32[{batch},{depth}]
            weight %w : f32[{columns},{depth}] = "w"
            %y = linear(%x, %w) : f32[{batch},{columns}]
            return %y"""
    )
    return bool(layers_apart([graph.find("y")], batch, row_bytes))


@pytest.mark.parametrize(
    ("batch", "columns", "depth", "row_bytes", "expected"),
    [
        pytest.param(2048, 256, 512, 8_000, True, id="512 KiB, read by 128 tiles"),
        pytest.param(128, 256, 512, 8_000, True, id="512 KiB, read by 128 tiles of one row"),
        pytest.param(2048, 128, 256, 8_000, False, id="128 KiB, read by 128 tiles"),
        pytest.param(2048, 128, 256, 18_000, True, id="128 KiB, read by 256 tiles of few rows"),
        pytest.param(65536, 64, 448, 3_000, False, id="what a block keeps is read once"),
        pytest.param(65536, 64, 128, 14_000, False, id="small weights stay"),
        pytest.param(1, 1024, 1024, 4_000, True, id="large weights never do"),
    ],
)
def test_the_cheaper_is_taken(batch: int, columns: int, depth: int, row_bytes: int, expected: bool) -> None:
    assert _apart(batch, columns, depth, row_bytes) is expected
