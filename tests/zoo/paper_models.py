"""Models of papers, written for this project from what the papers say; they need no library."""

from __future__ import annotations

from tests.zoo import paper_interactions
from tests.zoo.model import ZooModel

LIBRARY = "paper"
MODELS: tuple[ZooModel, ...] = tuple(
    ZooModel(LIBRARY, name, maker, name) for name, maker in paper_interactions.MAKERS
)
