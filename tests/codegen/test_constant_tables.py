import numpy as np

from dlrmc.codegen.constant_tables import ConstantTables
from dlrmc.codegen.index_expressions import constant, variable
from dlrmc.ir.graph import Graph
from dlrmc.ir.types import DType


def const(value, dtype=None):
    array = np.array(value) if dtype is None else np.array(value).astype(dtype.numpy)
    return Graph("g").const("c", array)


def test_a_known_element_is_a_literal_and_needs_no_table():
    tables = ConstantTables("k")
    assert tables.element(const([[1.5, 2.5], [3.5, 4.5]], DType.F32), (constant(1), constant(0))) == "3.5f"
    assert tables.element(const(7), ()) == "7ll"
    assert tables.definitions == ()


def test_other_elements_are_read_from_one_table():
    tables = ConstantTables("k")
    pairs = const([[1, 2], [-3, 4]], DType.I32)
    assert tables.element(pairs, (variable("i", 2), variable("j", 2))) == "k_c[i * 2 + j]"
    assert tables.element(pairs, (constant(1), variable("j", 2))) == "k_c[j + 2]"
    assert tables.definitions == ("static __device__ const int k_c[4] = {\n    1, 2, (-3), 4,\n};",)


def test_a_table_with_infinities_holds_bits():
    tables = ConstantTables("k")
    element = tables.element(const([np.inf, 1.0], DType.F32), (variable("i", 2),))
    assert element == "__uint_as_float(k_c[i])"
    assert tables.definitions == (
        "static __device__ const unsigned int k_c[2] = {\n    0x7f800000, 0x3f800000,\n};",
    )


def test_halves_and_bools_are_stored_as_they_lie_in_memory():
    tables = ConstantTables("k")
    half = const([np.inf, 1.0], DType.BF16)
    assert tables.element(half, (variable("i", 2),)) == "to_float(k_c[i])"
    assert "bf16{0x7f80}, bf16{0x3f80}," in tables.definitions[0]
    mask = ConstantTables("m")
    assert mask.element(const([True, False]), (variable("i", 2),)) == "m_c[i] != 0"
    assert mask.definitions[0].startswith("static __device__ const unsigned char m_c[2] = {\n    1, 0,")


def test_equal_values_share_a_table_and_others_of_one_name_do_not():
    tables = ConstantTables("k")
    first, again, other, third = (const(value) for value in ([1, 2], [1, 2], [3, 4], [5, 6]))
    assert [tables.name(node) for node in (first, again, other, third, other)] == [
        "k_c",
        "k_c",
        "k_c__1",
        "k_c__2",
        "k_c__1",
    ]
    assert len(tables.definitions) == 3
