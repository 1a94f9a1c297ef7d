from collections import OrderedDict

import pytest
from torch.utils import _pytree as pytree

from dlrmc.runtime.flattening import FlatteningPlan

LEAF = object()

STRUCTURES = [
    ((LEAF,), {}),
    ((LEAF, [LEAF, LEAF], (LEAF, LEAF)), {}),
    (([], LEAF), {}),
    (([LEAF, [LEAF, {"b": LEAF, "a": (LEAF,)}]],), {}),
    ((), {"x": LEAF, "more": [LEAF, LEAF]}),
    (({"b": LEAF, "a": [LEAF, LEAF]}, LEAF), {"z": LEAF}),
]


def numbered(structure):
    """The structure with numbers for its leaves."""
    leaves, spec = pytree.tree_flatten(structure)
    return pytree.tree_unflatten(list(range(len(leaves))), spec)


def plan_of(structure):
    return FlatteningPlan(*structure, is_leaf=lambda value: value is LEAF)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_leaves_come_in_the_order_of_torchs_pytree(structure):
    args, kwargs = numbered(structure)
    leaves = plan_of(structure).leaves(args, kwargs)
    assert leaves == list(range(len(leaves))) == pytree.tree_leaves((args, kwargs))


def test_dictionaries_and_keywords_in_any_order():
    plan = plan_of((({"b": LEAF, "a": LEAF},), {"x": LEAF, "y": LEAF}))
    assert plan.leaves(({"a": 1, "b": 0},), {"y": 3, "x": 2}) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("structure", "args", "kwargs"),
    [
        (((LEAF, [LEAF, LEAF]), {}), (0, [1]), {}),
        (((LEAF, [LEAF, LEAF]), {}), (0, (1, 2)), {}),
        (((LEAF, [LEAF, LEAF]), {}), (0, 1), {}),
        (((LEAF, [LEAF, LEAF]), {}), (0,), {}),
        (((LEAF,), {}), (), {"x": 0}),
        (((LEAF,), {"x": LEAF}), (0,), {"y": 0}),
        ((({"a": LEAF},), {}), ({"b": 0},), {}),
        ((({"a": LEAF},), {}), ({"a": 0, "b": 1},), {}),
        ((({"a": LEAF},), {}), (OrderedDict(a=0),), {}),
        ((([LEAF, {"a": LEAF}],), {}), ([0, {"a": 1}, 2],), {}),
        ((([LEAF, {"a": LEAF}],), {}), ([0, [1]],), {}),
    ],
)
def test_another_structure_is_not_flattened(structure, args, kwargs):
    assert plan_of(structure).leaves(args, kwargs) is None


def test_a_container_that_the_plan_does_not_know_is_left_to_pytree():
    plan = FlatteningPlan((OrderedDict(a=LEAF),), {}, is_leaf=lambda value: value is LEAF)
    assert plan.leaves((OrderedDict(a=0),), {}) is None


def test_a_structure_where_a_leaf_is_expected_is_taken_as_a_leaf():
    # What is in it is checked with the other leaves: "a list, expected tensor f32[2]".
    assert plan_of(((LEAF,), {})).leaves(([1, 2],), {}) == [[1, 2]]
