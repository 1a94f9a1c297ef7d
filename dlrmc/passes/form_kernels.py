"""form-kernels: every op that computes becomes the body of a kernel, with the views on its operands.

A heavy op (an anchor) gets an implementation of its own. All other ops are mapped: one thread computes one
element of the region's root, and producers that nothing else reads are computed in place. Afterwards no bare
op is left but leaves, derived weights, buffers assembled in place, runs of an input's elements and the
kernels themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.op import many, one, optional
from dlrmc.ir.strided import VIEW_OPS, input_window, resolve_strided, row_strides, views_on
from dlrmc.ir.subgraph import INLINE_CONST_ELEMENTS, outline
from dlrmc.passes.product_epilogues import find_epilogue

ANCHORS = MappingProxyType(
    {
        "linear": "linear",
        "mm": "bmm",
        "bmm": "bmm",
        "embedding_bag": "embedding_bag",
        "embedding_bag_group": "embedding_bag",
        "quantized_embedding_bag": "quantized_bag",
        "quantized_embedding_bag_group": "quantized_bag",
        "pairwise_dot": "pairwise_dot",
    }
)
REDUCTIONS = ("sum", "mean", "amax", "amin", "prod")
# Their parts depend on the whole row, so a consumer that computed them in place would do so once an element.
ROW_REDUCTIONS = ("softmax", "log_softmax", "layer_norm", "argsort", "cumsum", "cumprod")
# They read each element many times.
REREADING = ("argsort", "cumsum", "cumprod")
# Parameters are 64-bit pointers in 4 KB (CUDA C++ Programming Guide, "Function Parameters").
POINTERS_MAX = 4096 // 8
# One of them is to the result, one to the faults.
OPERANDS_MAX = POINTERS_MAX - 2
BARE = (*LEAVES, "derive", "kernel", "item", "assemble")


def form_kernels(graph: Graph, *, as_stages: bool = False) -> int:
    """Wrap every computing op into a kernel.

    Args:
        graph: changed in place.
        as_stages: whether they are stages of a row program. Those have constants in their bodies, which the
            kernel of an anchor reads from memory, as it does every operand, and products without epilogues.

    Returns:
        How many kernels were formed.
    """
    _erase_unread(graph, graph.nodes)
    formed = _copy_plain_outputs(graph)
    for node in reversed(graph.nodes):
        if node not in graph or node.is_op(*BARE) or not graph.use_count(node):
            continue
        if node.is_op(*VIEW_OPS) and not _must_materialise(graph, node, as_stages):
            continue
        _form(graph, node, as_stages)
        formed += 1
    _erase_unread(graph, graph.nodes)
    return formed


def _form(graph: Graph, root: Node, as_stage: bool) -> None:
    """Make the kernel whose result is `root`."""
    impl, region, inlined = _kernel_of(graph, root, as_stage)
    body, operands = outline(graph, region, [root], inlined)
    inside = set(region)
    in_order = [node for node in graph.nodes if node in inside]
    kernel = graph.add("kernel", (operands,), {"impl": impl}, name=root.name, body=body, place=root)
    graph.replace(root, kernel)
    _erase_unread(graph, in_order)


def _kernel_of(graph: Graph, root: Node, as_stage: bool) -> tuple[str, list[Node], int]:
    """Implementation and nodes of the kernel whose result is `root`; constants up to what size it holds."""
    anchor = _anchor_under(graph, root)
    if anchor is not None:
        inlined = INLINE_CONST_ELEMENTS if as_stage else 0
        return ANCHORS[anchor.op.name], _anchor_region(root, anchor, as_stage), inlined
    epilogue = None if as_stage else find_epilogue(graph, root)
    if epilogue is None:
        return "map", _map_region(graph, root), INLINE_CONST_ELEMENTS
    region = [*epilogue.nodes, *_anchor_region(epilogue.product, epilogue.product, False)]
    region.extend(view for operand in epilogue.operands for view in views_on(operand))
    return "linear", list(dict.fromkeys(region)), 1


def _anchor_under(graph: Graph, root: Node) -> Node | None:
    """The anchor that `root` is, or shows in another shape without anyone else reading it."""
    node = root
    while node.is_op("view") and graph.use_count(node.inputs[0]) == 1:
        node = node.inputs[0]
    return node if node.op.name in ANCHORS else None


def _anchor_region(root: Node, anchor: Node, as_stage: bool) -> list[Node]:
    region = [root]
    while region[-1] is not anchor:
        region.append(region[-1].inputs[0])
    for operand in anchor.inputs:
        region.extend(views_on(operand) if absorbs(anchor, operand, as_stage) else ())
    return region


def absorbs(user: Node, operand: Node, as_stage: bool = False) -> bool:
    """Whether `user`'s kernel can read the value through the views that make it, without a copy of it.

    A stage that has operand tiles fills them through any views.
    """
    if not user.is_op(*ANCHORS) or (as_stage and _fills_tile(user, operand)):
        return True
    window = resolve_strided(operand)
    if window is None:
        return False
    is_part = user.is_op("linear") and any(part is operand for part in many(user.operands[0]))
    return not is_part or row_strides(window) is not None


def _fills_tile(user: Node, operand: Node) -> bool:
    if user.is_op("linear"):
        others = (one(user.operands[1]), optional(user.operands[2]))
        return not any(operand is other for other in others)
    return user.is_op("bmm", "pairwise_dot")


def _must_materialise(graph: Graph, view: Node, as_stages: bool) -> bool:
    """Whether a view needs a buffer: it is returned, or some user cannot read through it."""
    if graph.returns(view):
        return True
    return any(_reads_directly(user, view, as_stages) for user in graph.users(view))


def _reads_directly(user: Node, view: Node, as_stage: bool) -> bool:
    if user.is_op("kernel"):
        return input_window(view) is None
    if user.is_op("assemble", "derive"):
        return True
    return user.is_op(*ANCHORS) and not absorbs(user, view, as_stage)


def _map_region(graph: Graph, root: Node) -> list[Node]:
    """The root and all producers that are cheap to compute in place and are read by the region alone.

    As many as a kernel takes pointers for: one result, the record of faults, and what the region reads.
    """
    region = [root]
    inside, operands = {root}, set(root.inputs)
    for node in reversed(graph.nodes):
        if node in inside or node.is_op(*BARE) or not graph.users(node):
            continue
        if not all(user in inside for user in graph.users(node)) or not _is_inlined(graph, node, root):
            continue
        wider = (operands | set(node.inputs)) - {node}
        if len(wider) <= max(OPERANDS_MAX, len(operands)):
            region.append(node)
            inside.add(node)
            operands = wider
    region.extend(view for node in tuple(region) for operand in node.inputs for view in views_on(operand))
    return list(dict.fromkeys(region))


def _is_inlined(graph: Graph, node: Node, root: Node) -> bool:
    if graph.returns(node):
        return False
    if node.is_op(*ANCHORS) or node.is_op(*ROW_REDUCTIONS):
        return False
    if any(user.is_op(*REREADING) for user in graph.users(node)):
        return False
    return not node.is_op(*REDUCTIONS) or node.type.numel == root.type.numel


def _copy_plain_outputs(graph: Graph) -> int:
    """Give an output that is a leaf, a derived weight or another output too a buffer of its own."""
    seen: set[Node] = set()
    outputs: list[Node] = []
    for output in graph.outputs:
        if output.is_op(*LEAVES, "derive") or output in seen:
            body, operands = outline(graph, [], [output])
            name = f"{output.name}_copy"
            outputs.append(graph.add("kernel", (operands,), {"impl": "map"}, name=name, body=body))
        else:
            outputs.append(output)
        seen.add(output)
    copies = sum(new is not old for new, old in zip(outputs, graph.outputs, strict=True))
    graph.set_outputs(outputs)
    return copies


def _erase_unread(graph: Graph, nodes: Sequence[Node]) -> None:
    """Erase those of the nodes, which stand in topological order, that nothing reads."""
    for node in reversed(nodes):
        if node in graph and not node.is_op("input") and not graph.use_count(node):
            graph.erase(node)
