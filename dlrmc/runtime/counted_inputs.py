"""Inputs that may have any number of elements in a call: ids of bags, and weights of ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NoReturn

import torch

from dlrmc.errors import InputError
from dlrmc.frontend.program import ImportedProgram, InputDim, TensorInput
from dlrmc.frontend.ranges import is_within, range_text
from dlrmc.runtime.picking import picker

# A method descriptor: `map` calls it without a look-up of the name for each tensor.
_numel: Callable[[torch.Tensor], int] = torch._C.TensorBase.numel


class CountedInputs:
    """Reads how many elements the counted inputs of a call have.

    Args:
        counted: their numbers among the inputs.
    """

    def __init__(self, counted: Sequence[int]) -> None:
        self._pick = picker(tuple(counted))

    def counts(self, tensors: Sequence[torch.Tensor]) -> list[int]:
        """The number of elements of each counted input, in order."""
        return [*map(_numel, self._pick(tensors))]


class CountCheck:
    """Checks that the numbers of elements are in the declared ranges, and equal where the export says so.

    Args:
        program: as imported.
        counted: the numbers of its inputs that may have any number of elements.
    """

    def __init__(self, program: ImportedProgram, counted: Sequence[int]) -> None:
        paths = {each.index: each.path for each in program.inputs if isinstance(each, TensorInput)}
        dims = {each.path: each for each in program.dynamic_dims if each.dim == 0}
        self._dims: list[InputDim] = [dims[paths[number]] for number in counted]
        self._read = CountedInputs(counted).counts
        self._last: list[int] | None = None

    def check(self, tensors: Sequence[torch.Tensor]) -> None:
        """Look at one-dimensional tensors of a call; numbers that are those of the last call are good.

        Raises:
            InputError: a number is outside of its range, or differs from that of its twin.
        """
        counts = self._read(tensors)
        if counts == self._last:
            return
        for dim, count in zip(self._dims, counts, strict=True):
            _check_range(dim, count)
        pairs = sorted(zip(self._dims, counts, strict=True), key=lambda pair: pair[0].symbol)
        for _symbol, group in groupby(pairs, key=lambda pair: pair[0].symbol):
            (first, count), *others = group
            for dim, other in others:
                if other != count:
                    _refuse_twin(dim, other, first, count)
        self._last = counts


def _check_range(dim: InputDim, count: int) -> None:
    if is_within(count, dim.minimum, dim.maximum):
        return
    raise InputError(
        f"{dim.path}, dimension {dim.dim}",
        found=f"{dim.symbol} = {count}",
        expected=range_text(dim.symbol, dim.minimum, dim.maximum),
        hint="export again with a wider torch.export.Dim",
    )


def _refuse_twin(dim: InputDim, count: int, first: InputDim, wanted: int) -> NoReturn:
    raise InputError(
        f"{dim.path}, dimension {dim.dim}",
        found=f"{dim.symbol} = {count}",
        expected=f"{wanted}, as {first.path} has",
        hint=f"the export gave both the size {dim.symbol}",
    )
