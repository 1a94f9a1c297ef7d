"""Options of a group of bags: lists of defaults are left empty, and read back."""

from __future__ import annotations

from dlrmc.ir.op import complete_attributes
from dlrmc.ir.ops import find_op
from dlrmc.ir.ops.bags import BagOptions, group_attributes, group_options


def _round_trip(options):
    return group_options(
        complete_attributes(find_op("embedding_bag_group"), group_attributes(options)), len(options)
    )


def test_defaults_are_left_empty():
    options = (BagOptions(), BagOptions())
    assert group_attributes(options) == {"modes": (), "include_last_offset": (), "padding_idx": ()}
    assert _round_trip(options) == options


def test_each_kind_is_written_for_every_table_or_for_none():
    options = (BagOptions(), BagOptions(mode="max", padding_idx=3))
    assert group_attributes(options) == {
        "modes": ("sum", "max"),
        "include_last_offset": (),
        "padding_idx": (-1, 3),
    }
    assert _round_trip(options) == options
