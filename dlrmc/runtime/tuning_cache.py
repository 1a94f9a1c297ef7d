"""Choices of the tuner on disk, so that a kernel is measured once on a machine."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dlrmc.errors import CacheWarning
from dlrmc.runtime.cache_entry import replace_file
from dlrmc.runtime.tuning_choice import THREADS, Choice


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best choice for one kernel.

    Args:
        choice: `UNTUNED` where nothing was faster.
        time_us: of one launch so, as measured.
        untuned_us: of one launch with the static choice, in the same run.
    """

    choice: Choice
    time_us: float
    untuned_us: float


def tuning_key(fields: Sequence[str]) -> str:
    """SHA-256 over all that a choice depends on, each field with its length: none runs into the next."""
    digest = hashlib.sha256()
    for field in fields:
        data = field.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class TuningCache:
    """One JSON file for each key, written aside and moved into place.

    Args:
        directory: made on first use; where it cannot be used, choices are not kept, with one CacheWarning.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> Tuned | None:
        """The choice kept under a key, or None.

        Warns:
            CacheWarning: the entry is broken; the kernel is tuned again.
        """
        path = self._path(key)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            return _warn(f"tuning entry {path} cannot be read ({error}); the kernel is tuned again")
        try:
            return _decode(text, key)
        except (ValueError, KeyError, TypeError):
            return _warn(f"tuning entry {path} is broken; the kernel is tuned again")

    def put(self, key: str, tuned: Tuned) -> None:
        """Keep a choice.

        Warns:
            CacheWarning: the directory cannot be written.
        """
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            replace_file(self._path(key), _encode(key, tuned).encode())
        except OSError as error:
            _warn(f"tuning cache {self._directory} cannot be used ({error}); choices are not kept")

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}.json"


def _encode(key: str, tuned: Tuned) -> str:
    record = {
        "key": key,
        "rows": tuned.choice.rows,
        "threads": tuned.choice.threads,
        "time_us": tuned.time_us,
        "untuned_us": tuned.untuned_us,
    }
    return json.dumps(record, indent=1) + "\n"


def _decode(text: str, key: str) -> Tuned:
    record = json.loads(text)
    rows, threads = record["rows"], record["threads"]
    is_choice = type(rows) is int and rows >= 1 and threads in THREADS
    if record["key"] != key or not (is_choice or (rows, threads) == (0, 0)):
        raise ValueError
    return Tuned(Choice(rows, threads), float(record["time_us"]), float(record["untuned_us"]))


def _warn(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=4)
