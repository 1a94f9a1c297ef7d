"""What each kernel of a cubin needs: registers, shared memory, stack, spills, constants.

Registers, shared memory and spills stand in the log of `ptxas -v` alone in a stable form: their ELF encoding
changes between architectures. The constant bank is as large as the ELF section `.nv.constant0.KERNEL`.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from dlrmc.errors import CompileError

_ELF_MAGIC = b"\x7fELF"
_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '\w+'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class KernelResources:
    """What one kernel needs per thread (registers, stack, spills) and per block (static shared memory)."""

    name: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    constant_bytes: int

    @property
    def spills(self) -> bool:
        """Whether registers are spilled to local memory."""
        return self.spill_store_bytes > 0 or self.spill_load_bytes > 0


def read_resources(cubin: bytes, log: str) -> tuple[KernelResources, ...]:
    """The resources of every kernel, sorted by name.

    Args:
        cubin: an ELF image that NVRTC made.
        log: NVRTC's log of the same compile, with `--ptxas-options=-v`.

    Raises:
        CompileError: where the image is no ELF or the log does not describe its kernels.
    """
    constants = _constant_bytes(cubin)
    found = [_read_entry(block, constants) for block in _entry_blocks(log)]
    if {kernel.name for kernel in found} != set(constants):
        raise CompileError(
            "NVRTC's log",
            found=f"kernels {sorted(k.name for k in found)}",
            expected=f"the kernels of the cubin, {sorted(constants)}",
            hint="report the NVRTC version: its ptxas -v output has a form that dlrmc does not know",
            context=log.splitlines(),
        )
    return tuple(sorted(found, key=lambda kernel: kernel.name))


def _entry_blocks(log: str) -> list[list[str]]:
    """The lines of each kernel: ptxas prints one kernel after another."""
    blocks: list[list[str]] = []
    for line in log.splitlines():
        if _ENTRY.search(line):
            blocks.append([])
        if blocks:
            blocks[-1].append(line)
    return blocks


def _read_entry(block: list[str], constants: dict[str, int]) -> KernelResources:
    text = "\n".join(block)
    entry, stack, registers = _ENTRY.search(text), _STACK.search(text), _REGISTERS.search(text)
    if entry is None or stack is None or registers is None:
        raise CompileError(
            "NVRTC's log",
            found="a kernel without its stack or register line",
            expected="the output of ptxas -v",
            hint="report the NVRTC version: its ptxas -v output has a form that dlrmc does not know",
            context=block,
        )
    shared = _SHARED.search(text)
    name = entry.group(1)
    return KernelResources(
        name=name,
        registers=int(registers.group(1)),
        shared_bytes=int(shared.group(1)) if shared else 0,
        stack_bytes=int(stack.group(1)),
        spill_store_bytes=int(stack.group(2)),
        spill_load_bytes=int(stack.group(3)),
        constant_bytes=constants.get(name, 0),
    )


def _constant_bytes(cubin: bytes) -> dict[str, int]:
    """Bytes of constant bank 0 (launch parameters included) of each kernel that has a text section."""
    sections = _sections(cubin)
    names = [name.removeprefix(".text.") for name in sections if name.startswith(".text.")]
    return {name: sections.get(f".nv.constant0.{name}", 0) for name in names}


def _sections(cubin: bytes) -> dict[str, int]:
    """Name and size of every section of a 64-bit little-endian ELF image."""
    if not cubin.startswith(_ELF_MAGIC):
        raise CompileError("cubin", found=f"bytes that start {cubin[:4]!r}", expected="an ELF image")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_bytes, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry_bytes) for i in range(count)]
    names_at = headers[names_index][4]
    sizes: dict[str, int] = {}
    for header in headers:
        start = names_at + header[0]
        sizes[cubin[start : cubin.index(b"\0", start)].decode()] = header[5]
    return sizes
