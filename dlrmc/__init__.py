"""dlrmc compiles recommender models from `torch.export` into specialised CUDA kernels.

    compiled = dlrmc.compile(exported_program)
    scores = compiled(dense, offsets, indices)

Importing this package imports neither torch nor cupy; the first use of `dlrmc.compile` does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dlrmc import errors
from dlrmc.options import Options

if TYPE_CHECKING:
    from dlrmc.compile import compile as compile
    from dlrmc.runtime import jagged as jagged

__version__ = "0.1.0"

__all__ = ["Options", "__version__", "compile", "errors", "jagged"]


class _Package(ModuleType):
    """The package's own type, so that `dlrmc.compile` is always the function.

    The import system binds a submodule to its package under its own name, here over the function that has
    the same name. A property wins over that binding, and loads the compiler on first use only.
    """

    @property
    def compile(self) -> Callable[..., Any]:
        """The function `dlrmc.compile.compile`."""
        from dlrmc.compile import compile as compile_program

        return compile_program

    @compile.setter
    def compile(self, module: ModuleType) -> None:
        """Called by the import system with the submodule, which stays in `sys.modules`."""

    @property
    def jagged(self) -> ModuleType:
        """The module `dlrmc.runtime.jagged`."""
        from dlrmc.runtime import jagged

        return jagged


sys.modules[__name__].__class__ = _Package
