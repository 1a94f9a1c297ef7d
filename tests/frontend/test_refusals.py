"""What cannot be compiled is refused in one error that names every op and the user's line."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend import import_program

X = torch.randn(4, 6)


class Several(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.lgamma(x)
        z = torch.relu(x).erfinv()
        return torch.relu(y * 2) + z.digamma() + F.linear(x, x)[:, :1]


def test_all_unsupported_ops_are_listed_each_with_its_line() -> None:
    with pytest.raises(UnsupportedOpsError) as caught:
        import_program(torch.export.export(Several(), (X,)), name="several")
    items = caught.value.items
    # The digamma reads an erfinv that is refused, and is listed too: its operator is not in the table.
    assert [item.target for item in items] == [
        "aten.lgamma.default",
        "aten.erfinv.default",
        "aten.digamma.default",
    ]
    assert [item.source.partition(": ")[2] for item in items] == [
        "y = torch.lgamma(x)",
        "z = torch.relu(x).erfinv()",
        "return torch.relu(y * 2) + z.digamma() + F.linear(x, x)[:, :1]",
    ]
    message = str(caught.value)
    assert "program 'several': 3 ops that dlrmc cannot compile" in message
    assert all(item.source in message and item.source.startswith("test_refusals.py:") for item in items)


@pytest.mark.parametrize("core", [False, True])
def test_training_mode_batch_norm(core: bool) -> None:
    program = torch.export.export(nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6)).train(), (X,))
    with pytest.raises(
        UnsupportedOpsError, match=r"batch_norm is in training mode: call model\.eval\(\)"
    ) as caught:
        import_program(program.run_decompositions() if core else program)
    assert len([item for item in caught.value.items if "training mode" in item.reason]) == 1


@pytest.mark.parametrize("core", [False, True])
def test_live_dropout(core: bool) -> None:
    program = torch.export.export(nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)).train(), (X,))
    with pytest.raises(UnsupportedOpsError, match=r"dropout is live: call model\.eval\(\)") as caught:
        import_program(program.run_decompositions() if core else program)
    assert len(caught.value.items) == 1


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x + self.count


def test_a_buffer_that_is_written() -> None:
    with pytest.raises(UnsupportedOpsError, match="buffer mutation of 'count'") as caught:
        import_program(torch.export.export(Counter(), (X,)))
    assert "self.count += 1" in caught.value.items[0].source


class Writes(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2


def test_an_input_that_is_written() -> None:
    with pytest.raises(UnsupportedOpsError, match="user input mutation of 'x'"):
        import_program(torch.export.export(Writes(), (X.clone(),)))


class DividedByZero(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x // 0


def test_an_integer_divided_by_zero() -> None:
    with pytest.raises(UnsupportedOpsError, match="an integer divided by 0"):
        import_program(torch.export.export(DividedByZero(), (torch.arange(5),)))


class DataDependent(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        size = n.item()
        torch._check(size > 0)
        torch._check(size < 4)
        return x * size


def test_a_value_read_out_of_a_tensor() -> None:
    with pytest.raises(UnsupportedOpsError, match="depends on the values in a tensor") as caught:
        import_program(torch.export.export(DataDependent(), (X, torch.tensor(2))))
    assert caught.value.items[0].source.endswith("size = n.item()")


def test_a_refused_dtype_inside_a_program() -> None:
    class Short(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x.to(torch.int16) + 1).float()

    with pytest.raises(UnsupportedOpsError, match="dtype int16 is not one of"):
        import_program(torch.export.export(Short(), (X,)))
