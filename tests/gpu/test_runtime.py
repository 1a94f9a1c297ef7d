"""Calls on a GPU: never stale, on the caller's stream, in the caller's graphs, unharmed by bad requests."""

import gc
import threading

import pytest
import torch

from dlrmc.errors import BoundsError, InputError, OptionError
from dlrmc.runtime.cuda_executor import CudaExecutor
from dlrmc.runtime.module_cache import ModuleCache
from tests.runtime.programs import (
    DENSE,
    IDS,
    TABLE,
    compile_lookup,
    compile_program,
    eager_lookup,
    make_program,
)

pytestmark = pytest.mark.gpu

BAD = torch.tensor([1, 2, 10**9, -3])
SLEEP_CYCLES = 2_000_000  # about a millisecond


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def lookup(cache_dir):
    return compile_lookup(cache_dir, target="cuda", table=TABLE.cuda())


def same(found, dense, ids):
    for one, other in zip(found, eager_lookup(dense.cpu(), ids.cpu()), strict=True):
        assert one.is_cuda
        torch.testing.assert_close(one.cpu(), other, rtol=0, atol=0)
    return True


def request(number):
    """A request that no other number gives, on the GPU."""
    generator = torch.Generator().manual_seed(number)
    dense = torch.randn(4, 3, generator=generator)
    ids = torch.randint(10, (4,), generator=generator)
    return dense.cuda(), ids.cuda()


# -- addresses


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


# -- memory


def test_weights_on_the_gpu_are_shared_and_memory_is_torchs(cache_dir):
    import cupy

    table = TABLE.cuda()
    before = cupy.get_default_memory_pool().used_bytes()
    lookup = compile_lookup(cache_dir, target="cuda", table=table)
    executor = lookup._executor
    assert isinstance(executor, CudaExecutor)
    assert [t.data_ptr() for t in executor._program.residents.tensors] == [table.data_ptr()]
    assert cupy.get_default_memory_pool().used_bytes() == before
    table[9] = -1.0  # shared, so an in-place write is seen
    assert torch.equal(lookup(DENSE.cuda(), IDS.cuda())[1][0].cpu(), torch.full((3,), -1.0))


def test_calls_leave_no_memory_behind(lookup):
    dense, ids = request(0)
    lookup(dense, ids)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(200):
        lookup(dense, ids)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before


def test_what_the_graph_points_at_stays_alive(cache_dir):
    lookup = compile_lookup(cache_dir, target="cuda", table=TABLE.cuda())  # nobody else holds the table
    gc.collect()
    torch.cuda.empty_cache()
    garbage = [torch.full((4096,), 7e7, device="cuda") for _ in range(64)]
    assert same(lookup(DENSE.cuda(), IDS.cuda()), DENSE, IDS)
    assert len(garbage) == 64


def test_the_second_program_of_a_source_is_not_compiled(cache_dir):
    compile_lookup(cache_dir, target="cuda")
    first = compile_lookup(cache_dir, target="cuda")
    compiles = first.stats()["compiles"]
    compile_lookup(cache_dir, target="cuda")
    assert first.stats()["compiles"] == compiles


def gpu():
    return torch.device("cuda", torch.cuda.current_device())


def architecture():
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def test_a_cache_without_a_directory_loads_too():
    from dlrmc.runtime.cuda_driver import CudaDriver
    from dlrmc.runtime.cuda_module import load_kernels, service_source
    from dlrmc.runtime.pointer_table import PointerTable

    entry = ModuleCache(None).get(service_source(), architecture())
    kernels = load_kernels(entry, [kernel.name for kernel in entry.cubin.kernels])
    for count in (1, 32, 100, 400, 450):
        table = PointerTable(count, gpu(), kernels.handles, CudaDriver(gpu()).launch_kernel)
        table.write([n + 2**40 for n in range(count)], stream=0)
        torch.cuda.synchronize()
        assert table._memory.tolist() == [n + 2**40 for n in range(count)]


def test_more_than_48_kib_of_dynamic_shared_memory():
    from dlrmc.runtime.cuda_driver import CudaDriver
    from dlrmc.runtime.cuda_module import allow_shared_memory, load_kernels
    from dlrmc.runtime.kernel_arguments import KernelArguments

    source = """
extern "C" __global__ void big(float* x) {
  extern __shared__ __align__(16) unsigned char dlrmc_shared[];
  float* tile = (float*)dlrmc_shared;
  for (int i = threadIdx.x; i < 24576; i += blockDim.x) tile[i] = (float)i;
  __syncthreads();
  x[threadIdx.x] = tile[24575 - threadIdx.x];
}
"""
    kernels = load_kernels(ModuleCache(None).get(source, architecture()), ["big"])
    shared_bytes = 24576 * 4
    allow_shared_memory(kernels, {"big": shared_bytes})
    x = torch.zeros(32, device="cuda")
    torch.cuda.synchronize()
    arguments = KernelArguments.of_pointers([x.data_ptr()])
    CudaDriver(gpu()).launch_kernel(
        kernels.handles["big"], 1, 1, 1, 32, 1, 1, shared_bytes, 0, arguments.address, 0
    )
    torch.cuda.synchronize()
    assert x.tolist() == [24575.0 - i for i in range(32)]


# -- the caller's own tensors for the results, and instances


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


# -- streams


def check_on_stream(lookup, stream, times):
    """Inputs made behind a long kernel, the call and the reader on one stream, and the host never waits."""
    requests = [request(number) for number in range(8)]
    torch.cuda.synchronize()
    found = []
    with torch.cuda.stream(stream):
        for turn in range(times):
            torch.cuda._sleep(SLEEP_CYCLES // 20)
            dense, ids = (tensor.clone() for tensor in requests[turn % 8])
            found.append(lookup(dense, ids)[0].clone())
    stream.synchronize()
    for turn, result in enumerate(found):
        expected = eager_lookup(*(tensor.cpu() for tensor in requests[turn % 8]))[0]
        torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0)


def test_a_side_stream_200_times(lookup):
    check_on_stream(lookup, torch.cuda.Stream(), 200)


def test_the_default_stream(lookup):
    check_on_stream(lookup, torch.cuda.default_stream(), 20)


def test_the_per_thread_default_stream(lookup):
    check_on_stream(lookup, torch.cuda.ExternalStream(2), 20)


def test_a_stream_that_its_owner_destroys(lookup):
    import cupy

    for turn in range(20):
        stream = cupy.cuda.Stream(non_blocking=True)
        check_on_stream(lookup, torch.cuda.ExternalStream(stream.ptr), 2)
        del stream
        assert same(lookup(*request(turn)), *request(turn))


def test_a_call_beside_a_capture_on_the_stream_of_the_last_call(lookup):
    stream = torch.cuda.Stream()
    dense, ids = request(1)
    with torch.cuda.stream(stream):
        lookup(dense, ids)
    graph = torch.cuda.CUDAGraph()
    x = torch.zeros(8, device="cuda")
    found = []
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        x.add_(1)
        thread = threading.Thread(target=lambda: found.append(lookup(dense, ids)))
        thread.start()
        thread.join()
    graph.replay()
    assert same(found[0], dense, ids)
    assert x.tolist() == [1.0] * 8


def test_cupys_current_stream_does_not_matter(lookup):
    import cupy

    with cupy.cuda.Stream(non_blocking=True):
        check_on_stream(lookup, torch.cuda.Stream(), 20)


def test_calls_on_two_streams_share_the_buffers_in_turn(lookup):
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    requests = [request(number) for number in range(2)]
    torch.cuda.synchronize()
    found = []
    for turn in range(100):
        with torch.cuda.stream(streams[turn % 2]):
            torch.cuda._sleep(SLEEP_CYCLES // 100 * (turn % 3))
            found.append(lookup(*requests[turn % 2])[0])
    torch.cuda.synchronize()
    for turn, result in enumerate(found):
        expected = eager_lookup(*(tensor.cpu() for tensor in requests[turn % 2]))[0]
        torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0)


def test_eight_threads_with_their_own_streams(lookup):
    failures = []

    def serve(number):
        try:
            check_on_stream(lookup, torch.cuda.Stream(), 50)
        except BaseException as error:
            failures.append((number, error))

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_others_allocate_and_synchronise_while_instances_are_made(lookup):
    failures, stop = [], threading.Event()

    def disturb():
        try:
            while not stop.is_set():
                torch.empty(1 << 20, device="cuda").zero_()
                torch.cuda.synchronize()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for number in range(20):
            dense, ids = request(number)
            assert same(lookup.bind(dense, ids)(), dense, ids)
            assert same(lookup.replica()(dense, ids), dense, ids)
    finally:
        stop.set()
        thread.join()
    assert failures == []


@pytest.mark.skipif(not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_model_on_a_gpu_that_is_not_current(cache_dir):
    first = compile_lookup(cache_dir, target="cuda", table=TABLE.to("cuda:0"))
    before = torch.cuda.memory_allocated(0)
    second = compile_lookup(cache_dir, target="cuda", table=TABLE.to("cuda:1"))
    for _ in range(3):
        assert same(second(DENSE.to("cuda:1"), IDS.to("cuda:1")), DENSE, IDS)
        assert torch.cuda.current_device() == 0
        assert torch.cuda.memory_allocated(0) == before
        assert same(first(DENSE.to("cuda:0"), IDS.to("cuda:0")), DENSE, IDS)
    with pytest.raises(InputError, match="cuda:1"):
        first(DENSE.to("cuda:1"), IDS.to("cuda:1"))


# -- steps and the caller's own graphs


def test_a_step_reads_its_tensors_anew(lookup):
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    assert same(step(), dense, ids)
    other = request(2)
    dense.copy_(other[0])
    ids.copy_(other[1])
    assert same(lookup(*request(3)), *request(3))  # a call between does not disturb it
    assert same(step(), dense, ids)
    assert step() is step.outputs


def test_a_step_refuses_what_it_would_have_to_copy(lookup):
    with pytest.raises(InputError, match="input dense"):
        lookup.bind(DENSE, IDS.cuda())
    with pytest.raises(InputError, match="contiguous"):
        lookup.bind(DENSE.cuda().t().contiguous().t(), IDS.cuda())


def test_capture_in_the_callers_own_graph(lookup):
    dense, ids = request(1)
    lookup(dense, ids)  # as torch asks for: one run before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = lookup(dense, ids)
    for number in range(2, 6):
        other = request(number)
        dense.copy_(other[0])
        ids.copy_(other[1])
        graph.replay()
        direct = lookup(*request(number + 10))  # its buffers are not those of the captured call
        graph.replay()
        assert same(found, *other)
        assert same(direct, *request(number + 10))


def test_a_step_in_the_callers_own_graph(lookup):
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    dense.mul_(3)
    graph.replay()
    assert same(step.outputs, dense, ids)


# -- ids out of range


def check_message(error, call):
    text = str(error)
    for word in ("ids", f"call {call}", "0 <= id < 10"):
        assert word in text, text
    assert "1000000000 at position 2" in text or "-3 at position 3" in text, text


def test_a_bad_request_is_reported_and_the_next_is_good(lookup):
    lookup(DENSE.cuda(), IDS.cuda())
    lookup(DENSE.cuda(), BAD.cuda())
    with pytest.raises(BoundsError) as caught:
        lookup.check()
    check_message(caught.value, call=2)
    assert same(lookup(DENSE.cuda(), IDS.cuda()), DENSE, IDS)
    lookup.check()


def test_a_bad_request_is_raised_at_the_start_of_the_next_call(lookup):
    lookup(DENSE.cuda(), BAD.cuda())
    torch.cuda.synchronize()
    with pytest.raises(BoundsError) as caught:
        lookup(DENSE.cuda(), IDS.cuda())
    check_message(caught.value, call=1)
    for number in range(3):
        assert same(lookup(*request(number)), *request(number))


def test_the_call_is_counted_exactly(lookup):
    for number in range(37):
        lookup(*request(number))
    lookup(DENSE.cuda(), BAD.cuda())
    for number in range(5):
        try:
            lookup(*request(number))
        except BoundsError as error:
            caught = error
            break
    else:
        with pytest.raises(BoundsError) as info:
            lookup.check()
        caught = info.value
    assert (caught.input, caught.call, caught.limit) == ("ids", 38, 10)
    assert (caught.position, caught.value) in [(2, 10**9), (3, -3)]
    lookup.check()


def test_a_step_tells_of_bad_ids(lookup):
    dense, ids = request(1)
    step = lookup.bind(dense, ids)
    step()
    ids.copy_(BAD)
    step()
    with pytest.raises(BoundsError, match="ids in call 2"):
        step.check()
    ids.copy_(IDS)
    assert same(step(), dense, ids)
    step.check()


def test_raise_is_raised_by_the_call(cache_dir):
    lookup = compile_lookup(cache_dir, target="cuda", bounds="raise")
    for call in (1, 3):
        with pytest.raises(BoundsError) as caught:
            lookup(DENSE.cuda(), BAD.cuda())
        check_message(caught.value, call=call)
        assert same(lookup(DENSE.cuda(), IDS.cuda()), DENSE, IDS)


def test_ignore_only_counts(cache_dir):
    lookup = compile_lookup(cache_dir, target="cuda", bounds="ignore")
    for _ in range(2):
        found = lookup(DENSE.cuda(), BAD.cuda())
    lookup.check()
    assert lookup.stats()["faults"] == 2 * 2 * 3  # two bad ids, each wanted by three threads
    assert found[1][2:].count_nonzero().item() == 0


def test_a_bad_id_in_a_replay_of_the_callers_graph_is_reported(lookup):
    dense, ids = request(1)
    lookup(dense, ids)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        lookup(dense, ids)
    ids.copy_(BAD)
    graph.replay()
    with pytest.raises(BoundsError):
        lookup.check()
    ids.copy_(IDS)
    graph.replay()
    lookup.check()


def test_the_report_names_the_gpu(lookup):
    report = lookup.report()
    assert torch.cuda.get_device_name() in report
    assert f"kernels for {lookup.target.architecture}" in report


def test_an_architecture_that_is_not_the_gpus_is_refused(cache_dir):
    with pytest.raises(OptionError, match="leave the option out"):
        compile_lookup(cache_dir, target="cuda", architecture="sm_75")
