"""Calls that share an arena run one after the other, also where they come on different streams."""

from __future__ import annotations

from dlrmc.runtime.cuda_driver import PER_THREAD_STREAM, CudaDriver

_NEVER = -1
_UNKNOWN = -2


class StreamOrder:
    """Orders calls on several streams. Calls on one stream are in order by themselves and cost nothing.

    At a change of streams an event is recorded on the old one, there and then, so it stands for everything
    that was queued behind the last call, too. Two kinds of streams cannot be asked later: one that others
    made and may destroy, and the per-thread stream, whose handle means another stream in each thread. After a
    call on such a stream (`is_foreign`) the caller records the event at once, by `record`.

    A stream on which the last call ran and that is captured since counts as done: `torch.cuda.graph` waits
    for the GPU before it begins a capture.

    Args:
        driver: of the GPU.

    Attributes:
        last: handle of the stream of the last call.
        is_foreign: whether `record` must follow each call on it.
    """

    def __init__(self, driver: CudaDriver) -> None:
        self.last = _NEVER
        self.is_foreign = False
        self._driver = driver
        self._done = driver.new_event()
        self._is_recorded = False

    def follow(self, stream: int) -> None:
        """Let what comes next on torch's current stream, of this handle, wait for the last call."""
        if self._find_done():
            self._driver.wait_event(stream, self._done)
        self.last = stream
        self.is_foreign = self._driver.is_foreign(stream)
        self._is_recorded = False

    def record(self) -> None:
        """After a call on a foreign stream."""
        self._driver.record_event(self._done, self.last)
        self._is_recorded = True
        if self.last == PER_THREAD_STREAM:
            self.last = _UNKNOWN

    def wait(self) -> None:
        """Let the host wait for the last call."""
        if self._find_done():
            self._done.synchronize()

    def _find_done(self) -> bool:
        """Whether the event stands for the last call; False where there is nothing to wait for."""
        if self._is_recorded:
            return True
        if self.last < 0 or self._driver.stream_is_capturing(self.last):
            return False
        self._driver.record_event(self._done, self.last)
        return True
