import pytest
import torch

from dlrmc.errors import InputError
from dlrmc.ir.parser import parse_graph
from dlrmc.runtime.tensors import to_numpy, to_torch
from dlrmc.runtime.weights import Residents

GRAPH = parse_graph(
    """graph @m {
  weight %w : f32[2,3] = "layer.w"
  weight %again : f32[2,3] = "layer.w"
  weight %h : bf16[3] = "layer.h"
  const %k : i64[3] = [3,1,2]
  %packed = derive(%w, %k) {
    %t = permute(%w) {perm=[1,0]} : f32[3,2]
    %r = index_select(%t, %k_1=%k) {dim=0} : f32[3,2]
    yield %r
  } : f32[3,2]
  %twice = derive(%packed) {
    %twice = add(%packed, %packed) : f32[3,2]
    yield %twice
  } : f32[3,2]
  return %packed
}
""".replace("%k_1=%k", "%k").replace("[3,1,2]", "[2,0,1]")
)
NODES = {node.name: node for node in GRAPH.nodes}
CPU = torch.device("cpu")
W = torch.arange(6, dtype=torch.float32).reshape(2, 3)
H = torch.tensor([1.5, -2.0, 3.0], dtype=torch.bfloat16)


def place(*names, **weights):
    weights = {"layer.w": W, "layer.h": H, **weights}
    return Residents([NODES[name] for name in names], weights, CPU)


def test_a_weight_on_the_device_is_shared_by_all_its_nodes():
    residents = place("w", "again", "h")
    assert [tensor.data_ptr() for tensor in residents.tensors] == [W.data_ptr(), W.data_ptr(), H.data_ptr()]
    assert residents.bytes == 0


def test_a_weight_that_kernels_cannot_read_as_it_lies_is_copied_once():
    strided = W.t().contiguous().t()
    residents = place("w", "again", **{"layer.w": strided})
    first, second = residents.tensors
    assert first.data_ptr() == second.data_ptr() != strided.data_ptr()
    assert first.is_contiguous()
    assert torch.equal(first, W)


def test_a_parameter_is_shared_without_its_gradient():
    parameter = torch.nn.Parameter(W.clone())
    (tensor,) = place("w", **{"layer.w": parameter}).tensors
    assert tensor.data_ptr() == parameter.data_ptr()
    assert not tensor.requires_grad


def test_constants_are_uploaded():
    residents = place("k")
    assert residents.tensors[0].tolist() == [2, 0, 1]
    assert residents.bytes == 24


def test_derived_values_are_computed_once_also_from_each_other():
    packed, twice = place("packed", "twice").tensors
    expected = W.t()[[2, 0, 1]]
    assert torch.equal(packed, expected)
    assert torch.equal(twice, expected * 2)
    assert packed.is_contiguous()


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"layer.w": W[:1]}, ['weight "layer.w"', "f32[1,3]", "f32[2,3]"]),
        ({"layer.w": W.double()}, ['weight "layer.w"', "f64[2,3]", "f32[2,3]"]),
        ({"layer.w": None}, ['weight "layer.w"', "no such tensor", "f32[2,3]"]),
    ],
)
def test_a_wrong_weight_is_named(weights, words):
    with pytest.raises(InputError) as caught:
        place("w", **weights)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "dtype",
    ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "int8", "bool"],
)
def test_values_survive_the_way_to_numpy_and_back(dtype):
    tensor = torch.tensor([[0, 1, 2], [3, 1, 0]]).to(getattr(torch, dtype))
    back = to_torch(to_numpy(tensor))
    assert back.dtype == tensor.dtype
    assert torch.equal(back, tensor)
    assert back.data_ptr() == tensor.data_ptr()
    assert torch.equal(to_torch(to_numpy(tensor.t())), tensor.t())


def test_a_scalar_keeps_its_shape():
    assert to_torch(to_numpy(torch.tensor(3.0))).shape == ()
