"""Ids and offsets out of range: the reference refuses them, naming operand, position, value and limit."""

from __future__ import annotations

import numpy as np
import pytest

from dlrmc.errors import BoundsError
from dlrmc.ir.types import DType
from tests.ir.ops.sample import evaluate, values

X = values(DType.F32, 5, 4)


def _ids(*numbers: int) -> np.ndarray:
    return np.array(numbers)


CASES = (
    ("embedding", (X, np.array([[0, 1], [5, 9]])), {}, "embedding: ids[1,0] = 5\n  expected: 0 <= value < 5"),
    ("embedding", (X, np.array(-1)), {}, "embedding: ids = -1\n  expected: 0 <= value < 5"),
    ("index_select", (X, _ids(0, 4)), {"dim": 1}, "index_select: ids[1] = 4\n  expected: 0 <= value < 4"),
    ("index_select", (X, _ids(-1)), {"dim": 0}, "index_select: ids[0] = -1\n  expected: 0 <= value < 5"),
    ("gather", (X, np.array([[0, -1]])), {"dim": 0}, "gather: ids[0,1] = -1\n  expected: 0 <= value < 5"),
    ("index", (X, (None, _ids(-4, -5))), {}, "index: indices[1][1] = -5\n  expected: -4 <= value < 4"),
    ("index", (X, (_ids(5),)), {}, "index: indices[0][0] = 5\n  expected: -5 <= value < 5"),
    (
        "embedding_bag",
        (X, _ids(0, 5), _ids(0), None),
        {},
        "embedding_bag: ids[1] = 5\n  expected: 0 <= value < 5",
    ),
    (
        "embedding_bag",
        (X, np.array([[0], [-1]]), None, None),
        {},
        "embedding_bag: ids[1,0] = -1\n  expected: 0 <= value < 5",
    ),
    ("embedding_bag", (X, _ids(0, 1), _ids(1), None), {}, "embedding_bag: offsets[0] = 1\n  expected: 0"),
    (
        "embedding_bag",
        (X, _ids(0, 1), _ids(0, 2, 1), None),
        {},
        "embedding_bag: offsets[2] = 1\n  expected: at least 2, the offset before it",
    ),
    (
        "embedding_bag",
        (X, _ids(0, 1), _ids(0, 3), None),
        {},
        "embedding_bag: offsets[1] = 3\n  expected: at most 2, the number of ids",
    ),
    (
        "embedding_bag_group",
        ((X, X), (_ids(0, 1), _ids(0, 7)), (_ids(0), _ids(0)), ()),
        {},
        "embedding_bag_group: ids[1][1] = 7\n  expected: 0 <= value < 5",
    ),
    (
        "embedding_bag_group",
        ((X, X), (_ids(0, 1), _ids(0, 7)), (_ids(0), _ids(3)), ()),
        {},
        "embedding_bag_group: offsets[1][0] = 3\n  expected: 0",
    ),
)


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"), CASES, ids=[case[3] for case in CASES]
)
def test_refused_with_this_message(name, operands, attributes, message):
    with pytest.raises(BoundsError) as error:
        evaluate(name, operands, **attributes)
    assert str(error.value) == message


def test_ids_after_the_last_bag_are_not_read():
    bags = evaluate("embedding_bag", (X, _ids(1, 2, 99), _ids(0, 2), None), include_last_offset=True)
    np.testing.assert_array_equal(bags, X[1:2] + X[2:3])


def test_an_empty_table_serves_empty_bags():
    bags = evaluate("embedding_bag", (values(DType.F32, 0, 4), _ids()[:0].astype(np.int64), _ids(0, 0), None))
    np.testing.assert_array_equal(bags, np.zeros((2, 4)))
