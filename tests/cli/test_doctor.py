from __future__ import annotations

import errno
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlrmc.cli import checks
from dlrmc.cli.checks import (
    Check,
    check_cache,
    check_cupy,
    check_gpu,
    check_nvrtc,
    check_torch,
    missing_for,
)
from dlrmc.cli.driver import Driver, Gpu, find_driver
from dlrmc.errors import CompileError
from dlrmc.runtime import nvrtc

Cli = Callable[..., Any]
NO_DRIVER = Driver((0, 0), (), "no NVIDIA driver")
CUDA13 = 'pip install "cupy-cuda13x>=14" "nvidia-cuda-nvrtc>=13"'
CUDA12 = 'pip install "cupy-cuda12x>=14" "nvidia-cuda-nvrtc-cu12>=12.6"'
HOPPER = Driver((13, 0), (Gpu("NVIDIA H200", "sm_90"),))


def test_every_check_is_printed_and_the_targets_are_named(cli: Cli) -> None:
    done = cli("doctor")
    for name in ("Python", "torch", "GPU", "cupy", "NVRTC", "C++ compiler", "cache"):
        assert name in done.out
    assert "target reference: works" in done.out
    assert "target emulate: works" in done.out
    assert done.code == 0


def test_json_agrees_with_the_exit_code_of_each_target(cli: Cli) -> None:
    works = json.loads(cli("doctor", "--json").out)["targets"]
    assert list(works) == ["cuda", "emulate", "reference"]
    for target, expected in works.items():
        assert cli("doctor", "--target", target).code == (0 if expected else 1)


def test_what_is_missing_comes_with_a_command(cli: Cli) -> None:
    for check in json.loads(cli("doctor", "--json").out)["checks"]:
        assert check["works"] or check["mend"]


def test_the_gpu_and_its_driver() -> None:
    assert check_gpu(HOPPER).detail == "NVIDIA H200 (sm_90); driver for CUDA 13.0"
    missing = check_gpu(NO_DRIVER)
    assert (missing.works, missing.targets) == (False, ("cuda",))
    assert "580" in missing.mend


def test_the_driver_is_asked_without_a_crash() -> None:
    driver = find_driver()
    assert bool(driver.gpus) != bool(driver.fault)


@pytest.mark.parametrize(
    ("installed", "driver", "works", "mend"),
    [
        ({}, HOPPER, False, CUDA13),
        ({}, NO_DRIVER, False, CUDA13),
        ({}, Driver((12, 4), HOPPER.gpus), False, CUDA12),
        ({"cupy-cuda13x": "14.2.0"}, HOPPER, True, ""),
        (
            {"cupy-cuda13x": "14.2.0", "cupy-cuda12x": "14.2.0"},
            HOPPER,
            False,
            f"pip uninstall -y cupy-cuda13x cupy-cuda12x && {CUDA13}",
        ),
    ],
)
def test_cupy_must_be_there_once(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], driver: Driver, works: bool, mend: str
) -> None:
    monkeypatch.setattr(checks, "installed_version", installed.get)
    check = check_cupy(driver)
    assert (check.works, check.mend) == (works, mend)


def test_nvrtc_compiles_a_kernel_without_a_gpu() -> None:
    check = check_nvrtc(NO_DRIVER)
    assert check.works
    assert "sm_90" in check.detail


def test_nvrtc_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise CompileError("NVRTC", found="the library cannot be loaded")

    monkeypatch.setattr(nvrtc, "find_toolchain", fail)
    check = check_nvrtc(HOPPER)
    assert (check.works, check.detail, check.mend) == (False, "the library cannot be loaded", CUDA13)


@pytest.mark.parametrize(
    ("version", "works"),
    [("2.11.0", True), ("2.13.0+cpu", True), ("3.0.1", True), ("2.9.1", False), (None, False)],
)
def test_torch_must_be_new_enough(monkeypatch: pytest.MonkeyPatch, version: str | None, works: bool) -> None:
    monkeypatch.setattr(checks, "installed_version", lambda package: version)
    check = check_torch()
    assert check.works is works
    assert works or check.mend == 'pip install "torch>=2.11"'


def test_the_cache_is_measured(tmp_path: Path) -> None:
    (tmp_path / "one.cubin").write_bytes(bytes(3 * 2**20))
    assert check_cache(tmp_path).detail.endswith("1 files, 3.0 MiB")
    assert check_cache(tmp_path / "not" / "yet").works
    blocked = check_cache(tmp_path / "one.cubin" / "below")
    assert (blocked.works, blocked.mend) == (False, "set DLRMC_CACHE_DIR to a folder")


def test_a_cache_that_nobody_can_write_is_seen_by_root_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    blocked = check_cache(tmp_path / "below")
    assert (blocked.works, blocked.detail) == (False, f"{tmp_path} cannot be written (Read-only file system)")


@pytest.mark.parametrize(
    ("tools", "command"),
    [
        ({"apt-get"}, "apt-get install g++"),
        ({"brew"}, "xcode-select --install"),
        (set(), "install g++ or clang++ with this system's package manager"),
    ],
)
def test_the_compilers_command_is_that_of_the_machine(tools: set[str], command: str) -> None:
    assert checks.installer_command(lambda tool: tool if tool in tools else None) == command


def test_a_target_needs_its_checks_only() -> None:
    found = (Check("GPU", False, "", "m", ("cuda",)), Check("cache", False, "", "m"))
    assert [check.name for check in missing_for("cuda", found)] == ["GPU"]
    assert missing_for("emulate", found) == ()
