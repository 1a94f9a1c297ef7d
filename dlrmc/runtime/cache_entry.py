"""One entry of the module cache on disk: reading it with every check, writing it whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dlrmc.runtime.cubin import KernelResources
from dlrmc.runtime.nvrtc import Cubin


class BrokenEntry(Exception):
    """The files of an entry are truncated, changed or not what they should be."""


@dataclass(frozen=True)
class Entry:
    """A module, and the file that holds its cubin where there is one."""

    cubin: Cubin
    path: Path | None


def entry_paths(directory: Path, key: str) -> tuple[Path, Path]:
    """The cubin file and the JSON file of a key."""
    return directory / f"{key}.cubin", directory / f"{key}.json"


def read_entry(directory: Path, key: str) -> Entry | None:
    """The entry of a key, or None where there is none. A hit makes it the most recently used.

    Raises:
        BrokenEntry: the files are there but do not fit each other.
    """
    cubin_path, json_path = entry_paths(directory, key)
    try:
        description = json_path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        data = cubin_path.read_bytes()
    except FileNotFoundError as error:
        raise BrokenEntry("the cubin file is missing") from error
    entry = Entry(_decode(description, data), cubin_path)
    with contextlib.suppress(OSError):  # a read-only cache still serves; only its order of eviction suffers
        os.utime(json_path)
    return entry


def write_entry(directory: Path, key: str, cubin: Cubin) -> Entry:
    """Store a module; the JSON file last, since it makes the entry.

    Raises:
        OSError: where the directory cannot be written; no half entry is left.
    """
    cubin_path, json_path = entry_paths(directory, key)
    replace_file(cubin_path, cubin.data)
    replace_file(json_path, _encode(cubin))
    return Entry(cubin, cubin_path)


def _encode(cubin: Cubin) -> bytes:
    record = {
        "sha256": hashlib.sha256(cubin.data).hexdigest(),
        "arch": cubin.arch,
        "compiler": cubin.compiler,
        "kernels": [dataclasses.asdict(kernel) for kernel in cubin.kernels],
    }
    return json.dumps(record, indent=1).encode()


def _decode(description: bytes, data: bytes) -> Cubin:
    try:
        record = json.loads(description)
        kernels = tuple(KernelResources(**kernel) for kernel in record["kernels"])
        digest, arch, compiler = record["sha256"], record["arch"], record["compiler"]
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenEntry("the description cannot be read") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise BrokenEntry(f"its {len(data)} bytes have another checksum than was written")
    return Cubin(data, arch, compiler, kernels)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file aside and move it into place."""
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
