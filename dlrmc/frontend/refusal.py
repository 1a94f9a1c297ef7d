"""How an importer says that it cannot take an op."""

from __future__ import annotations


class Refused(Exception):
    """Raised by an importer; the walker turns all of a program's refusals into one UnsupportedOpsError."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
