"""Builds a program with dynamic dimensions for the sizes of a call."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from dlrmc.errors import FrontendError, InputError, OptionError
from dlrmc.frontend import ImportedProgram, InputDim, PreparedProgram, TensorInput
from dlrmc.options import Options
from dlrmc.runtime.build import Build
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.findings import check_strict
from dlrmc.runtime.padding import Padding
from dlrmc.runtime.shared_weights import SharedWeights
from dlrmc.runtime.targets import choose_target

_SYMBOL = re.compile(r"[A-Za-z_]\w*")

# The sizes of a call: one for each dynamic dimension that another does not repeat; ANY where a program takes
# every size of the declared range.
Key = tuple[int, ...]
ANY: Final = -1


class _Dynamic(NamedTuple):
    """A dynamic dimension: `graph.inputs[input]`, its dimension, and what the export calls its size.

    `is_count` tells a number of ids, which may differ from call to call.
    """

    input: int
    dim: int
    symbol: str
    is_count: bool


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
        # Keys of programs whose kernels do not read the numbers of ids at run time, after all.
        self._without_counts: set[Key] = set()

    def key(self, tensors: Sequence[Any]) -> Key | None:
        """The sizes of a call's tensors; None where one is no tensor or lacks the dimension."""
        try:
            sizes = tuple([tensors[each.input].shape[each.dim] for each in self._dynamic])
        except (AttributeError, IndexError):
            return None
        pairs = zip(self._dynamic, sizes, strict=True)
        key = tuple([ANY if each.is_count else size for each, size in pairs])
        return sizes if key in self._without_counts else key

    def describe(self, key: Key) -> str:
        """`s17=5, s20=any`."""
        pairs = zip(self._dynamic, key, strict=True)
        return ", ".join(f"{each.symbol}={'any' if size == ANY else size}" for each, size in pairs)

    def batch_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """The shapes of all tensor inputs of a batch.

        Raises:
            OptionError: the batch does not say all sizes.
        """
        symbol = self._batch_symbol()
        shapes = [list(node.shape) for node in self.example.graph.inputs]
        indices = {i.path: i.index for i in self.example.inputs if isinstance(i, TensorInput)}
        for each in self._sized_dims():
            shapes[indices[each.path]][each.dim] = _evaluate(each.symbol, symbol, batch)
        return [tuple(shape) for shape in shapes]

    def _batch_symbol(self) -> str:
        """The one symbol in all dynamic sizes."""
        dims = self._sized_dims()
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

    def counts_alone(self, counts: int) -> bool:
        """Whether the dynamic sizes are so many numbers of ids, and nothing else."""
        return len(self._dynamic) == counts and all(each.is_count for each in self._dynamic)

    def padding(self) -> Padding | None:
        """How requests are padded to the batches of the options, if they are.

        Raises:
            OptionError: the program does not allow it.
        """
        if not self.options.pad_batches:
            return None
        return Padding(self.options.batch_sizes, self.batch_shapes, self._specialise)

    def _sized_dims(self) -> list[InputDim]:
        """The dynamic dimensions whose size is part of what is built."""
        counts = {each.symbol for each in self._dynamic if each.is_count}
        return [dim for dim in self.example.dynamic_dims if dim.symbol not in counts]

    def instance(self, tensors: Sequence[Any]) -> tuple[Key, Compiled, bool]:
        """An instance of the program for a call that is the caller's own.

        Args:
            tensors: of the call, with a key.

        Returns:
            Its key, the instance, and whether it was built now.

        Raises:
            InputError: a size is outside of the range that the export declared, or sizes contradict.
        """
        with self._lock:
            key = self.key(tensors)
            assert key is not None
            if (known := self._known.get(key)) is not None:
                return key, known.replica(), False
            program = self._specialise(self._shapes(key, tensors))
            build = self._build(program, self.options)
            if ANY in key and not build.plan.counted:
                self._without_counts.add(key)
                return self.instance(tensors)
            built = Compiled(build, weights=self.weights)
            self._known[key] = built
            return key, built, True

    def _shapes(self, key: Key, tensors: Sequence[Any]) -> list[tuple[int, ...]]:
        """The shapes to build for: those of a call, with a number of ids in proportion to the example's.

        The same for every call of the key, so that a program is found in the cache whichever call came first.
        """
        shapes = [tuple(tensor.shape) for tensor in tensors]
        if ANY not in key:
            return shapes
        example = [node.shape for node in self.example.graph.inputs]
        pairs = zip(self._dynamic, key, strict=True)
        grown = (size / max(example[each.input][each.dim], 1) for each, size in pairs if size != ANY)
        growth = next(grown, 1.0)
        paths = {i.index: i.path for i in self.example.inputs if isinstance(i, TensorInput)}
        dims = {each.path: each for each in self.example.dynamic_dims}
        for number in self.example.counted:
            dim = dims[paths[number]]
            count = max(round(example[number][0] * growth), dim.minimum or 1, 1)
            shapes[number] = (count if dim.maximum is None else min(count, dim.maximum),)
        return shapes

    def _specialise(self, shapes: Sequence[Sequence[int]]) -> ImportedProgram:
        try:
            return self._prepared.specialise(shapes)
        except FrontendError as error:
            if not error.place.startswith(("input ", "input_shapes")):
                raise
            place = error.place.removeprefix("input ")
            raise InputError(place, found=error.found, expected=error.expected, hint=error.hint) from error


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
    places = [(indices[each.path], each) for each in dims]
    return tuple(_Dynamic(n, each.dim, each.symbol, n in program.counted) for n, each in places)


def _evaluate(expression: str, symbol: str, value: int) -> int:
    import sympy

    size: Any = sympy.sympify(expression).subs(sympy.Symbol(symbol), value)
    return int(size)
