"""Compiled modules by source: in memory and on disk, so that a source is compiled once on a machine.

An entry is two files, `KEY.cubin` and `KEY.json` (resources, and the SHA-256 of the first). The JSON file is
written last and makes the entry; both are written aside and moved into place, so a reader never sees half of
one. Striped file locks let concurrent processes compile a source once.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from dlrmc import __version__
from dlrmc.errors import CacheWarning
from dlrmc.runtime import nvrtc
from dlrmc.runtime.cache_entry import BrokenEntry, Entry, entry_paths, read_entry, write_entry
from dlrmc.runtime.nvrtc import Cubin, Toolchain

DEFAULT_CAP_BYTES = 512 * 1024 * 1024
_LOCK_TIMEOUT_S = 300.0
_LOCK_STRIPES = 256


@dataclass
class CacheCounters:
    """How often a module came from where since the cache object was made."""

    compiles: int = 0
    memory_hits: int = 0
    disk_hits: int = 0


class ModuleCache:
    """Compiles each (source, architecture) once; safe for several threads and several processes.

    Args:
        directory: where entries are kept; None for memory only. Made on first use.
        cap_bytes: the entries used least recently are removed once all together are larger.
    """

    def __init__(self, directory: Path | None, cap_bytes: int = DEFAULT_CAP_BYTES) -> None:
        self.directory = directory
        self.cap_bytes = cap_bytes
        self._counters = CacheCounters()
        self._memory: dict[str, Entry] = {}
        self._lock = threading.RLock()
        self._disk_works = directory is not None

    @property
    def counters(self) -> CacheCounters:
        """A copy of the counters."""
        return dataclasses.replace(self._counters)

    def get(self, source: str, arch: str) -> Entry:
        """The module of a source, from memory, from disk, or compiled now.

        Raises:
            CompileError: as `dlrmc.runtime.nvrtc.compile_source`.

        Warns:
            CacheWarning: once where the directory cannot be used; once for an entry that was broken.
        """
        toolchain = nvrtc.find_toolchain()
        key = cache_key(source, arch, toolchain)
        with self._lock:
            if (entry := self._memory.get(key)) is not None:
                self._counters.memory_hits += 1
                return entry
            entry = self._from_disk_or_compiler(key, source, arch, toolchain)
            self._memory[key] = entry
            return entry

    def clear_memory(self) -> None:
        """Forget the modules in memory; those on disk stay."""
        with self._lock:
            self._memory.clear()

    # -- disk ------------------------------------------------------------------------------------------------

    def _from_disk_or_compiler(self, key: str, source: str, arch: str, toolchain: Toolchain) -> Entry:
        if not self._prepare_directory():
            return Entry(self._compile(source, arch, toolchain), None)
        assert self.directory is not None
        try:
            with self._process_lock(key):
                if (entry := self._read(key)) is not None:
                    self._counters.disk_hits += 1
                    return entry
                return self._write(key, self._compile(source, arch, toolchain))
        except Timeout:
            self._give_up_disk(f"another process held its lock for {_LOCK_TIMEOUT_S:.0f} s")
        except OSError as error:
            self._give_up_disk(str(error))
        return Entry(self._compile(source, arch, toolchain), None)

    def _compile(self, source: str, arch: str, toolchain: Toolchain) -> Cubin:
        self._counters.compiles += 1
        return nvrtc.compile_source(source, arch, toolchain)

    def _prepare_directory(self) -> bool:
        if not self._disk_works or self.directory is None:
            return False
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._give_up_disk(str(error))
        return self._disk_works

    def _process_lock(self, key: str) -> FileLock:
        assert self.directory is not None
        stripe = int(key[:8], 16) % _LOCK_STRIPES
        return FileLock(self.directory / f"stripe-{stripe:02x}.lock", timeout=_LOCK_TIMEOUT_S)

    def _read(self, key: str) -> Entry | None:
        assert self.directory is not None
        try:
            return read_entry(self.directory, key)
        except BrokenEntry as error:
            _warn(f"cache entry {entry_paths(self.directory, key)[0]} is broken ({error}); it is built again")
            return None

    def _write(self, key: str, cubin: Cubin) -> Entry:
        """Store a module; where the disk refuses, the module is still good."""
        assert self.directory is not None
        try:
            entry = write_entry(self.directory, key, cubin)
            self._evict(keep=key)
        except OSError as error:
            self._give_up_disk(str(error))
            return Entry(cubin, None)
        return entry

    def _evict(self, keep: str) -> None:
        """Remove entries, the least recently used first, until the rest is under the cap."""
        assert self.directory is not None
        entries = sorted(_measure_entries(self.directory))
        total_bytes = sum(size for _, _, size in entries)
        for _, key, size in entries:
            if total_bytes <= self.cap_bytes:
                return
            if key == keep:
                continue
            for path in reversed(entry_paths(self.directory, key)):  # the JSON file first: it makes the entry
                path.unlink(missing_ok=True)
            total_bytes -= size

    def _give_up_disk(self, reason: str) -> None:
        """Work in memory from now on, and say so once."""
        if self._disk_works:
            _warn(f"cache directory {self.directory} cannot be used ({reason}); modules stay in memory")
        self._disk_works = False


def cache_key(source: str, arch: str, toolchain: Toolchain) -> str:
    """SHA-256 over everything that the machine code depends on.

    Each field goes in with its length, so that none runs into the next. A source includes nothing: the text
    of its headers is in it.
    """
    digest = hashlib.sha256()
    for field in (__version__, toolchain.name, arch, *nvrtc.command_line(arch), source):
        data = field.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def shared_cache(directory: Path | None, cap_bytes: int = DEFAULT_CAP_BYTES) -> ModuleCache:
    """The one cache of a directory in this process."""
    return ModuleCache(directory, cap_bytes)


def _measure_entries(directory: Path) -> list[tuple[float, str, int]]:
    """(time of last use, key, bytes) of each entry; one that vanishes meanwhile is left out."""
    measured: list[tuple[float, str, int]] = []
    for path in directory.glob("*.json"):
        try:
            sizes = [os.stat(part).st_size for part in entry_paths(directory, path.stem)]
            measured.append((path.stat().st_mtime, path.stem, sum(sizes)))
        except FileNotFoundError:
            continue
    return measured


def _warn(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=4)
