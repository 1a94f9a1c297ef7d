"""torchfm 0.7.0 (pytorch-fm): every model, as in its examples/main.py. Input: ids [B, fields]."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tests.zoo.model import Example, Maker, Sizes, ZooModel

LIBRARY = "torchfm"
_DROPOUT = 0.2

Arguments = Callable[[Sizes], tuple[Any, ...]]

# (name, module, class, arguments after the field sizes)
_MODELS: tuple[tuple[str, str, str, Arguments], ...] = (
    ("lr", "lr", "LogisticRegressionModel", lambda s: ()),
    ("fm", "fm", "FactorizationMachineModel", lambda s: (s.width,)),
    ("ffm", "ffm", "FieldAwareFactorizationMachineModel", lambda s: (4,)),
    (
        "fnn",
        "fnn",
        "FactorizationSupportedNeuralNetworkModel",
        lambda s: (s.width, s.hidden, _DROPOUT),
    ),
    ("wd", "wd", "WideAndDeepModel", lambda s: (s.width, s.hidden, _DROPOUT)),
    ("ipnn", "pnn", "ProductNeuralNetworkModel", lambda s: (s.width, s.hidden, _DROPOUT, "inner")),
    ("opnn", "pnn", "ProductNeuralNetworkModel", lambda s: (s.width, s.hidden, _DROPOUT, "outer")),
    ("dcn", "dcn", "DeepCrossNetworkModel", lambda s: (s.width, 3, s.hidden, _DROPOUT)),
    (
        "nfm",
        "nfm",
        "NeuralFactorizationMachineModel",
        lambda s: (4 * s.width, s.hidden, (_DROPOUT, _DROPOUT)),
    ),
    (
        "ncf",
        "ncf",
        "NeuralCollaborativeFiltering",
        lambda s: (np.array([0]), np.array([1]), s.width, (s.width, s.width), _DROPOUT),
    ),
    (
        "fnfm",
        "fnfm",
        "FieldAwareNeuralFactorizationMachineModel",
        lambda s: (4, s.hidden, (_DROPOUT, _DROPOUT)),
    ),
    ("dfm", "dfm", "DeepFactorizationMachineModel", lambda s: (s.width, s.hidden, _DROPOUT)),
    (
        "xdfm",
        "xdfm",
        "ExtremeDeepFactorizationMachineModel",
        lambda s: (s.width, s.hidden, _DROPOUT, (16, 16), True),
    ),
    (
        "xdfm whole",
        "xdfm",
        "ExtremeDeepFactorizationMachineModel",
        lambda s: (s.width, s.hidden, _DROPOUT, (16, 16), False),
    ),
    (
        "afm",
        "afm",
        "AttentionalFactorizationMachineModel",
        lambda s: (s.width, s.width, (_DROPOUT, _DROPOUT)),
    ),
    (
        "afi",
        "afi",
        "AutomaticFeatureInteractionModel",
        lambda s: (s.width, 64, 2, 3, (400, 400), (0, 0, 0)),
    ),
    ("afn", "afn", "AdaptiveFactorizationNetwork", lambda s: (s.width, 64, (40, 40), (0, 0, 0))),
)


def ids(batch: int, rows: Sequence[int]) -> torch.Tensor:
    """Ids [B, fields] below each field's number of rows."""
    generator = torch.Generator().manual_seed(0)
    return torch.stack([torch.randint(0, n, (batch,), generator=generator) for n in rows], 1)


def _maker(module: str, kind: str, arguments: Arguments) -> Maker:
    def make(batch: int, sizes: Sizes) -> Example:
        # NumPy 2 has no np.long, which the library's field offsets use.
        if not hasattr(np, "long"):
            np.long = np.int64  # pyright: ignore[reportAttributeAccessIssue]
        factory = getattr(importlib.import_module(f"torchfm.model.{module}"), kind)
        return Example(factory(np.array(sizes.rows), *arguments(sizes)), (ids(batch, sizes.rows),))

    return make


MODELS: tuple[ZooModel, ...] = tuple(
    ZooModel(LIBRARY, name, _maker(module, kind, arguments), kind)
    for name, module, kind, arguments in _MODELS
)
