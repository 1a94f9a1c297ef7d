"""torchfm 0.7.0 (pytorch-fm): every model, constructed as in its examples/main.py. Input: ids [B, fields]."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.zoo.model import Example, ZooModel

LIBRARY = "torchfm"
FIELD_SIZES = np.array([1000, 300, 50, 5, 12])

_DROPOUT = 0.2
# (name, module, class, arguments after the field sizes)
_MODELS: tuple[tuple[str, str, str, tuple[Any, ...]], ...] = (
    ("lr", "lr", "LogisticRegressionModel", ()),
    ("fm", "fm", "FactorizationMachineModel", (16,)),
    ("ffm", "ffm", "FieldAwareFactorizationMachineModel", (4,)),
    ("fnn", "fnn", "FactorizationSupportedNeuralNetworkModel", (16, (16, 16), _DROPOUT)),
    ("wd", "wd", "WideAndDeepModel", (16, (16, 16), _DROPOUT)),
    ("ipnn", "pnn", "ProductNeuralNetworkModel", (16, (16,), _DROPOUT, "inner")),
    ("opnn", "pnn", "ProductNeuralNetworkModel", (16, (16,), _DROPOUT, "outer")),
    ("dcn", "dcn", "DeepCrossNetworkModel", (16, 3, (16, 16), _DROPOUT)),
    ("nfm", "nfm", "NeuralFactorizationMachineModel", (64, (64,), (_DROPOUT, _DROPOUT))),
    ("ncf", "ncf", "NeuralCollaborativeFiltering", (np.array([0]), np.array([1]), 16, (16, 16), _DROPOUT)),
    ("fnfm", "fnfm", "FieldAwareNeuralFactorizationMachineModel", (4, (64,), (_DROPOUT, _DROPOUT))),
    ("dfm", "dfm", "DeepFactorizationMachineModel", (16, (16, 16), _DROPOUT)),
    (
        "xdfm",
        "xdfm",
        "ExtremeDeepFactorizationMachineModel",
        (16, (16, 16), _DROPOUT, (16, 16), True),
    ),
    (
        "xdfm whole",
        "xdfm",
        "ExtremeDeepFactorizationMachineModel",
        (16, (16, 16), _DROPOUT, (16, 16), False),
    ),
    ("afm", "afm", "AttentionalFactorizationMachineModel", (16, 16, (_DROPOUT, _DROPOUT))),
    ("afi", "afi", "AutomaticFeatureInteractionModel", (16, 64, 2, 3, (400, 400), (0, 0, 0))),
    ("afn", "afn", "AdaptiveFactorizationNetwork", (16, 64, (40, 40), (0, 0, 0))),
)


def ids(batch: int) -> torch.Tensor:
    """Ids [B, fields] below each field's size."""
    generator = torch.Generator().manual_seed(0)
    return torch.stack([torch.randint(0, int(n), (batch,), generator=generator) for n in FIELD_SIZES], 1)


def _maker(module: str, kind: str, arguments: tuple[Any, ...]) -> Callable[[int], Example]:
    def make(batch: int) -> Example:
        # NumPy 2 has no np.long, which the library's field offsets use.
        if not hasattr(np, "long"):
            np.long = np.int64  # pyright: ignore[reportAttributeAccessIssue]
        factory: Callable[..., nn.Module] = getattr(importlib.import_module(f"torchfm.model.{module}"), kind)
        return Example(factory(FIELD_SIZES, *arguments), (ids(batch),))

    return make


MODELS: tuple[ZooModel, ...] = tuple(
    ZooModel(LIBRARY, name, _maker(module, kind, arguments), kind)
    for name, module, kind, arguments in _MODELS
)
