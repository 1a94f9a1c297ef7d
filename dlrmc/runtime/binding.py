"""A call's arguments to the program's input tensors, and its output tensors to the user's structure.

The structure is torch's pytree of `(args, kwargs)` as exported: `torch.utils._pytree`, which `torch.export`
uses itself. Keywords and dictionary entries may come in any order; a positional argument may be passed by
its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import torch
from torch.utils import _pytree as pytree

from dlrmc.errors import InputError
from dlrmc.frontend.program import (
    ConstantInput,
    ConstantOutput,
    ImportedProgram,
    TensorInput,
    UserOutput,
    ValueOutput,
)
from dlrmc.runtime.argument_checks import check_constant, outline
from dlrmc.runtime.counted_inputs import CountCheck
from dlrmc.runtime.flattening import FlatteningPlan
from dlrmc.runtime.metadata_guard import MetadataGuard
from dlrmc.runtime.tensor_check import TensorCheck

_ROOT = re.compile(r"[^.\[]+")


class _Leaf:
    """Stands for any leaf of a structure."""


_LEAF: Final = _Leaf()


class Arguments(NamedTuple):
    """The arguments of one call.

    Attributes:
        leaves: all of them, flat.
        tensors: the tensors, in the order of `graph.inputs`.
        is_ready: whether each is contiguous and on the model's device.
    """

    leaves: list[Any]
    tensors: list[torch.Tensor]
    is_ready: bool


class Binder:
    """Checks the arguments of a call and puts them in the program's order.

    Args:
        program: as imported.
        devices: the kinds of device an input may be on, the model's first: `("cuda:0", "cpu")`.
        counted: the numbers of the inputs that may have any number of elements in the declared range.

    Attributes:
        plain_results: makes the model's results of the tensors of `graph.outputs` where they are one tensor
            or a flat tuple; None where it takes more.
        positional: takes the tensors of positional arguments in the order of `graph.inputs`, or None where
            their structure is another; itself None where this takes more.
        guard: recognises the tensors of earlier good calls.
        count_check: of the counted inputs, if any.
    """

    def __init__(self, program: ImportedProgram, devices: Sequence[str], counted: Sequence[int] = ()) -> None:
        self._in_spec = program.in_spec
        self._out_spec = program.out_spec
        self._inputs = program.inputs
        self._outputs = program.outputs
        self._devices = tuple(devices)
        self._positional, self._keywords = self._argument_names()
        args, kwargs = pytree.tree_unflatten([_LEAF] * len(self._inputs), self._in_spec)
        self._plan = FlatteningPlan(args, kwargs, lambda value: value is _LEAF)
        self._constants = [
            (place, each) for place, each in enumerate(self._inputs) if isinstance(each, ConstantInput)
        ]
        order = sorted(
            (each.index, place) for place, each in enumerate(self._inputs) if isinstance(each, TensorInput)
        )
        self._places = [place for _, place in order]
        self._is_in_order = self._places == list(range(len(self._inputs)))
        self._tensor_check = TensorCheck(program, devices, counted)
        self.count_check = CountCheck(program, counted) if counted else None
        self.guard = MetadataGuard(counted)
        self.positional = self._plan.positional if self._is_in_order else None
        self.plain_results = _plain_results(self._outputs, self._out_spec)

    @property
    def signature(self) -> str:
        """The arguments as a user writes them: `dense, offsets, indices`."""
        keywords = [f"{name}=..." for name in self._keywords]
        return ", ".join([*self._positional, *keywords])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arguments, positional ones first."""
        return (*self._positional, *self._keywords)

    def recognise(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[torch.Tensor] | None:
        """The tensors of a call that looks like an earlier good one, ready to be read; None of any other.

        The short way, for programs whose inputs are tensors only and whose results are one or a flat tuple.
        """
        if not self._is_in_order or self.plain_results is None:
            return None
        leaves = self._plan.leaves(args, kwargs)
        if leaves is None or not self.guard.accepts(leaves):
            return None
        if self.count_check is not None:
            self.count_check.check(leaves)
        return leaves

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments in the program's order, checked.

        A call that looks like an earlier good one in every tensor is recognised by its metadata alone.

        Raises:
            InputError: another structure, type, dtype, shape, device or constant than was exported; the
                message names the input by the user's own path.
        """
        leaves = self._plan.leaves(args, kwargs)
        if leaves is None:
            leaves = self._leaves(args, kwargs)
        tensors = leaves if self._is_in_order else [leaves[place] for place in self._places]
        for place, declared in self._constants:
            check_constant(declared, leaves[place])
        is_ready = self.guard.accepts(tensors) or self._check(leaves, tensors)
        if self.count_check is not None:
            self.count_check.check(tensors)
        return Arguments(leaves, tensors, is_ready)

    def tensors(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The leaves that should be tensors, in the order of `graph.inputs`, not looked at.

        Raises:
            InputError: another structure than was exported.
        """
        leaves = self._plan.leaves(args, kwargs)
        if leaves is None:
            leaves = self._leaves(args, kwargs)
        return [leaves[place] for place in self._places]

    def with_tensors(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], tensors: Sequence[torch.Tensor]
    ) -> tuple[Any, Any]:
        """The arguments with other tensors, given in the order of `graph.inputs`."""
        leaves = self._plan.leaves(args, kwargs) or self._leaves(args, kwargs)
        for place, tensor in zip(self._places, tensors, strict=True):
            leaves[place] = tensor
        return pytree.tree_unflatten(leaves, self._in_spec)

    def _check(self, leaves: Sequence[Any], tensors: Sequence[Any]) -> bool:
        """Check every tensor; whether all may be read where they lie."""
        for declared, leaf in zip(self._inputs, leaves, strict=True):
            if isinstance(declared, TensorInput):
                self._tensor_check.check(declared, leaf)
        is_ready = all(map(self._is_ready, tensors))
        if is_ready:
            self.guard.learn(tensors)
        return is_ready

    def _is_ready(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor, now and whatever its address, is one that kernels can read as it lies."""
        is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
        lazy = tensor.is_neg() or tensor.is_conj()
        return is_plain and not lazy and tensor.is_contiguous() and str(tensor.device) == self._devices[0]

    def unflatten(self, leaves: Sequence[Any], values: Sequence[torch.Tensor]) -> Any:
        """The results in the structure of the exported program.

        Args:
            leaves: of `flatten`; a result may be one of the arguments themselves.
            values: the tensors of `graph.outputs`.
        """
        if self.plain_results is not None:
            return self.plain_results(values)
        results: list[Any] = []
        for output in self._outputs:
            match output:
                case ValueOutput(index=index):
                    results.append(values[index])
                case ConstantOutput(value=value):
                    results.append(value)
                case _:
                    results.append(leaves[output.index])
        return pytree.tree_unflatten(results, self._out_spec)

    # -- structure -------------------------------------------------------------------------------------------

    def _argument_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the positional and of the keyword arguments, read from the paths of their leaves."""
        numbers = list(range(len(self._inputs)))
        args, kwargs = pytree.tree_unflatten(numbers, self._in_spec)
        names: list[str] = []
        for position, argument in enumerate(args):
            leaves = pytree.tree_leaves(argument)
            root = _ROOT.match(self._inputs[leaves[0]].path) if leaves else None
            known = root is not None and root.group() != "args"  # the exporter's word for a nameless argument
            names.append(root.group() if root and known else f"argument {position}")
        return tuple(names), tuple(kwargs)

    def _leaves(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        args, kwargs = self._arrange(args, kwargs)
        try:
            return self._in_spec.flatten_up_to((tuple(args), dict(kwargs)))
        except ValueError as error:
            raise InputError(
                "arguments",
                found=self._misfit(args, kwargs) or str(error),
                expected=f"the structure that was exported: {', '.join(self._paths())}",
                hint=f"call it as the exported model: compiled({self.signature})",
            ) from error

    def _arrange(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Positional and keyword arguments as exported, whichever way each was passed."""
        if len(args) == len(self._positional) and len(kwargs) == len(self._keywords):
            return args, kwargs
        order = (*self._positional, *self._keywords)
        if len(args) > len(order):
            raise self._misnamed(f"{len(args)} positional arguments", f"at most {len(order)}")
        given = dict(zip(order, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise self._misnamed(f"argument {name} is passed twice", "each argument once")
            if name not in order:
                raise self._misnamed(f"there is no argument {name}", f"one of {', '.join(order)}")
            given[name] = value
        missing = [name for name in order if name not in given]
        if missing:
            raise self._misnamed(f"no {', '.join(missing)}", f"{len(order)} arguments: {', '.join(order)}")
        return [given[name] for name in self._positional], {name: given[name] for name in self._keywords}

    def _misnamed(self, found: str, expected: str) -> InputError:
        hint = f"call it as the exported model: compiled({self.signature})"
        return InputError("arguments", found=found, expected=expected, hint=hint)

    def _misfit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """What the first argument of another structure looks like, or nothing where all look right."""
        expected_args, expected_kwargs = pytree.tree_unflatten(list(self._paths()), self._in_spec)
        pairs = list(zip(self._positional, expected_args, args, strict=False))
        pairs += [(name, expected_kwargs[name], kwargs[name]) for name in self._keywords if name in kwargs]
        for name, expected, found in pairs:
            if outline(expected) != outline(found):
                return f"{name} is {outline(found)}, not {outline(expected)}"
        return ""

    def _paths(self) -> tuple[str, ...]:
        return tuple(declared.path for declared in self._inputs)


def _plain_results(
    outputs: Sequence[UserOutput], out_spec: Any
) -> Callable[[Sequence[torch.Tensor]], Any] | None:
    """The quick way to the two structures that nearly all models return: one tensor, or a flat tuple."""
    indices = [output.index for output in outputs if isinstance(output, ValueOutput)]
    if len(indices) != len(outputs):
        return None
    example = pytree.tree_unflatten([_LEAF] * len(outputs), out_spec)
    if example is _LEAF:
        return itemgetter(indices[0])
    if type(example) is tuple and all(leaf is _LEAF for leaf in example):
        return lambda values: tuple([values[index] for index in indices])
    return None
