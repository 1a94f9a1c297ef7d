"""One entry of the zoo: a public model as its library instantiates it, and inputs for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils import _pytree as pytree


@dataclass(frozen=True)
class Example:
    """A model and the arguments of one call."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sizes:
    """How large the models of the libraries are made.

    Args:
        rows: of the tables of plain id features.
        dense: numeric features.
        width: of a row.
        hidden: widths of the MLPs.
        history: ids of a list.
        users: rows of the table of users.
        items: rows of the table of items.
    """

    rows: tuple[int, ...] = (1000, 300, 50, 5, 12, 24)
    dense: int = 4
    width: int = 8
    hidden: tuple[int, ...] = (32, 16)
    history: int = 6
    users: int = 200
    items: int = 100


SMALL = Sizes()
# The tables of the Criteo Kaggle set, none above 100,000 rows; MLPs as the libraries' papers have them.
REAL = Sizes(
    rows=(
        *(1460, 583, 100000, 100000, 305, 24, 12517, 633, 3, 93145, 5683, 100000, 3194),
        *(27, 14992, 100000, 10, 5652, 2173, 4, 100000, 18, 15, 100000, 105, 100000),
    ),
    dense=13,
    width=16,
    hidden=(256, 128),
    history=50,
    users=100000,
    items=100000,
)

Maker = Callable[[int, Sizes], Example]


@dataclass(frozen=True)
class ZooModel:
    """A class of a library in one configuration.

    Args:
        library: the distribution it comes from; empty for the project's own models.
        name: class and configuration.
        make: the example for a batch size, and sizes.
        kind: the class that is counted; several configurations may share it.
    """

    library: str
    name: str
    make: Maker
    kind: str = ""

    @property
    def label(self) -> str:
        """What a report calls it."""
        return f"{self.library or 'plain'}/{self.name}"

    def example(self, batch: int, sizes: Sizes = SMALL) -> Example:
        """The example in evaluation mode, with the same weights and inputs each time.

        Raises:
            ImportError: the library is not installed.
        """
        torch.manual_seed(0)
        with _unset_memory_is_nan():
            example = self.make(batch, sizes)
        _disturb(example.model.eval())
        return example


@contextmanager
def _unset_memory_is_nan() -> Iterator[None]:
    """A parameter that its model leaves unset (`torch.Tensor(2, 3)`) is seen, whatever the memory held."""
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(mode=False)


def _disturb(model: nn.Module) -> None:
    """Move weights off their initial values, so that zero biases and unit scales cannot hide a mistake.

    Those that the model leaves unset get values here.
    """
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                noise = 0.1 * torch.randn(parameter.shape, generator=generator)
                parameter.nan_to_num_(nan=0.0).add_(noise)
        for module in model.modules():
            if isinstance(module, _BatchNorm) and module.running_mean is not None:
                module.running_mean += 0.1 * torch.randn(module.running_mean.shape, generator=generator)
                assert module.running_var is not None
                module.running_var *= 0.5 + torch.rand(module.running_var.shape, generator=generator)


def on_device(example: Example, device: str) -> Example:
    """The example on a device.

    deepctr-torch's modules keep the name of theirs in an attribute. Those of torchfm copy an array of NumPy's
    to the device in every call, which no CUDA graph takes: it is put there once.
    """
    model = example.model.to(device)
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, np.ndarray):
                setattr(module, name, torch.as_tensor(value, device=device))
            elif name == "device" and isinstance(value, str):
                setattr(module, name, device)
    args, kwargs = pytree.tree_map_only(
        torch.Tensor, lambda tensor: tensor.to(device), (example.args, dict(example.kwargs))
    )
    return Example(model, args, kwargs)
