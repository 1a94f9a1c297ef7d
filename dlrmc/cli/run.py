"""`dlrmc run`: score one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlrmc.cli.sources import STANDARD, load_exported, load_inputs, read_bytes, shown
from dlrmc.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

SHOWN_ELEMENTS = 64


def run(
    model: Annotated[str, typer.Argument(help="A .pt2 archive; - reads standard input.")],
    inputs: Annotated[
        str, typer.Option(help="The arguments of the call, saved with torch.save; docs/cli.md.")
    ],
    target: Annotated[str | None, typer.Option(help="cuda, emulate, reference or auto.")] = None,
    precision: Annotated[str | None, typer.Option(help="fp32, tf32 or bf16.")] = None,
    bounds: Annotated[str | None, typer.Option(help="deferred, raise or ignore.")] = None,
    tune: Annotated[str | None, typer.Option(help="off, fast or full.")] = None,
    compare: Annotated[bool, typer.Option(help="Also run the program in eager PyTorch.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Save the result with torch.save.")
    ] = None,
) -> None:
    """Score one request with a compiled model."""
    import dlrmc
    from dlrmc.cli.tuning_progress import shown_tuning

    if model == STANDARD and inputs == STANDARD:
        raise typer.BadParameter("only one of the model and its inputs can be standard input")
    exported = load_exported(read_bytes(model), shown(model))
    args, kwargs = load_inputs(inputs)
    # One call and then the end: a fault must be told in the call.
    with shown_tuning():
        compiled = dlrmc.compile(
            exported, target=target, precision=precision, bounds=bounds or "raise", tune=tune
        )
    result = compiled(*args, **kwargs)
    for line in result_lines(result):
        typer.echo(line)
    if compare:
        typer.echo(f"largest difference from eager: {largest_difference(exported, args, kwargs, result):.3g}")
    if output is not None:
        _save(result, output)


def result_lines(result: Any) -> list[str]:
    """Each tensor of a result with its place, dtype and shape, then its first values."""
    import torch
    from torch.utils import _pytree as pytree

    lines: list[str] = []
    for path, leaf in pytree.tree_flatten_with_path(result)[0]:
        name = f"result{pytree.keystr(path)}"
        if not isinstance(leaf, torch.Tensor):
            lines.append(f"{name} = {leaf!r}")
            continue
        dtype = str(leaf.dtype).removeprefix("torch.")
        lines.append(f"{name}: {dtype}{list(leaf.shape)} on {leaf.device}")
        lines.append(_values(leaf))
    return lines


def _values(tensor: torch.Tensor) -> str:
    flat = tensor.detach().cpu().flatten()
    texts = [
        f"{value:.7g}" if isinstance(value, float) else str(value) for value in flat[:SHOWN_ELEMENTS].tolist()
    ]
    left_out = flat.numel() - len(texts)
    return "  " + " ".join(texts) + (f" ... and {left_out} more" if left_out > 0 else "")


def largest_difference(
    exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> float:
    """The largest absolute difference of any element of `result` from the program in eager PyTorch."""
    import torch
    from torch.utils import _pytree as pytree

    with torch.no_grad():
        eager = exported.module()(*args, **kwargs)
    pairs = zip(pytree.tree_leaves(result), pytree.tree_leaves(eager), strict=True)
    differences = [
        (ours.cpu().double() - theirs.cpu().double()).abs().max().item()
        for ours, theirs in pairs
        if isinstance(ours, torch.Tensor) and ours.numel()
    ]
    return max(differences, default=0.0)


def _save(result: Any, output: str) -> None:
    import torch

    try:
        torch.save(result, output)
    except (OSError, RuntimeError) as error:
        raise InputError(output, found=str(error), expected="a file that can be written") from error
