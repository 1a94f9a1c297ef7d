"""`dlrmc dump-cuda`: the CUDA that a model becomes, or what its kernels need of a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dlrmc.cli.sources import STANDARD, read_program, write_text
from dlrmc.cli.stages import Initial, initial_program, pipeline, trace
from dlrmc.options import Options

if TYPE_CHECKING:
    from dlrmc.codegen.source import ModuleSource


def dump_cuda(
    model: Annotated[str, typer.Argument(help="A .pt2 archive or IR text; - reads standard input.")],
    resources: Annotated[
        bool,
        typer.Option("--resources", help="Compile with NVRTC and list registers and shared memory instead."),
    ] = False,
    architecture: Annotated[
        str | None, typer.Option(help="The GPU to compile for, as sm_90; default the one here, else sm_90.")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="fp32, tf32 or bf16.")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write; - is standard output.")
    ] = STANDARD,
) -> None:
    """Print the CUDA source of a model, or with --resources what each kernel needs."""
    options = Options.of(architecture=architecture, precision=precision)
    module, arch = emit(initial_program(read_program(model)), options)
    if resources:
        write_text(output, "".join(f"{line}\n" for line in resource_lines(module, arch)))
    else:
        write_text(output, module.text)


def emit(program: Initial, options: Options) -> tuple[ModuleSource, str]:
    """The CUDA that `dlrmc.compile` makes of a program before the first pass, and the architecture."""
    from dlrmc.compile import lower
    from dlrmc.runtime.targets import choose_target

    # Sources for a GPU that is named need none here.
    target = choose_target(options.replace(target="reference" if options.architecture else "auto"), {})
    graph = trace(program.graph, pipeline())[-1].graph
    _, module = lower(graph, program.counted, target.limits, options.precision)
    return module, target.architecture


def resource_lines(module: ModuleSource, arch: str) -> list[str]:
    """A table with one line a kernel, in order of launch; shared bytes are static and dynamic together.

    Raises:
        CompileError: NVRTC is missing, does not know the architecture or refuses the source.
    """
    from dlrmc.runtime.nvrtc import compile_source

    cubin = compile_source(module.text, arch)
    found = {kernel.name: kernel for kernel in cubin.kernels}
    rows: list[tuple[str, ...]] = [("kernel", "grid", "block", "registers", "shared bytes", "spilled bytes")]
    for kernel in module.kernels:
        needs = found[kernel.name]
        shared_bytes = needs.shared_bytes + kernel.shared_bytes
        spilled_bytes = needs.spill_store_bytes + needs.spill_load_bytes
        numbers = (kernel.grid, kernel.block, needs.registers, shared_bytes, spilled_bytes)
        rows.append((kernel.name, *(str(number) for number in numbers)))
    return [f"{cubin.compiler} for {arch}", *aligned(rows)]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The rows as lines with aligned columns: the first to the left, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
