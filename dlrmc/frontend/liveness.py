"""Which nodes of a program its results need: an export lists what nothing reads, too."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence

import torch
from torch import fx


def live_nodes(nodes: Sequence[fx.Node]) -> Collection[fx.Node]:
    """The outputs, the calls that do more than compute a value, and all that these are computed from.

    Args:
        nodes: all of a program, in order.
    """
    live: set[fx.Node] = set()
    for node in reversed(nodes):
        if not _only_computes(node) or any(user in live for user in node.users):
            live.add(node)
    return live


def _only_computes(node: fx.Node) -> bool:
    """Whether nothing is missed of a node without its value; conditions, say, have none."""
    if node.op == "placeholder":
        return True
    if node.op != "call_function":
        return False
    if isinstance(node.target, torch._ops.OpOverload):
        return bool(node.target._schema.returns) and not node.target._schema.is_mutable
    return getattr(operator, getattr(node.target, "__name__", ""), None) is node.target
