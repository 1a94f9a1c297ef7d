"""Emitted CUDA source to a shared library that runs on the CPU."""

from __future__ import annotations

import functools
import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from dlrmc.emulator.artifacts import cached_file, digest_of
from dlrmc.emulator.compiler import Compiler, find_compiler
from dlrmc.emulator.faults import SOURCE_NAME
from dlrmc.errors import CacheWarning, CodegenError

HEADERS = Path(__file__).parent / "cuda"
_RUNTIME = HEADERS / "runtime" / "runtime.cpp"
# Comments and texts come first, so that a word in one of them is none of the two declarations.
_SHARED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?P<extern>\bextern\s+)__shared__\b|\b__shared__\b(?P<rest>[^;{}=]*);""",
    re.DOTALL,
)
_DECLARED_NAME = re.compile(r"(\w+)\s*((?:\[[^\[\]]*\]\s*)*)$")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def build_library(
    source: str,
    kernels: Sequence[tuple[str, int]],
    *,
    cache_dir: Path,
    sanitize: bool = False,
    compiler: str | None = None,
) -> Path:
    """Compile a source, or find it compiled.

    Args:
        source: CUDA C++ with nothing to include, as a ModuleSource has it.
        kernels: name and number of (pointer) arguments of each entry point.
        cache_dir: the library is kept in its folder `emulator`.
        sanitize: build with AddressSanitizer and UndefinedBehaviorSanitizer; see `dlrmc.emulator.sanitize`.
        compiler: a name or path, as `find_compiler` takes it.

    Raises:
        CompileError: the compiler refused the source, or there is none.
        CodegenError: no kernels, or a name that is no identifier.

    Warns:
        CacheWarning: the folder cannot be used, or an entry in it was broken; the build went on without.
    """
    found = find_compiler(compiler)
    directory = cache_dir / "emulator"
    runtime = _runtime_object(found, sanitize, directory)
    unit = translation_unit(source, kernels)
    flags = found.flags(sanitize=sanitize)
    key = digest_of([unit, _headers_text(), found.version, *flags])

    def compile_unit(path: Path) -> None:
        unit_path = path.with_suffix(".cpp")
        unit_path.write_text(unit)
        inputs = [str(unit_path), str(runtime)]
        found.run([*flags, *_readable_paths(), f"-I{HEADERS}", "-shared", *inputs, "-o", str(path)], source)

    return _cached(directory, f"kernels-{key}.so", compile_unit)


def translation_unit(source: str, kernels: Sequence[tuple[str, int]]) -> str:
    """What the compiler gets: the emulator's header, the source, and the table of its kernels.

    `extern __shared__` gets a word of its own, since `extern static` is no C++; behind each static array
    comes an object that tells the runtime where it is. Nothing else in the source is changed, and its lines
    keep their numbers.
    """
    _check_kernels(kernels)
    text = _SHARED.sub(_rewritten, source)
    calls = "\n".join(_call(i, name, count, source) for i, (name, count) in enumerate(kernels))
    rows = "\n".join(f'    {{"{name}", call_{i}}},' for i, (name, _) in enumerate(kernels))
    return (
        f'#include "emulator.h"\n#line 1 "{SOURCE_NAME}"\n{text}\n#line 1 "kernel_table.cpp"\n'
        f"namespace dlrmc_emulator {{\n{calls}\n"
        f"extern const KernelEntry kernel_table[] = {{\n{rows}\n}};\n}}\n"
    )


def _rewritten(match: re.Match[str]) -> str:
    if match["extern"]:
        return f"{match['extern']}__dynamic_shared__"
    return match[0] if match["rest"] is None else _registered(match[0], match["rest"].rstrip())


def _registered(declaration: str, rest: str) -> str:
    name = _DECLARED_NAME.search(rest)
    if name is None or "," in rest.replace(name[2], ""):
        raise CodegenError(
            "the emulator",
            found=f"the declaration `{declaration}`",
            expected="one variable or array for each __shared__",
        )
    array = name[1]
    known = f"static const ::dlrmc_emulator::SharedArray {array}_is_shared(&{array}, sizeof {array});"
    return f"{declaration} {known}"


def _call(index: int, name: str, count: int, source: str) -> str:
    """Calls a kernel with its pointers one by one, or with the one struct that holds them all."""
    if re.search(rf"\b{name}\(\s*const __grid_constant__", source):
        arguments = f"{{{{{', '.join(f'a[{i}]' for i in range(count))}}}}}"
    else:
        arguments = ", ".join(f"AnyPointer{{a[{i}]}}" for i in range(count))
    return f"static void call_{index}([[maybe_unused]] void* const* a) {{ ::{name}({arguments}); }}"


def _check_kernels(kernels: Sequence[tuple[str, int]]) -> None:
    if not kernels:
        raise CodegenError("the emulator", found="a module without kernels", expected="at least one")
    for name, count in kernels:
        if not _IDENTIFIER.fullmatch(name) or count < 0:
            raise CodegenError(
                "the emulator",
                found=f"kernel {name!r} with {count} arguments",
                expected="an identifier and the number of its pointer arguments",
            )


def _runtime_object(compiler: Compiler, sanitize: bool, directory: Path) -> Path:
    flags = compiler.flags(sanitize=sanitize)
    key = digest_of([_headers_text(), compiler.version, *flags])

    def compile_runtime(path: Path) -> None:
        compiler.run([*flags, *_readable_paths(), "-O2", "-c", str(_RUNTIME), "-o", str(path)])

    return _cached(directory, f"runtime-{key}.o", compile_runtime)


def _cached(directory: Path, name: str, build: Callable[[Path], None]) -> Path:
    """`cached_file`, in a folder of this process where the one asked for cannot be used."""
    try:
        return cached_file(directory, name, build)
    except OSError as error:
        _warn_unusable(directory, error.strerror or str(error))
        return cached_file(Path(_folder_of_process().name), name, build)


@functools.cache
def _warn_unusable(directory: Path, reason: str) -> None:
    """Once, not for each of the files that a module needs."""
    text = f"cache directory {directory} cannot be used ({reason}); modules are kept for this process only"
    warnings.warn(text, CacheWarning, stacklevel=4)


@functools.cache
def _folder_of_process() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="dlrmc-emulator-")


def _readable_paths() -> tuple[str, ...]:
    """Reports name `kernels.cu` and `emulator/...`, not the folders that a module happened to be built in."""
    # The last map that fits is taken.
    return f"-ffile-prefix-map={Path.cwd()}=.", f"-ffile-prefix-map={HEADERS}=emulator"


@functools.cache
def _headers_text() -> str:
    """All of the emulator's own C++, with the files' names."""
    paths = sorted(path for path in HEADERS.rglob("*") if path.suffix in (".h", ".cpp"))
    return "\n".join(f"// {path.relative_to(HEADERS).as_posix()}\n{path.read_text()}" for path in paths)
