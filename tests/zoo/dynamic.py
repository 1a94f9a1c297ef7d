"""One export for all batch sizes: which dimensions go with the batch is read off two examples."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree

import dlrmc
from tests.zoo.examine import Finding, compared, failure, quiet
from tests.zoo.model import ZooModel

EXPORTED_BATCH = 6


def dynamic_shapes(entry: ZooModel) -> tuple[Any, ...]:
    """For each tensor of the positional arguments the dimensions that another batch size changes."""
    one, other = entry.example(EXPORTED_BATCH), entry.example(EXPORTED_BATCH + 2)
    return pytree.tree_map(_changed, one.args, other.args)


def _changed(one: Any, other: Any) -> dict[int, Any] | None:
    if not isinstance(one, torch.Tensor):
        return None
    pairs = enumerate(zip(one.shape, other.shape, strict=True))
    return {dim: Dim.DYNAMIC for dim, (size, changed) in pairs if size != changed}


def export(entry: ZooModel) -> ExportedProgram:
    """The model exported for every batch size of two and more.

    Raises:
        Exception: as `torch.export.export`, where the model's code fixes the batch size.
    """
    example = entry.example(EXPORTED_BATCH)
    return torch.export.export(example.model, example.args, dynamic_shapes=dynamic_shapes(entry))


def examine_dynamic(entry: ZooModel, batches: tuple[int, ...], target: str = "reference") -> Finding:
    """The finding of the first batch size that does not come out equal, or of the last."""
    with quiet():
        try:
            program = export(entry)
        except Exception as error:
            return Finding(
                entry.label, EXPORTED_BATCH, "no export", detail=str(error).strip().splitlines()[0]
            )
        finding = Finding(entry.label, 0, "fails", detail="no batch size")
        compiled = dlrmc.compile(program, target=target, bounds="raise")
        for batch in batches:
            example = entry.example(batch)
            try:
                found = compiled(*example.args, **example.kwargs)
            except Exception as error:
                return failure(entry, batch, error)
            finding = compared(Finding(entry.label, batch, "equal"), example, found)
            if finding.status != "equal":
                break
        return finding
