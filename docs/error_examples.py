"""One example of each error, raised for real: `make docs` writes their messages into errors.md."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from dlrmc import errors
from dlrmc.codegen.kernels.registry import find_kernel_impl
from dlrmc.compile import build_program
from dlrmc.dynamo import backend
from dlrmc.emulator.artifacts import cached_file
from dlrmc.emulator.compiler import find_compiler
from dlrmc.frontend import import_program, prepare
from dlrmc.ir.graph import Graph
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.reference import evaluate
from dlrmc.ir.types import parse_tensor_type
from dlrmc.ir.verify import verify
from dlrmc.options import Options
from dlrmc.passes.driver import find_passes
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.runtime.dynamic import DynamicCompiled
from dlrmc.runtime.specialise import Specialiser


@dataclass(frozen=True)
class Example:
    """An error class, what a user did, and code that does it."""

    error: type[Exception]
    deed: str
    do: Callable[[], object]

    def message(self) -> str:
        """What the error says.

        Raises:
            AssertionError: the code raises no such error.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                self.do()
        except self.error as error:
            return str(error)
        raise AssertionError(f"{self.deed}: no {self.error.__name__}")


class _Median(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        distances = torch.cdist(x, x)
        return distances.median()


class _Gamma(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.lgamma(x)


class _Deaf(torch.nn.Module):
    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def _unknown_ops() -> None:
    import_program(torch.export.export(_Median().eval(), (torch.ones(2, 8),)))


def _unused_input() -> None:
    import_program(torch.export.export(_Deaf().eval(), (torch.ones(2), torch.ones(3))))


def _sum_of_two_shapes() -> None:
    graph = Graph("main")
    shapes = ("f32[8,3]", "f32[8,4]")
    graph.add("add", tuple(graph.input("x", parse_tensor_type(shape)) for shape in shapes))


def _name_with_a_dot() -> None:
    graph = Graph("main")
    relu = graph.add("relu", (graph.input("x", parse_tensor_type("f32[8,3]")),))
    object.__setattr__(relu, "name", "top.0")
    verify(graph, "pass rename")


def _lookup(ids: list[int]) -> None:
    graph = parse_graph("""graph @main {
  input %ids : i64[3]
  weight %table : f32[50,4] = "emb.weight"
  %rows = embedding(%table, %ids) : f32[3,4]
  return %rows
}""")
    evaluate(graph, {"ids": np.array(ids)}, {"emb.weight": np.zeros((50, 4), np.float32)})


def _broken_cache() -> None:
    with tempfile.TemporaryDirectory() as folder:
        entry = cached_file(Path(folder), "kernels.so", lambda path: path.write_text("code"))
        entry.write_text("cut")
        try:
            cached_file(Path(folder), "kernels.so", lambda path: path.write_text("code"))
        except errors.CacheWarning as warning:
            raise errors.CacheWarning(str(warning).replace(folder, "~/.cache/dlrmc/emulator")) from None


def _two_sizes() -> None:
    """Call a dynamic program that keeps one set of sizes with two."""
    example = (torch.ones(2, 3),)
    batch = torch.export.Dim("batch")
    exported = torch.export.export(torch.nn.ReLU(), example, dynamic_shapes=({0: batch},))
    specialiser = Specialiser(prepare(exported), Options(target="reference"), build_program)
    compiled = DynamicCompiled(specialiser, most=1)
    compiled(torch.ones(2, 3))
    compiled(torch.ones(5, 3))


def _fallback() -> None:
    """Call a graph as torch.compile hands it over."""
    graph = torch.fx.symbolic_trace(_Gamma())
    x = torch.ones(2)
    backend(graph, [x], options={"target": "reference"})(x)


EXAMPLES: tuple[Example, ...] = (
    Example(errors.FrontendError, "compile a module that is not exported", lambda: import_program(_Median())),  # type: ignore[arg-type]
    Example(errors.UnsupportedOpsError, "compile a model with ops that dlrmc has not", _unknown_ops),
    Example(errors.TypeRuleError, "add two shapes that do not broadcast", _sum_of_two_shapes),
    Example(
        errors.ParseError,
        "read IR text with a typo",
        lambda: parse_graph(
            "graph @main {\n  input %dense : f32[8,3]\n  %y = relu(%dens) : f32[8,3]\n  return %y\n}",
            "model.ir",
        ),
    ),
    Example(errors.VerifyError, "a pass that gives a value a name with a dot", _name_with_a_dot),
    Example(
        errors.PassError, "name a pass that is not there", lambda: find_passes(["fold-constant"], PIPELINE)
    ),
    Example(
        errors.CodegenError, "name an implementation that is not there", lambda: find_kernel_impl("lineer")
    ),
    Example(errors.CompileError, "emulate without a C++ compiler", lambda: find_compiler("no-such-compiler")),
    Example(errors.InputError, "pass four ids where the program takes three", lambda: _lookup([1, 2, 3, 4])),
    Example(errors.BoundsError, "look up row 50 of 50", lambda: _lookup([7, 50, 3])),
    Example(errors.OptionError, "misspell a target", lambda: Options.of(target="emulated")),
    Example(errors.CacheWarning, "compile with a cache entry that was cut off", _broken_cache),
    Example(errors.UnusedInputWarning, "compile a model that does not read an input", _unused_input),
    Example(errors.SpecialisationWarning, "use more sizes than are kept, here one", _two_sizes),
    Example(errors.FallbackWarning, "pass torch.compile a graph with an op that dlrmc has not", _fallback),
)
