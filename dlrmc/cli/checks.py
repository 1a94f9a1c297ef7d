"""What `dlrmc doctor` looks at: each check says what is here, which targets need it, and what brings it."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlrmc.cli.driver import Driver, find_driver
from dlrmc.errors import DlrmcError

TARGETS = ("cuda", "emulate", "reference")
TORCH_MIN = (2, 11)
# CUDA 13 needs a driver of the 580 series, whose CUDA version reads 13.0.
CUDA13_DRIVER_MIN = (13, 0)
# What the extras cuda13 and cuda12 bring, by name, so that the command works without a checkout of dlrmc too.
_CUDA13_COMMAND = 'pip install "cupy-cuda13x>=14" "nvidia-cuda-nvrtc>=13"'
_CUDA12_COMMAND = 'pip install "cupy-cuda12x>=14" "nvidia-cuda-nvrtc-cu12>=12.6"'
_INSTALLERS = (
    ("apt-get", "apt-get install g++"),
    ("dnf", "dnf install gcc-c++"),
    ("apk", "apk add g++"),
    ("brew", "xcode-select --install"),
)


@dataclass(frozen=True)
class Check:
    """One finding.

    Args:
        name: what was looked for.
        works: whether it is here and does its work.
        detail: the version or place, or what is wrong.
        mend: the exact command that brings it; empty where it works.
        targets: the targets that need it; empty for what only a convenience needs.
    """

    name: str
    works: bool
    detail: str
    mend: str = ""
    targets: tuple[str, ...] = ()


def run_checks(cache_dir: Path) -> tuple[Check, ...]:
    """Every check, in the order of printing."""
    driver = find_driver()
    return (
        Check("Python", True, f"{platform.python_version()} on {platform.machine()}", targets=TARGETS),
        check_torch(),
        check_gpu(driver),
        check_cupy(driver),
        check_nvrtc(driver),
        check_compiler(),
        check_cache(cache_dir),
        check_drawing(),
    )


def missing_for(target: str, checks: Sequence[Check]) -> tuple[Check, ...]:
    """The checks that keep a target from working."""
    return tuple(check for check in checks if target in check.targets and not check.works)


def check_torch() -> Check:
    """Whether torch is installed and new enough; it is not imported, which takes seconds."""
    mend = f'pip install "torch>={TORCH_MIN[0]}.{TORCH_MIN[1]}"'
    version = installed_version("torch")
    if version is None:
        return Check("torch", False, "not installed", mend, TARGETS)
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < TORCH_MIN:
        return Check("torch", False, f"{version} is too old", mend, TARGETS)
    return Check("torch", True, version, targets=TARGETS)


def check_gpu(driver: Driver) -> Check:
    """Whether an NVIDIA driver and a GPU are here."""
    if driver.fault:
        mend = "install an NVIDIA driver (https://www.nvidia.com/drivers), 580 or newer for CUDA 13"
        return Check("GPU", False, driver.fault, mend, ("cuda",))
    names = "; ".join(f"{gpu.name} ({gpu.architecture})" for gpu in driver.gpus)
    return Check("GPU", True, f"{names}; driver for CUDA {driver.version_text}", targets=("cuda",))


def check_cupy(driver: Driver) -> Check:
    """Whether exactly one cupy is installed."""
    mend = cuda_command(driver)
    packages = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
    present = [(name, version) for name in packages if (version := installed_version(name))]
    if not present:
        return Check("cupy", False, "not installed", mend, ("cuda",))
    text = ", ".join(f"{name} {version}" for name, version in present)
    if len(present) > 1:
        removal = "pip uninstall -y " + " ".join(name for name, _ in present)
        return Check("cupy", False, f"{text}: they overwrite each other", f"{removal} && {mend}", ("cuda",))
    return Check("cupy", True, text, targets=("cuda",))


def check_nvrtc(driver: Driver) -> Check:
    """Whether NVRTC loads and compiles a kernel, which needs no GPU."""
    from dlrmc.runtime.nvrtc import compile_source, find_toolchain

    try:
        toolchain = find_toolchain()
        arch = f"sm_{max(a for a in toolchain.architectures if a <= 90)}"
        compile_source('extern "C" __global__ void probe(float* p) { *p = 1.0f; }', arch, toolchain)
    except DlrmcError as error:
        return Check("NVRTC", False, error.found, cuda_command(driver), ("cuda",))
    detail = f"{toolchain.name}, for {toolchain.describe_architectures()}"
    return Check("NVRTC", True, detail, targets=("cuda",))


def check_compiler() -> Check:
    """Whether a C++ compiler is here for the emulator."""
    from dlrmc.emulator.compiler import find_compiler

    try:
        compiler = find_compiler()
    except DlrmcError as error:
        return Check("C++ compiler", False, error.found, installer_command(shutil.which), ("emulate",))
    return Check("C++ compiler", True, f"{compiler.version}, {compiler.path}", targets=("emulate",))


def check_cache(cache_dir: Path) -> Check:
    """Whether the cache folder can be written, and how full it is."""
    files = [path for path in cache_dir.rglob("*") if path.is_file()] if cache_dir.is_dir() else []
    size_mib = sum(path.stat().st_size for path in files) / 2**20
    detail = f"{cache_dir}, {len(files)} files, {size_mib:.1f} MiB"
    nearest = next(path for path in (cache_dir, *cache_dir.absolute().parents) if path.exists())
    if not nearest.is_dir():
        return Check("cache", False, f"{nearest} is no folder", "set DLRMC_CACHE_DIR to a folder", ())
    try:
        # Permissions alone do not say it: the file system may be read-only, or of the kernel.
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        detail = f"{nearest} cannot be written ({error.strerror})"
        return Check("cache", False, detail, "set DLRMC_CACHE_DIR to a folder", ())
    return Check("cache", True, detail)


def check_drawing() -> Check:
    """Whether `dump-ir --format svg` can lay out graphs."""
    version = installed_version("pygraphviz")
    if version is None:
        return Check("pygraphviz", False, "not installed (for --format svg)", 'pip install "pygraphviz>=2"')
    return Check("pygraphviz", True, version)


def installed_version(package: str) -> str | None:
    """The version of an installed distribution, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cuda_command(driver: Driver) -> str:
    """The command that installs cupy and NVRTC for this driver, or for CUDA 13 where there is no driver."""
    is_old = not driver.fault and driver.version < CUDA13_DRIVER_MIN
    return _CUDA12_COMMAND if is_old else _CUDA13_COMMAND


def installer_command(which: Callable[[str], str | None]) -> str:
    """The command that installs a C++ compiler with this machine's package manager."""
    for tool, command in _INSTALLERS:
        if which(tool):
            return command
    return "install g++ or clang++ with this system's package manager"
