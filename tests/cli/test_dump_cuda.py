from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dlrmc.cli.dump_cuda import aligned

Cli = Callable[..., Any]


def test_the_source_holds_its_ir_and_its_kernels(cli: Cli, small: Any) -> None:
    done = cli("dump-cuda", small.model)
    assert (done.code, done.err) == (0, "")
    assert 'extern "C" __global__' in done.out
    assert "// graph @" in done.out
    assert "#include" not in done.out


def test_ir_text_gives_the_same_source_as_the_archive_it_came_from(cli: Cli, small: Any) -> None:
    text = cli("dump-ir", small.model, "--stage", "import").out
    assert cli("dump-cuda", "-", stdin=text.encode()).out == cli("dump-cuda", small.model).out


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_resources_list_every_kernel_of_the_source(cli: Cli, small: Any, arch: str) -> None:
    source = cli("dump-cuda", small.model).out
    heading, columns, *rows = cli(
        "dump-cuda", small.model, "--resources", "--architecture", arch
    ).out.splitlines()
    assert heading.endswith(f" for {arch}")
    assert columns.split()[:4] == ["kernel", "grid", "block", "registers"]
    assert len(rows) == source.count('extern "C" __global__')
    for row in rows:
        name, grid, block, registers, _, spilled_bytes = row.split()
        assert name in source
        assert int(grid) > 0
        assert int(block) % 32 == 0
        assert 0 < int(registers) <= 255
        assert int(spilled_bytes) == 0


LAYERS = b"""graph @layers {
  input %x : f32[4,32]
  weight %w : f32[16,32] = "w"
  %a = linear(%x, %w) {act=relu} : f32[4,16]
  %b = sin(%a) : f32[4,16]
  return %b
}
"""


@pytest.mark.parametrize(("arch", "is_bulk"), [("sm_80", False), ("sm_90", True), ("sm_100", True)])
def test_weights_come_in_bulk_where_the_architecture_can(cli: Cli, arch: str, is_bulk: bool) -> None:
    source = cli("dump-cuda", "-", "--architecture", arch, stdin=LAYERS).out
    assert ("bulk_copy(a_w" in source) == is_bulk
    done = cli("dump-cuda", "-", "--resources", "--architecture", arch, stdin=LAYERS)
    assert done.code == 0, done.err


@pytest.mark.parametrize("arch", ["hopper", "sm_9"])
def test_an_odd_architecture_is_refused(cli: Cli, small: Any, arch: str) -> None:
    done = cli("dump-cuda", small.model, "--architecture", arch)
    assert done.code == 1
    assert done.err.startswith(f"error: option architecture: '{arch}'\n")


def test_an_architecture_that_the_compiler_does_not_know_is_refused(cli: Cli, small: Any) -> None:
    done = cli("dump-cuda", small.model, "--resources", "--architecture", "sm_35")
    assert done.code == 1
    assert "expected: one of sm_" in done.err


def test_columns_are_aligned() -> None:
    assert aligned([("kernel", "grid"), ("a", "1000")]) == ["kernel  grid", "a       1000"]
