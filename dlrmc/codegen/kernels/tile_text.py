"""Statements that the kernels over tiles of rows share."""

from __future__ import annotations

from collections.abc import Iterable

from dlrmc.codegen.code_blocks import INDENT


def shared_memory(compute_type: str) -> list[str]:
    """The block's dynamic shared memory as `shared`, an array of the compute type."""
    return _shared_memory(compute_type, "dlrmc_shared", 16)


def swizzled_shared_memory(compute_type: str) -> list[str]:
    """The same for tiles of the tensor cores' own swizzle (PTX ISA, "Matrix Descriptor Format").

    It has a name of its own: all kernels of a module share what one name stands for, its alignment too.
    """
    return _shared_memory(compute_type, "dlrmc_shared_1024", 1024)


def _shared_memory(compute_type: str, name: str, alignment_bytes: int) -> list[str]:
    return [
        f"extern __shared__ __align__({alignment_bytes}) unsigned char {name}[];",
        f"{compute_type}* const shared = reinterpret_cast<{compute_type}*>({name});",
    ]


def tile_rows(total: int, tile: int, block: str = "blockIdx.x") -> list[str]:
    """`first_row`, the tile's first row, and `rows`, how many of its `tile` rows there are."""
    first_row = f"const long long first_row = static_cast<long long>({block}) * {tile};"
    if total % tile == 0:
        return [first_row, f"constexpr int rows = {tile};"]
    return [
        first_row,
        f"const int rows = static_cast<int>(min({tile}ll, {total}ll - first_row));",
    ]


def offset_by(start: str, *terms: tuple[str, int]) -> str:
    """An address and the products of C variables with strides, those with stride 0 left out."""
    products = [name if stride == 1 else f"{name} * {stride}" for name, stride in terms if stride]
    return " + ".join([start, *products])


def call(function: str, *arguments: str) -> list[str]:
    """A call as a statement, one argument a line where they do not fit on one."""
    line = f"{function}({', '.join(arguments)});"
    if len(line) <= 100:
        return [line]
    lines = [f"{INDENT * 2}{argument}," for argument in arguments]
    return [f"{function}(", *lines[:-1], f"{lines[-1][:-1]});"]


def indented(lines: Iterable[str]) -> list[str]:
    """The lines one level deeper."""
    return [f"{INDENT}{line}" for line in lines]
