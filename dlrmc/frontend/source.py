"""Where in the user's own code an op of an exported program comes from."""

from __future__ import annotations

import os
import re
from pathlib import PurePath

import torch
from torch import fx

_FRAME = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>[^\n]+)(?:\n(?P<code>[^\n]*))?'
)
# With its separator: torchrec and torchvision stand beside torch.
_TORCH_FILES = str(PurePath(str(torch.__file__)).parent) + os.sep


def source_of(node: fx.Node) -> str:
    """The innermost frame outside of torch, as `model.py:16 in forward: return self.top(x)`.

    Without a stack trace (a program that was loaded may have none), the innermost module, as
    `module top.0 (Linear)`; where even that is unknown, an empty string.
    """
    frames = [m for m in _FRAME.finditer(node.meta.get("stack_trace") or "") if not _is_torch(m["file"])]
    if frames:
        frame = frames[-1]
        code = (frame["code"] or "").strip()
        place = f"{PurePath(frame['file']).name}:{frame['line']} in {frame['function']}"
        return f"{place}: {code}" if code else place
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    if not modules:
        return ""
    path, kind = modules[-1]
    kind_name = kind if isinstance(kind, str) else kind.__name__
    return f"module {path or 'the model'} ({kind_name.rpartition('.')[2]})"


def _is_torch(file: str) -> bool:
    # A program saved elsewhere names that machine's files, so the folder of this torch is not enough.
    return (
        file.startswith(_TORCH_FILES) or re.search(r"(site|dist)-packages[/\\]torch[/\\]", file) is not None
    )
