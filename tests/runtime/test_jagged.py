from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import dlrmc
from dlrmc.errors import InputError
from dlrmc.runtime.jagged import Feature, JaggedProgram, Split, is_jagged

KEYS = ("user", "item", "tag")
LENGTHS = (2, 0, 1, 1, 3, 0)  # two bags of each feature
VALUES = (1, 2, 3, 4, 0, 1, 2)


class Keyed:
    """As much of a KeyedJaggedTensor as is needed, with lengths only."""

    def __init__(
        self,
        lengths: Sequence[int] = LENGTHS,
        values: Sequence[int] = VALUES,
        *,
        weights: torch.Tensor | None = None,
        dtype: torch.dtype = torch.int64,
    ) -> None:
        self._lengths = torch.tensor(lengths, dtype=dtype)
        self._values = torch.tensor(values, dtype=dtype)
        self._weights = weights

    def keys(self) -> Sequence[str]:
        return KEYS

    def values(self) -> torch.Tensor:
        return self._values

    def lengths(self) -> torch.Tensor:
        return self._lengths

    def weights_or_none(self) -> torch.Tensor | None:
        return self._weights


class WithOffsets(Keyed):
    """The same with the offsets, and their positions on the host."""

    def offsets(self) -> torch.Tensor:
        return F.pad(torch.cumsum(self._lengths, 0), (1, 0))

    def offset_per_key(self) -> list[int]:
        return self.offsets()[:: len(self._lengths) // len(KEYS)].tolist()


def plain(features: dict[str, Any]) -> dict[str, tuple[list[int], ...]]:
    return {key: tuple(tensor.tolist() for tensor in feature) for key, feature in features.items()}


@pytest.mark.parametrize("kind", [Keyed, WithOffsets])
def test_features_are_split_by_key(kind: type[Keyed]) -> None:
    assert plain(Split().features(kind())) == {
        "user": ([1, 2], [0, 2, 2]),
        "item": ([3, 4], [0, 1, 2]),
        "tag": ([0, 1, 2], [0, 3, 3]),
    }


def test_the_last_offset_may_be_left_out() -> None:
    found = Split(include_last_offset=False).features(Keyed())
    assert plain(found)["user"] == ([1, 2], [0, 2])
    assert isinstance(found["user"], Feature)


def test_ids_are_padded_to_their_capacity_behind_the_last_bag() -> None:
    found = plain(Split({"user": 4, "item": 2, "tag": 3}).features(Keyed()))
    assert found["user"] == ([1, 2, 0, 0], [0, 2, 2])
    assert found["item"] == ([3, 4], [0, 1, 2])


def test_weights_go_with_the_ids() -> None:
    found = Split(4).features(Keyed(weights=torch.arange(7.0)))
    assert plain(found)["item"] == ([3, 4, 0, 0], [0, 1, 2], [2.0, 3.0, 0.0, 0.0])


def test_the_integers_stay_as_they_are() -> None:
    for dtype in (torch.int32, torch.int64):
        user = Split().features(Keyed(dtype=dtype))["user"]
        assert user.ids.dtype is user.offsets.dtype is dtype


def test_plain_tensors_are_split_by_offsets_or_by_lengths() -> None:
    lengths, values = torch.tensor(LENGTHS), torch.tensor(VALUES)
    by_lengths = Split().split(values, KEYS, lengths=lengths)
    offsets = F.pad(torch.cumsum(lengths, 0), (1, 0))
    assert plain(by_lengths) == plain(Split().split(values, KEYS, offsets=offsets))
    assert plain(by_lengths) == plain(Split().features(Keyed()))


def test_no_bags_at_all() -> None:
    empty = torch.zeros(0, dtype=torch.int64)
    assert plain(Split().split(empty, KEYS, lengths=empty)) == {key: ([], [0]) for key in KEYS}


BAD = {
    "bags": ({"lengths": torch.tensor([1, 2])}, "2 bags for 3 features"),
    "both": ({"lengths": torch.ones(3), "offsets": torch.ones(4)}, "both or neither"),
    "neither": ({}, "both or neither"),
}


@pytest.mark.parametrize("name", BAD)
def test_sizes_that_do_not_fit_are_refused(name: str) -> None:
    given, message = BAD[name]
    with pytest.raises(InputError, match=message):
        Split().split(torch.tensor(VALUES), KEYS, **given)


def test_ids_that_do_not_fit_are_refused_with_the_capacity() -> None:
    with pytest.raises(InputError, match="feature 'tag': 3 ids\n  expected: at most 2") as caught:
        Split(2).features(Keyed())
    assert "export again" in str(caught.value)


def test_a_feature_without_a_capacity_is_refused() -> None:
    with pytest.raises(InputError, match="feature 'item': no capacity"):
        Split({"user": 8}).features(Keyed())


def test_keys_and_values_that_do_not_fit_are_refused() -> None:
    ones = torch.ones(2, dtype=torch.int64)
    with pytest.raises(InputError, match="different names"):
        Split().split(ones, ("a", "a"), lengths=ones)
    with pytest.raises(InputError, match="one dimension"):
        Split().split(ones.reshape(1, 2), ("a", "b"), lengths=ones)


def test_features_of_different_batches_are_refused() -> None:
    class Varied(Keyed):
        def stride_per_key(self) -> list[int]:
            return [2, 1, 3]

    with pytest.raises(InputError, match="features of 1, 2, 3 bags"):
        Split().features(Varied())


def test_padding_needs_the_last_offset() -> None:
    with pytest.raises(InputError, match="last bag would take in the padding"):
        Split(8, include_last_offset=False)


def test_what_is_jagged() -> None:
    assert is_jagged(Keyed())
    assert is_jagged(WithOffsets())
    assert not any(map(is_jagged, ({}, torch.ones(2), [], None, 3)))


class Model(nn.Module):
    """Three features, two of which share a table; one weighted."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        options = {"mode": "sum", "include_last_offset": True}
        self.tables = nn.ModuleList([nn.EmbeddingBag(5, width, **options) for width in (4, 3)])

    def forward(self, dense: torch.Tensor, features: dict[str, Any]) -> torch.Tensor:
        bags = [self.tables[table](*features[key]) for key, table in zip(KEYS, (0, 1, 0), strict=True)]
        return torch.relu(torch.cat([dense, *bags], 1))


REQUESTS = [
    Keyed(),
    WithOffsets(),
    Keyed((0, 0, 0, 0, 0, 0), ()),
    Keyed((1, 7, 0, 0, 8, 0), (4,) * 16),
    Keyed((1, 1, 1, 1, 1, 1), (0, 1, 2, 3, 4, 0)),
]


@pytest.mark.parametrize("target", ["reference", "emulate"])
@pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
def test_one_program_serves_requests_of_any_number_of_ids(target: str, is_weighted: bool) -> None:
    model, dense = Model().eval(), torch.randn(2, 2)
    eager, padded = JaggedProgram(model), JaggedProgram(model, capacities=8)
    example = padded.arguments((dense, _request(Keyed(), is_weighted)))
    compiled = dlrmc.compile(torch.export.export(model, example), target=target, bounds="raise")
    program = dlrmc.jagged.JaggedProgram(compiled, capacities=8)
    for request in REQUESTS:
        jagged = _request(request, is_weighted)
        with torch.no_grad():
            torch.testing.assert_close(program(dense, jagged), eager(dense, jagged), rtol=0, atol=0)
    with pytest.raises(InputError, match="at most 8"):
        program(dense, Keyed((9, 0, 0, 0, 0, 0), (0,) * 9))


def _request(request: Keyed, is_weighted: bool) -> Keyed:
    if is_weighted:
        request._weights = torch.linspace(-1, 1, len(request.values()))
    else:
        request._weights = None
    return request


class TwoTables(nn.Module):
    """Bags of two features, with their last offsets, and a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.users = nn.EmbeddingBag(5, 4, mode="sum", include_last_offset=True)
        self.items = nn.EmbeddingBag(7, 4, mode="sum", include_last_offset=True)
        self.layer = nn.Linear(8, 1)

    def forward(self, features: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        bags = [self.users(*features["user"]), self.items(*features["item"])]
        return torch.sigmoid(self.layer(torch.cat(bags, 1)))


@torch.no_grad()
def test_any_number_of_ids_is_one_program_where_they_are_dims() -> None:
    model, split = TwoTables().eval(), Split()

    def features(*lengths: int) -> dict[str, Any]:
        ids = torch.arange(sum(lengths)) % 5
        found = split.split(ids, ("user", "item"), lengths=torch.tensor(lengths))
        return {key: tuple(each) for key, each in found.items()}

    dims = {key: ({0: torch.export.Dim(f"{key}_ids", min=0)}, None) for key in ("user", "item")}
    program = torch.export.export(model, (features(2, 1, 3, 2),), dynamic_shapes={"features": dims})
    compiled = dlrmc.compile(program, target="emulate", bounds="raise")
    for lengths in ((2, 1, 3, 2), (0, 0, 0, 0), (9, 0, 1, 40), (0, 3, 0, 0)):
        args = features(*lengths)
        torch.testing.assert_close(compiled(args), model(args), rtol=0, atol=1e-6)
    assert compiled.stats()["built"] == 1
