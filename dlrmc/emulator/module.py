"""An emulated module: built from emitted source, launched like a module on a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from dlrmc.emulator.build import build_library
from dlrmc.emulator.faults import launch_error
from dlrmc.emulator.library import ORDERS, load_library
from dlrmc.errors import InputError
from dlrmc.schedule.limits import DeviceLimits

MAX_THREADS_PER_BLOCK = DeviceLimits().threads_per_block
MAX_SHARED_BYTES = DeviceLimits().shared_bytes_per_block


class EmulatedModule:
    """The kernels of one source, compiled for this machine's CPU.

    Args:
        source: the CUDA source.
        kernels: name and number of arguments of each entry point.
        library: the shared library built from it.
        sanitize: whether it has AddressSanitizer in it; such a module is launched by a SanitizedWorker only.
    """

    def __init__(
        self, source: str, kernels: Sequence[tuple[str, int]], library: Path, *, sanitize: bool = False
    ) -> None:
        self.source = source
        self.library = library
        self.sanitize = sanitize
        self._kernels = {name: (number, count) for number, (name, count) in enumerate(kernels)}

    @classmethod
    def build(
        cls,
        source: str,
        kernels: Sequence[tuple[str, int]],
        *,
        cache_dir: Path,
        sanitize: bool = False,
        compiler: str | None = None,
    ) -> EmulatedModule:
        """Compile a source, or find it compiled; arguments and errors are those of `build.build_library`."""
        library = build_library(source, kernels, cache_dir=cache_dir, sanitize=sanitize, compiler=compiler)
        return cls(source, kernels, library, sanitize=sanitize)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The entry points, in the order of the table."""
        return tuple(self._kernels)

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        shared_bytes: int,
        pointers: Sequence[int],
        *,
        order: str = "forward",
        seed: int = 0,
    ) -> None:
        """Run one kernel over its whole grid, and return when it is done.

        Args:
            name: the entry point.
            grid: blocks, as (x, y, z) or less.
            block: threads of a block, likewise; at most 1024 together.
            shared_bytes: dynamic shared memory of a block.
            pointers: an address for each argument; what is there is exactly as large as it is on the GPU.
            order: which of the threads (and blocks) that can run goes first: `forward` the lowest, `reverse`
                the highest, `random` any.
            seed: of the order `random`.

        Raises:
            InputError: an argument is out of range; nothing has run.
            EmulationError: the kernel deadlocked, trapped, or wrote past its shared memory; buffers are half
                written.
        """
        if self.sanitize:
            raise InputError(
                f"kernel {name}",
                found="a launch of a sanitized module in this process",
                hint="launch it with dlrmc.emulator.sanitize.SanitizedWorker",
            )
        number = self.check_launch(name, grid, block, shared_bytes, len(pointers), order)
        text = load_library(self.library).launch(
            number, _three(grid), _three(block), shared_bytes, pointers, order, seed
        )
        if text is not None:
            raise launch_error(text, self.source)

    def check_launch(
        self,
        name: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        shared_bytes: int,
        argument_count: int,
        order: str,
    ) -> int:
        """The kernel's number in the table, once the arguments of a launch have been found good.

        Raises:
            InputError: one is not.
        """
        place = f"kernel {name}"
        if name not in self._kernels:
            raise InputError(place, found="no such kernel", expected=", ".join(self._kernels))
        number, count = self._kernels[name]
        if argument_count != count:
            raise InputError(place, found=f"{argument_count} pointers", expected=f"{count}")
        if order not in ORDERS:
            raise InputError(place, found=f"order {order!r}", expected="one of " + ", ".join(ORDERS))
        if min(_three(grid)) < 1:
            raise InputError(place, found=f"grid {grid}", expected="at least one block")
        if not 1 <= math.prod(_three(block)) <= MAX_THREADS_PER_BLOCK or min(_three(block)) < 1:
            raise InputError(place, found=f"block {block}", expected=f"1 to {MAX_THREADS_PER_BLOCK} threads")
        if not 0 <= shared_bytes <= MAX_SHARED_BYTES:
            raise InputError(
                place, found=f"{shared_bytes} bytes of shared memory", expected=f"0 to {MAX_SHARED_BYTES}"
            )
        return number


def _three(size: int | Sequence[int]) -> tuple[int, int, int]:
    """A grid or a block as (x, y, z)."""
    sizes = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*sizes, 1, 1, 1)[:3] if len(sizes) <= 3 else (0, 0, 0)
    return x, y, z
