from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import dlrmc
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


@pytest.mark.parametrize("arch", ["sm_35", "sm_72"])
def test_an_architecture_without_limits_or_compiler_is_refused(cli: Cli, small: Any, arch: str) -> None:
    done = cli("dump-cuda", small.model, "--resources", "--architecture", arch)
    assert done.code == 1
    assert "expected: one of sm_" in done.err


def test_the_source_is_that_of_the_compiler(cli: Cli, small: Any) -> None:
    compiled = dlrmc.compile(
        torch.export.load(small.model), target="reference", architecture="sm_90a", precision="tf32"
    )
    arguments = ("--architecture", "sm_90a", "--precision", "tf32")
    assert cli("dump-cuda", small.model, *arguments).out == compiled.cuda_source


LARGE = b"""graph @large {
  input %x : f32[2048,512]
  weight %w : f32[1024,512] = "w"
  %y = linear(%x, %w) : f32[2048,1024]
  return %y
}
"""


@pytest.mark.parametrize(("arch", "has_warpgroups"), [("sm_90", False), ("sm_90a", True)])
def test_warpgroups_are_used_where_the_architecture_has_them(
    cli: Cli, arch: str, has_warpgroups: bool
) -> None:
    assert ("warpgroup" in cli("dump-cuda", "-", "--architecture", arch, stdin=LARGE).out) == has_warpgroups


@pytest.mark.parametrize(
    "command", [("dump-ir", "--stage", "import"), ("dump-ir",), ("dump-cuda",), ("opt",)]
)
def test_dynamic_sizes_are_those_of_the_example(cli: Cli, tmp_path: Path, command: tuple[str, ...]) -> None:
    batch = torch.export.Dim("batch", max=64)
    program = torch.export.export(
        torch.nn.Linear(3, 2).eval(), (torch.ones(6, 3),), dynamic_shapes=({0: batch},)
    )
    torch.export.save(program, tmp_path / "dynamic.pt2")
    name, *options = command
    done = cli(name, tmp_path / "dynamic.pt2", *options)
    assert done.code == 0
    assert "f32[6,3]" in done.out
    assert done.err == "note: dynamic sizes are shown for the example of the export: input[0] = 6\n"


def test_columns_are_aligned() -> None:
    assert aligned([("kernel", "grid"), ("a", "1000")]) == ["kernel  grid", "a       1000"]
