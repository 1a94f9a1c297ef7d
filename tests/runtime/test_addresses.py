from dataclasses import replace

import pytest

from dlrmc.codegen.fault_record import FAULTS_DTYPE
from dlrmc.codegen.source import ModuleSource
from dlrmc.errors import CodegenError
from dlrmc.options import Options
from dlrmc.runtime.addresses import AddressMap, Bases
from dlrmc.schedule.plan import BufferRef
from tests.runtime.programs import LOOKUP, make_build, make_program

BASES = Bases(residents=(1000,), arena=2000, table=3000, faults=4000)


@pytest.fixture
def build(cache_dir):
    program = make_program(LOOKUP, {}, ("dense", "ids"), {}, (0, 1))
    return make_build(program, Options(target="reference", cache_dir=cache_dir))


def test_direct_and_indirect_arguments(build):
    addresses = AddressMap(build.plan, build.module)
    lookup, add = addresses.bind(BASES)
    # rows = embedding(table, ids); out = (dense + rows) * 2. Cells are numbered as they are met.
    assert addresses.cells == (
        BufferRef("input", 1),
        BufferRef("output", 1),
        BufferRef("input", 0),
        BufferRef("output", 0),
    )
    assert lookup.pointers == (1000, 3000, 3008, 4000)
    assert add.pointers == (3016, 3008, 3024)
    assert addresses.cell_pointers([11, 12], [21, 22]) == (12, 22, 11, 21)
    assert addresses.checking_grids == (build.module.kernels[0].grid,)


def test_each_kernel_that_checks_has_a_record_of_its_own(build):
    twice = ModuleSource(build.module.text, (build.module.kernels[0], build.module.kernels[0]))
    plan = replace(build.plan, launches=(build.plan.launches[0], build.plan.launches[0]))
    addresses = AddressMap(plan, twice)
    first, second = addresses.bind(BASES)
    assert first.pointers[:-1] == second.pointers[:-1]
    assert second.pointers[-1] - first.pointers[-1] == FAULTS_DTYPE.itemsize
    assert len(addresses.checking_grids) == 2


def test_a_part_of_an_input_has_a_cell_of_its_own(build):
    first, second = build.plan.launches
    shifted = replace(second, operands=(BufferRef("input", 0, 16), second.operands[1]))
    addresses = AddressMap(replace(build.plan, launches=(first, shifted)), build.module)
    assert addresses.cells[2] == BufferRef("input", 0, 16)
    assert addresses.cell_pointers([100, 200], [300, 400])[2] == 116


def test_arena_places(build):
    first, second = build.plan.launches
    parameter = build.module.kernels[1].params[1]
    module = ModuleSource(
        build.module.text,
        (
            build.module.kernels[0],
            replace(
                build.module.kernels[1],
                params=(
                    build.module.kernels[1].params[0],
                    replace(parameter, indirect=False),
                    build.module.kernels[1].params[2],
                ),
            ),
        ),
    )
    moved = replace(second, operands=(second.operands[0], BufferRef("arena", 0, 256)))
    _, add = AddressMap(replace(build.plan, launches=(first, moved)), module).bind(BASES)
    assert add.pointers[1] == 2256


def test_a_module_that_does_not_fit_the_plan_is_refused(build):
    fewer = ModuleSource(build.module.text, build.module.kernels[:1])
    with pytest.raises(CodegenError, match="1 kernels"):
        AddressMap(build.plan, fewer)
    kernel = build.module.kernels[0]
    short = ModuleSource("", (replace(kernel, params=kernel.params[1:]), build.module.kernels[1]))
    with pytest.raises(CodegenError, match="3 parameters"):
        AddressMap(build.plan, short)
    direct = tuple(replace(parameter, indirect=False) for parameter in kernel.params)
    wrong = ModuleSource("", (replace(kernel, params=direct), build.module.kernels[1]))
    with pytest.raises(CodegenError, match=r"ids_in.*indirect=False for input"):
        AddressMap(build.plan, wrong)
