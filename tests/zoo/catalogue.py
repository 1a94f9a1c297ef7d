"""All models of the zoo, by library."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tests.zoo import (
    deepctr_models,
    paper_models,
    plain_models,
    rechub_models,
    torchfm_models,
    torchrec_models,
)
from tests.zoo.model import ZooModel

MODELS: tuple[ZooModel, ...] = (
    *plain_models.MODELS,
    *paper_models.MODELS,
    *torchfm_models.MODELS,
    *deepctr_models.MODELS,
    *rechub_models.MODELS,
    *torchrec_models.MODELS,
)

_MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "": "torch",
        paper_models.LIBRARY: "torch",
        torchfm_models.LIBRARY: "torchfm",
        deepctr_models.LIBRARY: "deepctr_torch",
        rechub_models.LIBRARY: "torch_rechub",
        torchrec_models.LIBRARY: "torchrec",
    }
)

# What does not come out equal, with its status and a part of the reason; everything else must.
EXCEPTIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "torchfm/afm": ("unsupported", "dropout is live"),
        "torch-rechub/MIND": ("unsupported", "aten.randn"),
        "deepctr-torch/DIEN": ("no export", "data-dependent"),
        "torch-rechub/DIEN": ("no export", "data-dependent"),
        "torch-rechub/NARM": ("no export", "zeros()"),
        "deepctr-torch/DeepFM dice": ("eager fails", "AssertionError"),
        "deepctr-torch/DeepFM list max by length": ("eager fails", "bool tensor"),
    }
)

# Needs packages that its own requirements would replace torch for: `make zoo` installs it without them.
APART: Final = (torchrec_models.LIBRARY,)


def is_installed(library: str) -> bool:
    """Whether the models of a library can be made here."""
    return importlib.util.find_spec(_MODULES[library]) is not None


def select(patterns: Sequence[str]) -> list[ZooModel]:
    """The models whose label contains one of the patterns; all where there are none.

    Raises:
        ValueError: a pattern fits no model.
    """
    for pattern in patterns:
        if not any(pattern in model.label for model in MODELS):
            raise ValueError(f"no model of the zoo is called {pattern!r}")
    return [model for model in MODELS if not patterns or any(pattern in model.label for pattern in patterns)]
