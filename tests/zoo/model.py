"""One entry of the zoo: a public model as its library instantiates it, and inputs for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


@dataclass(frozen=True)
class Example:
    """A model and the arguments of one call."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ZooModel:
    """A class of a library in one configuration.

    Args:
        library: the distribution it comes from; empty for the project's own models.
        name: class and configuration.
        make: the example for a batch size.
        kind: the class that is counted; several configurations may share it.
    """

    library: str
    name: str
    make: Callable[[int], Example]
    kind: str = ""

    @property
    def label(self) -> str:
        """What a report calls it."""
        return f"{self.library or 'plain'}/{self.name}"

    def example(self, batch: int) -> Example:
        """The example in evaluation mode, with the same weights and inputs each time.

        Raises:
            ImportError: the library is not installed.
        """
        torch.manual_seed(0)
        example = self.make(batch)
        _disturb(example.model.eval())
        return example


def _disturb(model: nn.Module) -> None:
    """Move weights off their initial values, so that zero biases and unit scales cannot hide a mistake."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
        for module in model.modules():
            if isinstance(module, _BatchNorm) and module.running_mean is not None:
                module.running_mean += 0.1 * torch.randn(module.running_mean.shape, generator=generator)
                assert module.running_var is not None
                module.running_var *= 0.5 + torch.rand(module.running_var.shape, generator=generator)
