"""The documents agree with the code, and their links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

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


def test_a_part_is_replaced_and_the_rest_is_kept(make_docs: ModuleType) -> None:
    text = "before\n<!-- begin x -->\nold\n<!-- end x -->\nafter\n"
    assert make_docs.renewed(text, {"x": lambda: ["new"]}) == text.replace("old", "new")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_files_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not (path.parent / target).exists()] == []
