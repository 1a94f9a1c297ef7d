"""Random programs that write in place through views: read as they are or traced again, they equal eager."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dlrmc
from dlrmc.errors import UnsupportedOpsError
from dlrmc.frontend.aliasing import lost_writes
from dlrmc.frontend.at_canon import IN_PLACE, is_at_canon

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
SEEDS: Final = range(32)


def square(value: torch.Tensor) -> torch.Tensor:
    """The value as [4,4]: a view where that is possible."""
    return value.reshape(4, 4)


STEPS: Final[Mapping[str, Step]] = MappingProxyType(
    {
        "add": lambda p, q: square(p) + square(q),
        "mul": lambda p, q: square(p) * square(q),
        "relu": lambda p, _q: F.relu(p),
        "view": lambda p, _q: square(p).view(2, 8) if square(p).is_contiguous() else p + 0,
        "transpose": lambda p, _q: square(p).t(),
        "chunk": lambda p, _q: torch.cat(square(p).chunk(2, 1)[::-1], 1),
        "detach": lambda p, _q: p.detach(),
        "flatten": lambda p, _q: square(p).flatten().unflatten(0, (2, 8)),
        "expand_as": lambda p, q: square(p).expand_as(square(q)),
        "add_": lambda p, q: p.add_(q.reshape(p.shape) + 0),
        "sub_": lambda p, q: p.sub_(q.reshape(p.shape) + 0),
        "mul_": lambda p, q: p.mul_(q.reshape(p.shape) + 0),
        "relu_": lambda p, _q: F.relu_(p),
        "dropout": lambda p, _q: F.dropout(p, training=False),
    }
)


class RandomWrites(nn.Module):
    """Each step reads one or two earlier values and may write the first; the latest values are returned."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        source = random.Random(seed)
        self.weight = nn.Parameter(torch.randn(4, 4, generator=torch.Generator().manual_seed(seed)))
        self.steps = [
            (source.choice(list(STEPS)), source.random(), source.random())
            for _ in range(source.randint(2, 6))
        ]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = [x * self.weight]
        for name, one, other in self.steps:
            first, second = (values[int(place * len(values))] for place in (one, other))
            values.append(STEPS[name](first, second))
        return tuple(value * 1 for value in values[-2:])


@pytest.mark.parametrize("seed", SEEDS)
def test_random_writes_equal_eager(seed: int) -> None:
    model, x = RandomWrites(seed).eval(), torch.randn(4, 4, generator=torch.Generator().manual_seed(~seed))
    with torch.no_grad():
        expected = model(x.clone())
        program = torch.export.export(model, (x.clone(),))
    if lost_writes(list(program.graph.nodes)):
        with pytest.raises(UnsupportedOpsError, match="on the other side of dropout"):
            dlrmc.compile(program, target="reference")
        return
    found = dlrmc.compile(program, target="reference")(x)
    torch.testing.assert_close(found, expected)


def test_the_seeds_have_writes_of_both_kinds() -> None:
    programs = [torch.export.export(RandomWrites(seed).eval(), (torch.ones(4, 4),)) for seed in SEEDS]
    writing = [
        program for program in programs if IN_PLACE.keys() & {str(n.target) for n in program.graph.nodes}
    ]
    assert {is_at_canon(program) for program in writing} == {True, False}
    assert {bool(lost_writes(list(program.graph.nodes))) for program in writing} == {True, False}
