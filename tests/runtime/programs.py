"""Small compiled programs for the tests of the runtime, made from IR text without frontend and passes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dlrmc.codegen.emit import emit_module
from dlrmc.frontend.program import (
    ConstantInput,
    ConstantOutput,
    ImportedProgram,
    InputDim,
    InputOutput,
    TensorInput,
    ValueOutput,
)
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph
from dlrmc.options import Options
from dlrmc.passes.form_kernels import form_kernels
from dlrmc.runtime.build import Build
from dlrmc.runtime.compiled import Compiled
from dlrmc.runtime.report import count_ops
from dlrmc.runtime.targets import choose_target
from dlrmc.schedule.build import build_plan

# Rows of a table picked by id, plus a dense input, twice; and the rows themselves.
LOOKUP = """graph @lookup {
  input %dense : f32[4,3]
  input %ids : i64[4]
  weight %table : f32[10,3] = "table"
  const %two : f32[] = 2.0
  %rows = embedding(%table, %ids) : f32[4,3]
  %sum = add(%dense, %rows) : f32[4,3]
  %out = mul(%sum, %two) : f32[4,3]
  return %out, %rows
}
"""
DENSE = torch.arange(12, dtype=torch.float32).reshape(4, 3) / 8
IDS = torch.tensor([9, 0, 3, 3])
TABLE = torch.arange(30, dtype=torch.float32).reshape(10, 3)


class Const:
    """A leaf of a signature that the export fixed at a Python value."""

    def __init__(self, value: Any) -> None:
        self.value = value


def make_program(
    text: str, weights: Mapping[str, torch.Tensor], args: tuple, kwargs: dict, results: Any
) -> ImportedProgram:
    """A program as the frontend would give it.

    `args` and `kwargs` have a graph input's name or a Const at each leaf; `results` a number of a graph
    output, a Const, or an input's name.
    """
    graph = parse_graph(text)
    numbers = {node.name: number for number, node in enumerate(graph.inputs)}
    keyed, in_spec = pytree.tree_flatten_with_path((args, kwargs))
    inputs = tuple(
        ConstantInput(_path(path), leaf.value)
        if isinstance(leaf, Const)
        else TensorInput(_path(path, leaf), numbers[leaf])
        for path, leaf in keyed
    )
    leaves, out_spec = pytree.tree_flatten(results)
    places = [leaf for _, leaf in keyed]
    outputs = tuple(_output(leaf, places) for leaf in leaves)
    dims = [
        (i.path, dim, size) for i in inputs if isinstance(i, TensorInput) for dim, size in _dims(graph, i)
    ]
    input_dims = tuple(InputDim(*dim) for dim in dims)
    return ImportedProgram(
        graph=graph,
        weights=dict(weights),
        aliases={},
        baked=(),
        in_spec=in_spec,
        out_spec=out_spec,
        inputs=inputs,
        outputs=outputs,
        input_dims=input_dims,
        warnings=(),
    )


def _path(keys: tuple, leaf: str = "scale") -> str:
    """`ids` for a plain argument, `ids[1]` inside of one; the argument is named by its first leaf's stem."""
    if keys[0].idx == 1:
        return keys[1].key + pytree.keystr(keys[2:])
    return leaf.rstrip("0123456789_") + pytree.keystr(keys[2:])


def _dims(graph: Any, declared: TensorInput) -> list[tuple[int, int]]:
    return list(enumerate(graph.inputs[declared.index].shape))


def _output(leaf: Any, places: list[Any]) -> ValueOutput | ConstantOutput | InputOutput:
    if isinstance(leaf, Const):
        return ConstantOutput(leaf.value)
    if isinstance(leaf, str):
        return InputOutput(places.index(leaf))
    return ValueOutput(leaf)


def make_build(program: ImportedProgram, options: Options) -> Build:
    """All that `dlrmc.compile` does after the import, without the peepholes."""
    graph = program.graph.copy()
    text, ops = print_graph(graph), count_ops(graph)
    target = choose_target(options, program.weights)
    form_kernels(graph)
    plan = build_plan(graph)
    module = emit_module(plan, target.limits, precision=options.precision)
    return Build(program, text, ops, graph, plan, module, target, options)


def compile_program(program: ImportedProgram, cache_dir: Path, **options: Any) -> Compiled:
    """The program, ready to be called."""
    return Compiled(make_build(program, Options(cache_dir=cache_dir, **options)))


def compile_lookup(cache_dir: Path, *, table: torch.Tensor = TABLE, **options: Any) -> Compiled:
    """`LOOKUP` with the signature `f(dense, ids) -> (out, rows)`."""
    program = make_program(LOOKUP, {"table": table}, ("dense", "ids"), {}, (0, 1))
    return compile_program(program, cache_dir, **options)


def eager_lookup(dense: torch.Tensor, ids: torch.Tensor, table: torch.Tensor = TABLE) -> Any:
    """What `LOOKUP` means, in torch."""
    rows = table[ids]
    return (dense + rows) * 2, rows
