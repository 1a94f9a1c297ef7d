"""Building: once for a source, again for a broken file, and a refusal names the lines."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from dlrmc.emulator import EmulatedModule, SanitizerError
from dlrmc.emulator.artifacts import cached_file
from dlrmc.emulator.build import HEADERS, translation_unit
from dlrmc.emulator.compiler import find_compiler
from dlrmc.emulator.sanitize import SanitizedWorker
from dlrmc.errors import CacheWarning, CodegenError, CompileError
from tests.emulator.conftest import BuildFile
from tests.emulator.kernel_files import launch_on

SOURCE = 'extern "C" __global__ void put(int* out) { out[threadIdx.x] = VALUE; }\n'


@pytest.fixture
def counting_compiler(tmp_path: Path) -> tuple[str, Path]:
    """A compiler that notes each of its builds, and the file with a line for each."""
    notes = tmp_path / "builds"
    notes.touch()
    script = tmp_path / "counting-c++"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] || echo build >> "{notes}"\nexec "{find_compiler().path}" "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script), notes


@pytest.fixture
def folder(tmp_path: Path, own_cache: Path, build_file: BuildFile) -> Path:
    """A cache folder with nothing in it but the runtime, which takes the longest to compile."""
    build_file("places")
    made = tmp_path / "cache"
    (made / "emulator").mkdir(parents=True)
    for path in (own_cache / "emulator").glob("runtime-*.o*"):
        shutil.copy(path, made / "emulator")
    return made


def put(module: EmulatedModule) -> int:
    out = np.zeros(1, np.int32)
    module.launch("put", 1, 1, 0, [out.ctypes.data])
    return int(out[0])


def build(value: int, folder: Path, compiler: str | None = None) -> EmulatedModule:
    source = SOURCE.replace("VALUE", str(value))
    return EmulatedModule.build(source, [("put", 1)], cache_dir=folder, compiler=compiler)


def test_a_source_is_compiled_once(tmp_path: Path, counting_compiler: tuple[str, Path]) -> None:
    compiler, notes = counting_compiler
    assert put(build(7, tmp_path, compiler)) == 7
    assert notes.read_text().split() == ["build"] * 2  # the runtime and the kernel
    assert put(build(7, tmp_path, compiler)) == 7
    assert notes.read_text().split() == ["build"] * 2
    assert put(build(8, tmp_path, compiler)) == 8
    assert notes.read_text().split() == ["build"] * 3  # the runtime is there already


def test_builders_at_the_same_time_compile_once(folder: Path, counting_compiler: tuple[str, Path]) -> None:
    compiler, notes = counting_compiler
    values: list[int] = []
    threads = [
        threading.Thread(target=lambda: values.append(put(build(9, folder, compiler)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [9] * 4
    assert notes.read_text().split() == ["build"]


def test_the_kernels_are_part_of_the_key(folder: Path) -> None:
    source = SOURCE.replace("VALUE", "1") + SOURCE.replace("VALUE", "2").replace("put", "put2")
    one = EmulatedModule.build(source, [("put", 1)], cache_dir=folder)
    two = EmulatedModule.build(source, [("put", 1), ("put2", 1)], cache_dir=folder)
    assert one.library != two.library
    assert two.kernel_names == ("put", "put2")


@pytest.mark.parametrize("damage", ["truncated", "changed", "without checksum"])
def test_a_broken_entry_is_built_again_with_one_warning(folder: Path, damage: str) -> None:
    library = build(3, folder).library
    data = library.read_bytes()
    if damage == "truncated":
        library.write_bytes(data[: len(data) // 2])
    if damage == "changed":
        library.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    if damage == "without checksum":
        library.with_name(library.name + ".sha256").unlink()
    with pytest.warns(CacheWarning, match="it is built again") as caught:
        module = build(3, folder)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert put(module) == 3
        assert put(build(3, folder)) == 3


def test_nothing_is_left_beside_the_entries(tmp_path: Path) -> None:
    build(4, tmp_path)
    suffixes = sorted(path.name.partition(".")[2] for path in (tmp_path / "emulator").iterdir())
    assert [suffix for suffix in suffixes if suffix != "lock"] == ["o", "o.sha256", "so", "so.sha256"]


def test_the_least_recently_used_files_go_first(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.write_bytes(bytes(100))

    for age, name in enumerate(("c", "b", "a")):
        path = cached_file(tmp_path, name, write)
        os.utime(path, (1000 - age, 1000 - age))
    cached_file(tmp_path, "a", write)  # used now
    cached_file(tmp_path, "d", write, cap_bytes=250)
    left = sorted(path.name for path in tmp_path.iterdir() if path.suffix not in (".lock", ".sha256"))
    assert left == ["a", "d"]


def test_a_report_names_no_folder_of_the_build(
    build_file: BuildFile, sanitized_worker: SanitizedWorker
) -> None:
    x = np.zeros(32, np.int32)
    with pytest.raises(SanitizerError) as caught:
        sanitized_worker.run(build_file("faults", sanitize=True), [launch_on("past_the_end", [x])], [x])
    assert "kernels.cu:" in caught.value.report
    assert str(HEADERS) not in caught.value.report
    assert os.getcwd() not in caught.value.report


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(CacheWarning, match="modules are kept for this process only") as caught:
        module = build(5, tmp_path / "file")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert put(build(6, tmp_path / "file")) == 6
    assert put(module) == 5
    assert tmp_path not in module.library.parents


def test_a_refusal_names_the_lines(folder: Path) -> None:
    source = "// one\n// two\n" + SOURCE.replace("VALUE", "no_such_name")
    with pytest.raises(CompileError) as caught:
        EmulatedModule.build(source, [("put", 1)], cache_dir=folder)
    message = str(caught.value)
    assert message.startswith("kernels.cu:3: ")
    assert "no_such_name" in message.splitlines()[0]
    assert (
        '> kernels.cu:3: extern "C" __global__ void put(int* out) { out[threadIdx.x] = no_such_name; }'
        in message
    )
    assert not list((folder / "emulator").glob("kernels-*.so"))


def test_a_wrong_number_of_arguments_is_refused(folder: Path) -> None:
    with pytest.raises(CompileError, match=r"too many arguments|no matching function"):
        EmulatedModule.build(SOURCE.replace("VALUE", "1"), [("put", 2)], cache_dir=folder)


@pytest.mark.parametrize("kernels", [[], [("put()", 1)], [("put", -1)]])
def test_a_table_of_kernels_is_checked(folder: Path, kernels: list[tuple[str, int]]) -> None:
    with pytest.raises(CodegenError, match="the emulator"):
        EmulatedModule.build(SOURCE, kernels, cache_dir=folder)


@pytest.mark.parametrize("declaration", ["float a, b", "float a[2], b[3]"])
def test_shared_arrays_are_declared_one_by_one(folder: Path, declaration: str) -> None:
    source = SOURCE.replace("{ ", f"{{ __shared__ {declaration}; ")
    with pytest.raises(CodegenError, match="one variable or array for each __shared__"):
        EmulatedModule.build(source, [("put", 1)], cache_dir=folder)


def test_only_declarations_are_rewritten() -> None:
    source = """// extern __shared__ in a comment
/* and a __shared__ one;
   over two lines; */ const char* text = "__shared__ x;";
extern __shared__ __align__(16) unsigned char dlrmc_shared[];
__shared__ __align__(8) float cells[4][N + 1];
"""
    lines = translation_unit(source, [("put", 1)]).splitlines()
    start = lines.index('#line 1 "kernels.cu"') + 1
    assert lines[start : start + 3] == source.splitlines()[:3]
    assert lines[start + 3] == "extern __dynamic_shared__ __align__(16) unsigned char dlrmc_shared[];"
    assert lines[start + 4] == (
        "__shared__ __align__(8) float cells[4][N + 1]; "
        "static const ::dlrmc_emulator::SharedArray cells_is_shared(&cells, sizeof cells);"
    )


def test_a_compiler_that_is_not_there(folder: Path) -> None:
    with pytest.raises(CompileError, match="looked for no-such-compiler on PATH"):
        build(1, folder, "no-such-compiler")


def test_the_portable_switch_of_fibers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ucontext, which other processors than x86-64 use."""
    script = tmp_path / "c++-ucontext"
    script.write_text(f'#!/bin/sh\nexec "{find_compiler().path}" -DDLRMC_EMULATOR_UCONTEXT "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", os.fspath(script))
    source = """extern "C" __global__ void turn(int* out) {
        __shared__ int cells[64];
        cells[threadIdx.x] = out[threadIdx.x];
        __syncthreads();
        out[threadIdx.x] = cells[63 - threadIdx.x] + __reduce_add_sync(0xffffffffu, 1);
    }"""
    module = EmulatedModule.build(source, [("turn", 1)], cache_dir=tmp_path, compiler=os.fspath(script))
    for order in ("forward", "reverse", "random"):
        out = np.arange(64, dtype=np.int32)
        module.launch("turn", 1, 64, 0, [out.ctypes.data], order=order)
        np.testing.assert_array_equal(out, np.arange(64)[::-1] + 32)
