"""The short way of a call: which calls take it, and that every other goes the long way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dlrmc.errors import BoundsError
from dlrmc.options import Options
from dlrmc.runtime import address_reader
from dlrmc.runtime.address_reader import FEWEST_TENSORS
from dlrmc.runtime.compiled import Compiled
from tests.runtime.fake_cuda import FakeDriver, compile_on_fake_cuda
from tests.runtime.programs import DENSE, IDS, LOOKUP, TABLE, eager_lookup, make_build, make_program

PACKED = """graph @packed {
  input %x : f32[2,3]
  weight %w : f32[4,3] = "w"
  %wt = derive(%w) {
    %t = permute(%w) {perm=[1,0]} : f32[3,4]
    yield %t
  } : f32[3,4]
  %y = mm(%x, %wt) : f32[2,4]
  return %y
}
"""


def compile_text(
    text: str,
    cache_dir: Path,
    weights: dict[str, torch.Tensor],
    args: tuple[str, ...],
    results: Any,
    **more: Any,
) -> tuple[Compiled, FakeDriver]:
    program = make_program(text, weights, args, {}, results)
    return compile_on_fake_cuda(make_build(program, Options(target="emulate", cache_dir=cache_dir, **more)))


@pytest.fixture
def lookup(cache_dir: Path) -> tuple[Compiled, FakeDriver]:
    compiled, driver = compile_text(LOOKUP, cache_dir, {"table": TABLE}, ("dense", "ids"), (0, 1))
    compiled(DENSE, IDS)
    return compiled, driver


def agree(found: Any, dense: torch.Tensor = DENSE, ids: torch.Tensor = IDS) -> None:
    for one, other in zip(found, eager_lookup(dense, ids), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_ordinary_calls_take_it(lookup: tuple[Compiled, FakeDriver]) -> None:
    compiled, driver = lookup
    agree(compiled._quick((DENSE, IDS)))
    fresh = DENSE + 1, IDS.flip(0)
    agree(compiled._quick(fresh), *fresh)
    fresh[0].mul_(2)
    agree(compiled._quick(fresh), *fresh)
    assert compiled.calls == 4
    assert [event[0] for event in driver.events].count("graph") == 4


def test_captures_go_the_long_way(lookup: tuple[Compiled, FakeDriver]) -> None:
    compiled, driver = lookup
    driver.stream = 7
    compiled(DENSE, IDS)
    agree(compiled._quick((DENSE, IDS)))
    driver.captures = True
    assert compiled._quick((DENSE, IDS)) is None
    agree(compiled(DENSE, IDS))
    assert compiled.stats()["without_graph"] == 1


def test_the_default_stream_cannot_be_captured_and_is_not_asked(lookup: tuple[Compiled, FakeDriver]) -> None:
    original, driver = lookup
    asked: list[int] = []
    driver.is_capturing = lambda: bool(asked.append(driver.stream))
    compiled = original.replica()
    compiled(DENSE, IDS)
    asked.clear()
    agree(compiled._quick((DENSE, IDS)))
    assert asked == []
    driver.stream = 7
    compiled(DENSE, IDS)
    asked.clear()
    agree(compiled._quick((DENSE, IDS)))
    assert asked == [7]


def test_another_stream_goes_the_long_way(lookup: tuple[Compiled, FakeDriver]) -> None:
    compiled, driver = lookup
    driver.stream = 7
    assert compiled._quick((DENSE, IDS)) is None
    agree(compiled(DENSE, IDS))


@pytest.mark.parametrize(
    "args",
    [
        (DENSE,),
        (DENSE.double(), IDS),
        (DENSE.t().contiguous().t(), IDS),
        (DENSE[:2], IDS),
        ([DENSE], IDS),
        (DENSE, IDS.tolist()),
        (torch._neg_view(DENSE), IDS),
    ],
    ids=["fewer", "dtype", "strides", "shape", "structure", "a list", "lazy"],
)
def test_other_arguments_go_the_long_way(args: tuple[Any, ...], lookup: tuple[Compiled, FakeDriver]) -> None:
    assert lookup[0]._quick(args) is None
    assert lookup[0].calls == 1


def test_tensors_that_change_in_place_go_the_long_way(lookup: tuple[Compiled, FakeDriver]) -> None:
    compiled, _ = lookup
    dense, ids = DENSE.clone(), IDS.clone()
    compiled(dense, ids)
    ids.resize_(2)
    assert compiled._quick((dense, ids)) is None
    ids = IDS.clone()
    compiled(dense, ids)
    dense.data = DENSE + 5
    agree(compiled._quick((dense, ids)), DENSE + 5)
    dense.set_((DENSE + 7).t().contiguous().t())
    assert compiled._quick((dense, ids)) is None
    agree(compiled(dense, ids), DENSE + 7)


def test_a_fault_that_waits_is_raised_by_the_long_way(lookup: tuple[Compiled, FakeDriver]) -> None:
    compiled, _ = lookup
    compiled(DENSE, torch.tensor([1, 99, 0, 0]))
    assert compiled._quick((DENSE, IDS)) is None
    with pytest.raises(BoundsError):
        compiled(DENSE, IDS)
    agree(compiled._quick((DENSE, IDS)))


def test_raise_goes_the_long_way(cache_dir: Path) -> None:
    compiled, _ = compile_text(LOOKUP, cache_dir, {"table": TABLE}, ("dense", "ids"), (0, 1), bounds="raise")
    compiled(DENSE, IDS)
    assert compiled._quick((DENSE, IDS)) is None


def test_written_weights_go_the_long_way(cache_dir: Path) -> None:
    weight, x = torch.randn(4, 3), torch.randn(2, 3)
    compiled, _ = compile_text(PACKED, cache_dir, {"w": weight}, ("x",), 0)
    compiled(x)
    assert compiled._quick((x,)) is not None
    weight.mul_(3)
    assert compiled._quick((x,)) is None
    torch.testing.assert_close(compiled(x), x @ weight.t())
    torch.testing.assert_close(compiled._quick((x,)), x @ weight.t())


# As many inputs as a compiled loop reads, each of its own.
MANY = FEWEST_TENSORS + 1
SUM = "\n".join(
    [
        "graph @sum {",
        *(f"  input %x{n} : f32[4]" for n in range(MANY)),
        "  %s0 = add(%x0, %x0) : f32[4]",
        *(f"  %s{n} = add(%s{n - 1}, %x{n}) : f32[4]" for n in range(1, MANY)),
        f"  return %s{MANY - 1}",
        "}\n",
    ]
)


@pytest.mark.parametrize("fewest", [MANY, MANY + 1], ids=["compiled", "Python"])
def test_many_inputs_are_read_where_they_lie_now(
    fewest: int, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address_reader, "FEWEST_TENSORS", fewest)
    program = make_program(SUM, {}, ("x0", [f"x{n}" for n in range(1, MANY)]), {}, 0)
    compiled, _ = compile_on_fake_cuda(make_build(program, Options(target="emulate", cache_dir=cache_dir)))
    first, others = torch.arange(4.0), [torch.full((4,), float(n)) for n in range(1, MANY)]

    def expected() -> torch.Tensor:
        return first + sum([first, *others])

    torch.testing.assert_close(compiled(first, others), expected())
    torch.testing.assert_close(compiled._quick((first, others)), expected())
    others[3].data = torch.ones(4)  # another address under the same object
    torch.testing.assert_close(compiled._quick((first, others)), expected())
    others[4] = torch.arange(5.0)[1:]  # 4 bytes behind a multiple of 16: copied
    torch.testing.assert_close(compiled._quick((first, others)), expected())
    others[5] = others[6] = first  # one object in several places
    torch.testing.assert_close(compiled._quick((first, others)), expected())
    others[2].resize_(2)
    assert compiled._quick((first, others)) is None
    assert compiled._quick((first, tuple(others))) is None
    assert compiled._quick((first, others[1:])) is None
