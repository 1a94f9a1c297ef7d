"""`torch.compile(model, backend="dlrmc")`.

torch finds `backend` through the entry point group `torch_dynamo_backends`, so nothing has to be imported.

Dynamo hands over an fx graph whose placeholders are the user's tensors, parameters and buffers, and sizes. A
graph is exported and compiled when it is first called, once for each set of sizes and weights: weights become
weights of the program, sizes become numbers.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, Final

import torch
from torch import fx

from dlrmc.compile import compile as compile_program
from dlrmc.errors import DlrmcError, FallbackWarning, InputError, OptionError
from dlrmc.frontend.dynamo_graph import dynamic_sizes, export_graph, id_counts, plain_number
from dlrmc.options import Options
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.picking import picker

# torch's modes. Every call is one graph launch anyway, so that they ask for nothing more than is done.
MODES: Final = ("default", "reduce-overhead", "max-autotune")
# Sets of sizes and weights that are kept for one graph.
MAX_SPECIALISATIONS: Final = 128
_LOGGER = logging.getLogger("dlrmc")


def backend(
    graph: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    **unknown: Any,
) -> Callable[..., Any]:
    """Compile a graph of Dynamo for inference.

    A graph with ops that dlrmc cannot compile runs in eager mode, with one `FallbackWarning`; under
    `options={"strict": True}` it raises.

    Args:
        graph: of Dynamo.
        example_inputs: for its placeholders.
        options: the fields of `dlrmc.Options`, by name; not `batch_sizes`.
        mode: "default", "reduce-overhead" or "max-autotune"; all three mean the same here.
        **unknown: whatever else torch hands on; refused.

    Raises:
        OptionError: an option or mode is unknown or out of range.
        InputError: gradients are wanted.
    """
    given = dict(options or {})
    chosen = Options.of(**given)
    _check_mode(mode, chosen, unknown)
    if torch.is_grad_enabled() and any(_wants_gradient(value) for value in example_inputs):
        raise InputError(
            "torch.compile with backend dlrmc",
            found="parameters or inputs that require gradients, in grad mode",
            expected="inference only: dlrmc computes no gradients",
            hint="call the model under torch.no_grad() or torch.inference_mode(), or requires_grad_(False)",
        )
    return GraphCalls(graph, example_inputs, given, is_strict=chosen.strict).call


@dataclass(frozen=True)
class _Program:
    """What was compiled for one set of sizes, and the weights that it reads."""

    weights: tuple[Any, ...]
    compiled: Compiled


class GraphCalls:
    """The calls of one Dynamo graph.

    Args:
        graph: with placeholders for tensors, weights and sizes.
        example_inputs: for the placeholders; parameters and buffers are told by them.
        options: of every compile.
        is_strict: whether to raise where the graph cannot be compiled, instead of running it in eager mode.
    """

    def __init__(
        self,
        graph: fx.GraphModule,
        example_inputs: Sequence[Any],
        options: Mapping[str, Any],
        *,
        is_strict: bool,
    ) -> None:
        self._graph = graph
        self._options = dict(options)
        self._is_strict = is_strict
        self._lock = threading.RLock()
        self._is_eager = False
        placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        pairs = list(enumerate(zip(placeholders, example_inputs, strict=True)))
        self._weights = [place for place, (node, value) in pairs if _is_weight(node, value)]
        self._numbers = [place for place, (node, value) in pairs if _is_number(node, value)]
        taken = {*self._weights, *self._numbers}
        self._tensors = [place for place, _pair in pairs if place not in taken]
        self._pick_weights, self._pick_tensors = picker(self._weights), picker(self._tensors)
        self._counts = id_counts(graph.graph, self._tensors)
        self._sizes = dynamic_sizes([(place, placeholders[place]) for place in self._tensors])
        self._keys = self._numbers, self._sizes
        if self._counts:  # the numbers of ids are no part of the key, as long as no program needs them
            self._keys = self._without_counts(placeholders)
        self._is_dynamic = bool(self._numbers or self._sizes)
        self._latest: dict[tuple[Any, ...], _Program] = {}
        self._known: OrderedDict[tuple[Any, ...], _Program] = OrderedDict()

    def call(self, *args: Any) -> Any:
        """The graph's results, a tuple."""
        program = self._latest.get(self._sizes_of(args) if self._is_dynamic else ())
        # Dynamo may call one graph for several modules.
        if program is None or not all(map(is_, program.weights, self._pick_weights(args))):
            program = None if self._is_eager else self._find(tuple(self._pick_weights(args)), args)
            if program is None:
                return self._graph(*args)
        return program.compiled.call_positional(tuple(self._pick_tensors(args)))

    def _sizes_of(self, args: Sequence[Any]) -> tuple[Any, ...]:
        numbers, sizes = self._keys
        return (
            *[plain_number(args[place]) for place in numbers],
            *[args[place].shape[dim] for place, dim in sizes],
        )

    def _without_counts(self, placeholders: Sequence[fx.Node]) -> tuple[list[int], list[tuple[int, int]]]:
        counts = {*self._counts.values()}
        numbers = [n for n in self._numbers if str(placeholders[n].meta.get("example_value")) not in counts]
        sizes = [
            (place, dim)
            for place, dim in self._sizes
            if str(placeholders[place].meta["example_value"].shape[dim]) not in counts
        ]
        return numbers, sizes

    def _compile(self, args: Sequence[Any]) -> Compiled:
        """A program for these arguments; for any number of ids where it can take them."""
        if self._counts:
            try:
                exported = export_graph(self._graph, self._weights, self._numbers, args, self._counts)
                compiled = compile_program(exported, **self._options)
                if compiled.takes_any_counts(len({*self._counts.values()})):
                    return compiled
            except DlrmcError as error:
                _LOGGER.info("a graph of torch.compile is compiled for each number of ids: %s", error)
            self._counts, self._keys = {}, (self._numbers, self._sizes)
        return compile_program(export_graph(self._graph, self._weights, self._numbers, args), **self._options)

    def _find(self, weights: tuple[Any, ...], args: Sequence[Any]) -> _Program | None:
        """The program for these sizes and weights, or None where it runs in eager mode from now on."""
        with self._lock:
            sizes = self._sizes_of(args)
            key = (sizes, *map(id, weights))
            if key in self._known:  # it holds the weights, so the ids are theirs
                self._latest[sizes] = self._known[key]
                return self._known[key]
            try:
                compiled = self._compile(args)
            except (InputError, OptionError):
                raise
            except DlrmcError as error:
                if self._is_strict:
                    raise
                self._is_eager = True
                message = f"a graph of torch.compile runs in eager mode: {error}"
                warnings.warn(FallbackWarning(message), stacklevel=2)
                return None
            sizes = self._sizes_of(args)  # with numbers of ids, where no program takes any
            key = (sizes, *map(id, weights))
            self._known[key] = self._latest[sizes] = _Program(weights, compiled)
            if len(self._known) > MAX_SPECIALISATIONS:
                self._give_up_first()
            return self._known[key]

    def _give_up_first(self) -> None:
        (sizes, *_), gone = self._known.popitem(last=False)
        if self._latest.get(sizes) is gone:
            del self._latest[sizes]
        _LOGGER.warning(
            "a graph of torch.compile has more than %d sizes; one is given up", MAX_SPECIALISATIONS
        )
        gone.compiled.check()


def _is_weight(node: fx.Node, value: Any) -> bool:
    """Whether Dynamo took the tensor from a module's parameters or buffers."""
    if isinstance(value, torch.nn.Parameter):
        return True
    return isinstance(value, torch.Tensor) and hasattr(value, "_dynamo_static_input_type")


def _is_number(node: fx.Node, value: Any) -> bool:
    """Whether the value is a size or a Python number; Dynamo wraps a float as a tensor read by `item`."""
    if not isinstance(value, torch.Tensor):
        return True
    is_read = all(user.op == "call_method" and user.target == "item" for user in node.users)
    return value.ndim == 0 and value.device.type == "cpu" and bool(node.users) and is_read


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _check_mode(mode: str | None, options: Options, unknown: Mapping[str, Any]) -> None:
    if mode is not None and mode not in MODES:
        raise OptionError("mode of torch.compile", found=repr(mode), expected=f"one of {', '.join(MODES)}")
    if unknown:
        expected = "options={...} with the fields of dlrmc.Options, or mode="
        raise OptionError("torch.compile with backend dlrmc", found=", ".join(unknown), expected=expected)
    if options.batch_sizes:
        raise OptionError(
            "option batch_sizes",
            found=f"{list(options.batch_sizes)} under torch.compile",
            expected="no batch_sizes: torch says when a size is new",
            hint="call the model once with each batch size, or use dlrmc.compile",
        )
