"""torchrec 1.9.2: DLRMs, DeepFM, cross networks. Input: numbers [B, dense], ids and offsets a feature.

torchrec's models take one KeyedJaggedTensor; its split depends on values, so it stands outside of the
exported program (`dlrmc.jagged`), and the library's own modules run on the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dlrmc.runtime.jagged import Feature, Split
from tests.zoo.model import Example, Maker, Sizes, ZooModel

LIBRARY = "torchrec"
# Longest bags; features beyond these have as many ids in turn.
LENGTHS = (3, 2, 1, 5)


@dataclass(frozen=True)
class _Features:
    """What torchrec's modules ask of a KeyedJaggedTensor, over features that are split already."""

    by_key: Mapping[str, Feature]

    def stride(self) -> int:
        return next(iter(self.by_key.values())).offsets.shape[0] - 1

    def inverse_indices_or_none(self) -> None:
        return None

    def to_dict(self) -> dict[str, Any]:
        from torchrec.sparse.jagged_tensor import JaggedTensor

        return {
            key: JaggedTensor(values=feature.ids, offsets=feature.offsets)
            for key, feature in self.by_key.items()
        }


class PerFeature(nn.Module):
    """A model of torchrec's with ids and offsets for each feature: dense [B, numbers] and a dict by key."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, dense: torch.Tensor, features: dict[str, Feature]) -> torch.Tensor:
        return self.model(dense, _Features(features))


def _keys(sizes: Sizes) -> list[str]:
    return [f"f{number}" for number in range(len(sizes.rows))]


def _inputs(batch: int, sizes: Sizes) -> tuple[torch.Tensor, dict[str, Any]]:
    """Bags from empty to their longest."""
    generator = torch.Generator().manual_seed(4)
    most = [LENGTHS[k % len(LENGTHS)] for k in range(len(sizes.rows))]
    lengths = torch.stack([(torch.arange(batch) + k) % (longest + 1) for k, longest in enumerate(most)])
    pairs = zip(sizes.rows, lengths.sum(1).tolist(), strict=True)
    ids = [torch.randint(0, rows, (count,), generator=generator) for rows, count in pairs]
    features = Split().split(torch.cat(ids), _keys(sizes), lengths=lengths.flatten())
    return torch.rand(batch, sizes.dense, generator=generator), features


def _collection(sizes: Sizes, pooling: str) -> Any:
    from torchrec.modules.embedding_configs import EmbeddingBagConfig, PoolingType
    from torchrec.modules.embedding_modules import EmbeddingBagCollection

    tables = [
        EmbeddingBagConfig(
            name=f"t_{key}",
            embedding_dim=sizes.width,
            num_embeddings=rows,
            feature_names=[key],
            pooling=PoolingType[pooling],
        )
        for key, rows in zip(_keys(sizes), sizes.rows, strict=True)
    ]
    return EmbeddingBagCollection(tables=tables)


Arguments = Callable[[Sizes], tuple[Any, ...]]


def _layers(sizes: Sizes) -> tuple[list[int], list[int]]:
    """Widths of the bottom and of the top MLP."""
    return [*sizes.hidden, sizes.width], [*sizes.hidden, 1]


def _projected(sizes: Sizes) -> tuple[list[int], ...]:
    """The same, and the widths of the two branches of the projection."""
    branch = [sizes.hidden[0], 4 * sizes.width]
    return (*_layers(sizes), branch, branch)


def _dlrm(kind: str, arguments: Arguments = _layers, pooling: str = "SUM", **options: Any) -> Maker:
    def make(batch: int, sizes: Sizes) -> Example:
        from torchrec.models import dlrm

        tables = _collection(sizes, pooling)
        model = getattr(dlrm, kind)(tables, sizes.dense, *arguments(sizes), **options)
        return Example(PerFeature(model), _inputs(batch, sizes))

    return make


def _deep_fm(batch: int, sizes: Sizes) -> Example:
    from torchrec.models.deepfm import SimpleDeepFMNN

    model = SimpleDeepFMNN(sizes.dense, _collection(sizes, "SUM"), 20, 5)
    return Example(PerFeature(model), _inputs(batch, sizes))


def _cross(kind: str, **options: Any) -> Maker:
    """A cross network alone: features [B, rows of vectors * width]."""

    def make(batch: int, sizes: Sizes) -> Example:
        from torchrec.modules import crossnet

        width = len(sizes.rows) * sizes.width
        features = torch.rand(batch, width, generator=torch.Generator().manual_seed(4))
        return Example(getattr(crossnet, kind)(in_features=width, num_layers=2, **options), (features,))

    return make


_MAKERS: tuple[tuple[str, Maker], ...] = (
    ("DLRM", _dlrm("DLRM")),
    ("DLRM mean bags", _dlrm("DLRM", pooling="MEAN")),
    ("DLRM_DCN", _dlrm("DLRM_DCN", dcn_num_layers=3, dcn_low_rank_dim=8)),
    ("DLRM_Projection", _dlrm("DLRM_Projection", _projected)),
    ("SimpleDeepFMNN", _deep_fm),
    ("CrossNet", _cross("CrossNet")),
    ("LowRankCrossNet", _cross("LowRankCrossNet", low_rank=4)),
    ("VectorCrossNet", _cross("VectorCrossNet")),
    ("LowRankMixtureCrossNet", _cross("LowRankMixtureCrossNet", low_rank=4, num_experts=3)),
)

MODELS: tuple[ZooModel, ...] = tuple(
    ZooModel(LIBRARY, name, maker, name.split()[0]) for name, maker in _MAKERS
)
