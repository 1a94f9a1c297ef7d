"""Making nodes, with one typed method for each op card."""

from __future__ import annotations

from collections.abc import Sequence

from dlrmc.ir.graph import Node
from dlrmc.passes.builder_elementwise import ElementwiseBuilder


class Builder(ElementwiseBuilder):
    """What a rule builds with; each method makes one node and says what the card of its name says."""

    # -- products --------------------------------------------------------------------------------------------

    def linear(
        self,
        x: Node | Sequence[Node],
        w: Node,
        bias: Node | None = None,
        *,
        act: str = "none",
        alpha: float = 1.0,
        beta: float = 1.0,
        slope: float = 0.01,
    ) -> Node:
        parts = (x,) if isinstance(x, Node) else tuple(x)
        return self.op("linear", parts, w, bias, act=act, alpha=alpha, beta=beta, slope=slope)

    def mm(self, a: Node, b: Node) -> Node:
        return self.op("mm", a, b)

    def addmm(self, bias: Node, a: Node, b: Node, *, alpha: float = 1.0, beta: float = 1.0) -> Node:
        return self.op("addmm", bias, a, b, alpha=alpha, beta=beta)

    def bmm(self, a: Node, b: Node, *, trans_a: bool = False, trans_b: bool = False) -> Node:
        return self.op("bmm", a, b, trans_a=trans_a, trans_b=trans_b)

    def pairwise_dot(self, *parts: Node, pairs: str = "strict_lower") -> Node:
        return self.op("pairwise_dot", parts, pairs=pairs)

    # -- embedding -------------------------------------------------------------------------------------------

    def embedding(self, table: Node, ids: Node) -> Node:
        return self.op("embedding", table, ids)

    def embedding_bag(
        self,
        table: Node,
        ids: Node,
        offsets: Node | None = None,
        weights: Node | None = None,
        *,
        mode: str = "sum",
        include_last_offset: bool = False,
        padding_idx: int = -1,
    ) -> Node:
        return self.op(
            "embedding_bag",
            table,
            ids,
            offsets,
            weights,
            mode=mode,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )

    def embedding_bag_group(
        self,
        tables: Sequence[Node],
        ids: Sequence[Node],
        offsets: Sequence[Node | None],
        weights: Sequence[Node | None],
        *,
        modes: Sequence[str],
        include_last_offset: Sequence[bool],
        padding_idx: Sequence[int],
    ) -> Node:
        return self.op(
            "embedding_bag_group",
            tuple(tables),
            tuple(ids),
            tuple(offsets),
            tuple(weights),
            modes=tuple(modes),
            include_last_offset=tuple(include_last_offset),
            padding_idx=tuple(padding_idx),
        )

    # -- shape -----------------------------------------------------------------------------------------------

    def view(self, x: Node, shape: Sequence[int]) -> Node:
        return self.op("view", x, shape=tuple(shape))

    def view_if_needed(self, x: Node, shape: Sequence[int]) -> Node:
        """X itself where it has the shape, else a view of it."""
        return x if x.shape == tuple(shape) else self.view(x, shape)

    def permute(self, x: Node, perm: Sequence[int]) -> Node:
        return self.op("permute", x, perm=tuple(perm))

    def expand(self, x: Node, shape: Sequence[int]) -> Node:
        return self.op("expand", x, shape=tuple(shape))

    def slice(self, x: Node, *, dim: int, start: int, stop: int, step: int = 1) -> Node:
        return self.op("slice", x, dim=dim, start=start, stop=stop, step=step)

    def select(self, x: Node, *, dim: int, index: int) -> Node:
        return self.op("select", x, dim=dim, index=index)

    def cat(self, *parts: Node, dim: int) -> Node:
        return self.op("cat", parts, dim=dim)

    # -- reductions and indexing -----------------------------------------------------------------------------

    def sum(self, x: Node, dims: Sequence[int], *, keepdim: bool = False) -> Node:
        return self.op("sum", x, dims=tuple(dims), keepdim=keepdim)

    def mean(self, x: Node, dims: Sequence[int], *, keepdim: bool = False) -> Node:
        return self.op("mean", x, dims=tuple(dims), keepdim=keepdim)

    def amax(self, x: Node, dims: Sequence[int], *, keepdim: bool = False) -> Node:
        return self.op("amax", x, dims=tuple(dims), keepdim=keepdim)

    def amin(self, x: Node, dims: Sequence[int], *, keepdim: bool = False) -> Node:
        return self.op("amin", x, dims=tuple(dims), keepdim=keepdim)

    def prod(self, x: Node, dims: Sequence[int], *, keepdim: bool = False) -> Node:
        return self.op("prod", x, dims=tuple(dims), keepdim=keepdim)

    def softmax(self, x: Node, *, dim: int) -> Node:
        return self.op("softmax", x, dim=dim)

    def log_softmax(self, x: Node, *, dim: int) -> Node:
        return self.op("log_softmax", x, dim=dim)

    def layer_norm(self, x: Node, w: Node | None = None, b: Node | None = None, *, eps: float) -> Node:
        return self.op("layer_norm", x, w, b, eps=eps)

    def index(self, x: Node, *indices: Node | None) -> Node:
        return self.op("index", x, indices)

    def index_select(self, x: Node, ids: Node, *, dim: int) -> Node:
        return self.op("index_select", x, ids, dim=dim)

    def gather(self, x: Node, ids: Node, *, dim: int) -> Node:
        return self.op("gather", x, ids, dim=dim)
