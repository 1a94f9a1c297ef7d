"""The machine's C++ compiler: which, which version, and with which flags."""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dlrmc.emulator.faults import SOURCE_NAME, quote_lines
from dlrmc.errors import CompileError

CANDIDATES = ("c++", "g++", "clang++")
_TIMEOUT_S = 600
_QUOTED_ERRORS = 5

# No contraction: a fused multiply-add is there where the source has fmaf, on every machine. No errno: sqrtf
# and fmaf become instructions. Signed overflow and aliasing follow the language, as under NVRTC.
_COMMON_FLAGS = (
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Wno-unknown-pragmas",
    "-Wno-attributes",
    "-O1",  # docs/emulator.md has the measurements
)
# Locals stay in registers across a barrier; names of one module are not those of another.
_GCC_FLAGS = ("-fcaller-saves", "-fno-gnu-unique")
# The first GCC with this analysis. At -O1 version 12 takes it that a function that adds to a struct's member
# behind a reference leaves it alone: means in tests/codegen/kernels/test_embedding_bag.py come out as sums.
_MODREF_SINCE = 11
_NO_MODREF = "-fno-ipa-modref"
_SANITIZE_FLAGS = (
    "-g1",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: its path, and what it says of itself."""

    path: str
    version: str

    @property
    def is_clang(self) -> bool:
        """Whether it is clang, by whatever name."""
        return "clang" in self.version

    def flags(self, *, sanitize: bool) -> tuple[str, ...]:
        """The flags of every compilation of the emulator; part of the cache's key."""
        own = () if self.is_clang else self._gcc_flags()
        if not sanitize:
            return (*_COMMON_FLAGS, *_processor_flags(), *own)
        shared_runtime = ("-shared-libasan",) if self.is_clang else ()
        return (*_COMMON_FLAGS, *_processor_flags(), *own, *_SANITIZE_FLAGS, *shared_runtime)

    def _gcc_flags(self) -> tuple[str, ...]:
        numbers = re.findall(r"(\d+)\.\d+", self.version)
        has_modref = bool(numbers) and int(numbers[-1]) >= _MODREF_SINCE
        return (*_GCC_FLAGS, _NO_MODREF) if has_modref else _GCC_FLAGS

    def run(self, arguments: Sequence[str], source: str = "") -> None:
        """Run the compiler.

        Args:
            arguments: everything behind the compiler's name.
            source: the text that its messages about `kernels.cu` are about.

        Raises:
            CompileError: with the compiler's messages and the lines of `source` that they name.
        """
        command = [self.path, *arguments]
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=environment, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise CompileError(self.path, found=f"no answer within {_TIMEOUT_S} s") from error
        if done.returncode != 0:
            raise _compile_error(self.path, done.stderr or done.stdout, source)

    def library_path(self, name: str) -> Path | None:
        """The full path of one of the compiler's own libraries, as `libasan.so`; None where it has none."""
        done = subprocess.run(
            [self.path, f"-print-file-name={name}"], capture_output=True, text=True, check=False
        )
        path = Path(done.stdout.strip())
        return path.resolve() if path.is_absolute() and path.exists() else None


@functools.cache
def find_compiler(name: str | None = None) -> Compiler:
    """The compiler of that name or path; by default $CXX, else the first of c++, g++, clang++ that is there.

    Raises:
        CompileError: there is none, or it does not run.
    """
    wanted = name or os.environ.get("CXX")
    names = (wanted,) if wanted else CANDIDATES
    for candidate in names:
        if path := shutil.which(candidate):
            return Compiler(path, _version(path))
    raise CompileError(
        "the emulator",
        found=f"no C++ compiler: looked for {', '.join(names)} on PATH",
        expected="GCC 10 or newer, or clang 10 or newer",
        hint="install g++, or name a compiler in the environment variable CXX",
    )


def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileError(path, found=f"it does not run: {error}", expected="a C++ compiler") from error
    return done.stdout.splitlines()[0].strip()


@functools.cache
def _processor_flags() -> tuple[str, ...]:
    """Let fmaf be one instruction where the processor has it; calling the C library costs ten times that."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ()
    try:
        flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return ()
    return ("-mfma",) if flags and "fma" in flags[1].split() else ()


def _compile_error(path: str, log: str, source: str) -> CompileError:
    pattern = re.compile(rf"^{re.escape(SOURCE_NAME)}:(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
    places = [(int(line), message) for line, message in pattern.findall(log)]
    quoted: list[str] = []
    for line, message in places[:_QUOTED_ERRORS]:
        quoted += [f"line {line}: {message}", *quote_lines(source, line, around=2)]
    place = f"{SOURCE_NAME}:{places[0][0]}" if places else path
    found = places[0][1] if places else "the C++ compiler failed"
    return CompileError(
        place,
        found=found,
        hint=f"the compiler was {path}; its messages follow the lines that they name",
        context=[*quoted, *log.splitlines()],
    )
