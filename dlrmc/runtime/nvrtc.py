"""One CUDA source to a cubin with NVRTC, for a named architecture, on a machine with or without a GPU.

The binding is `cupy.cuda.nvrtc`, which needs no driver. cupy's own `RawModule(code=...)` is not used to
compile: it appends `-ftz=true` after the caller's flags and the last one wins, and it needs a GPU.

Sources: NVRTC documentation, "Supported Compile Options" (https://docs.nvidia.com/cuda/nvrtc/).
"""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass
from typing import Any

from dlrmc.errors import CompileError
from dlrmc.runtime import cupy_modules
from dlrmc.runtime.cubin import KernelResources, read_resources

# Each is written out although some are NVRTC's defaults: the numbers must not depend on a default.
FLAGS = (
    "--std=c++17",
    "-ftz=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "--fmad=true",
    "--ptxas-options=-v",
)

# NVRTC keeps a cache of its own from this version on. A hit prints no resources, so it is turned off: the
# module cache makes it superfluous.
FIRST_CACHING_VERSION = (12, 9)

PROGRAM_NAME = "dlrmc.cu"
_ARCH = re.compile(r"sm_(\d{2,3})[af]?")
_ERROR_LINE = re.compile(rf"{re.escape(PROGRAM_NAME)}\((\d+)\): (?:catastrophic )?error")
_EXCERPT_LINES = 2


@dataclass(frozen=True)
class Cubin:
    """Machine code for one architecture and what each of its kernels needs.

    `data` is an ELF image, `arch` is as asked (`sm_90`), `compiler` is `NVRTC 13.0`.
    """

    data: bytes
    arch: str
    compiler: str
    kernels: tuple[KernelResources, ...]


@dataclass(frozen=True)
class Toolchain:
    """The NVRTC of this process: its version, and the architectures it knows as numbers (90 is sm_90)."""

    version: tuple[int, int]
    architectures: tuple[int, ...]

    @property
    def name(self) -> str:
        """The version as printed and as it enters cache keys: `NVRTC 13.0`."""
        return f"NVRTC {self.version[0]}.{self.version[1]}"

    def describe_architectures(self) -> str:
        """The supported architectures as a user writes them."""
        return ", ".join(f"sm_{number}" for number in self.architectures)


def find_toolchain() -> Toolchain:
    """The NVRTC that this process can load.

    Raises:
        CompileError: where cupy or the NVRTC library is missing; the message has the pip line that brings it.
    """
    nvrtc = _binding()
    try:
        version = nvrtc.getVersion()
        architectures = nvrtc.getSupportedArchs()
    except (RuntimeError, OSError, ImportError) as error:
        raise CompileError(
            "NVRTC",
            found=f"the library cannot be loaded ({_first_line(error)})",
            expected="libnvrtc of the CUDA version that cupy was built for",
            hint=f"pip install {_nvrtc_requirement()}",
        ) from error
    return Toolchain((int(version[0]), int(version[1])), tuple(sorted(int(a) for a in architectures)))


def check_architecture(arch: str, toolchain: Toolchain) -> None:
    """Refuse an architecture that this NVRTC does not know.

    Raises:
        CompileError: saying what was asked, what is supported and the pip line that brings a newer NVRTC.
    """
    match = _ARCH.fullmatch(arch)
    if match and int(match.group(1)) in toolchain.architectures:
        return
    raise CompileError(
        f"architecture {arch!r}",
        found=f"{toolchain.name} cannot compile for it",
        expected=f"one of {toolchain.describe_architectures()} (a or f may follow)",
        hint=f"name one of these, or, for a newer GPU: pip install --upgrade {_nvrtc_requirement()}",
    )


def command_line(arch: str) -> tuple[str, ...]:
    """All flags of one compile, in order; they are part of the cache key."""
    return (*FLAGS, f"-arch={arch}")


def compile_source(source: str, arch: str, toolchain: Toolchain | None = None) -> Cubin:
    """Compile one self-contained CUDA source.

    Args:
        source: C++17 device code that includes nothing; kernels are `extern "C"`.
        arch: a real architecture such as `sm_90` or `sm_90a`.
        toolchain: of `find_toolchain`, where the caller already has it.

    Raises:
        CompileError: NVRTC is missing, does not know `arch`, or refuses the source; then its log and the
            source lines it complains about are in the message.
    """
    toolchain = toolchain or find_toolchain()
    check_architecture(arch, toolchain)
    nvrtc = _binding()
    program = nvrtc.createProgram(source, PROGRAM_NAME, (), ())
    try:
        try:
            own_cache = ("--no-cache",) if toolchain.version >= FIRST_CACHING_VERSION else ()
            nvrtc.compileProgram(program, (*command_line(arch), *own_cache))
        except nvrtc.NVRTCError as error:
            log = str(nvrtc.getProgramLog(program))
            raise _refusal(source, arch, toolchain, error, log) from error
        data = bytes(nvrtc.getCUBIN(program))
        log = str(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)
    return Cubin(data, arch, toolchain.name, read_resources(data, log))


def _refusal(source: str, arch: str, toolchain: Toolchain, error: Exception, log: str) -> CompileError:
    lines = [line for line in log.rstrip().splitlines() if line.strip()]
    return CompileError(
        f"{toolchain.name} for {arch}",
        found=f"the source does not compile ({_first_line(error)})",
        expected="CUDA C++17 that includes nothing",
        hint="this is a fault of dlrmc unless you changed a kernel; `dlrmc dump-cuda` prints it",
        context=[*lines, *_excerpt(source, log)],
    )


def _excerpt(source: str, log: str) -> list[str]:
    """The source around the first error, with line numbers and a mark at the line."""
    match = _ERROR_LINE.search(log)
    if match is None:
        return []
    at = int(match.group(1))
    lines = source.splitlines()
    first, last = max(1, at - _EXCERPT_LINES), min(len(lines), at + _EXCERPT_LINES)
    return [f"{'>' if n == at else ' '} {n:5d}  {lines[n - 1]}" for n in range(first, last + 1)]


def _binding() -> Any:
    try:
        return cupy_modules.cuda().nvrtc
    except ImportError as error:
        raise CompileError(
            "NVRTC",
            found=f"cupy cannot be imported ({_first_line(error)})",
            expected="cupy 14 and the NVRTC of the same CUDA major version",
            hint='pip install "cupy-cuda13x>=14" "nvidia-cuda-nvrtc>=13"; for a driver older than 580: '
            'pip install "cupy-cuda12x>=14" "nvidia-cuda-nvrtc-cu12>=12.6"',
        ) from error


def _nvrtc_requirement() -> str:
    """The PyPI requirement of the NVRTC that fits the installed cupy."""
    for distribution in importlib.metadata.distributions():
        if (distribution.metadata["Name"] or "").lower() == "cupy-cuda12x":
            return "nvidia-cuda-nvrtc-cu12"
    return '"nvidia-cuda-nvrtc>=13"'


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
