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
from torch.fx.node import map_arg

from dlrmc.compile import compile as compile_program
from dlrmc.errors import DlrmcError, FallbackWarning, FrontendError, InputError, OptionError
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
    return GraphCalls(graph, example_inputs, given, is_strict=chosen.strict)


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
        self._sizes = _dynamic_sizes([(place, placeholders[place]) for place in self._tensors])
        self._latest: dict[tuple[Any, ...], _Program] = {}
        self._known: OrderedDict[tuple[Any, ...], _Program] = OrderedDict()

    def __call__(self, *args: Any) -> Any:
        """The graph's results, a tuple."""
        if self._is_eager:
            return self._graph(*args)
        numbers = [_number(args[place]) for place in self._numbers]
        sizes = (*numbers, *[args[place].shape[dim] for place, dim in self._sizes])
        weights = tuple(self._pick_weights(args))
        program = self._latest.get(sizes)
        # Dynamo may call one graph for several modules.
        if program is None or not all(map(is_, program.weights, weights)):
            program = self._find(sizes, weights, args)
            if program is None:
                return self._graph(*args)
        return program.compiled.call_positional(tuple(self._pick_tensors(args)))

    def _find(self, sizes: tuple[Any, ...], weights: tuple[Any, ...], args: Sequence[Any]) -> _Program | None:
        """The program for these sizes and weights, or None where it runs in eager mode from now on."""
        key = (sizes, *map(id, weights))
        with self._lock:
            if key in self._known:  # it holds the weights, so the ids are theirs
                self._latest[sizes] = self._known[key]
                return self._known[key]
            try:
                exported = export_graph(self._graph, self._weights, self._numbers, args)
                compiled = compile_program(exported, **self._options)
            except (InputError, OptionError):
                raise
            except DlrmcError as error:
                if self._is_strict:
                    raise
                self._is_eager = True
                message = f"a graph of torch.compile runs in eager mode: {error}"
                warnings.warn(FallbackWarning(message), stacklevel=2)
                return None
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


def export_graph(
    graph: fx.GraphModule, weights: Sequence[int], numbers: Sequence[int], args: Sequence[Any]
) -> torch.export.ExportedProgram:
    """A Dynamo graph for one set of arguments as an exported program.

    Args:
        graph: is not changed.
        weights: the numbers of the placeholders that become parameters and buffers.
        numbers: the numbers of those that become Python numbers.
        args: for all placeholders.

    Raises:
        FrontendError: torch cannot export it.
    """
    copy = fx.Graph()
    copy.output(copy.graph_copy(graph.graph, mapping := {}))
    module = fx.GraphModule(graph, copy)
    originals = [node for node in graph.graph.nodes if node.op == "placeholder"]
    nodes = [mapping[node] for node in originals]
    for place in weights:
        _make_weight(module, nodes[place], args[place])
    for place in numbers:
        _make_number(module, nodes[place], _number(args[place]))
    chosen = {*weights, *numbers}
    rest = [place for place in range(len(nodes)) if place not in chosen]
    for place in rest:
        nodes[place]._rename(_plain_name(nodes[place].name))  # another name where a value has this one
        nodes[place].target = nodes[place].name
    module.graph.lint()
    module.recompile()
    try:
        with torch.no_grad():
            return torch.export.export(module, tuple(args[place] for place in rest), strict=False)
    except Exception as error:
        raise FrontendError(
            "a graph of torch.compile",
            found=f"torch could not export it: {type(error).__name__}: {error}",
            expected="a graph that torch.export takes",
        ) from error


def _make_weight(module: fx.GraphModule, node: fx.Node, value: torch.Tensor) -> None:
    """Turn a placeholder into an attribute of the module."""
    name = node.name if hasattr(module, _plain_name(node.name)) else _plain_name(node.name)
    if isinstance(value, torch.nn.Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)
    with module.graph.inserting_before(node):
        attribute = module.graph.get_attr(name)
    node.replace_all_uses_with(attribute)
    module.graph.erase_node(node)


def _make_number(module: fx.GraphModule, node: fx.Node, value: float) -> None:
    """Put a number wherever a placeholder, or what `.item()` reads from it, is used."""
    for user in list(node.users):
        if user.op == "call_method" and user.target == "item":
            _make_number(module, user, value)
            continue
        user.args = map_arg(user.args, lambda each: value if each is node else each)
        user.kwargs = map_arg(user.kwargs, lambda each: value if each is node else each)
    module.graph.erase_node(node)


def _dynamic_sizes(tensors: Sequence[tuple[int, fx.Node]]) -> list[tuple[int, int]]:
    """Placeholder and dimension of each size that may vary, the same size of several tensors once."""
    found: dict[str, tuple[int, int]] = {}
    for place, node in tensors:
        for dim, size in enumerate(getattr(node.meta.get("example_value"), "shape", ())):
            if not isinstance(size, int):
                found.setdefault(str(size), (place, dim))
    return list(found.values())


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


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value


def _plain_name(name: str) -> str:
    """The user's name in Dynamo's: `dense` for `l_dense_`."""
    plain = name.removeprefix("l_").rstrip("_")
    return plain if plain.isidentifier() else name


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
