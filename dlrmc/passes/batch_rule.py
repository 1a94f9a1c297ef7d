"""What the rule of an op for the place of the batch is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dlrmc.ir.graph import Node
from dlrmc.passes.batch_axis import Placement
from dlrmc.passes.batch_front import Front
from dlrmc.passes.batch_layout import Layout


class BatchRule(ABC):
    """Both halves of one rule; `rebuild` is asked only where `place` has named a place."""

    @abstractmethod
    def place(self, layout: Layout, node: Node) -> Placement:
        """Where the result holds the batch; MIXED where the op works along it, or it cannot be told."""

    @abstractmethod
    def rebuild(self, front: Front, node: Node) -> Node:
        """The result with the batch in front."""
