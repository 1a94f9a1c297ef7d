"""Rewrite the parts of README.md and docs/*.md made from the code and from recorded runs: `make docs`.

A part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; tests/test_docs.py checks that it is new.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final

from dlrmc import errors
from dlrmc.codegen.kernels.registry import ALL_KERNEL_IMPLS
from dlrmc.ir import verify
from dlrmc.ir.node import LEAVES
from dlrmc.ir.op import Arity, AttributeSpec, Op, Required
from dlrmc.ir.ops import ALL_OPS
from dlrmc.ir.printer import format_attribute
from dlrmc.passes.peepholes import THEMES
from dlrmc.passes.pipeline import PIPELINE
from dlrmc.passes.stages import ops_allowed_after

FOLDER: Final = Path(__file__).parent
_PART: Final = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
_OPERAND_TEXT: Final = MappingProxyType(
    {
        Arity.ONE: "{}",
        Arity.OPTIONAL: "{}?",
        Arity.MANY: "[{}...]",
        Arity.PARTS: "{} or [{}...]",
        Arity.REST: "{}...",
    }
)


def ops() -> Iterator[str]:
    """A table of all ops: how they are written, what they mean, and the aten operators that become them."""
    yield from _row("op", "meaning", "from")
    yield from _row("---", "---", "---")
    for op in (op for op in ALL_OPS if op.name not in LEAVES):
        yield from _row(f"`{_signature(op)}`", _sentence(type(op)), ", ".join(f"`{t}`" for t in op.aten))


def invariants() -> Iterator[str]:
    """The numbered invariants of dlrmc/ir/verify.py."""
    for line in (verify.__doc__ or "").splitlines():
        number, _, text = line.partition(" ")
        if re.fullmatch(r"V\d+", number):
            yield f"- **{number}** {text.strip()}"


def stages() -> Iterator[str]:
    """The passes after which only some ops may stand outside of bodies."""
    for each in PIPELINE:
        allowed = ops_allowed_after(each.name)
        if allowed is not None:
            yield f"- after `{each.name}`: {', '.join(allowed)}"


def passes() -> Iterator[str]:
    """The pipeline in order, one reason a pass."""
    for number, each in enumerate(PIPELINE, 1):
        yield f"{number}. `{each.name}`: {each.why}"


def rules() -> Iterator[str]:
    """All peepholes by theme, in the order in which they are tried."""
    for theme, themed in THEMES.items():
        yield from ("", f"**{theme}**", "")
        yield from _row("rule", "why")
        yield from _row("---", "---")
        for rule in themed:
            yield from _row(f"`{rule.name}`", rule.why)


def kernels() -> Iterator[str]:
    """All implementations and the bodies that they compute."""
    yield from _row("impl", "computes")
    yield from _row("---", "---")
    for impl in ALL_KERNEL_IMPLS:
        yield from _row(f"`{impl.name}`", _paragraph(type(impl)))


def error_classes() -> Iterator[str]:
    """All error and warning classes."""
    yield from _row("class", "means")
    yield from _row("---", "---")
    for name, each in vars(errors).items():
        if inspect.isclass(each) and issubclass(each, Exception):
            yield from _row(f"`{name}`", _sentence(each))


def error_examples() -> Iterator[str]:
    """What each error says, raised for real."""
    for example in _script("error_examples").EXAMPLES:
        yield from (f"**`{example.error.__name__}`**: {example.deed}.", "")
        yield from (f"    {line}".rstrip() for line in example.message().splitlines())
        yield ""


def _script(name: str) -> ModuleType:
    """The module of a file beside this one."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look their annotations up
    spec.loader.exec_module(module)
    return module


def decisions() -> Iterator[str]:
    """A link to each decision by its number, with its title."""
    for path in sorted((FOLDER / "decisions").glob("*.md")):
        title = _read(path).partition("\n")[0].removeprefix("# ")
        yield f"- [{path.name.partition('-')[0]}](decisions/{path.name}): {title}"


PARTS: Final = MappingProxyType(
    {
        "ops": ops,
        "invariants": invariants,
        "passes": passes,
        "rules": rules,
        "kernels": kernels,
        "errors": error_classes,
        "examples": error_examples,
        "stages": stages,
        "decisions": decisions,
        **_script("recorded_runs").PARTS,
    }
)


def renewed(text: str, parts: MappingProxyType[str, Callable[[], Iterable[str]]] = PARTS) -> str:
    """The text with every generated part written anew.

    Raises:
        KeyError: a part has a name that is unknown.
    """
    return _PART.sub(lambda found: found[1] + "\n".join(parts[found[2]]()) + "\n" + found[3], text)


def stale_files() -> list[Path]:
    """The documents whose generated parts differ from the code or the runs."""
    documents = [FOLDER.parent / "README.md", *sorted(FOLDER.rglob("*.md"))]
    return [path for path in documents if renewed(_read(path)) != _read(path)]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _row(*cells: str) -> Iterator[str]:
    yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _signature(op: Op) -> str:
    operands = [_OPERAND_TEXT[spec.arity].replace("{}", spec.name) for spec in op.operands]
    attributes = [_attribute(spec) for spec in op.attributes]
    return f"{op.name}({', '.join(operands)})" + (f" {{{', '.join(attributes)}}}" if attributes else "")


def _attribute(spec: AttributeSpec) -> str:
    if isinstance(spec.default, Required):
        return f"{spec.name}: {spec.kind}"
    return f"{spec.name}={format_attribute(spec.default)}"


def _sentence(kind: type) -> str:
    return (inspect.getdoc(kind) or "").splitlines()[0]


def _paragraph(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


def main() -> None:
    """Rewrite the stale documents and name them."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path in stale_files():
        path.write_text(renewed(_read(path)), encoding="utf-8")
        sys.stdout.write(f"rewrote {path.relative_to(FOLDER.parent)}\n")


if __name__ == "__main__":
    main()
