"""Bags of row programs: how pointers and places are found, and when weights are asked for beside them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dlrmc.schedule.limits import DeviceLimits
from tests.codegen.rows.row_cases import RowCase, dot_model, row_case
from tests.codegen.rows.test_row_programs import assert_right, kernel, run


def shared_ids_model(batch: int) -> str:
    """Five tables, of which the second and the fourth look at the same ids."""
    return dot_model(batch, tables=5, dim=4).replace("(%t3, %ids3, %off3)", "(%t3, %ids1, %off1)")


def with_even_bags(case: RowCase, batch: int) -> RowCase:
    for name, values in case.inputs.items():
        if name.startswith("off"):
            values[:] = np.arange(batch) * 3
    return case


@pytest.mark.parametrize("batch", [1, 5, 37])
def test_pointers_whose_places_no_formula_gives_are_looked_up(own_cache, batch):
    case = row_case(shared_ids_model(batch))
    assert "_places[" in kernel(case).text
    assert_right(case, run(case, own_cache))


def test_pointers_are_chosen_by_number_without_a_branch():
    text = kernel(row_case(dot_model(37, tables=12, dim=4))).text
    assert re.search(r"BagPointers own = \{pointers\.at\[\d+ \+ table\], pointers\.at\[\d+ \+ table\]", text)
    assert "switch" not in text


@pytest.mark.parametrize("batch", [1, 5, 37])
def test_bags_of_one_length_are_found_where_they_stand(own_cache, batch):
    """The expected place of a bag is that in the whole batch, however many rows a tile has."""
    case = with_even_bags(row_case(_with_ids(dot_model(batch, tables=4, dim=4), 3 * batch)), batch)
    lines = re.search(r"_numbers\[4\] = \{\n(.*?)\};", kernel(case).text, re.DOTALL)
    assert lines is not None
    assert [line.split(",")[2].strip() for line in lines[1].strip().splitlines()] == ["3"] * 4
    assert_right(case, run(case, own_cache))


def test_the_last_offset_is_no_bag_of_its_own():
    text = _with_ids(dot_model(8, tables=4, dim=4), 16).replace("i64[8]", "i64[9]")
    text = re.sub(r"(embedding_bag\([^)]*\))", r"\1 {include_last_offset=true}", text)
    lines = re.search(r"_numbers\[4\] = \{\n(.*?)\};", kernel(row_case(text)).text, re.DOTALL)
    assert lines is not None
    assert [line.split(",")[2].strip() for line in lines[1].strip().splitlines()] == ["2"] * 4


def test_weights_of_late_layers_stand_in_line_behind_many_rows():
    """Sixteen rows of the batch a tile read 48 rows of each table."""
    text = emitted_on_a_whole_device(batch=2048)
    barrier, copy = text.index("__syncthreads();"), text.index("bulk_copy(y_w")
    assert barrier < copy < text.index("copy_barrier_wait(copy_barriers + ", copy)


def test_weights_are_asked_for_at_once_beside_few_rows():
    text = emitted_on_a_whole_device(batch=2)
    assert text.index("bulk_copy(y_w") < text.index("__syncthreads();")


def emitted_on_a_whole_device(batch: int) -> str:
    text = _with_ids(_deep(dot_model(batch, tables=32, dim=16, top=64)), 3 * batch)
    return kernel(row_case(text, limits=DeviceLimits())).text


def _with_ids(text: str, count: int) -> str:
    """The model with so many ids for every table."""
    return re.sub(r"(%ids\d+ : i64)\[\d+\]", rf"\1[{count}]", text)


def _deep(text: str) -> str:
    """The model with one more layer behind its wide one."""
    batch = re.search(r"input %x : f32\[(\d+),3\]", text)
    assert batch is not None
    layer = f"%z = linear(%y, %u) : f32[{batch[1]},2]"
    return text.replace("  weight %w", '  weight %u : f32[2,64] = "u"\n  weight %w', 1).replace(
        "  return %y, %d", f"  {layer}\n  return %z, %d"
    )
