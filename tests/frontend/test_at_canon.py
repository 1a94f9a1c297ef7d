"""Programs that torch need not trace again, and those that it must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram

from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend import import_program
from dlrmc.frontend.at_canon import WHOLE_AT_CANON, is_at_canon
from dlrmc.frontend.aten import IMPORTERS
from dlrmc.frontend.canon import KEPT_WHOLE, canon_table, canonicalise, find_overload
from dlrmc.ir.printer import print_graph
from tests.models.plain import PlainConfig, build, example_inputs, export


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


class Calls(nn.Module):
    """A program of one function of a matrix, a weight and a counter."""

    count: torch.Tensor

    def __init__(self, body: Callable[[Calls, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.body = body
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(self, x)


def export_calls(body: Callable[[Calls, torch.Tensor], torch.Tensor], **options: Any) -> ExportedProgram:
    return torch.export.export(Calls(body).eval(), (torch.ones(2, 3),), **options)


def bottom(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * model.weight)


def count_calls(model: Calls, x: torch.Tensor) -> torch.Tensor:
    model.count.add_(1)
    return bottom(model, x)


def write_input(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return x.mul_(model.weight)


def write_view(model: Calls, x: torch.Tensor) -> torch.Tensor:
    copy = x.clone()
    copy[:, 0].mul_(3)
    return bottom(model, copy)


def compute_unread(model: Calls, x: torch.Tensor) -> torch.Tensor:
    torch.sigmoid(x)
    return model.weight * 2


def take_apart(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(x) * model.weight


def programs_at_canon() -> dict[str, ExportedProgram]:
    config = PlainConfig()
    args, _kwargs = example_inputs(config)
    tower = (torch.zeros(2, 5, dtype=torch.int64), torch.ones(2, 3, 4))
    return {
        "plain": export(build(config), args, form="undecomposed"),
        "tower": torch.export.export(Tower().eval(), tower),
        "bottom": export_calls(bottom),
    }


@pytest.mark.parametrize("name", ["plain", "tower", "bottom"])
def test_a_program_at_canon_is_imported_as_torch_would_trace_it_again(name: str) -> None:
    program = programs_at_canon()[name]
    assert canonicalise(program) is program
    traced = program.run_decompositions(canon_table())
    direct, again = import_program(program), import_program(traced)
    assert print_graph(direct.graph) == print_graph(again.graph)
    assert (direct.inputs, direct.outputs, direct.aliases, direct.baked) == (
        *(again.inputs, again.outputs, again.aliases, again.baked),
    )
    assert (direct.in_spec, direct.out_spec) == (again.in_spec, again.out_spec)
    assert direct.weights.keys() == again.weights.keys()


@pytest.mark.parametrize("body", [count_calls, write_input, write_view, compute_unread, take_apart])
def test_what_writes_goes_unread_or_is_taken_apart_is_traced_again(
    body: Callable[[Calls, torch.Tensor], torch.Tensor],
) -> None:
    assert not is_at_canon(export_calls(body))


@pytest.mark.parametrize("body", [count_calls, write_input])
def test_what_writes_is_refused(body: Callable[[Calls, torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(UnsupportedOpsError, match="changes nothing"):
        import_program(export_calls(body))


def test_dynamic_sizes_are_traced_again() -> None:
    batch = torch.export.Dim("batch", min=2, max=64)
    assert not is_at_canon(export_calls(bottom, dynamic_shapes={"x": {0: batch}}))


def test_a_call_without_its_type_is_traced_again() -> None:
    program = export_calls(bottom)
    del next(node for node in program.graph.nodes if node.op == "call_function").meta["val"]
    assert not is_at_canon(program)


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
    if target == "aten.transpose.int":
        return
    assert overload not in canon_table()
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd")
    assert not composite or target in KEPT_WHOLE
