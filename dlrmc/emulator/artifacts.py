"""Files on disk that are made once: built by one process, moved into place whole, checked before use."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from filelock import FileLock

from dlrmc.errors import CacheWarning

DEFAULT_CAP_BYTES = 512 * 1024 * 1024
_LOCK_TIMEOUT_S = 900.0
_LOCK_STRIPES = 64


def digest_of(fields: Sequence[str]) -> str:
    """32 hexadecimal digits of SHA-256 over fields, each with its length so that none runs into the next."""
    digest = hashlib.sha256()
    for field in fields:
        data = field.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def cached_file(
    directory: Path, name: str, build: Callable[[Path], None], *, cap_bytes: int = DEFAULT_CAP_BYTES
) -> Path:
    """The file of that name, built where it is missing or broken.

    Args:
        directory: made where it is missing.
        name: must change with everything that the content depends on.
        build: writes the file to the path that it is given, in a folder of its own.
        cap_bytes: once all files together are larger, those used least recently are removed.

    Returns:
        The path; its content has the checksum that was written with it.

    Raises:
        OSError: the directory cannot be written.
        whatever `build` raises; nothing is kept then.

    Warns:
        CacheWarning: once for a file that was truncated or changed, which is built again.
    """
    path = directory / name
    if _is_whole(path):
        return path
    directory.mkdir(parents=True, exist_ok=True)
    stripe = int(digest_of([name])[:8], 16) % _LOCK_STRIPES
    with FileLock(directory / f"stripe-{stripe:02x}.lock", timeout=_LOCK_TIMEOUT_S):
        if _is_whole(path):
            return path
        if path.exists():
            warnings.warn(
                f"cache entry {path} is broken (it has another checksum than was written); it is built again",
                CacheWarning,
                stacklevel=2,
            )
        _build_aside(path, build)
        _evict(directory, cap_bytes, keep=path)
    return path


def _checksum_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _is_whole(path: Path) -> bool:
    """Whether the file is there with its checksum. One that is counts as used now."""
    try:
        written = _checksum_path(path).read_text()
        if hashlib.sha256(path.read_bytes()).hexdigest() != written:
            return False
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # a read-only cache still serves
        os.utime(path)
    return True


def _build_aside(path: Path, build: Callable[[Path], None]) -> None:
    """The checksum goes last: a file without one is not there."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".building-") as aside:
        built = Path(aside) / path.name
        build(built)
        checksum = Path(aside) / "checksum"
        checksum.write_text(hashlib.sha256(built.read_bytes()).hexdigest())
        _checksum_path(path).unlink(missing_ok=True)
        os.replace(built, path)
        os.replace(checksum, _checksum_path(path))


def _evict(directory: Path, cap_bytes: int, keep: Path) -> None:
    """Remove files, the least recently used first, until they are under the cap; one in use stays mapped."""
    used = sorted(_measured(directory))
    total_bytes = sum(size for _, size, _ in used)
    for _, size, path in used:
        if total_bytes <= cap_bytes:
            return
        if path == keep:
            continue
        _checksum_path(path).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        total_bytes -= size


def _measured(directory: Path) -> Iterator[tuple[float, int, Path]]:
    """(time of last use, bytes, path) of each file; one that vanishes meanwhile is left out."""
    for checksum in directory.glob("*.sha256"):
        path = checksum.with_suffix("")
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            yield found.st_mtime, found.st_size, path
