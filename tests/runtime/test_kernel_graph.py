"""The structure that the driver reads; that graphs run is tested in tests/gpu."""

import ctypes

from dlrmc.runtime.kernel_arguments import KernelArguments
from dlrmc.runtime.kernel_graph import GraphEdgeData, KernelLaunch, KernelNodeParams


def test_the_parameters_have_the_layout_of_the_drivers_header():
    names = [name for name, _ in KernelNodeParams._fields_]
    assert [getattr(KernelNodeParams, name).offset for name in names] == [0, 8, 20, 32, 40, 48, 56, 64]
    assert ctypes.sizeof(KernelNodeParams) == 72


def test_a_launch_becomes_a_nodes_parameters():
    arguments = KernelArguments.of_pointers([2**63 + 1, 5])
    params = KernelNodeParams.of(KernelLaunch(2**40, 7, 64, 4096, arguments))
    assert (params.func, list(params.grid), list(params.block)) == (2**40, [7, 1, 1], [64, 1, 1])
    assert (params.shared_bytes, params.kernel_params) == (4096, arguments.address)
    assert (params.extra, params.kern, params.ctx) == (None, None, None)
    addresses = (ctypes.c_uint64 * 2).from_address(params.kernel_params)
    assert [ctypes.c_uint64.from_address(address).value for address in addresses] == [2**63 + 1, 5]


def test_pointers_stand_one_behind_the_other_for_kernels_that_take_them_as_one():
    arguments = KernelArguments.of_pointers([7, 2**63 + 1, 5])
    (first,) = (ctypes.c_uint64 * 1).from_address(arguments.address)
    assert list((ctypes.c_uint64 * 3).from_address(first)) == [7, 2**63 + 1, 5]


def test_a_kernel_without_arguments_has_an_array_all_the_same():
    assert KernelArguments.of_pointers([]).address != 0


def test_a_programmatic_edge_has_the_layout_of_the_drivers_header():
    assert ctypes.sizeof(GraphEdgeData) == 8
    edge = GraphEdgeData.programmatic()
    assert bytes(edge) == bytes([1, 0, 1, 0, 0, 0, 0, 0])
