"""The features of torch-rechub 0.9.0's models, and a request of them: a dict of tensors by feature name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from tests.zoo.model import Example, Maker, Sizes

LIBRARY = "torch-rechub"
TASKS = ["classification", "classification"]

# Features and the model that reads them.
Made = tuple[Sequence[Any], nn.Module]


def kinds() -> Any:
    """The library's classes of features."""
    from torch_rechub.basic import features

    return features


@dataclass(frozen=True)
class Features:
    """Features of given sizes, and the options of MLPs that go with them."""

    sizes: Sizes

    @property
    def mlp(self) -> dict[str, Any]:
        return {"dims": list(self.sizes.hidden), "dropout": 0.2, "activation": "relu"}

    @property
    def hidden(self) -> dict[str, Any]:
        return {"dims": list(self.sizes.hidden)}

    @property
    def tower(self) -> dict[str, Any]:
        """The MLP of one side of a matching model."""
        return {"dims": [self.sizes.hidden[0], self.sizes.width]}

    @property
    def heads(self) -> list[dict[str, Any]]:
        """The MLPs of two tasks."""
        return [{"dims": [8]}, {"dims": [8]}]

    def sparse(self) -> list[Any]:
        return [self.one(f"C{i}", rows) for i, rows in enumerate(self.sizes.rows)]

    def dense(self) -> list[Any]:
        return [kinds().DenseFeature(f"I{i}") for i in range(self.sizes.dense)]

    def one(self, name: str, rows: int, **options: Any) -> Any:
        return kinds().SparseFeature(name, rows, **{"embed_dim": self.sizes.width, **options})

    def several(self, name: str, rows: int, pooling: str = "concat", **options: Any) -> Any:
        """A list of ids a sample."""
        return kinds().SequenceFeature(name, rows, embed_dim=self.sizes.width, pooling=pooling, **options)

    def request(self, features: Sequence[Any], batch: int) -> dict[str, torch.Tensor]:
        """Ids [B], numbers [B], or ids [B, history] padded with 0 at their end."""
        generator = torch.Generator().manual_seed(5)
        length = self.sizes.history
        made: dict[str, torch.Tensor] = {}
        for feature in features:
            if isinstance(feature, kinds().DenseFeature):
                made[feature.name] = torch.rand(batch, generator=generator)
            elif isinstance(feature, kinds().SparseFeature):
                made[feature.name] = torch.randint(1, feature.vocab_size, (batch,), generator=generator)
            else:
                ids = torch.randint(1, feature.vocab_size, (batch, length), generator=generator)
                lengths = length - torch.arange(batch).unsqueeze(1) % length
                made[feature.name] = ids * (torch.arange(length) < lengths)
        return made


Builder = Callable[[Features], Made]


def maker(build: Builder) -> Maker:
    """The example of a builder of features and model."""

    def make(batch: int, sizes: Sizes) -> Example:
        features, model = build(Features(sizes))
        return Example(model, (Features(sizes).request(features, batch),))

    return make
