"""The struct of constants that a stage takes its sizes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dlrmc.codegen.code_blocks import INDENT

Constant = int | bool | str


def constants_struct(
    name: str,
    types: Mapping[str, str],
    constants: Mapping[str, Constant],
    functions: Sequence[str] = (),
) -> list[str]:
    """The lines of a struct.

    Args:
        name: of the struct.
        types: alias to C type.
        constants: name to value: an int becomes an `int` or, where it needs it, a `long long`, a bool a
            `bool`; a string is taken as `TYPE=EXPRESSION`.
        functions: lines of static member functions.
    """
    lines = [f"using {alias} = {kept};" for alias, kept in types.items()]
    lines.extend(_constant(key, value) for key, value in constants.items())
    lines.extend(functions)
    return [f"struct {name} {{", *(f"{INDENT}{line}" for line in lines), "};"]


def _constant(name: str, value: Constant) -> str:
    if isinstance(value, str):
        kept, _, text = value.partition("=")
    elif isinstance(value, bool):
        kept, text = "bool", "true" if value else "false"
    else:
        is_narrow = -(2**31) < value < 2**31
        kept, text = ("int", str(value)) if is_narrow else ("long long", f"{value}ll")
    return f"static constexpr {kept} {name} = {text};"


def round_up(value: int, multiple: int) -> int:
    """The least multiple that is not below the value."""
    return -(-value // multiple) * multiple


def power_of_two_at_least(value: int) -> int:
    """The least power of two that is not below the value (>= 1)."""
    return 1 << max(value - 1, 0).bit_length()


def odd_packs(elements: int) -> int:
    """The least row stride in shared memory that holds the elements and is an odd number of packs of 4.

    Eight neighbouring rows then start in eight different groups of banks.
    """
    stride = round_up(elements, 4)
    return stride if stride % 8 else stride + 4
