"""Launches over buffers: what to run on what, without addresses, so that the same list runs anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlrmc.emulator.module import EmulatedModule
from dlrmc.errors import InputError


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a kernel.

    Args:
        buffer: the number of the buffer that it points into.
        offset_bytes: where.
        indirect: pass the address of an 8-byte slot that holds the pointer.
    """

    buffer: int
    offset_bytes: int = 0
    indirect: bool = False


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One launch: the kernel's name, blocks, threads, dynamic shared memory in bytes, arguments."""

    kernel: str
    grid: int
    block: int
    shared_bytes: int
    arguments: tuple[Argument, ...]


def run_launches(
    module: EmulatedModule,
    launches: Sequence[KernelLaunch],
    buffers: Sequence[np.ndarray],
    *,
    order: str = "forward",
    seed: int = 0,
) -> None:
    """Run launches one after the other on NumPy arrays, in place.

    Raises:
        InputError: an argument names no buffer, or a buffer is not contiguous or not writable.
        EmulationError: as `EmulatedModule.launch`.
    """
    for number, buffer in enumerate(buffers):
        check_buffer(number, buffer)
    for launch in launches:
        check_arguments(launch, buffers)
        slots: list[np.ndarray] = []
        pointers: list[int] = []
        for argument in launch.arguments:
            address = buffers[argument.buffer].ctypes.data + argument.offset_bytes
            if argument.indirect:
                slots.append(np.array([address], np.uint64))
                address = slots[-1].ctypes.data
            pointers.append(address)
        module.launch(
            launch.kernel, launch.grid, launch.block, launch.shared_bytes, pointers, order=order, seed=seed
        )


def check_buffer(number: int, buffer: np.ndarray) -> None:
    """A buffer is contiguous and may be written.

    Raises:
        InputError: it is not, or may not.
    """
    if buffer.flags.c_contiguous and buffer.flags.writeable:
        return
    raise InputError(
        f"buffer {number}", found="a strided or read-only array", expected="a contiguous, writable one"
    )


def check_arguments(launch: KernelLaunch, buffers: Sequence[np.ndarray]) -> None:
    """Every argument points into a buffer, or at its end.

    Raises:
        InputError: one does not.
    """
    for number, argument in enumerate(launch.arguments):
        known = 0 <= argument.buffer < len(buffers)
        if known and 0 <= argument.offset_bytes <= buffers[argument.buffer].nbytes:
            continue
        raise InputError(
            f"kernel {launch.kernel}, argument {number}",
            found=f"byte {argument.offset_bytes} of buffer {argument.buffer}",
            expected=f"a place in one of the {len(buffers)} buffers",
        )
