"""Host time of one call: steps, calls with the same tensors, calls with fresh ones; and its parts.

    python benchmarks/host_time.py              # on a GPU, with torch.compile reduce-overhead beside it
    python benchmarks/host_time.py --cpu        # the Python part alone: the launches do nothing

Host time is what the calling thread spends: calls are timed in short runs, with a wait for the GPU between
runs that is not timed, so that a full launch queue never holds the caller up. Each figure is the least of
many runs, in microseconds; `median` is beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

import dlrmc
from dlrmc.compile import build
from dlrmc.compile import compile as compile_program
from dlrmc.dynamo import backend
from dlrmc.options import Options
from dlrmc.runtime.address_reader import make_address_reader
from dlrmc.runtime.addresses import AddressMap
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.cuda_driver import CudaDriver
from dlrmc.runtime.cuda_executor import CudaExecutor
from dlrmc.runtime.cuda_module import SERVICE_KERNELS, LoadedKernels
from dlrmc.runtime.cuda_program import CudaProgram
from dlrmc.runtime.kernel_graph import KernelLaunch
from dlrmc.runtime.load import fault_log
from dlrmc.runtime.torch_internals import addresses_of, empty_maker
from dlrmc.runtime.weights import Residents

BATCH, BAG, ROWS, DIM = 2, 2, 4096, 16
CALLS, ROUNDS = 50, 60


class Plain(nn.Module):
    """A small recommender: one dense input, and offsets and ids for each table."""

    def __init__(self, tables: int) -> None:
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(ROWS, DIM, mode="sum") for _ in range(tables)])
        self.bottom = nn.Linear(3, DIM)
        self.top = nn.Linear(DIM * (tables + 1), 1)

    def forward(
        self, dense: torch.Tensor, offsets: list[torch.Tensor], ids: list[torch.Tensor]
    ) -> torch.Tensor:
        parts = [torch.relu(self.bottom(dense))]
        parts += [bag(i, o) for bag, i, o in zip(self.bags, ids, offsets, strict=True)]
        return torch.sigmoid(self.top(torch.cat(parts, dim=1)))


def make_inputs(tables: int, device: str, seed: int = 0) -> tuple[Any, ...]:
    """Dense [B,3], and for each table offsets [B] and ids [B*bag]."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(BATCH, 3, generator=generator).to(device)
    offsets = [torch.arange(0, BATCH * BAG, BAG).to(device) for _ in range(tables)]
    ids = [torch.randint(ROWS, (BATCH * BAG,), generator=generator).to(device) for _ in range(tables)]
    return dense, offsets, ids


class NullDriver(CudaDriver):
    """A driver that launches nothing, so that a machine without a GPU can time the rest."""

    def __init__(self) -> None:
        self.device, self.index, self.has_other_devices = torch.device("cpu"), 0, False
        self.current_stream = lambda index: 0
        self.is_capturing = torch._C._cuda_isCurrentStreamCapturing if torch.cuda.is_available() else bool
        self.launch_graph = max
        self.launch_kernel = max

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Nothing to enter."""
        yield

    def make_graph(self, launches: Sequence[KernelLaunch]) -> Any:
        """A graph of nothing."""
        return SimpleNamespace(handle=1)

    def new_event(self) -> Any:
        """An event that is always over."""
        return SimpleNamespace(synchronize=lambda: None)

    def record_event(self, event: Any, stream: int) -> None:
        """Nothing."""

    def wait_event(self, stream: int, event: Any) -> None:
        """Nothing."""

    def stream_is_capturing(self, stream: int) -> bool:
        """Never."""
        return False

    def is_foreign(self, stream: int) -> bool:
        """Never."""
        return False

    def synchronize(self) -> None:
        """Nothing."""

    def synchronize_stream(self) -> None:
        """Nothing."""

    def device_address(self, pinned: torch.Tensor) -> int:
        """The address itself."""
        return pinned.data_ptr()


def compile_without_gpu(exported: Any) -> Compiled:
    """A program whose calls do everything but launch."""
    made = build(exported, Options(target="reference"))
    handles = {kernel.name: 1 for kernel in made.module.kernels}
    program = CudaProgram(
        NullDriver(),
        made.plan,
        AddressMap(made.plan, made.module),
        LoadedKernels(handles, ()),
        LoadedKernels(dict.fromkeys(SERVICE_KERNELS, 1), ()),
        Residents(made.plan.residents, made.program.weights, torch.device("cpu")),
        made.options.cache_dir,
    )
    executor = CudaExecutor(program, fault_log(made))
    # As torch's allocator on a GPU, other than the C library's, gives back the memory of dropped results.
    executor.makers = [cycle([make(), make()]).__next__ for make in executor.makers]
    return Compiled(made, executor)


def compile_graph_without_gpu(exported: Any, **options: Any) -> Compiled:
    """Stands for the compiler behind torch.compile."""
    return compile_without_gpu(exported)


def measure(call: Callable[[int], Any], wait: Callable[[], None]) -> str:
    """Least and median microseconds of one call; `call` gets the number of the call in its run."""
    clock, times = time.perf_counter, []
    for _ in range(ROUNDS):
        wait()
        start = clock()
        for number in range(CALLS):
            call(number)
        times.append((clock() - start) / CALLS * 1e6)
    wait()
    return f"{min(times):8.2f}  median {statistics.median(times):8.2f}"


def measure_program(tables: int, device: str, wait: Callable[[], None], *, with_peers: bool) -> None:
    """Print the host time of a model with so many tables."""
    model = Plain(tables).eval().to(device)
    inputs = make_inputs(tables, device)
    exported = torch.export.export(model, inputs)
    compiled = dlrmc.compile(exported) if device == "cuda" else compile_without_gpu(exported)
    step = compiled.bind(*inputs)
    fresh = [make_inputs(tables, device, seed) for seed in range(CALLS)]
    kept: list[Any] = [None] * CALLS

    def keep(number: int) -> None:
        kept[number] = compiled(*inputs)

    print(f"\n{1 + 2 * tables} inputs")
    report("step()", measure(lambda number: step(), wait))
    report("same tensors", measure(lambda number: compiled(*inputs), wait))
    report("same tensors, results kept", measure(keep, wait))
    report("fresh tensors", measure(lambda number: compiled(*fresh[number]), wait))
    out = compiled(*inputs)
    report("same tensors, out=", measure(lambda number: compiled(*inputs, out=out), wait))
    measure_parts(compiled, inputs, wait)
    measure_backends(model, inputs, compiled, wait, compiles=device == "cuda")
    if with_peers:
        measure_peer(model, inputs, fresh, wait)


def measure_parts(compiled: Compiled, inputs: tuple[Any, ...], wait: Callable[[], None]) -> None:
    """Print what the parts of a call cost by themselves."""
    binder, executor = compiled._binder, compiled._executor
    assert isinstance(executor, CudaExecutor)
    flatten, read = binder.positional, executor.slots.read
    assert flatten is not None
    tensors = flatten(inputs)
    assert tensors is not None
    metadata, found, addresses = binder.guard.newest, read(tensors), addresses_of(tensors)
    read_in_python = make_address_reader(len(tensors), None)
    make = empty_maker(executor._program.plan.outputs[0].type, executor.device)
    table = executor._program.new_table()
    cells = executor._program.addresses.cell_pointers(addresses, [0])
    out_type = executor._program.plan.outputs[0].type
    report("  flattening", measure(lambda number: flatten(inputs), wait))
    report("  metadata", measure(lambda number: metadata(tensors), wait))
    report("  addresses", measure(lambda number: read(tensors) == found, wait))
    report("  addresses, loop in Python", measure(lambda number: read_in_python(tensors) == found, wait))
    report("  a result", measure(lambda number: make(), wait))
    empty = measure(lambda number: torch.empty(out_type.shape, device=executor.device), wait)
    report("  a result by torch.empty", empty)
    report("  a table written", measure(lambda number: table.write(cells, 0), wait))
    report("  the executor's run", measure(lambda number: executor.run([*tensors], is_ready=True), wait))


def measure_backends(
    model: nn.Module, inputs: tuple[Any, ...], direct: Compiled, wait: Callable[[], None], *, compiles: bool
) -> None:
    """Print what a call through torch.compile costs, beside a backend that does nothing.

    Behind one that does nothing the direct call is timed, too: there its path has left the caches.
    """
    compiler = compile_program if compiles else compile_graph_without_gpu
    with torch.no_grad(), patch("dlrmc.dynamo.compile_program", compiler):
        result = (model(*inputs),)
        for what, wrapped in (("torch.compile", model), ("  of model.forward", model.forward)):
            empty = compile_by_torch(wrapped, inputs, lambda graph, examples: lambda *args: result)
            report(f"{what}, nothing behind it", measure(lambda number, call=empty: call(*inputs), wait))
            both = measure(lambda number, call=empty: (call(*inputs), direct(*inputs)), wait)
            report("  and then the direct call", both)
            call = compile_by_torch(wrapped, inputs, backend)
            report(f"{what}, dlrmc behind it", measure(lambda number, call=call: call(*inputs), wait))


def compile_by_torch(wrapped: Any, inputs: tuple[Any, ...], behind: Any) -> Any:
    """What torch.compile makes with this backend, called once and with nothing left of others."""
    torch._dynamo.reset()
    call = torch.compile(wrapped, backend=behind, fullgraph=True)
    call(*inputs)
    return call


def measure_peer(
    model: nn.Module, inputs: tuple[Any, ...], fresh: list[Any], wait: Callable[[], None]
) -> None:
    """Print torch.compile's figures for the same model and inputs."""
    peer = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    with torch.inference_mode():
        for _ in range(5):
            torch.compiler.cudagraph_mark_step_begin()
            peer(*inputs)
        report("torch.compile, same tensors", measure(lambda number: peer(*inputs), wait))
        report("torch.compile, fresh tensors", measure(lambda number: peer(*fresh[number]), wait))


def measure_launches(wait: Callable[[], None]) -> None:
    """Print what one launch of a graph of one empty kernel costs, called in several ways."""
    import cupy

    kernel = cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
    stream = cupy.cuda.Stream(non_blocking=True)
    kernel((1,), (32,), (), stream=stream)
    stream.synchronize()
    stream.begin_capture()
    kernel((1,), (32,), (), stream=stream)
    graph = stream.end_capture()
    handle, raw = graph.graphExec, stream.ptr
    print("\none launch of a graph")
    launch = cupy.cuda.runtime.graphLaunch
    report("cupy Graph.launch", measure(lambda number: graph.launch(stream), wait))
    report("cupy runtime.graphLaunch", measure(lambda number: launch(handle, raw), wait))
    with contextlib.suppress(ImportError):
        from cuda.bindings import driver

        exec_, stream_ = driver.CUgraphExec(handle), driver.CUstream(raw)
        report("cuda.bindings", measure(lambda number: driver.cuGraphLaunch(exec_, stream_), wait))
    for kind in (ctypes.CDLL, ctypes.PyDLL):
        with contextlib.suppress(OSError):
            call = partial(kind("libcuda.so.1").cuGraphLaunch, ctypes.c_void_p(handle), ctypes.c_void_p(raw))
            report(f"ctypes {kind.__name__}", measure(lambda number, call=call: call(), wait))
    print("\nquestions to torch")
    index = torch.cuda.current_device()
    raw_stream, capturing = torch._C._cuda_getCurrentRawStream, torch._C._cuda_isCurrentStreamCapturing
    report("raw stream", measure(lambda number: raw_stream(index), wait))
    report("is capturing", measure(lambda number: capturing(), wait))
    report("current device", measure(lambda number: torch._C._cuda_getDevice(), wait))
    report("an empty lambda", measure(lambda number: None, wait))


def report(name: str, figures: str) -> None:
    """One line."""
    print(f"{name:32s}{figures}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cpu", action="store_true", help="the Python part alone, on a machine without a GPU"
    )
    parser.add_argument("--no-peers", action="store_true", help="without torch.compile")
    parser.add_argument("--tables", type=int, nargs="*", default=[3, 32])
    given = parser.parse_args()
    device = "cpu" if given.cpu else "cuda"
    wait = (lambda: None) if given.cpu else torch.cuda.synchronize
    where = platform.processor() if given.cpu else torch.cuda.get_device_name()
    print(f"us of host time a call; torch {torch.__version__}, Python {platform.python_version()}, {where}")
    for tables in given.tables:
        measure_program(tables, device, wait, with_peers=not given.cpu and not given.no_peers)
    if not given.cpu:
        measure_launches(wait)


if __name__ == "__main__":
    main()
