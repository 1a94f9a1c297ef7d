"""Models of papers, written for this project from what the papers say; they need no library."""

from __future__ import annotations

from tests.zoo import paper_interactions, paper_sequences, paper_tasks
from tests.zoo.model import ZooModel

LIBRARY = "paper"
_MAKERS = (*paper_interactions.MAKERS, *paper_sequences.MAKERS, *paper_tasks.MAKERS)

MODELS: tuple[ZooModel, ...] = tuple(ZooModel(LIBRARY, name, maker, name) for name, maker in _MAKERS)
