"""Calls on a GPU are never stale: new addresses, writes in place, the caller's own results, instances."""

import pytest
import torch

from dlrmc.errors import InputError, OptionError
from tests.gpu.lookup_requests import request, same
from tests.runtime.programs import (
    DENSE,
    IDS,
    compile_lookup,
    compile_program,
    eager_lookup,
    make_program,
)

pytestmark = pytest.mark.gpu


def test_a_call_gives_eagers_numbers(lookup):
    assert lookup.target.name == "cuda"
    assert same(lookup(DENSE.cuda(), IDS.cuda()), DENSE, IDS)


def test_new_addresses_and_writes_in_place_are_seen(lookup):
    kept = []  # keeps the allocator from giving the same address again
    for number in range(20):
        dense, ids = request(number)
        kept.append((dense, ids))
        assert same(lookup(dense, ids), dense, ids)
        dense.add_(1)
        ids.copy_((ids + 1) % 10)
        assert same(lookup(dense, ids), dense, ids)


def test_an_input_freed_and_another_at_its_place(lookup):
    for number in range(20):
        dense, ids = request(number)
        found = lookup(dense, ids)
        expected = dense.cpu(), ids.cpu()
        del dense, ids
        assert same(found, *expected)


def test_earlier_outputs_are_not_overwritten(lookup):
    requests = [request(number) for number in range(8)]
    found = [lookup(*each) for each in requests]
    for each, results in zip(requests, found, strict=True):
        assert same(results, *each)


def test_strided_misaligned_and_cpu_inputs(lookup):
    dense, ids = request(1)
    strided = torch.stack([torch.zeros_like(ids), ids], dim=1)[:, 1]
    misaligned = torch.cat([torch.zeros(1, device="cuda"), dense.flatten()])[1:].reshape(4, 3)
    assert not strided.is_contiguous()
    assert misaligned.data_ptr() % 16
    assert same(lookup(misaligned, strided), dense, ids)
    assert same(lookup(dense.cpu(), ids.cpu()), dense, ids)
    expanded = torch.tensor([1.0, 2.0, 3.0], device="cuda").expand(4, 3)
    assert same(lookup(expanded, ids), expanded, ids)


def test_a_pinned_input_may_be_changed_right_after_the_call(lookup):
    for number in range(20):
        dense, ids = (tensor.cpu().pin_memory() for tensor in request(number))
        expected = dense.clone(), ids.clone()
        found = lookup(dense, ids)
        dense.zero_()
        ids.zero_()
        assert same(found, *expected)


def test_more_pointers_than_one_kernel_takes(cache_dir):
    count = 410
    names = [f"x_{n}" for n in range(count)]
    inputs = "\n".join(f"input %{name} : f32[1]" for name in names)
    listed = ", ".join(f"%{name}" for name in names)
    text = f"graph @wide {{\n{inputs}\n%c = cat({listed}) {{dim=0}} : f32[{count}]\nreturn %c\n}}\n"
    wide = compile_program(make_program(text, {}, (names,), {}, 0), cache_dir, target="cuda")
    for start in (0, 1000):
        values = torch.arange(start, start + count, dtype=torch.float32)
        assert torch.equal(wide([value.reshape(1).cuda() for value in values]).cpu(), values)


def test_a_constant_left_on_the_cpu_is_moved_once(cache_dir):
    text = """graph @pick {
  input %x : f32[4,3]
  const %rows : i64[2] = [3,1]
  %y = index_select(%x, %rows) {dim=0} : f32[2,3]
  return %y
}
"""
    pick = compile_program(make_program(text, {}, ("x",), {}, 0), cache_dir, target="cuda")
    assert torch.equal(pick(DENSE.cuda()).cpu(), DENSE[[3, 1]])


def test_a_result_without_rows_launches_nothing(cache_dir):
    text = "graph @empty {\n  input %x : f32[0,3]\n  %y = neg(%x) : f32[0,3]\n  return %y\n}\n"
    empty = compile_program(make_program(text, {}, ("x",), {}, 0), cache_dir, target="cuda")
    assert empty(torch.empty(0, 3, device="cuda")).shape == (0, 3)


def test_subnormals_are_not_flushed(cache_dir):
    text = """graph @tiny {
  input %x : f32[2]
  const %big : f32[] = 1e30
  %y = mul(%x, %big) : f32[2]
  return %y
}
"""
    tiny = compile_program(make_program(text, {}, ("x",), {}, 0), cache_dir, target="cuda")
    x = torch.tensor([1e-39, 2e-39])
    torch.testing.assert_close(tiny(x.cuda()).cpu(), x * 1e30, rtol=0, atol=0)


def test_out_is_written_and_returned(lookup):
    dense, ids = request(1)
    out = (torch.empty(4, 3, device="cuda"), torch.empty(4, 3, device="cuda"))
    for number in range(3):
        other = request(number)
        dense.copy_(other[0])
        ids.copy_(other[1])
        found = lookup(dense, ids, out=out)
        assert found[0] is out[0]
        assert found[1] is out[1]
        assert same(found, dense, ids)
    with pytest.raises(InputError, match="shares memory"):
        lookup(dense, ids, out=(dense, out[1]))
    with pytest.raises(InputError, match="on cuda"):
        lookup(dense, ids, out=(out[0].cpu(), out[1]))


def test_results_that_are_dropped_and_results_that_are_kept(lookup):
    kept = []
    for number in range(60):
        dense, ids = request(number)
        found = lookup(dense, ids)
        if number % 3:
            kept.append((found, dense, ids))
        del found
    for each in kept:
        assert same(*each)


def test_a_tensor_that_changes_its_shape_in_place_is_noticed(lookup):
    dense, ids = request(1)
    for _ in range(2):
        assert same(lookup(dense, ids), dense, ids)
    dense.resize_(4, 2)
    with pytest.raises(InputError, match=r"f32\[4,2\]"):
        lookup(dense, ids)
    other = request(2)
    dense.set_(other[0])
    ids.data = other[1]
    assert same(lookup(dense, ids), *other)
    transposed = dense.t().contiguous()
    for _ in range(2):
        lookup(dense, ids)
    transposed.t_()
    assert same(lookup(transposed, ids), *other)


def test_replicas_serve_beside_each_other(lookup):
    replicas = [lookup, lookup.replica(), lookup.replica()]
    tables = {replica._executor._program.residents.tensors[0].data_ptr() for replica in replicas}
    assert len(tables) == 1
    streams = [torch.cuda.Stream() for _ in replicas]
    requests = [request(number) for number in range(3)]
    torch.cuda.synchronize()
    found = []
    for turn in range(60):
        with torch.cuda.stream(streams[turn % 3]):
            found.append(replicas[turn % 3](*requests[turn % 3])[0])
    torch.cuda.synchronize()
    for turn, result in enumerate(found):
        expected = eager_lookup(*(tensor.cpu() for tensor in requests[turn % 3]))[0]
        torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0)


def test_the_report_names_the_gpu(lookup):
    report = lookup.report()
    assert torch.cuda.get_device_name() in report
    assert f"kernels for {lookup.target.architecture}" in report


def test_an_architecture_that_is_not_the_gpus_is_refused(cache_dir):
    with pytest.raises(OptionError, match="leave the option out"):
        compile_lookup(cache_dir, target="cuda", architecture="sm_75")
