"""fuse-rows: vertical fusion. A region of row-local ops becomes one kernel over tiles of rows.

Members of a region are the ops whose results are tagged `Rows` and that a row program has a stage for: stages
take f32, integers and bool, and those that read tables 16-bit floats, which a cast makes f32.
Regions are cut where a path leaves the row-local world and comes back (a large linear layer, an op that mixes
rows, ids that are computed): what comes after the cut is a later region, so that every region is convex.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlrmc.ir.bag_tables import BAG_OPS
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.rows import UNIFORM, Rows, RowTag
from dlrmc.ir.strided import VIEW_OPS, under_views
from dlrmc.ir.subgraph import outline
from dlrmc.passes.batch_size import guess_batch
from dlrmc.passes.derive_weights import TABLE_BYTES_MAX
from dlrmc.passes.derived_views import derive_view
from dlrmc.passes.form_kernels import POINTERS_MAX
from dlrmc.passes.layer_cost import layers_apart
from dlrmc.passes.long_gathers import without_long_gathers
from dlrmc.passes.pad_weights import pad_weights
from dlrmc.passes.pass_types import PassResult
from dlrmc.passes.product_epilogues import epilogues_apart
from dlrmc.passes.row_runs import peak_row_bytes, runs_with_room
from dlrmc.passes.row_stages import has_stage
from dlrmc.passes.row_tags import tag_rows


@dataclass(frozen=True)
class _Region:
    """The nodes of one kernel and what it yields."""

    nodes: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def operands_of(self, node: Node) -> int:
        """How many values from outside of the region the node reads."""
        inside = frozenset(self.nodes)
        return len({operand for operand in node.inputs if operand not in inside})

    @property
    def pointers(self) -> int:
        """What the kernel takes: its operands, its results, and the record of faults."""
        inside = frozenset(self.nodes)
        operands = {operand for node in self.nodes for operand in node.inputs if operand not in inside}
        return len(operands) + len(self.outputs) + 1


def fuse_rows(graph: Graph) -> PassResult:
    """Form one `kernel row_program` for each region worth it, until none is."""
    batch = guess_batch(graph)
    count = 0
    while formed := _form_regions(graph, batch):
        count += formed
    return PassResult.of({"row_program": count})


def _form_regions(graph: Graph, batch: int) -> int:
    tags = tag_rows(graph, batch, restarts=True)
    members = frozenset(node for node in graph.nodes if _is_member(node, tags))
    members = without_long_gathers(graph, members)
    members -= _layers_apart(graph, members, batch)
    members -= epilogues_apart(graph, members)
    regions = [region for region in _fitting_regions(graph, members, batch) if _is_worth_it(region.nodes)]
    for region in regions:
        _form(graph, _with_views(graph, region.nodes, tags), region.outputs, batch)
    return len(regions)


def _layers_apart(graph: Graph, members: frozenset[Node], batch: int) -> frozenset[Node]:
    """The layers that leave their regions for kernels of their own."""
    apart: set[Node] = set()
    for region in _fitting_regions(graph, members, batch):
        layers = [node for node in region.nodes if node.is_op("linear")]
        apart.update(layers_apart(layers, batch, peak_row_bytes(graph, region.nodes, batch)))
    return frozenset(apart)


def _fitting_regions(graph: Graph, members: frozenset[Node], batch: int) -> list[_Region]:
    """The regions, in order, after members with many operands have left those that read too many."""
    while True:
        regions = _regions(graph, members, batch)
        wide = [region for region in regions if region.pointers > POINTERS_MAX]
        if not wide:
            return regions
        members = members.difference(max(region.nodes, key=region.operands_of) for region in wide)


def _regions(graph: Graph, members: frozenset[Node], batch: int) -> list[_Region]:
    numbers = _number_regions(graph, members)
    found: list[_Region] = []
    for number in sorted(set(numbers.values())):
        level = [node for node in graph.nodes if numbers.get(node) == number]
        for nodes in runs_with_room(graph, level, batch):
            outputs = _outputs(graph, nodes)
            found.append(_Region(tuple(_needed(nodes, outputs)), outputs))
    return found


def _with_views(graph: Graph, region: Sequence[Node], tags: Mapping[Node, RowTag]) -> list[Node]:
    """The region and the views through which it reads the results of others, which its kernel absorbs.

    Not those of ids and offsets, which are read where they are whatever view shows them.
    """
    inside = set(region)
    for node in region:
        for operand in node.inputs:
            if _is_jagged(node, operand):
                continue
            view = operand
            while view.is_op(*VIEW_OPS) and view not in inside and isinstance(tags.get(view), Rows):
                inside.add(view)
                view = view.inputs[0]
    return [node for node in graph.nodes if node in inside]


def _is_member(node: Node, tags: Mapping[Node, RowTag]) -> bool:
    if not has_stage(node) or not isinstance(tags[node], Rows) or not node.type.numel:
        return False
    if any(tags[operand] is UNIFORM and not _is_resident(operand) for operand in node.inputs):
        return False  # computed from weights alone, yet in every request: a body cannot tell it from rows
    views = [operand for operand in node.inputs if _is_view_of_weight(operand)]
    return all(view.type.size_bytes <= TABLE_BYTES_MAX for view in views)


def _number_regions(graph: Graph, members: frozenset[Node]) -> dict[Node, int]:
    """The region of each member: one later than that of any member it reads through a node that is none."""
    level: dict[Node, int] = {}
    for node in graph.nodes:
        steps = [0]
        for operand in node.inputs:
            is_cut = operand in members and (node not in members or _is_jagged(node, operand))
            steps.append(level[operand] + is_cut)
        level[node] = max(steps)
    numbers = {node: level[node] for node in graph.nodes if node in members}
    _sink(graph, numbers)
    return numbers


def _sink(graph: Graph, numbers: dict[Node, int]) -> None:
    """Move to a later region what only later regions read, so that it needs no buffer between kernels.

    Bags that are read behind a large layer are gathered there. A value moves where it is no smaller than the
    results of its own region that it reads, which have a buffer in its stead.
    """
    for node in reversed(graph.nodes):
        users = graph.users(node)
        if node not in numbers or not users or graph.returns(node):
            continue
        if any(user not in numbers or _is_jagged(user, node) for user in users):
            continue
        first = min(numbers[user] for user in users)
        read = {operand for operand in node.inputs if numbers.get(operand) == numbers[node]}
        if first > numbers[node] and sum(each.type.size_bytes for each in read) <= node.type.size_bytes:
            numbers[node] = first


def _is_jagged(node: Node, operand: Node) -> bool:
    """Whether the operand is ids, offsets or weights of bags: a tile cannot tell which are its own."""
    return node.is_op(*BAG_OPS) and operand.type.rank == 1


def _is_worth_it(region: Sequence[Node]) -> bool:
    return sum(not node.is_op(*VIEW_OPS) for node in region) > 1


def _form(graph: Graph, region: Sequence[Node], outputs: Sequence[Node], batch: int) -> None:
    _derive_views(graph, region)
    region, outputs = pad_weights(graph, region, outputs)
    body, operands = outline(graph, region, outputs)
    attributes = {"impl": "row_program", "batch": batch}
    name = outputs[0].name if len(outputs) == 1 else f"{graph.name}_rows"
    kernel = graph.add("kernel", (operands,), attributes, name=name, body=body, place=region[-1])
    if len(outputs) == 1:
        graph.replace(outputs[0], kernel)
    else:
        for index, output in enumerate(outputs):
            item = graph.add("item", (kernel,), {"index": index}, name=output.name, place=output)
            graph.replace(output, item)
    for node in reversed(region):
        if node in graph and not graph.use_count(node):
            graph.erase(node)


def _derive_views(graph: Graph, region: Sequence[Node]) -> None:
    """A row program reads weights as packed rows, so that views of them are laid out at load."""
    inside = set(region)
    for node in region:
        for operand in dict.fromkeys(node.inputs):
            if operand not in inside and _is_view_of_weight(operand):
                derive_view(graph, operand)


def _is_resident(node: Node) -> bool:
    """Whether the value is on the device before a request: a weight, a constant, or derived of these."""
    return node.is_op("weight", "const", "derive") or _is_view_of_weight(node)


def _is_view_of_weight(node: Node) -> bool:
    """Whether the node shows a weight, a constant or a derived value in another shape."""
    return node.is_op(*VIEW_OPS) and under_views(node).is_op("weight", "const", "derive")


def _outputs(graph: Graph, region: Sequence[Node]) -> tuple[Node, ...]:
    """What the region must yield: returned values, and what lies under the views that others read.

    The views themselves stay outside too, where their readers absorb them.
    """
    inside = set(region)
    outputs: list[Node] = []
    for node in region:
        if graph.returns(node):
            outputs.append(node)
        elif any(user not in inside for user in graph.users(node)):
            root = under_views(node)
            outputs.extend([root] if root in inside else [])
    return tuple(dict.fromkeys(outputs))


def _needed(region: Sequence[Node], outputs: Sequence[Node]) -> list[Node]:
    """The nodes of the region that the outputs are computed from, in its order."""
    needed = set(outputs)
    for node in reversed(region):
        if node in needed:
            needed.update(node.inputs)
    return [node for node in region if node in needed]
