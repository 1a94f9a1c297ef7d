"""What the frontend hands on: the graph, its weights, and how the user's arguments and results map to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from dlrmc.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class TensorInput:
    """A flattened user input that is a tensor: `graph.inputs[index]`."""

    path: str
    index: int


@dataclass(frozen=True, slots=True)
class ConstantInput:
    """A flattened user input that the export specialised to a Python value; a call must pass an equal one."""

    path: str
    value: Any


UserInput = TensorInput | ConstantInput


@dataclass(frozen=True, slots=True)
class ValueOutput:
    """A flattened result that is `graph.outputs[index]`; several may share one index."""

    index: int


@dataclass(frozen=True, slots=True)
class ConstantOutput:
    """A flattened result that is a Python value, None too."""

    value: Any


@dataclass(frozen=True, slots=True)
class InputOutput:
    """A flattened result that is the very object passed as flattened user input number `index`."""

    index: int


UserOutput = ValueOutput | ConstantOutput | InputOutput


@dataclass(frozen=True, slots=True)
class InputDim:
    """One dimension of a user input.

    `size` is the size in this import. Where `symbol` is empty the export froze the dimension at that size,
    and no other will do; else it is the expression (`s17`, `s17 + 1`) that ties it to other dimensions, and
    `minimum` and `maximum` (None: no limit) are the range that the export declared.
    """

    path: str
    dim: int
    size: int
    symbol: str = ""
    minimum: int | None = None
    maximum: int | None = None

    def __str__(self) -> str:
        if not self.symbol:
            return f"{self.path}: dimension {self.dim} is fixed at {self.size}"
        low = "" if self.minimum is None else f"{self.minimum} <= "
        high = "" if self.maximum is None else f" <= {self.maximum}"
        return f"{self.path}: dimension {self.dim} is dynamic, {low}{self.symbol}{high}"


@dataclass(frozen=True)
class ImportedProgram:
    """An exported program as one typed graph.

    Attributes:
        graph: the program; inputs in the order of the exported signature, unused ones too.
        weights: the tensor of every `weight` node by its target, as the user holds them (any device, any
            strides); tied parameters are one weight.
        aliases: the other state-dict names of tied weights, each with the target that stands in `weights`.
        baked: targets of buffers whose values were read into the graph as constants (small integer and bool
            buffers and lifted constants): a later change of theirs is not seen without a new import.
        others: the tensors of the program's state that are no weight, by name: those of `baked`, and those
            that nothing reads.
        in_spec: the pytree of (args, kwargs) as exported.
        out_spec: the pytree of the results.
        inputs: one entry for each leaf of `in_spec`.
        outputs: one entry for each leaf of `out_spec`.
        input_dims: every dimension of every tensor input, fixed or dynamic.
        warnings: what the user should know, also raised as Python warnings.
        counted: the numbers of the inputs that are ids of bags, or weights of ids, in any number: it may
            differ from call to call without any other change.
    """

    graph: Graph
    weights: Mapping[str, torch.Tensor]
    aliases: Mapping[str, str]
    baked: tuple[str, ...]
    in_spec: Any
    out_spec: Any
    inputs: tuple[UserInput, ...]
    outputs: tuple[UserOutput, ...]
    input_dims: tuple[InputDim, ...]
    warnings: tuple[str, ...]
    others: Mapping[str, torch.Tensor] = field(default_factory=dict)
    counted: tuple[int, ...] = ()

    @property
    def input_paths(self) -> tuple[str, ...]:
        """The user's name of every flattened input: `dense`, `offsets[3]`, `batch['user']`."""
        return tuple(each.path for each in self.inputs)

    @property
    def frozen_dims(self) -> tuple[InputDim, ...]:
        """The input dimensions that the export fixed."""
        return tuple(each for each in self.input_dims if not each.symbol)

    @property
    def dynamic_dims(self) -> tuple[InputDim, ...]:
        """The input dimensions that may differ from call to call."""
        return tuple(each for each in self.input_dims if each.symbol)
