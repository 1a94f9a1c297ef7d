"""Files on disk that are made once: built by one process, moved into place whole, checked before use."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock

from dlrmc.errors import CacheWarning

_LOCK_TIMEOUT_S = 900.0


def digest_of(fields: Sequence[str]) -> str:
    """32 hexadecimal digits of SHA-256 over fields, each with its length so that none runs into the next."""
    digest = hashlib.sha256()
    for field in fields:
        data = field.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def cached_file(directory: Path, name: str, build: Callable[[Path], None]) -> Path:
    """The file of that name, built where it is missing or broken.

    Args:
        directory: made where it is missing.
        name: must change with everything that the content depends on.
        build: writes the file to the path that it is given, in the same directory.

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
    with FileLock(directory / f"{name}.lock", timeout=_LOCK_TIMEOUT_S):
        if _is_whole(path):
            return path
        if path.exists():
            warnings.warn(
                f"cache entry {path} is broken (it has another checksum than was written); it is built again",
                CacheWarning,
                stacklevel=2,
            )
        _build_aside(path, build)
    return path


def _checksum_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _is_whole(path: Path) -> bool:
    try:
        written = _checksum_path(path).read_text()
        return hashlib.sha256(path.read_bytes()).hexdigest() == written
    except FileNotFoundError:
        return False


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
