"""Statements of a kernel under construction: nested blocks, the values bound in each, and free names."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass, field

from dlrmc.codegen.index_expressions import Index, variable

INDENT = "    "


@dataclass(slots=True)
class Block:
    """One open pair of braces.

    Args:
        is_uniform: whether all lanes of a warp run it together with equal index variables.
        lines: the statements, indented relative to the block.
        bound: expressions of the values that stand in locals of this block.
        variables: index variables declared in this block.
    """

    is_uniform: bool
    lines: list[str] = field(default_factory=list[str])
    bound: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    variables: set[str] = field(default_factory=set[str])


class CodeBlocks:
    """The stack of open blocks. Text goes to the innermost; a binding is seen until its block is closed."""

    def __init__(self, *, is_uniform: bool = False) -> None:
        self._stack = [Block(is_uniform)]
        self._taken: dict[str, int] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """The statements of the innermost block."""
        return tuple(self._stack[-1].lines)

    @property
    def is_uniform(self) -> bool:
        """Whether the innermost block is run by whole warps."""
        return self._stack[-1].is_uniform

    def write(self, *lines: str) -> None:
        """Append statements."""
        self._stack[-1].lines.extend(lines)

    def free_name(self, wanted: str) -> str:
        """A name not yet given: the wanted one, or with a number behind it."""
        count = self._taken.get(wanted, 0)
        self._taken[wanted] = count + 1
        name = wanted if count == 0 else f"{wanted}_{count}"
        return name if count == 0 else self._reserve(name, wanted)

    def _reserve(self, name: str, wanted: str) -> str:
        if name in self._taken:
            return self.free_name(wanted)
        self._taken[name] = 1
        return name

    def declare(self, variable: str) -> None:
        """Say that an index variable is declared in the innermost block."""
        self._stack[-1].variables.add(variable)

    def variable(self, name: str, extent: int) -> Index:
        """The index that a variable declared in the innermost block holds."""
        self.declare(name)
        return variable(name, extent)

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._stack)

    def declares_all(self, variables: frozenset[str], depth: int) -> bool:
        """Whether every one of these index variables is declared in the outermost `depth` open blocks."""
        return all(any(name in block.variables for block in self._stack[:depth]) for name in variables)

    def bind(self, key: Hashable, expression: str) -> None:
        """Keep the expression of a value until the innermost block is closed."""
        self._stack[-1].bound[key] = expression

    def bound(self, key: Hashable) -> str | None:
        """The expression kept in the innermost open block that has one."""
        for block in reversed(self._stack):
            if key in block.bound:
                return block.bound[key]
        return None

    @contextmanager
    def block(self, head: str, *, is_uniform: bool | None = None) -> Generator[None]:
        """Everything written inside stands in braces behind `head`, such as `for (...)`.

        A head that begins with `else` continues the block closed just before.
        """
        inner = self.is_uniform if is_uniform is None else is_uniform
        self._stack.append(Block(inner))
        try:
            yield
        finally:
            closed = self._stack.pop()
        if head.startswith("else"):
            self._stack[-1].lines.pop()
            head = f"}} {head}"
        self.write(f"{head} {{")
        self.write(*(f"{INDENT}{line}" for line in closed.lines), "}")

    @contextmanager
    def rehearsal(self) -> Generator[None]:
        """What is written and bound inside is thrown away, and its names are free again."""
        taken = dict(self._taken)
        self._stack.append(Block(is_uniform=False))
        try:
            yield
        finally:
            self._stack.pop()
            self._taken = taken
