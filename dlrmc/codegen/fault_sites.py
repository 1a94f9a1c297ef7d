"""The places of one kernel that check a user's ids."""

from __future__ import annotations

from dlrmc.codegen.source import FaultSite, KernelContext
from dlrmc.codegen.view_indices import is_view
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.op import one


class FaultSites:
    """Numbers the sites from the context's first one; the same ids checked twice are one site."""

    def __init__(self, body: Graph, context: KernelContext) -> None:
        self._kernel = context.name
        self._first = context.first_site
        # By name, which the inputs of a tile's graph share with the body's.
        names = (node.name for node in body.inputs)
        firsts = context.operand_firsts or (0,) * len(body.inputs)
        self._operands = dict(zip(names, zip(context.operand_names, firsts, strict=True), strict=True))
        # Of the whole batch; the views of a tile have the same names.
        self._views = {node.name: node for node in body.nodes if is_view(node)}
        self._sites: list[FaultSite] = []

    def number_of_bags(self, ids: Node) -> int:
        """The number of the site that checks the ids of bags, and counts them bag after bag."""
        return self._number(ids, "id", self._views.get(ids.name))

    def number(self, ids: Node, kind: str) -> int:
        """The number of the site that checks the values of `ids`; kind is "id", "offset" or "index"."""
        return self._number(ids, kind, None)

    def _number(self, ids: Node, kind: str, shown: Node | None) -> int:
        root = ids
        while is_view(root):
            root = one(root.operands[0])
        operand, first = self._operands.get(root.name, (root.name, 0))
        site = FaultSite(self._kernel, operand, kind, first, shown)
        if site not in self._sites:
            self._sites.append(site)
        return self._first + self._sites.index(site)

    @property
    def sites(self) -> tuple[FaultSite, ...]:
        """All sites in order."""
        return tuple(self._sites)
