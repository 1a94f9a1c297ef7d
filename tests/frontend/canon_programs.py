"""Programs that are at canon as they are exported, and some that are not, each of one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import ExportedProgram

Body = Callable[["Calls", torch.Tensor], Any]


class Calls(nn.Module):
    """A program of one function of a matrix [2,3], a weight and a counter."""

    count: torch.Tensor
    table: torch.Tensor

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.body = body
        self.weight = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("count", torch.zeros(3))
        self.register_buffer("table", torch.ones(2, 3))

    def forward(self, x: torch.Tensor) -> Any:
        return self.body(self, x)


def export_calls(body: Body, **options: Any) -> ExportedProgram:
    return torch.export.export(Calls(body).eval(), (torch.tensor([[1.0, -2, 3], [0.25, 5, -6]]),), **options)


def bottom(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * model.weight)


def count_calls(model: Calls, x: torch.Tensor) -> torch.Tensor:
    model.count.add_(1)
    return bottom(model, x)


def write_input(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return x.mul_(model.weight)


def write_a_view(model: Calls, x: torch.Tensor) -> torch.Tensor:
    copy = x.clone()
    copy[:, 0].mul_(3)
    return bottom(model, copy)


def write_what_a_view_sees(model: Calls, x: torch.Tensor) -> torch.Tensor:
    value = x * model.weight
    view = value.view(3, 2)
    value.add_(1)
    return view


def write_behind_dropout(model: Calls, x: torch.Tensor) -> torch.Tensor:
    value = x * model.weight
    F.dropout(value, training=False).add_(1)
    return value


def write_behind_dropout_after_the_last_reader(model: Calls, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    value = x * model.weight
    before = value + 1
    return F.dropout(value, training=False).add_(1), before


def write_half(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return (x * model.weight).half().mul_(model.weight)


def multiply_by_a_vector(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return x @ model.weight


def take_apart(model: Calls, x: torch.Tensor) -> torch.Tensor:
    return F.mish(x) * model.weight


OFF_CANON: Final = (
    *(count_calls, write_input, write_a_view, write_what_a_view_sees, write_behind_dropout),
    *(write_behind_dropout_after_the_last_reader, write_half, multiply_by_a_vector, take_apart),
)


def compute_unread(model: Calls, x: torch.Tensor) -> torch.Tensor:
    torch.sigmoid(x)[0:1].sum()
    return bottom(model, x)


def write_and_read_by_the_old_name(model: Calls, x: torch.Tensor) -> torch.Tensor:
    value = x * model.weight
    value.relu_()
    return value * 2


def accumulate(model: Calls, x: torch.Tensor) -> torch.Tensor:
    value = x * model.weight
    before = value + 1
    value += before
    value += torch.exp(before)
    return value


# An operator that canon spells otherwise, or that writes, and a function that torch.export keeps it in.
SPELLINGS: Final[Mapping[str, Body]] = MappingProxyType(
    {
        "aten.alias.default": lambda _m, x: torch.ops.aten.alias.default(x) + 1,
        "aten.contiguous.default": lambda _m, x: x.t().contiguous() + 1,
        "aten.detach.default": lambda m, x: m.weight.detach() + x,
        "aten.detach_.default": lambda _m, x: torch.tensor([[1.0], [2.0]]) * x,
        "aten.lift_fresh_copy.default": lambda _m, x: torch.tensor([1.0, 2.0, 4.0]) * x,
        "aten.dropout.default": lambda m, x: F.dropout(x * m.weight, training=False) + 1,
        "aten.batch_norm.default": lambda m, x: m.norm(x).relu_(),
        "aten.matmul.default": lambda m, x: (x @ m.table.t(), x.view(2, 1, 3) @ m.table.view(2, 3, 1)),
        "aten.to.device": lambda _m, x: x.to("cpu", torch.float64) + 1,
        "aten.to.dtype": lambda _m, x: x.to(torch.float16) + x.to(torch.float32),
        "aten.to.dtype_layout": lambda _m, x: x.double().cpu() + 1,
        "aten.flatten.using_ints": lambda _m, x: (x + 1).flatten() * 2,
        "aten.unflatten.int": lambda _m, x: x.unflatten(1, (3, 1)) + 1,
        "aten.reshape.default": lambda _m, x: x.t().reshape(-1, 2) + 1,
        "aten.squeeze.default": lambda _m, x: x[:1].squeeze() + 1,
        "aten.squeeze.dim": lambda _m, x: x[:, :1].squeeze(-1) + x[:, 0].squeeze(0),
        "aten.t.default": lambda m, x: m.table.t() + x.t(),
        "aten.mT.default": lambda _m, x: x.view(1, 2, 3).mT + 1,
        "aten.transpose.int": lambda _m, x: x.transpose(0, -1) + 1,
        "aten.expand_as.default": lambda m, x: m.weight.expand_as(x) + x,
        "aten.chunk.default": lambda _m, x: x.chunk(2, dim=1)[1] + x.chunk(9, dim=-1)[0],
        "aten.split.Tensor": lambda _m, x: x.split(2, dim=1)[1] + 1,
        "aten.stack.default": lambda m, x: (torch.stack([x, m.table], 1), torch.stack([x, m.table], -1)),
        "aten.unbind.int": lambda _m, x: x.unbind(0)[1] * x.unbind(-1)[2][0],
        "aten.arange.default": lambda _m, x: torch.arange(3) + x,
        "aten.arange.start": lambda _m, x: torch.arange(1, 4) + x,
        "aten.full_like.default": lambda _m, x: torch.full_like(x, 2.5) + x,
        "aten.new_zeros.default": lambda _m, x: torch.cat([x.new_zeros(1, 3), x]),
        "aten.new_ones.default": lambda _m, x: torch.cat([x.new_ones(1, 3), x]),
        "aten.ones.default": lambda _m, x: torch.ones(2, 3) - x,
        "aten.ones_like.default": lambda _m, x: torch.ones_like(x) - x,
        "aten.zeros.default": lambda _m, x: torch.cat([torch.zeros(2, 1), x], 1),
        "aten.zeros_like.default": lambda _m, x: torch.where(x > 0, x, torch.zeros_like(x)),
        "aten.clamp_min.default": lambda _m, x: torch.clamp_min(x, 0.5),
        "aten.log_softmax.int": lambda _m, x: F.log_softmax(x, dim=-1),
        "aten.masked_fill.Scalar": lambda _m, x: x.masked_fill(x > 1, -9.0),
        "aten.rsub.Scalar": lambda _m, x: 1 - x,
        "aten.silu.default": lambda _m, x: F.silu(x),
        "aten.add_.Tensor": accumulate,
        "aten.sub_.Tensor": lambda m, x: (x * 2).sub_(m.weight, alpha=3),
        "aten.mul_.Tensor": lambda m, x: (x + 1).mul_(m.weight),
        "aten.div_.Tensor": lambda m, x: (x + 1).div_(m.weight),
        "aten.relu_.default": write_and_read_by_the_old_name,
        "aten.leaky_relu_.default": lambda m, x: F.leaky_relu_(x * m.weight, 0.2),
        "aten.sigmoid_.default": lambda m, x: torch.sigmoid_(x * m.weight),
        "aten.tanh_.default": lambda m, x: torch.tanh_(x * m.weight),
    }
)
