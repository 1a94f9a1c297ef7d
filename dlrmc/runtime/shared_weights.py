"""The weights of one program on one device, shared by all that is compiled of it, and kept up to date.

A user's tensor that is already on the device is shared, never copied, where kernels can read it as it lies;
one on the CPU is moved once. A `derive` node is evaluated by NumPy and uploaded. What was moved or derived
is a copy: torch's version counters of the tensors behind the copies are looked at in every call, and where
one has moved on, the copies are written anew, at their old addresses, while no call runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
import torch

from dlrmc.errors import InputError
from dlrmc.frontend.program import ImportedProgram
from dlrmc.ir.graph import Node
from dlrmc.ir.printer import print_graph
from dlrmc.ir.reference import evaluate
from dlrmc.runtime.tensors import TORCH_DTYPES, describe, make_direct, to_numpy, to_torch

Array = np.ndarray[Any, Any]
_version = attrgetter("_version")


class Reader(Protocol):
    """What reads the weights in its calls."""

    def paused(self) -> AbstractContextManager[None]:
        """While it is open no call runs, and all earlier ones are over."""
        ...


class SharedWeights:
    """One tensor on the device for each weight, constant and derived value.

    Args:
        device: where kernels run.

    Attributes:
        watched: the tensors that copies were made of.
        versions: torch's version counters of these when the copies were made.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._lock = threading.RLock()
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._users: dict[str, torch.Tensor] = {}
        self._aliases: dict[str, str] = {}
        self._baked: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._unread: dict[str, torch.Tensor] = {}
        self._placed: dict[str, torch.Tensor] = {}
        self._derived: dict[str, tuple[Node, weakref.ref[torch.Tensor]]] = {}
        self.watched: tuple[torch.Tensor, ...] = ()
        self.versions: tuple[int, ...] = ()

    # -- at load ---------------------------------------------------------------------------------------------

    def add_reader(self, reader: Reader) -> None:
        """Let changes wait for this reader's calls; it is not kept alive."""
        with self._lock:
            self._readers.add(reader)

    def adopt(self, program: ImportedProgram) -> None:
        """Learn the names of a program's state, for `update`, and watch the constants made of it."""
        with self._lock:
            self.refresh()
            self._users.update(program.weights)
            self._aliases.update(program.aliases)
            for name, tensor in program.others.items():
                if name not in program.baked:
                    self._unread[name] = tensor
                elif name not in self._baked:
                    self._baked[name] = (tensor, tensor.detach().clone())
            self._watch()

    def place(self, nodes: Sequence[Node], weights: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The tensors of weight, const and derive nodes.

        Args:
            nodes: of one graph.
            weights: the user's tensors by target.

        Raises:
            InputError: a weight is missing, or its dtype or shape is not what the program was compiled for.
        """
        with self._lock:
            self.refresh()
            self._users.update(weights)
            arrays: dict[Node, Array] = {}  # host copies serve the derived values only
            tensors = tuple(self._place(node, arrays) for node in nodes)
            self._watch()
            return tensors

    def _place(self, node: Node, arrays: dict[Node, Array]) -> torch.Tensor:
        if node.is_op("weight"):
            if node.target not in self._placed:
                tensor = checked_weight(node, self._users).detach()
                self._placed[node.target] = make_direct(tensor.to(self.device))
            return self._placed[node.target]
        if not node.is_op("derive"):
            return make_direct(to_torch(self._evaluate(node, arrays)).to(self.device))
        key = _key(node)
        known = self._derived.get(key)
        tensor = known[1]() if known is not None else None
        if tensor is None:
            tensor = make_direct(to_torch(self._evaluate(node, arrays)).to(self.device))
            self._derived[key] = (node, weakref.ref(tensor))
        return tensor

    def _evaluate(self, node: Node, arrays: dict[Node, Array]) -> Array:
        if node not in arrays:
            arrays[node] = self._compute(node, arrays)
        return arrays[node]

    def _compute(self, node: Node, arrays: dict[Node, Array]) -> Array:
        if node.is_op("const"):
            return node.value
        if node.is_op("weight"):
            return to_numpy(checked_weight(node, self._users))
        values = {inner.name: self._evaluate(outer, arrays) for inner, outer in node.outer.items()}
        (result,) = evaluate(node.body, values, {})
        return np.ascontiguousarray(result).reshape(node.shape)

    # -- changes ---------------------------------------------------------------------------------------------

    def moved(self) -> dict[str, torch.device]:
        """The weights that lie on another device, and which."""
        with self._lock:
            users = {target: self._users[target].device for target in self._placed}
        return {target: device for target, device in users.items() if device != self.device}

    def refresh(self) -> None:
        """Write the copies anew where the user's tensors were written since.

        Raises:
            InputError: a buffer that was read into the program as a constant was written, or a CUDA graph is
                being captured.
        """
        if not self.watched or tuple(map(_version, self.watched)) == self.versions:
            return
        with self._lock:
            versions = tuple(map(_version, self.watched))
            if versions == self.versions:
                return
            for name, (tensor, snapshot) in self._baked.items():
                if not torch.equal(tensor, snapshot):
                    raise _baked_error(name)
            with self._all_paused():
                self._write_copies()
            self.versions = versions

    def update(self, state: Mapping[str, torch.Tensor]) -> None:
        """Write new values into the user's own tensors, and all copies anew, while no call runs.

        Raises:
            InputError: as `Compiled.update_weights`; nothing was written.
        """
        if not isinstance(state, Mapping):
            kind = type(state).__name__
            hint = "pass model.state_dict()"
            raise InputError("update_weights", found=f"a {kind}", expected="tensors by name", hint=hint)
        with self._lock:
            values: dict[str, torch.Tensor] = {}
            for name, value in state.items():
                target = self._aliases.get(name, name)
                self._check_update(name, target, value)
                if target in values and not torch.equal(values[target].cpu(), value.cpu()):
                    hint = "pass one of the names, or equal values"
                    raise _error(name, f"another value than its tied weight {target}", "one value", hint)
                if target in self._users:
                    values[target] = value
            with self._all_paused(), torch.inference_mode():
                for target, value in values.items():
                    self._users[target].copy_(value)
                self._write_copies()
            self.versions = tuple(map(_version, self.watched))

    def _check_update(self, name: str, target: str, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise _error(name, f"a {type(value).__name__}", "a tensor", "pass model.state_dict()")
        baked = self._baked.get(name)
        if baked is not None and not torch.equal(baked[1].cpu(), value.cpu()):
            raise _baked_error(name)
        mine = baked[0] if baked else self._users.get(target, self._unread.get(name))
        if mine is None:
            known = ", ".join([*self._users, *self._aliases])
            raise _error(name, "no such weight", f"one of {known}", "the names are the exported model's")
        if (mine.dtype, mine.shape) != (value.dtype, value.shape):
            hint = "convert it, or compile again for another shape"
            raise _error(name, describe(value), describe(mine), hint)
        if any(step == 0 and size > 1 for step, size in zip(mine.stride(), mine.shape, strict=True)):
            raise _error(name, "an expanded tensor, whose elements share memory", "one of its own memory", "")

    @contextlib.contextmanager
    def _all_paused(self) -> Iterator[None]:
        if self.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            raise InputError(
                "weights",
                found="new values while a CUDA graph is captured",
                expected="values that stay the same during a capture",
                hint="call the compiled program once before the capture",
            )
        with contextlib.ExitStack() as stack:
            if self.device.type == "cuda":
                stack.enter_context(torch.cuda.device(self.device))
            for reader in list(self._readers):
                stack.enter_context(reader.paused())
            yield
            if self.device.type == "cuda":
                torch.cuda.current_stream().synchronize()

    def _write_copies(self) -> None:
        with torch.inference_mode():
            for target, placed in self._placed.items():
                if placed.data_ptr() != self._users[target].data_ptr():
                    placed.copy_(self._users[target])
            arrays: dict[Node, Array] = {}
            for node, reference in self._derived.values():
                if (tensor := reference()) is not None:
                    tensor.copy_(to_torch(self._evaluate(node, arrays)))

    def _watch(self) -> None:
        """Look from now on at the tensors that copies were made of."""
        self._derived = {key: pair for key, pair in self._derived.items() if pair[1]() is not None}
        targets = [
            target for target, t in self._placed.items() if t.data_ptr() != self._users[target].data_ptr()
        ]
        for node, _reference in self._derived.values():
            targets += _sources(node)
        watched = [self._users[target] for target in dict.fromkeys(targets)]
        watched += [tensor for tensor, _snapshot in self._baked.values()]
        self.watched = tuple(tensor for tensor in watched if not tensor.is_inference())
        self.versions = tuple(map(_version, self.watched))


def checked_weight(node: Node, weights: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The user's tensor of a weight node.

    Raises:
        InputError: it is missing or has another dtype or shape.
    """
    tensor = weights.get(node.target)
    place = f'weight "{node.target}"'
    if tensor is None:
        raise InputError(place, found="no such tensor", expected=str(node.type))
    if tensor.dtype != TORCH_DTYPES[node.type.dtype] or tuple(tensor.shape) != node.shape:
        raise InputError(place, found=describe(tensor), expected=str(node.type), hint="compile again")
    return tensor


def _sources(node: Node) -> list[str]:
    """The targets of the weights behind a derived value."""
    if node.is_op("weight"):
        return [node.target]
    return [target for each in node.inputs for target in _sources(each)]


def _key(node: Node) -> str:
    """Equal for nodes of several graphs that stand for one value."""
    digest = hashlib.sha256(f"{node.op.name} {node.type}".encode())
    if node.is_op("weight"):
        digest.update(node.target.encode())
    elif node.is_op("const"):
        digest.update(np.ascontiguousarray(node.value).tobytes())
    else:
        digest.update(print_graph(node.body).encode())
        for each in node.inputs:
            digest.update(_key(each).encode())
    return digest.hexdigest()


def _error(name: str, found: str, expected: str, hint: str) -> InputError:
    return InputError(f'weight "{name}"', found=found, expected=expected, hint=hint)


def _baked_error(name: str) -> InputError:
    expected = "the value that was read into the program when it was compiled"
    return _error(name, "another value", expected, "export and compile again, or restore the old value")
