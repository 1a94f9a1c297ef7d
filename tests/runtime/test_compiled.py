"""Calls of a compiled program on the targets that need no GPU; both behave alike."""

import copy
import pickle
import threading

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from dlrmc.errors import BoundsError, InputError
from tests.runtime.programs import (
    DENSE,
    IDS,
    TABLE,
    Const,
    compile_lookup,
    compile_program,
    eager_lookup,
    make_program,
)

TARGETS = ["emulate", "reference"]


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


@pytest.fixture
def lookup(target, cache_dir):
    return compile_lookup(cache_dir, target=target)


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    return True


def test_a_call_gives_eagers_numbers_in_the_models_structure(lookup):
    found = lookup(DENSE, IDS)
    assert isinstance(found, tuple)
    assert same(found, eager_lookup(DENSE, IDS))


def test_an_argument_may_be_passed_by_name(lookup):
    assert same(lookup(ids=IDS, dense=DENSE), eager_lookup(DENSE, IDS))
    assert same(lookup(DENSE, ids=IDS), eager_lookup(DENSE, IDS))


def test_new_tensors_and_tensors_written_in_place_are_seen(lookup):
    dense, ids = DENSE.clone(), IDS.clone()
    lookup(dense, ids)
    dense += 1
    ids[0] = 2
    assert same(lookup(dense, ids), eager_lookup(dense, ids))
    for step in range(3):
        dense, ids = torch.full((4, 3), float(step)), torch.full((4,), step)
        assert same(lookup(dense, ids), eager_lookup(dense, ids))


def test_an_earlier_output_is_not_overwritten(lookup):
    first = lookup(DENSE, IDS)
    lookup(-DENSE, IDS.flip(0))
    assert same(first, eager_lookup(DENSE, IDS))


def test_outputs_are_the_callers_own(lookup):
    lookup(DENSE, IDS)[1].fill_(7)
    assert same(lookup(DENSE, IDS), eager_lookup(DENSE, IDS))


def test_strided_expanded_and_misaligned_inputs(lookup):
    strided = torch.tensor([[1, 2], [3, 4], [0, 9], [5, 5]])[:, 1]
    assert not strided.is_contiguous()
    assert same(lookup(DENSE.t().contiguous().t(), strided), eager_lookup(DENSE, strided))
    expanded = torch.tensor([1.5, 2.5, 3.5]).expand(4, 3)
    assert same(lookup(expanded, IDS), eager_lookup(expanded, IDS))
    misaligned = torch.arange(13, dtype=torch.float32)[1:].reshape(4, 3)
    assert misaligned.data_ptr() % 16
    assert same(lookup(misaligned, IDS), eager_lookup(misaligned, IDS))


def test_a_tensor_that_wants_gradients_is_taken_as_it_is(lookup):
    found = lookup(DENSE.clone().requires_grad_(), IDS)
    assert not found[0].requires_grad


def test_weights_are_seen_through_strides(target, cache_dir):
    table = TABLE.t().contiguous().t()
    assert not table.is_contiguous()
    assert same(compile_lookup(cache_dir, target=target, table=table)(DENSE, IDS), eager_lookup(DENSE, IDS))


def test_threads_may_share_a_program(lookup):
    failures = []

    def call(number):
        dense = torch.full((4, 3), float(number))
        ids = torch.full((4,), number)
        for _ in range(20):
            found = lookup(dense, ids)
            if not torch.equal(found[0], eager_lookup(dense, ids)[0]):
                failures.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_result_without_rows_launches_nothing(target, cache_dir):
    text = "graph @empty {\n  input %x : f32[0,3]\n  %y = neg(%x) : f32[0,3]\n  return %y\n}\n"
    empty = compile_program(make_program(text, {}, ("x",), {}, 0), cache_dir, target=target)
    assert empty(torch.empty(0, 3)).shape == (0, 3)
    assert "kernels: none" in empty.report()


def test_a_constant_may_be_the_result(target, cache_dir):
    text = "graph @fixed {\n  input %x : f32[2]\n  const %k : f32[2] = [1.0,2.0]\n  return %k, %x\n}\n"
    fixed = compile_program(make_program(text, {}, ("x",), {}, (0, 1)), cache_dir, target=target)
    x = torch.tensor([5.0, 6.0])
    found = fixed(x)
    assert [each.tolist() for each in found] == [[1.0, 2.0], [5.0, 6.0]]
    assert found[1].data_ptr() != x.data_ptr()


def test_sixteen_bit_tables(target, cache_dir):
    text = """graph @half {
  input %ids : i32[4]
  weight %table : bf16[10,3] = "table"
  %rows = embedding(%table, %ids) : bf16[4,3]
  return %rows
}
"""
    table = TABLE.bfloat16()
    half = compile_program(make_program(text, {"table": table}, ("ids",), {}, 0), cache_dir, target=target)
    assert torch.equal(half(IDS.int()), table[IDS])


# -- binding to fixed addresses


def test_a_step_reads_its_tensors_anew_and_overwrites_its_outputs(lookup):
    dense, ids = DENSE.clone(), IDS.clone()
    step = lookup.bind(dense, ids)
    assert same(step(), eager_lookup(dense, ids))
    dense *= 2
    ids[1] = 7
    outputs = step.outputs
    assert step() is outputs
    assert same(outputs, eager_lookup(dense, ids))


def test_a_step_and_calls_do_not_disturb_each_other(lookup):
    step = lookup.bind(DENSE, IDS)
    first = lookup(-DENSE, IDS.flip(0))
    step()
    assert same(first, eager_lookup(-DENSE, IDS.flip(0)))
    assert same(step.outputs, eager_lookup(DENSE, IDS))


# -- structures

SCALE = """graph @scale {
  input %x_0 : f32[2]
  input %x_1 : f32[2]
  input %y : f32[2]
  %a = sub(%x_0, %x_1) : f32[2]
  %b = mul(%a, %y) : f32[2]
  return %a, %b
}
"""
X0, X1, Y = torch.tensor([5.0, 6.0]), torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0])


def compile_scale(target, cache_dir, args, kwargs, results):
    program = make_program(SCALE, {}, args, kwargs, results)
    return compile_program(program, cache_dir, target=target)


def test_lists_dictionaries_keywords_constants_and_none(target, cache_dir):
    args = (["x_0", "x_1"], Const(3))
    kwargs = {"more": {"b": Const(None), "y": "y"}, "flag": Const(True)}
    results = {"b": 1, "nothing": Const(None), "number": Const(4), "pair": (0, "y"), "again": 0}
    scale = compile_scale(target, cache_dir, args, kwargs, results)
    found = scale([X0, X1], 3, flag=True, more={"y": Y, "b": None})
    assert list(found) == ["b", "nothing", "number", "pair", "again"]
    assert torch.equal(found["b"], torch.tensor([8.0, 6.0]))
    assert (found["nothing"], found["number"]) == (None, 4)
    assert torch.equal(found["pair"][0], torch.tensor([4.0, 2.0]))
    assert found["pair"][1] is Y
    assert found["again"] is found["pair"][0]


def test_one_result_is_no_tuple(target, cache_dir):
    scale = compile_scale(target, cache_dir, (["x_0", "x_1"], "y"), {}, 1)
    assert torch.equal(scale([X0, X1], Y), torch.tensor([8.0, 6.0]))


# -- what is refused


@pytest.mark.parametrize(
    ("dense", "ids", "words"),
    [
        (DENSE.double(), IDS, ["dense", "f64[4,3]", "f32[4,3]", "torch.float32"]),
        (DENSE, IDS.int(), ["ids", "i32[4]", "i64[4]", "torch.int64"]),
        (DENSE[:2], IDS, ["dense", "f32[2,3]", "f32[4,3]", "dimension 0 at 4", "export again"]),
        (DENSE.reshape(-1), IDS, ["dense", "f32[12]", "f32[4,3]", "2 dimensions"]),
        (DENSE, IDS.to("meta"), ["ids", "meta", "cpu"]),
        (DENSE, IDS.tolist(), ["ids", "a list", "tensor i64[4]"]),
        (DENSE, 5, ["ids", "a int", "i64[4]"]),
        (DENSE, None, ["ids", "a NoneType", "i64[4]"]),
        (DENSE.to_sparse(), IDS, ["dense", "sparse", "to_dense"]),
        (DENSE.to(torch.complex64), IDS, ["dense", "complex64[4,3]", "f32[4,3]"]),
    ],
)
def test_a_bad_tensor_is_named_with_what_was_expected(lookup, dense, ids, words):
    with pytest.raises(InputError) as caught:
        lookup(dense, ids)
    for word in words:
        assert word in str(caught.value)
    assert same(lookup(DENSE, IDS), eager_lookup(DENSE, IDS))


def _fake(tensor: torch.Tensor) -> torch.Tensor:
    return FakeTensorMode().from_tensor(tensor)


class _Wrapped(torch.Tensor):
    """A tensor whose values another one holds, as DTensor's are."""

    @staticmethod
    def __new__(cls, tensor: torch.Tensor) -> torch.Tensor:
        return torch.Tensor._make_wrapper_subclass(cls, tensor.shape, dtype=tensor.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"{func} of a tensor that was refused")


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("make", [_fake, _Wrapped, torch._to_functional_tensor])
def test_a_tensor_without_memory_is_refused(lookup, make):
    lookup(DENSE, IDS)
    with pytest.raises(InputError, match=r"ids: a .* without memory"):
        lookup(DENSE, make(IDS))


def test_a_call_under_a_transform_of_torch_func_is_refused(lookup):
    lookup(DENSE, IDS)
    with pytest.raises(InputError, match="dense: a Tensor without memory"):
        torch.func.vmap(lambda dense: lookup(dense, IDS))(DENSE[None])


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((DENSE,), {}, ["no ids", "dense, ids"]),
        ((), {}, ["no dense, ids"]),
        ((DENSE, IDS, IDS), {}, ["3 positional arguments", "at most 2"]),
        ((DENSE, IDS), {"ids": IDS}, ["argument ids is passed twice"]),
        ((DENSE,), {"idz": IDS}, ["no argument idz", "dense, ids"]),
    ],
)
def test_a_wrong_number_of_arguments(lookup, args, kwargs, words):
    with pytest.raises(InputError) as caught:
        lookup(*args, **kwargs)
    for word in (*words, "compiled(dense, ids)"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        (([X0], 3), {"more": {"y": Y}}, ["a list of 1, not a list of 2"]),
        (((X0, X1), 3), {"more": {"y": Y}}, ["a tuple of 2, not a list of 2"]),
        (([X0, X1], 3), {"more": {"z": Y}}, ["more is a dict with z, not a dict with y"]),
        (([X0, X1], 4), {"more": {"y": Y}}, ["scale", "4", "3, the value that the export fixed"]),
        (([X0, X1], 3.0), {"more": {"y": Y}}, ["scale", "3.0", "3, the value"]),
        (([X0, X1.half()], 3), {"more": {"y": Y}}, ["x[1]", "f16[2]", "f32[2]"]),
        (([X0, X1], 3), {"more": {"y": Y[:1]}}, ["more['y']", "f32[1]", "f32[2]"]),
    ],
)
def test_a_bad_structure_is_named_by_its_path(target, cache_dir, args, kwargs, words):
    declared = (["x_0", "x_1"], Const(3)), {"more": {"y": "y"}}
    scale = compile_scale(target, cache_dir, *declared, 1)
    with pytest.raises(InputError) as caught:
        scale(*args, **kwargs)
    for word in words:
        assert word in str(caught.value)


# -- ids out of range


BAD = torch.tensor([1, 2, 10**9, -3])


def check_message(error, call):
    text = str(error)
    for word in ("ids", f"call {call}", "1000000000", "position 2", "0 <= id < 10"):
        assert word in text, text


def test_deferred_is_raised_by_check_and_the_next_request_is_good(cache_dir):
    lookup = compile_lookup(cache_dir, target="emulate")
    lookup(DENSE, IDS)
    lookup(DENSE, BAD)
    with pytest.raises(BoundsError) as caught:
        lookup.check()
    check_message(caught.value, call=2)
    assert same(lookup(DENSE, IDS), eager_lookup(DENSE, IDS))
    lookup.check()


def test_deferred_is_raised_at_the_start_of_the_next_call(cache_dir):
    lookup = compile_lookup(cache_dir, target="emulate")
    lookup(DENSE, BAD)
    with pytest.raises(BoundsError) as caught:
        lookup(DENSE, IDS)
    check_message(caught.value, call=1)
    assert same(lookup(DENSE, IDS), eager_lookup(DENSE, IDS))


def test_a_bad_id_reads_nothing(cache_dir):
    found = compile_lookup(cache_dir, target="emulate")(DENSE, BAD)
    assert same([found[1][:2]], [TABLE[1:3]])
    assert found[1][2:].count_nonzero() == 0


def test_raise_is_raised_by_the_call_itself(target, cache_dir):
    lookup = compile_lookup(cache_dir, target=target, bounds="raise")
    with pytest.raises(BoundsError, match="1000000000"):
        lookup(DENSE, BAD)
    assert same(lookup(DENSE, IDS), eager_lookup(DENSE, IDS))


def test_ignore_only_counts(cache_dir):
    lookup = compile_lookup(cache_dir, target="emulate", bounds="ignore")
    for _ in range(2):
        lookup(DENSE, BAD)
    lookup.check()
    assert lookup.stats()["faults"] == 2 * 2 * 3  # two bad ids, each wanted by three threads


def test_a_step_reports_bad_ids_like_a_call(cache_dir):
    lookup = compile_lookup(cache_dir, target="emulate")
    ids = BAD.clone()
    step = lookup.bind(DENSE, ids)
    step()
    with pytest.raises(BoundsError, match="ids in call 1"):
        step()
    ids.copy_(IDS)
    assert same(step(), eager_lookup(DENSE, IDS))


@pytest.mark.parametrize("copy_of", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_compiled_program_is_of_its_process(lookup, copy_of):
    with pytest.raises(InputError, match=r"pickled or copied\n  expected: the exported program"):
        copy_of(lookup)
