"""Names of IR nodes: those of torch, and the same ones for every spelling of an op."""

from __future__ import annotations

from torch import fx

# Operators that a decomposition renames; a bare stem is numbered by the graph in order, as torch does.
_STEMS: tuple[tuple[str, str], ...] = (
    ("aten._embedding_bag.default", "embedding_bag"),
    ("aten._embedding_bag_forward_only.default", "embedding_bag"),
    ("aten.addmm.default", "linear"),
    ("aten.native_layer_norm.default", "layer_norm"),
    ("aten._softmax.default", "softmax"),
    ("aten._log_softmax.default", "log_softmax"),
    ("aten._to_copy.default", "cast"),
    ("aten.permute.default", "permute"),
    ("aten.transpose.int", "permute"),
    ("aten._unsafe_view.default", "view"),
    ("aten._native_batch_norm_legit_no_training.default", "batch_norm"),
)


def node_name(node: fx.Node) -> str:
    """The name of the IR node for an fx node."""
    target = str(node.target)
    return next((stem for known, stem in _STEMS if known == target), node.name)
