from __future__ import annotations

from collections.abc import Callable
from typing import Any

Cli = Callable[..., Any]

DEAD = b"""\
graph @tiny {
  input %x : f32[2,3]
  %dead = relu(%x) : f32[2,3]
  %neg = neg(%x) : f32[2,3]
  return %neg
}
"""
CLEAN = """\
graph @tiny {
  input %x : f32[2,3]
  %neg = neg(%x) : f32[2,3]
  return %neg
}
"""


def test_one_pass_runs_alone(cli: Cli) -> None:
    done = cli("opt", "-", "--passes", "dce", stdin=DEAD)
    assert (done.code, done.out, done.err) == (0, CLEAN, "")


def test_changes_are_printed_with_their_pass(cli: Cli) -> None:
    done = cli("opt", "-", "--passes", "cse,dce", "--print-changed", stdin=DEAD)
    heading, _, text = done.out.partition("\n")
    assert heading.startswith("// dce: 1 change")
    assert text == CLEAN


def test_nothing_changed_is_said(cli: Cli) -> None:
    done = cli("opt", "-", "--passes", "dce", "--print-changed", stdin=CLEAN.encode())
    assert done.out == "// no pass changed anything\n"


def test_all_passes_are_the_default(cli: Cli) -> None:
    assert cli("opt", "-", stdin=DEAD).out == cli("dump-ir", "-", stdin=DEAD).out


def test_an_unknown_pass_names_the_nearest(cli: Cli) -> None:
    done = cli("opt", "-", "--passes", "dce,csee", stdin=DEAD)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: pass 'csee': there is no such pass\n")
    assert "did you mean cse?" in done.err


def test_the_list_gives_each_pass_a_reason(cli: Cli) -> None:
    lines = cli("opt", "--list-passes").out.splitlines()
    assert len(lines) > 3
    assert all(len(line.split()) > 3 for line in lines)
