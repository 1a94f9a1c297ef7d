"""Names of IR nodes: those of torch, and the same ones for every spelling of an op."""

from __future__ import annotations

from torch import fx

from dlrmc.frontend.at_canon import IN_PLACE

# Operators that a decomposition renames; a bare stem is numbered by the graph in order, as torch does.
_STEMS: tuple[tuple[str, str], ...] = (
    ("aten._embedding_bag.default", "embedding_bag"),
    ("aten._embedding_bag_forward_only.default", "embedding_bag"),
    ("aten.addmm.default", "linear"),
    ("aten.native_layer_norm.default", "layer_norm"),
    ("aten._softmax.default", "softmax"),
    ("aten._log_softmax.default", "log_softmax"),
    ("aten._to_copy.default", "cast"),
    ("aten.to.device", "cast"),
    ("aten.to.dtype", "cast"),
    ("aten.to.dtype_layout", "cast"),
    ("aten.permute.default", "permute"),
    ("aten.transpose.int", "permute"),
    ("aten.t.default", "permute"),
    ("aten.mT.default", "permute"),
    ("aten.expand_as.default", "expand"),
    ("aten.stack.default", "cat"),
    ("aten._unsafe_view.default", "view"),
    ("aten.flatten.using_ints", "view"),
    ("aten.unflatten.int", "view"),
    ("aten.reshape.default", "view"),
    ("aten._native_batch_norm_legit_no_training.default", "batch_norm"),
)


def node_name(node: fx.Node) -> str:
    """The name of the IR node for an fx node."""
    target = str(node.target)
    if target in IN_PLACE:
        return IN_PLACE[target].split(".")[1]
    return next((stem for known, stem in _STEMS if known == target), node.name)
