"""Programs that torch need not trace again, and those that it must."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

import dlrmc
from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend import import_program
from dlrmc.frontend.aliasing import has_storage_of_its_own
from dlrmc.frontend.at_canon import (
    CONDITIONS,
    IN_PLACE,
    READ_AS_THEY_ARE,
    WHOLE_AT_CANON,
    is_at_canon,
)
from dlrmc.frontend.aten import IMPORTERS
from dlrmc.frontend.canon import KEPT_WHOLE, canon_table, canonicalise, find_overload
from dlrmc.ir.graph import Graph
from dlrmc.ir.printer import print_graph
from dlrmc.passes import driver
from dlrmc.passes.pipeline import PIPELINE
from tests.frontend.canon_programs import (
    OFF_CANON,
    SPELLINGS,
    Body,
    bottom,
    compute_unread,
    count_calls,
    export_calls,
    write_behind_dropout,
    write_input,
)
from tests.models.plain import PlainConfig, build, example_inputs, export

REFUSED = (count_calls, write_input, write_behind_dropout)
BATCH = torch.export.Dim("batch", min=2, max=64)


class Tower(nn.Module):
    """Gathers, a transposition and a softmax: what no bag has."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(8, 4)
        self.norm = nn.LayerNorm(4)
        self.register_buffer("scale", torch.full((4,), 2.0))

    def forward(self, ids: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.norm(self.rows(ids)) * self.scale
        scores = torch.softmax(torch.bmm(rows, x.transpose(1, 2)), dim=-1)
        return torch.where(scores > 0.1, scores, scores / 2).sum(dim=2), x


class Ranking(nn.Module):
    """A bag beside layers with dropout, for any batch: what is trained, as it is saved."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.EmbeddingBag(8, 4, mode="sum")
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Dropout())

    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        features = torch.stack([self.layers(x), self.rows(ids)], dim=1)
        products = torch.matmul(features, features.transpose(1, 2)).flatten(1)
        return torch.cat([products, x.new_zeros(x.shape[0], 1)], dim=1)


def programs_at_canon() -> dict[str, ExportedProgram]:
    config = PlainConfig()
    args, _kwargs = example_inputs(config)
    tower = (torch.zeros(2, 5, dtype=torch.int64), torch.ones(2, 3, 4))
    return {
        "plain": export(build(config), args, form="undecomposed"),
        "tower": torch.export.export(Tower().eval(), tower),
        "bottom": export_calls(bottom),
        "unread": export_calls(compute_unread),
        "dynamic": export_calls(bottom, dynamic_shapes={"x": {0: BATCH}}),
    }


def traced_again(program: ExportedProgram) -> ExportedProgram:
    return program.run_decompositions(canon_table())


def shapes_of(program: ExportedProgram) -> list[tuple[int, ...]]:
    tensors = [each for each in pytree.tree_leaves(program.example_inputs) if isinstance(each, torch.Tensor)]
    return [tuple(tensor.shape) for tensor in tensors]


def final_text(graph: Graph) -> str:
    """What all passes make of a graph, its values numbered: a spelling may bring names of its own."""
    driver.run(graph, PIPELINE)
    numbers: dict[str, str] = {}
    return re.sub(r"%\w+", lambda name: numbers.setdefault(name[0], f"%{len(numbers)}"), print_graph(graph))


@pytest.mark.parametrize("name", ["plain", "tower", "bottom", "unread", "dynamic"])
def test_a_program_at_canon_is_imported_as_torch_would_trace_it_again(name: str) -> None:
    program = programs_at_canon()[name]
    assert canonicalise(program) is program
    shapes = shapes_of(program)
    direct = import_program(program, input_shapes=shapes)
    again = import_program(traced_again(program), input_shapes=shapes)
    if name != "dynamic":  # torch numbers the calls of a dynamic program with gaps
        assert print_graph(direct.graph) == print_graph(again.graph)
    assert final_text(direct.graph) == final_text(again.graph)
    assert (direct.inputs, direct.outputs, direct.aliases, direct.baked) == (
        *(again.inputs, again.outputs, again.aliases, again.baked),
    )
    assert (direct.in_spec, direct.out_spec) == (again.in_spec, again.out_spec)
    assert direct.weights.keys() == again.weights.keys()
    assert [str(dim) for dim in direct.input_dims] == [str(dim) for dim in again.input_dims]


@pytest.mark.parametrize("target", SPELLINGS)
def test_another_spelling_becomes_what_canon_becomes(target: str) -> None:
    program = export_calls(SPELLINGS[target])
    assert target in {str(node.target) for node in program.graph.nodes}
    assert canonicalise(program) is program
    direct, again = import_program(program), import_program(traced_again(program))
    assert final_text(direct.graph) == final_text(again.graph)
    x = torch.tensor([[1.5, -2, 3], [0.25, -5, 6]])
    expected = pytree.tree_leaves(program.module()(x.clone()))
    found = pytree.tree_leaves(dlrmc.compile(program, target="reference")(x))
    for each, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(each, wanted)


def test_every_spelling_has_a_program() -> None:
    assert set(SPELLINGS) == {*READ_AS_THEY_ARE, *IN_PLACE}


@pytest.mark.parametrize("target", SPELLINGS)
def test_storage_of_its_own_is_what_torch_gives(target: str) -> None:
    """A wrong claim would let an in-place operator change what another name still stands for."""
    program = export_calls(SPELLINGS[target])

    class Recorder(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            result = super().run_node(n)
            if n.op == "call_function" and isinstance(result, torch.Tensor) and str(n.target) not in IN_PLACE:
                operands = [self.env[each] for each in n.all_input_nodes]
                shared = any(
                    each.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()
                    for each in operands
                    if isinstance(each, torch.Tensor)
                )
                assert not (shared and has_storage_of_its_own(n)), n.format_node()
            return result

    by_target = {**program.state_dict, **program.constants}
    leaves = [by_target[s.target] for s in program.graph_signature.input_specs if s.target is not None]
    Recorder(program.graph_module).run(*leaves, torch.ones(2, 3))


@pytest.mark.parametrize("body", OFF_CANON)
def test_what_is_seen_to_write_or_is_taken_apart_is_traced_again(body: Body) -> None:
    assert not is_at_canon(export_calls(body))


@pytest.mark.parametrize("body", [body for body in OFF_CANON if body not in REFUSED])
def test_what_is_traced_again_equals_eager(body: Body) -> None:
    program = export_calls(body)
    x = torch.tensor([[1.5, -2, 3], [0.25, -5, 6]])
    expected = program.module()(x.clone())
    torch.testing.assert_close(dlrmc.compile(program, target="reference")(x), expected)


@pytest.mark.parametrize("body", [count_calls, write_input])
def test_what_writes_is_refused(body: Body) -> None:
    with pytest.raises(UnsupportedOpsError, match="changes nothing"):
        import_program(export_calls(body))


@pytest.mark.parametrize("batch", [2, 5, 64])
def test_a_program_for_any_batch_is_not_traced_again(batch: int) -> None:
    torch.manual_seed(0)
    args = (torch.randn(6, 3), torch.randint(0, 8, (6, 2)))
    model = Ranking().eval()
    program = torch.export.export(model, args, dynamic_shapes=({0: BATCH}, {0: BATCH}))
    assert canonicalise(program) is program
    x, ids = torch.randn(batch, 3), torch.randint(0, 8, (batch, 2))
    torch.testing.assert_close(dlrmc.compile(program, target="reference")(x, ids), model(x, ids))


def test_what_writes_through_dropout_is_refused() -> None:
    """torch itself forgets the write when it traces such a program again."""
    with pytest.raises(UnsupportedOpsError, match="on the other side of dropout"):
        import_program(export_calls(write_behind_dropout))


def test_stacks_of_several_sizes_are_no_plain_product() -> None:
    """Nor does asking for their sizes make them equal for the program."""
    one, other = torch.export.Dim("one", max=64), torch.export.Dim("other", max=64)

    class Outer(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.matmul(x.unsqueeze(1), y.unsqueeze(0).transpose(2, 3))

    class Pairs(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.matmul(x, x.mT) + torch.matmul(y, y.mT).sum(0)

    args = (torch.randn(5, 2, 3), torch.randn(7, 2, 3))
    shapes = ({0: one}, {0: other})
    outer = torch.export.export(Outer().eval(), args, dynamic_shapes=shapes)
    assert not is_at_canon(outer)
    pairs = torch.export.export(Pairs().eval(), args, dynamic_shapes=shapes)
    assert is_at_canon(pairs)
    for program, model in ((outer, Outer()), (pairs, Pairs())):
        compiled = dlrmc.compile(program, target="reference")
        x, y = torch.randn(4, 2, 3), torch.randn(9, 2, 3)
        torch.testing.assert_close(compiled(x, y), model(x, y))


def test_a_call_without_its_type_is_traced_again() -> None:
    program = export_calls(bottom)
    del next(node for node in program.graph.nodes if node.op == "call_function").meta["val"]
    assert not is_at_canon(program)


def test_what_was_traced_under_autocast_is_traced_again() -> None:
    """Its types are those of casts that are not in the program."""
    linear, x = nn.Linear(3, 4).eval(), torch.randn(2, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        program = torch.export.export(linear, (x,))
        assert not is_at_canon(program)
        within = dlrmc.compile(program, target="reference")(x)
        torch.testing.assert_close(within, linear(x))
    outside = dlrmc.compile(program, target="reference")(x)
    torch.testing.assert_close(outside, program.module()(x))


def test_a_weight_that_changed_its_type_since_is_traced_again() -> None:
    program = export_calls(bottom)
    program.state_dict["weight"] = program.state_dict["weight"].to(torch.float64)
    assert not is_at_canon(program)


def test_a_weight_of_a_class_of_its_own_is_traced_again() -> None:
    class Tagged(torch.Tensor):
        pass

    program = export_calls(bottom)
    program.state_dict["weight"] = torch.ones(3).as_subclass(Tagged)
    assert not is_at_canon(program)


@pytest.mark.parametrize("target", sorted(WHOLE_AT_CANON))
def test_an_operator_of_the_list_is_imported_writes_nothing_and_stays_whole(target: str) -> None:
    overload = find_overload(target)
    assert overload is not None
    assert target in IMPORTERS
    assert not overload._schema.is_mutable
    assert overload not in canon_table()
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd")
    assert not composite or target in KEPT_WHOLE


@pytest.mark.parametrize("target", sorted({*READ_AS_THEY_ARE, *IN_PLACE.values(), *CONDITIONS}))
def test_an_operator_that_is_read_as_it_is_has_an_importer(target: str) -> None:
    assert target in IMPORTERS


@pytest.mark.parametrize("target", sorted(READ_AS_THEY_ARE))
def test_an_operator_that_is_read_as_it_is_writes_no_value(target: str) -> None:
    overload = find_overload(target)
    # `detach_` changes what autograd knows, and no number.
    assert overload is not None
    assert not overload._schema.is_mutable or target == "aten.detach_.default"
