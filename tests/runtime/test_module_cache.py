import json
import subprocess
import sys
import threading
import warnings
from dataclasses import replace

import pytest

from dlrmc.errors import CacheWarning, CompileError
from dlrmc.runtime import module_cache, nvrtc
from dlrmc.runtime.cache_entry import entry_paths
from dlrmc.runtime.module_cache import CacheCounters, ModuleCache, cache_key, shared_cache

ARCH = "sm_90"


def source(number=0):
    return f'extern "C" __global__ void dlrmc_k{number}(int* x) {{ x[0] = {number}; }}\n'


def counters(cache):
    c = cache.counters
    return c.compiles, c.memory_hits, c.disk_hits


def test_a_source_is_compiled_once(tmp_path):
    cache = ModuleCache(tmp_path / "not" / "made" / "yet")
    first = cache.get(source(), ARCH)
    assert cache.get(source(), ARCH) is first
    assert counters(cache) == (1, 1, 0)
    assert first.path is not None
    assert first.path.read_bytes() == first.cubin.data

    again = ModuleCache(cache.directory)
    assert again.get(source(), ARCH) == first
    assert counters(again) == (0, 0, 1)


def test_a_second_process_calls_no_compiler(tmp_path):
    ModuleCache(tmp_path).get(source(), ARCH)
    code = (
        "import sys, pathlib\n"
        "from dlrmc.runtime import nvrtc\n"
        "from dlrmc.runtime.module_cache import ModuleCache\n"
        "def refuse(*arguments): raise AssertionError('the compiler was called')\n"
        "nvrtc.compile_source = refuse\n"
        "cache = ModuleCache(pathlib.Path(sys.argv[1]))\n"
        "entry = cache.get(sys.argv[2], sys.argv[3])\n"
        "print(cache.counters, entry.cubin.kernels[0].name)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path), source(), ARCH]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"{CacheCounters(compiles=0, memory_hits=0, disk_hits=1)} dlrmc_k0"


def test_the_key_depends_on_everything(monkeypatch):
    toolchain = nvrtc.find_toolchain()
    keys = [
        cache_key(source(0), ARCH, toolchain),
        cache_key(source(1), ARCH, toolchain),
        cache_key(source(0) + "// a comment of an inlined header\n", ARCH, toolchain),
        cache_key(source(0), "sm_90a", toolchain),
        cache_key(source(0), ARCH, replace(toolchain, version=(1, 2))),
    ]
    monkeypatch.setattr(nvrtc, "FLAGS", (*nvrtc.FLAGS, "-lineinfo"))
    keys.append(cache_key(source(0), ARCH, toolchain))
    monkeypatch.undo()
    monkeypatch.setattr(module_cache, "__version__", "0.0.0-other")
    keys.append(cache_key(source(0), ARCH, toolchain))
    monkeypatch.undo()
    assert len(set(keys)) == len(keys)
    assert cache_key(source(0), ARCH, toolchain) == keys[0]


def _truncate_cubin(cubin, description):
    cubin.write_bytes(cubin.read_bytes()[:100])


def _empty_cubin(cubin, description):
    cubin.write_bytes(b"")


def _flip_a_bit(cubin, description):
    data = bytearray(cubin.read_bytes())
    data[len(data) // 2] ^= 1
    cubin.write_bytes(bytes(data))


def _lose_cubin(cubin, description):
    cubin.unlink()


def _truncate_description(cubin, description):
    description.write_bytes(description.read_bytes()[:30])


def _alien_description(cubin, description):
    description.write_text(json.dumps(["of", "another", "form"]))


@pytest.mark.parametrize(
    "spoil",
    [_truncate_cubin, _empty_cubin, _flip_a_bit, _lose_cubin, _truncate_description, _alien_description],
)
def test_a_broken_entry_is_built_again_with_one_warning(tmp_path, spoil):
    first = ModuleCache(tmp_path).get(source(), ARCH)
    spoil(first.path, first.path.with_suffix(".json"))
    cache = ModuleCache(tmp_path)
    with pytest.warns(CacheWarning, match="built again") as caught:
        assert cache.get(source(), ARCH) == first
    assert len(caught) == 1
    assert counters(cache) == (1, 0, 0)

    mended = ModuleCache(tmp_path)
    mended.get(source(), ARCH)
    assert counters(mended) == (0, 0, 1)


def test_a_cubin_without_its_description_is_no_entry(tmp_path):
    first = ModuleCache(tmp_path).get(source(), ARCH)
    first.path.with_suffix(".json").unlink()  # as after a process that died between the two files
    cache = ModuleCache(tmp_path)
    cache.get(source(), ARCH)
    assert counters(cache) == (1, 0, 0)


def test_a_directory_that_cannot_be_used_costs_one_warning(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    cache = ModuleCache(tmp_path / "file" / "cache")
    with pytest.warns(CacheWarning, match="modules stay in memory") as caught:
        entries = [cache.get(source(n), ARCH) for n in (0, 1, 0)]
    assert len(caught) == 1
    assert [entry.path for entry in entries] == [None, None, None]
    assert counters(cache) == (2, 1, 0)


def test_a_full_disk_costs_one_warning(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module_cache, "write_entry", refuse)
    cache = ModuleCache(tmp_path)
    with pytest.warns(CacheWarning, match="No space left on device") as caught:
        entries = [cache.get(source(n), ARCH) for n in (0, 1)]
    assert len(caught) == 1
    assert all(entry.cubin.data for entry in entries)
    assert counters(cache) == (2, 0, 0)


def test_memory_only_writes_nothing_and_warns_of_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = ModuleCache(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.get(source(), ARCH)
    cache.clear_memory()
    cache.get(source(), ARCH)
    assert counters(cache) == (2, 0, 0)
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_left_behind_by_a_write(tmp_path):
    cache = ModuleCache(tmp_path)
    entry = cache.get(source(), ARCH)
    names = sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".lock")
    assert names == sorted([entry.path.name, entry.path.with_suffix(".json").name])


def _entry_bytes(directory):
    return sum(p.stat().st_size for p in directory.iterdir() if p.suffix in (".cubin", ".json"))


def test_the_least_recently_used_entry_is_removed(tmp_path):
    import os

    first = ModuleCache(tmp_path)
    entries = [first.get(source(n), ARCH) for n in range(3)]
    one_bytes = _entry_bytes(tmp_path) // 3
    for age_s, entry in zip((300, 200, 100), entries, strict=True):
        stamp = entry.path.stat().st_mtime - age_s
        os.utime(entry.path.with_suffix(".json"), (stamp, stamp))

    cache = ModuleCache(tmp_path, cap_bytes=int(one_bytes * 3.5))
    cache.get(source(0), ARCH)  # the oldest is used: now the second is the oldest
    cache.get(source(3), ARCH)
    assert [entry.path.exists() for entry in entries] == [True, False, True]
    assert not entries[1].path.with_suffix(".json").exists()
    assert _entry_bytes(tmp_path) <= cache.cap_bytes


def test_a_cap_below_one_entry_keeps_the_newest(tmp_path):
    cache = ModuleCache(tmp_path, cap_bytes=1)
    cache.get(source(0), ARCH)
    newest = cache.get(source(1), ARCH)
    assert [p.name for p in tmp_path.glob("*.cubin")] == [newest.path.name]


def test_threads_compile_a_source_once(tmp_path):
    cache = ModuleCache(tmp_path)
    threads = [threading.Thread(target=cache.get, args=(source(), ARCH)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters(cache) == (1, 3, 0)


def test_processes_compile_a_source_once(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from dlrmc.runtime.module_cache import ModuleCache\n"
        "cache = ModuleCache(pathlib.Path(sys.argv[1]))\n"
        "cache.get(sys.argv[2], sys.argv[3])\n"
        "print(cache.counters.compiles, cache.counters.disk_hits)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path), source(), ARCH]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    results = sorted(run.communicate(timeout=120)[0].split() for run in runs)
    assert results == [["0", "1"], ["0", "1"], ["1", "0"]]


def test_a_source_that_does_not_compile_is_not_cached(tmp_path):
    cache = ModuleCache(tmp_path)
    for _ in range(2):
        with pytest.raises(CompileError):
            cache.get("this is no CUDA", ARCH)
    assert counters(cache) == (2, 0, 0)
    assert list(tmp_path.glob("*.cubin")) == []


def test_one_cache_a_directory(tmp_path):
    assert shared_cache(tmp_path / "a") is shared_cache(tmp_path / "a")
    assert shared_cache(tmp_path / "a") is not shared_cache(tmp_path / "b")


def test_the_two_files_of_an_entry_lie_side_by_side(tmp_path):
    cubin, description = entry_paths(tmp_path, "00ff")
    assert (cubin.name, description.name) == ("00ff.cubin", "00ff.json")
    assert cubin.parent == description.parent == tmp_path
