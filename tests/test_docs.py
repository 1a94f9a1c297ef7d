"""The documents agree with the code, and their links lead somewhere."""

from __future__ import annotations

import importlib.util
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.main import get_command

from dlrmc import errors
from dlrmc.cli.application import COMMANDS, build_app
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.printer import print_graph

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.fixture(scope="module")
def make_docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "docs" / "make_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parts_are_current(make_docs: ModuleType) -> None:
    stale = [path.name for path in make_docs.stale_files()]
    assert stale == [], "to mend: make docs"


def test_every_part_that_can_be_generated_stands_in_a_document(make_docs: ModuleType) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    assert [name for name in make_docs.PARTS if f"<!-- begin {name} -->" not in text] == []


def test_every_error_has_an_example(make_docs: ModuleType) -> None:
    classes = {
        each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, Exception)
    }
    shown = [example.error for example in make_docs._script("error_examples").EXAMPLES]
    assert len(shown) == len(set(shown))
    left = {each.__name__ for each in classes - set(shown) - {errors.DlrmcError}}
    assert left == set(), "to mend: an Example in docs/error_examples.py, then make docs"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_programs_in_the_documents_are_as_the_printer_writes_them(path: Path) -> None:
    blocks = re.findall(
        r"^    graph @.*?^    \}\n", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    for text in map(textwrap.dedent, blocks):
        assert print_graph(parse_graph(text, path.name)) == text


def test_the_document_of_the_ir_has_a_program() -> None:
    assert "\n    graph @" in (ROOT / "docs" / "ir.md").read_text(encoding="utf-8")


def test_a_part_is_replaced_and_the_rest_is_kept(make_docs: ModuleType) -> None:
    text = "before\n<!-- begin x -->\nold\n<!-- end x -->\nafter\n"
    assert make_docs.renewed(text, {"x": lambda: ["new"]}) == text.replace("old", "new")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_files_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not (path.parent / target).exists()] == []


def command_options(words: list[str]) -> set[str]:
    """The options that the command line knows where it is called with these words."""
    command: Any = get_command(build_app())
    known = set()
    for word in words:
        known |= {option for parameter in command.params for option in parameter.opts}
        found = getattr(command, "commands", {}).get(word)
        # `dlrmc bench FILE` is `dlrmc bench model FILE`.
        command = found or getattr(command, "commands", {}).get("model")
        if command is None:
            return known
    return known | {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_in_the_documents_are_those_of_the_command_line(path: Path) -> None:
    names = {name for name, _ in COMMANDS} | {"bench"}
    lines = re.findall(r"\bdlrmc ((?:dump|opt\b|run\b|bench|profile|doctor)[^`#\n]*)", path.read_text())
    for line in lines:
        words = line.replace("\\|", " ").replace("[", " ").replace("]", " ").split()
        assert words[0].rstrip(".,:;") in names, line
        options = {word.rstrip(".,:;") for word in words if word.startswith("--")}
        assert options <= command_options(words[:2]), line
