from __future__ import annotations

from types import MappingProxyType

import pytest

from dlrmc.ir.attributes import Attributes
from dlrmc.ir.types import DType

VALUES = MappingProxyType(
    {
        "dim": 1,
        "alpha": 0.5,
        "keep": True,
        "act": "relu",
        "to": DType.F16,
        "dims": (0, 1),
        "flags": (True, False),
        "modes": ("sum", "max"),
    }
)


def test_each_kind_has_a_getter():
    kept = Attributes(VALUES)
    assert kept.int("dim") == 1
    assert kept.float("alpha") == 0.5
    assert kept.bool("keep") is True
    assert kept.str("act") == "relu"
    assert kept.dtype("to") is DType.F16
    assert kept.ints("dims") == (0, 1)
    assert kept.bools("flags") == (True, False)
    assert kept.strs("modes") == ("sum", "max")


def test_it_is_a_mapping_in_the_order_given():
    kept = Attributes(VALUES)
    assert [*kept.items()] == [*VALUES.items()]
    assert len(kept) == len(VALUES)
    assert kept["dim"] == 1
    assert "other" not in kept
    with pytest.raises(KeyError, match="other"):
        kept["other"]


def test_it_does_not_follow_the_dict_it_was_made_of():
    values = {"dim": 1}
    kept = Attributes(values)
    values["dim"] = 2
    assert kept.int("dim") == 1
    with pytest.raises(TypeError, match="does not support item assignment"):
        kept["dim"] = 2  # pyright: ignore[reportIndexIssue]


def test_equal_ones_have_one_hash():
    assert Attributes(VALUES) == Attributes(dict(VALUES))
    assert hash(Attributes(VALUES)) == hash(Attributes(dict(VALUES)))
    assert Attributes({"dim": 1}) != Attributes({"dim": 2})
    assert Attributes() == Attributes({})


def test_repr_shows_the_values():
    assert repr(Attributes({"dim": 1, "act": "relu"})) == "Attributes({'dim': 1, 'act': 'relu'})"
