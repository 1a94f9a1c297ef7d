"""ExportedProgram -> Graph: signature, weights, constants, and one table of aten ops."""

from dlrmc.frontend.entry import PreparedProgram, import_program, prepare
from dlrmc.frontend.program import (
    ConstantInput,
    ConstantOutput,
    ImportedProgram,
    InputDim,
    InputOutput,
    TensorInput,
    UserInput,
    UserOutput,
    ValueOutput,
)

__all__ = [
    "ConstantInput",
    "ConstantOutput",
    "ImportedProgram",
    "InputDim",
    "InputOutput",
    "PreparedProgram",
    "TensorInput",
    "UserInput",
    "UserOutput",
    "ValueOutput",
    "import_program",
    "prepare",
]
