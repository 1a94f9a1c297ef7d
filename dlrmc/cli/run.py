"""`dlrmc run`: score one request."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlrmc.cli.notes import shown_notes
from dlrmc.cli.sources import (
    STANDARD,
    first_line,
    load_exported,
    load_inputs,
    read_bytes,
    shown,
    write_text,
)
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
    with shown_notes(), shown_tuning():
        compiled = dlrmc.compile(
            exported, target=target, precision=precision, bounds=bounds or "raise", tune=tune
        )
    result = compiled(*args, **kwargs)
    write_text(STANDARD, "".join(f"{line}\n" for line in result_lines(result)))
    # Before eager runs, which may fail.
    if output is not None:
        _save(result, output)
    if compare:
        difference = largest_difference(_eager(exported, args, kwargs, shown(model)), result)
        write_text(STANDARD, f"largest difference from eager: {difference:.3g}\n")


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


def _eager(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], place: str) -> Any:
    """What the program gives in eager PyTorch."""
    import torch

    try:
        with torch.no_grad():
            return exported.module()(*args, **kwargs)
    except Exception as error:
        raise InputError(
            place,
            found=f"eager PyTorch cannot run the program ({type(error).__name__}: {first_line(error)})",
            expected="a program that runs in eager PyTorch, to compare with",
            hint="leave out --compare; the result above is dlrmc's",
        ) from error


def largest_difference(eager: Any, result: Any) -> float:
    """The largest absolute difference of any element; infinities and NaN in the same place are none."""
    import torch
    from torch.utils import _pytree as pytree

    pairs = zip(pytree.tree_leaves(result), pytree.tree_leaves(eager), strict=True)
    differences = [
        _difference(ours.cpu().double(), theirs.cpu().double())
        for ours, theirs in pairs
        if isinstance(ours, torch.Tensor) and ours.numel()
    ]
    return next((each for each in differences if math.isnan(each)), max(differences, default=0.0))


def _difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    is_same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    return (ours - theirs).abs().masked_fill(is_same, 0).max().item()


def _save(result: Any, output: str) -> None:
    import torch

    data = io.BytesIO()
    torch.save(result, data)
    try:
        Path(output).write_bytes(data.getvalue())
    except OSError as error:
        raise InputError(
            output, found=error.strerror or str(error), expected="a file that can be written"
        ) from error
