"""The report of a compiled program: what runs where, what each kernel needs, and what the export froze."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dlrmc import __version__
from dlrmc.codegen.source import KernelSource
from dlrmc.errors import CompileError
from dlrmc.ir.graph import LEAVES, Graph
from dlrmc.ir.printer import print_graph
from dlrmc.runtime.build import Build
from dlrmc.runtime.cubin import KernelResources
from dlrmc.runtime.findings import find_unfused, find_warnings
from dlrmc.runtime.module_cache import ModuleCache

_WIDTH = 110
_HEAD = ("kernel", "grid x block", "registers", "shared B", "spilled B", "constant B")


def write_report(
    build: Build, cache: ModuleCache, stats: Callable[[], Mapping[str, Any]], *, ir: bool
) -> str:
    """The report as text; without a GPU the kernels are compiled for the target's architecture all the same.

    Args:
        build: of the program.
        cache: where compiled kernels are found, or kept after this compile.
        stats: gives the counters, asked for after the kernels were compiled.
        ir: whether to print the IR before and after the passes, too.
    """
    lines = [f"dlrmc {__version__}: @{build.graph.name}", *_facts(build)]
    lines += ["", *_kernel_lines(build, cache)]
    lines += [f"  not in a row program: {ops} ({reason})" for ops, reason in find_unfused(build.graph)]
    lines += ["", *_dimension_lines(build)]
    lines += [f"  warning: {text}" for text in find_warnings(build.program, build.target.device)]
    lines += ["", "counters: " + ", ".join(f"{name} {value}" for name, value in stats().items())]
    if ir:
        lines += ["", "IR before the passes", build.imported_text.rstrip()]
        lines += ["", "IR after the passes", print_graph(build.graph).rstrip()]
    return "\n".join(lines) + "\n"


def _facts(build: Build) -> Iterator[str]:
    target, options = build.target, build.options
    yield f"  target     {target.name} on {target.device}: {target.reason}"
    yield f"  precision  {options.precision}{_tensor_products(build.module.kernels)}"
    yield f"  bounds     {options.bounds}"
    yield f"  graph      {_graph_use(build)}"
    yield f"  before     {_describe_ops(build.imported_ops)}"
    yield f"  after      {_describe_ops(count_ops(build.graph))}"
    residents = Counter(node.op.name for node in build.plan.residents)
    held = ", ".join(f"{count} {name}" for name, count in sorted(residents.items())) or "nothing"
    yield f"  memory     arena of {build.plan.arena_bytes} bytes; on the device between calls: {held}"


def _tensor_products(kernels: Sequence[KernelSource]) -> str:
    """In how many kernels tensor cores multiply, and by what."""
    counts = Counter(kernel.tensor_products for kernel in kernels if kernel.tensor_products)
    if not counts:
        return ""
    listed = " and ".join(f"by {products} in {count}" for products, count in sorted(counts.items()))
    return f": on tensor cores {listed} of {len(kernels)} kernels"


def _graph_use(build: Build) -> str:
    kernels = len(build.plan.launches)
    if build.target.name != "cuda":
        return f"no: the target {build.target.name} has no CUDA graphs"
    return f"yes: {kernels} kernels, one launch a call" if kernels else "no: there is no kernel to launch"


def count_ops(graph: Graph) -> dict[str, int]:
    """How many nodes there are of each op, leaves left out, in the order of first appearance."""
    return dict(Counter(node.op.name for node in graph.nodes if node.op.name not in LEAVES))


def _describe_ops(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{sum(counts.values())} ops: {listed}" if counts else "no ops"


def _kernel_lines(build: Build, cache: ModuleCache) -> Iterator[str]:
    kernels, arch = build.module.kernels, build.target.architecture
    if not kernels:
        yield "kernels: none"
        return
    resources: dict[str, KernelResources] = {}
    try:
        cubin = cache.get(build.module.text, arch).cubin
        resources = {kernel.name: kernel for kernel in cubin.kernels}
        yield f"kernels for {arch}, {cubin.compiler}"
    except CompileError as error:
        yield f"kernels; registers are not known ({error.place}: {error.found}; to mend: {error.hint})"
    yield from _table([_HEAD, *(_kernel_row(kernel, resources.get(kernel.name)) for kernel in kernels)])


def _kernel_row(kernel: KernelSource, needs: KernelResources | None) -> tuple[str, ...]:
    launch = f"{kernel.grid} x {kernel.block}"
    if needs is None:
        return kernel.name, launch, "?", f"{kernel.shared_bytes} + ?", "?", "?"
    shared = str(kernel.shared_bytes + needs.shared_bytes)
    spilled = str(needs.spill_store_bytes + needs.spill_load_bytes)
    return kernel.name, launch, str(needs.registers), shared, spilled, str(needs.constant_bytes)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join(["", first.ljust(widths[0]), *cells])


def _dimension_lines(build: Build) -> Iterator[str]:
    program = build.program
    if program.frozen_dims:
        yield "fixed by the export; for another size export again with an example of that size"
        shapes: dict[str, list[str]] = {}
        for dim in program.input_dims:
            shapes.setdefault(dim.path, []).append(dim.symbol or str(dim.size))
        text = ", ".join(f"{path} is [{','.join(sizes)}]" for path, sizes in shapes.items())
        yield from textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    for dim in program.dynamic_dims:
        yield f"  {dim}"
