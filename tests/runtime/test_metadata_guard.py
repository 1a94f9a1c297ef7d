from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from dlrmc.ir.types import parse_tensor_type
from dlrmc.runtime import torch_internals
from dlrmc.runtime.metadata_guard import MetadataGuard


@pytest.fixture(params=["torch's own", "public"])
def internals(request, monkeypatch):
    """With torch's quick functions, and as with a torch that lacks them."""
    if request.param == "public":
        monkeypatch.delattr(torch._C._dynamo.guards, "RootGuardManager")
        monkeypatch.delattr(torch._C._dynamo.guards, "_empty_strided_cpu")
    return request.param


def tensors():
    return [torch.zeros(4, 3), torch.arange(4), torch.zeros(1)]


def guard_of(*calls):
    guard = MetadataGuard()
    for call in calls:
        guard.learn(call)
    return guard


def test_a_new_guard_accepts_nothing(internals):
    assert not MetadataGuard().accepts(tensors())


def test_other_tensors_of_the_same_looks_are_accepted(internals):
    guard = guard_of(tensors())
    assert guard.accepts(tensors())
    assert guard.accepts([torch.ones(4, 3), torch.ones(4, dtype=torch.int64), torch.ones(1)])


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.double(),
        lambda t: t[:2],
        lambda t: t.reshape(3, 4),
        lambda t: t.reshape(12),
        lambda t: t.t().contiguous().t(),
        lambda t: t[:1].expand(4, 3),
        lambda t: t.to("meta"),
        lambda t: t.to_sparse(),
        torch._neg_view,
        lambda t: t.tolist(),
        lambda t: None,
        torch.nn.Parameter,
        FakeTensorMode().from_tensor,
    ],
)
def test_a_tensor_of_other_looks_is_not(internals, change):
    guard = guard_of(tensors())
    dense, ids, one = tensors()
    assert not guard.accepts([change(dense), ids, one])
    assert guard.accepts([dense, ids, one])


def test_one_object_that_changes_is_noticed(internals):
    dense, ids, one = tensors()
    guard = guard_of([dense, ids, one])
    for change in (lambda: dense.resize_(2, 3), lambda: dense.resize_(4, 3).t_(), lambda: one.unsqueeze_(0)):
        change()
        assert not guard.accepts([dense, ids, one])


def test_threads_ask_at_the_same_time(internals):
    guard = guard_of(tensors())
    dense, ids, one = tensors()
    good, bad = [dense, ids, one], [dense, ids, one.double()]

    def ask(number):
        call = bad if number % 2 else good
        return {guard.accepts(call) for _ in range(2000)}

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [{True}, {False}] * 4


@pytest.mark.parametrize(
    "mode", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)]
)
def test_a_call_in_another_mode_is_learnt_beside_the_first(internals, mode):
    guard = guard_of(tensors())
    with mode():
        guard.learn(tensors())
        assert guard.accepts(tensors())
        assert not guard.accepts([each.double() for each in tensors()])
    assert guard.accepts(tensors())


def test_one_object_in_several_places(internals):
    offsets = torch.arange(4)
    guard = guard_of([offsets, torch.zeros(2), offsets, offsets])
    other = torch.arange(4)
    assert guard.accepts([other, torch.ones(2), other, other])
    assert not guard.accepts([other, torch.ones(2), other, other.double()])
    pair = guard_of([offsets, offsets])
    assert pair.accepts([other, other])
    assert not pair.accepts([other, torch.arange(5)])


def test_a_few_kinds_of_calls_are_remembered_and_the_oldest_is_forgotten(internals):
    kinds = [[torch.zeros(n)] for n in range(1, 6)]
    guard = guard_of(*kinds)
    assert [guard.accepts(kind) for kind in kinds] == [False, True, True, True, True]


def test_nothing_of_the_tensors_is_kept(internals):
    import weakref

    call = tensors()
    watched = [weakref.ref(tensor) for tensor in call]
    guard = guard_of(call)
    del call
    assert [watch() for watch in watched] == [None] * 3
    assert guard.accepts(tensors())


@pytest.mark.parametrize("text", ["f32[]", "f32[0,3]", "f16[4]", "i64[2,3,4]", "bf16[5,1]", "bool[3]"])
def test_fresh_tensors_are_contiguous_and_apart(internals, text):
    kind = parse_tensor_type(text)
    make = torch_internals.empty_maker(kind, torch.device("cpu"))
    one, other = make(), make()
    assert (tuple(one.shape), one.is_contiguous(), one.requires_grad) == (kind.shape, True, False)
    assert torch_internals.TORCH_DTYPES[kind.dtype] == one.dtype
    if one.numel():
        assert one.data_ptr() != other.data_ptr()


def test_addresses_are_read_in_order():
    call = tensors()
    assert torch_internals.addresses_of(call) == [tensor.data_ptr() for tensor in call]
    assert torch_internals.addresses_of([torch.empty(0)]) == [0]
