"""What the executor asks of CUDA on one GPU: the one place that calls cupy and torch's CUDA functions.

The functions of the call path are bound once, as they are: a method of our own around each would cost as much
as the call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from dlrmc.runtime import cupy_modules
from dlrmc.runtime.kernel_graph import KernelGraph, KernelLaunch

PER_THREAD_STREAM = 2  # cudaStreamPerThread: one handle for a stream of each thread


class CudaDriver:
    """CUDA on one GPU.

    Args:
        device: the GPU.
    """

    def __init__(self, device: torch.device) -> None:
        cuda = cupy_modules.cuda()
        self.device = device
        self.index = device.index
        self._cuda = cuda
        #: raw handle of torch's current stream on the GPU of this index
        self.current_stream: Callable[[int], int] = torch._C._cuda_getCurrentRawStream
        #: whether torch's current stream of the current device is being captured
        self.is_capturing: Callable[[], bool] = torch._C._cuda_isCurrentStreamCapturing
        #: (executable graph, stream)
        self.launch_graph: Callable[[int, int], None] = cuda.runtime.graphLaunch
        #: (function, grid x y z, block x y z, shared bytes, stream, array of argument addresses, 0)
        self.launch_kernel: Callable[..., None] = cuda.driver.launchKernel
        self.current_device: Callable[[], int] = torch._C._cuda_getDevice
        self.has_other_devices = torch.cuda.device_count() > 1

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """The GPU is the current device inside."""
        with torch.cuda.device(self.device):
            yield

    def make_graph(self, launches: Sequence[KernelLaunch]) -> Any:
        """Kernels one after the other as an executable graph; its handle for `launch_graph` is `.handle`."""
        return KernelGraph(launches)

    def new_event(self) -> Any:
        """An event; its handle is `.ptr`."""
        return self._cuda.Event(disable_timing=True)

    def record_event(self, event: Any, stream: int) -> None:
        """Let the event stand for all work on the stream up to now."""
        self._cuda.runtime.eventRecord(event.ptr, stream)

    def wait_event(self, stream: int, event: Any) -> None:
        """Let the work to come on the stream wait for the event, on the GPU."""
        self._cuda.runtime.streamWaitEvent(stream, event.ptr)

    def stream_is_capturing(self, stream: int) -> bool:
        """Whether this very stream is being captured."""
        return bool(self._cuda.runtime.streamIsCapturing(stream))

    def is_foreign(self, stream: int) -> bool:
        """Whether torch's current stream, of this handle, was made by others, who may destroy it.

        torch's own streams live as long as the process. A stream made by others has its handle for its id.
        """
        return stream != 0 and torch.cuda.current_stream(self.device).stream_id == stream

    def synchronize(self) -> None:
        """Wait for all work on the GPU; an error while any stream of it is captured."""
        torch.cuda.synchronize(self.device)

    def synchronize_stream(self) -> None:
        """Wait for all work on torch's current stream of the GPU."""
        torch.cuda.current_stream(self.device).synchronize()

    def device_address(self, pinned: torch.Tensor) -> int:
        """Where kernels find a tensor of pinned host memory."""
        return int(self._cuda.runtime.pointerGetAttributes(pinned.data_ptr()).devicePointer)
