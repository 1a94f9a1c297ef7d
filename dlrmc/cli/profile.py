"""`dlrmc profile`: the GPU time of each kernel of one request."""

from __future__ import annotations

import json as json_module
from typing import Annotated

import typer

from dlrmc.cli.sources import (
    STANDARD,
    example_inputs,
    load_exported,
    load_inputs,
    read_bytes,
    shown,
    write_text,
)


def profile(
    model: Annotated[str, typer.Argument(help="A .pt2 archive; - reads standard input.")],
    inputs: Annotated[
        str | None,
        typer.Option(help="The arguments of the call, saved with torch.save; default those of the export."),
    ] = None,
    precision: Annotated[str | None, typer.Option(help="fp32, tf32 or bf16.")] = None,
    tune: Annotated[str | None, typer.Option(help="off, fast or full.")] = None,
    json: Annotated[str | None, typer.Option(help="Write the profile as JSON to this file, too.")] = None,
) -> None:
    """Time each kernel of one request alone, beside its least work and the limits of this GPU."""
    import torch

    from dlrmc.bench.ceilings import measure_ceilings
    from dlrmc.bench.machine import describe_machine, find_gpu
    from dlrmc.bench.profile import REPEATS, measure_profile, profile_json, profile_lines
    from dlrmc.bench.timing import CudaTimer
    from dlrmc.bench.work import CompileOptions, program_work
    from dlrmc.cli.tuning_progress import shown_tuning
    from dlrmc.options import Options
    from dlrmc.runtime.kernel_timing import repeated_kernels

    options = Options.of(precision=precision, tune=tune)
    device = find_gpu()
    exported = load_exported(read_bytes(model), shown(model))
    args, kwargs = load_inputs(inputs) if inputs is not None else example_inputs(exported, shown(model))
    work = program_work(exported, args, kwargs, device, CompileOptions(options.precision, options.tune))
    timer = CudaTimer(device)
    with torch.no_grad():
        with shown_tuning():
            compiled, _ = work.compiled
        kernels = repeated_kernels(compiled, work.args, work.kwargs, REPEATS)
        step = compiled.bind(*work.args, **work.kwargs)
        found = measure_profile(
            kernels, step, timer, measure_ceilings(device, timer), is_tf32=options.precision != "fp32"
        )
    machine = describe_machine(device)
    facts = f"{machine.gpu}, driver {machine.driver}, torch {machine.torch}, dlrmc {machine.dlrmc}"
    write_text(STANDARD, "".join(f"{line}\n" for line in (facts, "", *profile_lines(found))))
    if json is not None:
        write_text(json, json_module.dumps({"machine": facts, **profile_json(found)}, indent=1) + "\n")
