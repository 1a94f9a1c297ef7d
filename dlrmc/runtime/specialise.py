"""Builds a program with dynamic dimensions for the sizes of a call."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from dlrmc.errors import FrontendError, InputError, OptionError
from dlrmc.frontend import ImportedProgram, InputDim, PreparedProgram, TensorInput
from dlrmc.options import Options
from dlrmc.runtime.build import Build
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.findings import check_strict
from dlrmc.runtime.shared_weights import SharedWeights
from dlrmc.runtime.targets import choose_target

_SYMBOL = re.compile(r"[A-Za-z_]\w*")

# The sizes of a call: one for each dynamic dimension that another does not repeat.
Key = tuple[int, ...]


class _Dynamic(NamedTuple):
    """A dynamic dimension: `graph.inputs[input]`, its dimension, and what the export calls its size."""

    input: int
    dim: int
    symbol: str


class Specialiser:
    """A prepared program, built for one set of sizes after another; all share kernels and weights.

    Args:
        prepared: with dynamic dimensions.
        options: for every build.
        build: everything from the import to the emitted source.

    Attributes:
        example: the program imported for the sizes of the export's example; what does not depend on sizes
            is the same in all.
        weights: shared by all builds.

    Raises:
        UnsupportedOpsError, FrontendError: the program cannot be compiled.
    """

    def __init__(
        self,
        prepared: PreparedProgram,
        options: Options,
        build: Callable[[ImportedProgram, Options], Build],
    ) -> None:
        self.options = options
        self.example = prepared.specialise(prepared.example_shapes, stacklevel=5)
        self._prepared = prepared
        self._build = build
        self._lock = threading.RLock()
        self._known: WeakValueDictionary[Key, Compiled] = WeakValueDictionary()
        device = choose_target(options, self.example.weights).device
        check_strict(self.example, device, options)
        self.weights = SharedWeights(device)
        self.weights.adopt(self.example)
        self._dynamic = _distinct(self.example)

    def key(self, tensors: Sequence[Any]) -> Key | None:
        """The sizes of a call's tensors; None where one is no tensor or lacks the dimension."""
        try:
            return tuple([tensors[each.input].shape[each.dim] for each in self._dynamic])
        except (AttributeError, IndexError):
            return None

    def describe(self, key: Key) -> str:
        """`s17=5, s20=12`."""
        return ", ".join(f"{each.symbol}={size}" for each, size in zip(self._dynamic, key, strict=True))

    def batch_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """The shapes of all tensor inputs of a batch.

        Raises:
            OptionError: the batch does not say all sizes.
        """
        symbol = self._batch_symbol()
        shapes = [list(node.shape) for node in self.example.graph.inputs]
        indices = {i.path: i.index for i in self.example.inputs if isinstance(i, TensorInput)}
        for each in self.example.dynamic_dims:
            shapes[indices[each.path]][each.dim] = _evaluate(each.symbol, symbol, batch)
        return [tuple(shape) for shape in shapes]

    def _batch_symbol(self) -> str:
        """The one symbol in all dynamic sizes."""
        dims = self.example.dynamic_dims
        symbols = {name: each for each in reversed(dims) for name in _SYMBOL.findall(each.symbol)}
        if len(symbols) == 1:
            return next(iter(symbols))
        raise OptionError(
            "option batch_sizes",
            found="sizes that a batch does not say: "
            + "; ".join(str(symbols[name]) for name in sorted(symbols)),
            expected="a program with one free size",
            hint="leave the option out: each set of sizes is built when a call first has it",
        )

    def instance(self, key: Key, shapes: Sequence[Sequence[int]]) -> tuple[Compiled, bool]:
        """An instance of the program for these sizes that is the caller's own, and whether it was built now.

        Raises:
            InputError: a size is outside of the range that the export declared, or sizes contradict.
        """
        with self._lock:
            if (known := self._known.get(key)) is not None:
                return known.replica(), False
            try:
                program = self._prepared.specialise(shapes)
            except FrontendError as error:
                if not error.place.startswith(("input ", "input_shapes")):
                    raise
                place = error.place.removeprefix("input ")
                raise InputError(
                    place, found=error.found, expected=error.expected, hint=error.hint
                ) from error
            build = self._build(program, self.options)
            built = Compiled(build, weights=self.weights)
            self._known[key] = built
            return built, True


def check_is_dynamic(batch_sizes: Sequence[int]) -> None:
    """Refuse `batch_sizes` for a program whose sizes the export fixed.

    Raises:
        OptionError: sizes were asked for.
    """
    if batch_sizes:
        raise OptionError(
            "option batch_sizes",
            found=f"{list(batch_sizes)} for a program whose sizes the export fixed",
            expected="a program with a dynamic batch",
            hint="export it with dynamic_shapes= and a torch.export.Dim, from an example of 2 or more",
        )


def _distinct(program: ImportedProgram) -> tuple[_Dynamic, ...]:
    indices = {each.path: each.index for each in program.inputs if isinstance(each, TensorInput)}
    found: Mapping[str, InputDim] = {each.symbol: each for each in reversed(program.dynamic_dims)}
    dims = (each for each in program.dynamic_dims if found[each.symbol] is each)
    return tuple(_Dynamic(indices[each.path], each.dim, each.symbol) for each in dims)


def _evaluate(expression: str, symbol: str, value: int) -> int:
    import sympy

    size: Any = sympy.sympify(expression).subs(sympy.Symbol(symbol), value)
    return int(size)
