"""Emulated kernels under AddressSanitizer and UndefinedBehaviorSanitizer.

A sanitizer ends the process that it finds a fault in, and its runtime must be the first library of the
process. So sanitized modules run in a worker process that has the runtime preloaded. A worker is started
once and serves any number of launches; after a report the next call starts a new one.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from dlrmc.emulator.compiler import Compiler, find_compiler
from dlrmc.emulator.faults import EmulationError, SanitizerError, launch_error
from dlrmc.emulator.launch import KernelLaunch, check_arguments, check_buffer
from dlrmc.emulator.module import EmulatedModule
from dlrmc.errors import CompileError, InputError

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]
# No leak check: a Python process never frees all it has. The first report ends the worker.
_SANITIZER_OPTIONS = "detect_leaks=0:halt_on_error=1:abort_on_error=0:detect_stack_use_after_return=0"


class SanitizedWorker:
    """A process for launches of sanitized modules; use it in a `with` statement.

    Args:
        compiler: the one that built the modules, as `find_compiler` takes it.
        timeout_s: how long one call of `run` may take.
    """

    def __init__(self, *, compiler: str | None = None, timeout_s: float = 300.0) -> None:
        self._compiler = find_compiler(compiler)
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._lock = threading.Lock()
        self.starts = 0

    def __enter__(self) -> SanitizedWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if it runs."""
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.kill()
        self._process.wait()
        self._process = None
        if self._log is not None:
            self._log.close()

    def run(
        self,
        module: EmulatedModule,
        launches: Sequence[KernelLaunch],
        buffers: Sequence[np.ndarray],
        *,
        order: str = "forward",
        seed: int = 0,
    ) -> None:
        """Run launches as `run_launches` does, in the worker: the arrays are changed in place.

        In the worker each buffer is an allocation of exactly its size, at a multiple of 256 bytes as on a
        GPU, with forbidden memory on both sides.

        Raises:
            SanitizerError: a sanitizer found a fault; the message holds its report. The arrays are as before.
            InputError, EmulationError: as `run_launches`.
        """
        if not module.sanitize:
            raise InputError("the sanitized worker", found="a module built without sanitize=True")
        for number, buffer in enumerate(buffers):
            check_buffer(number, buffer)
        request = {
            "library": str(module.library),
            "launches": [_encode_launch(module, launch, buffers, order) for launch in launches],
            "buffers": [buffer.tobytes() for buffer in buffers],
            "order": order,
            "seed": seed,
        }
        with self._lock:
            answer = self._ask(request, launches)
        if answer["error"] is not None:
            raise launch_error(answer["error"], module.source)
        for number, data in answer["changed"]:
            buffers[number].reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)

    def _ask(self, request: dict[str, Any], launches: Sequence[KernelLaunch]) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(request, process.stdin)
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], self._timeout_s)
            if not ready:
                raise EmulationError(
                    _place(launches),
                    found=f"no answer from the sanitized worker within {self._timeout_s:g} s",
                    hint="a kernel that spins for another thread never ends here; else raise timeout_s",
                )
            return pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise self._report(launches) from None
        except BaseException:
            self.close()
            raise

    def _report(self, launches: Sequence[KernelLaunch]) -> SanitizerError:
        """The error for a worker that has ended, from what it wrote."""
        assert self._process is not None
        assert self._log is not None
        code = self._process.wait()
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        self.close()
        summary = next(
            (line for line in text.splitlines() if "runtime error:" in line or "ERROR:" in line), ""
        )
        return SanitizerError(
            _place(launches),
            found=summary.strip() or f"the sanitized worker ended with code {code} and no report",
            report=text,
            hint="the report names lines of the emitted source (kernels.cu)",
        )

    def _started(self) -> subprocess.Popen[bytes]:
        """The running worker; a new one where there is none."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dlrmc.emulator.sanitize_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_worker_environment(self._compiler),
        )
        self.starts += 1
        return self._process


def sanitizer_runtime(compiler: Compiler) -> Path:
    """The shared library of AddressSanitizer that goes with a compiler.

    Raises:
        CompileError: it is not installed.
    """
    names = ("libclang_rt.asan-x86_64.so", "libclang_rt.asan.so") if compiler.is_clang else ("libasan.so",)
    for name in names:
        if path := compiler.library_path(name):
            return path
    raise CompileError(
        compiler.path,
        found=f"no {names[0]}",
        expected="the compiler's AddressSanitizer runtime",
        hint="install it (Debian: libasan with g++, libclang-rt-dev with clang)",
    )


def _worker_environment(compiler: Compiler) -> dict[str, str]:
    path = os.pathsep.join([str(_PACKAGE_PARENT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **os.environ,
        "LD_PRELOAD": str(sanitizer_runtime(compiler)),
        "ASAN_OPTIONS": _SANITIZER_OPTIONS,
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONPATH": path,
    }


def _encode_launch(
    module: EmulatedModule, launch: KernelLaunch, buffers: Sequence[np.ndarray], order: str
) -> tuple[Any, ...]:
    check_arguments(launch, buffers)
    number = module.check_launch(
        launch.kernel, launch.grid, launch.block, launch.shared_bytes, len(launch.arguments), order
    )
    arguments = [(a.buffer, a.offset_bytes, a.indirect) for a in launch.arguments]
    return number, launch.grid, launch.block, launch.shared_bytes, arguments


def _place(launches: Sequence[KernelLaunch]) -> str:
    names = list(dict.fromkeys(launch.kernel for launch in launches))
    return f"kernel {', '.join(names)}, sanitized"
