"""Which target a program runs on, on which device, for which architecture."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from dlrmc.emulator.compiler import find_compiler
from dlrmc.errors import CompileError, OptionError
from dlrmc.options import Options
from dlrmc.runtime import cupy_modules, nvrtc
from dlrmc.schedule.limits import SHARED_BYTES_PER_BLOCK, DeviceLimits

DEFAULT_ARCHITECTURE = "sm_90"
# The one architecture that has products of warpgroups, wgmma.
WARPGROUPS = "sm_90a"
_LOGGER = logging.getLogger("dlrmc")


@dataclass(frozen=True)
class Target:
    """Where a program will run.

    Args:
        name: `cuda`, `emulate` or `reference`.
        device: of the weights, the kernels and the outputs.
        architecture: what the source is compiled for, as `sm_90`; for `cuda` the GPU's own.
        limits: what one kernel may use.
        reason: why this target, in a few words.
    """

    name: str
    device: torch.device
    architecture: str
    limits: DeviceLimits
    reason: str


def choose_target(options: Options, weights: Mapping[str, torch.Tensor]) -> Target:
    """The target that was asked for, or the best that this machine can do, which is logged in one line.

    Args:
        options: `target` and `architecture` of them.
        weights: the program's tensors; those on a GPU say which GPU.

    Raises:
        OptionError: `cuda` was asked for and there is no GPU, or the weights are on several.
        CompileError: the compiler that the target needs is missing; the message says how to install it.
    """
    target = _asked(options, weights) if options.target != "auto" else _best(options, weights)
    level = logging.INFO if options.target == "auto" else logging.DEBUG
    place = target.name, target.device, target.architecture
    _LOGGER.log(level, "target %s on %s for %s: %s", *place, target.reason)
    return target


def _asked(options: Options, weights: Mapping[str, torch.Tensor]) -> Target:
    if options.target == "cuda":
        return _cuda(options, weights, "asked for")
    if options.target == "emulate":
        return _cpu(options, "emulate", f"asked for, built by {find_compiler().path}")
    return _cpu(options, "reference", "asked for")


def _best(options: Options, weights: Mapping[str, torch.Tensor]) -> Target:
    if torch.cuda.is_available():
        try:
            return _cuda(options, weights, "a GPU is present")
        except CompileError as error:
            if options.strict:
                raise
            _LOGGER.warning("the GPU is not used: %s", error)
            no_gpu = "the GPU cannot be compiled for"
    else:
        no_gpu = "torch sees no GPU"
    try:
        return _cpu(options, "emulate", f"{no_gpu}; {find_compiler().path} builds the kernels for the CPU")
    except CompileError:
        return _cpu(options, "reference", f"{no_gpu} and no C++ compiler was found")


def _cpu(options: Options, name: str, reason: str) -> Target:
    arch = options.architecture or DEFAULT_ARCHITECTURE
    return Target(name, torch.device("cpu"), arch, limits_by_name(arch), reason)


def limits_by_name(arch: str) -> DeviceLimits:
    """What a kernel may use of a GPU that is not here, with the multiprocessors of an H100.

    Raises:
        OptionError: there is no such GPU, or its shared memory is not known.
    """
    number = architecture_number(arch)
    shared_bytes = SHARED_BYTES_PER_BLOCK.get(number)
    if shared_bytes is None:
        raise OptionError(
            "option architecture",
            found=arch,
            expected="one of " + ", ".join(f"sm_{known}" for known in SHARED_BYTES_PER_BLOCK),
            hint="the target cuda reads what it needs from the GPU, of any architecture that NVRTC knows",
        )
    return DeviceLimits(
        architecture=number, shared_bytes_per_block=shared_bytes, has_warpgroups=arch == WARPGROUPS
    )


def _cuda(options: Options, weights: Mapping[str, torch.Tensor], reason: str) -> Target:
    if not torch.cuda.is_available():
        raise OptionError(
            "target cuda",
            found=f"torch {torch.__version__} sees no GPU",
            expected="an NVIDIA GPU, its driver, and a torch built for CUDA",
            hint="`dlrmc doctor` says what is missing; target='emulate' runs the same kernels on the CPU",
        )
    toolchain = nvrtc.find_toolchain()
    device = _gpu_of(weights)
    major, minor = torch.cuda.get_device_capability(device)
    arch = options.architecture or _architecture(major, minor)
    nvrtc.check_architecture(arch, toolchain)
    if architecture_number(arch) != major * 10 + minor:
        raise OptionError(
            "option architecture",
            found=f"{arch} for a GPU of sm_{major}{minor}",
            expected=f"sm_{major}{minor}, since the kernels run on {device}",
            hint="leave the option out",
        )
    return Target(
        "cuda", device, arch, _limits(device, arch), f"{reason} ({torch.cuda.get_device_name(device)})"
    )


def _architecture(major: int, minor: int) -> str:
    """The GPU's own, with what only it has."""
    own = f"sm_{major}{minor}"
    return WARPGROUPS if f"{own}a" == WARPGROUPS else own


def _gpu_of(weights: Mapping[str, torch.Tensor]) -> torch.device:
    devices = list(dict.fromkeys(tensor.device for tensor in weights.values() if tensor.is_cuda))
    if len(devices) > 1:
        raise OptionError(
            "the model's weights",
            found=f"on {', '.join(map(str, devices))}",
            expected="all on one GPU",
            hint="move the model to one GPU and export it again",
        )
    return devices[0] if devices else torch.device("cuda", torch.cuda.current_device())


def _limits(device: torch.device, arch: str) -> DeviceLimits:
    runtime = cupy_modules.cuda().runtime
    properties = torch.cuda.get_device_properties(device)
    shared = runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index)
    return DeviceLimits(
        architecture=properties.major * 10 + properties.minor,
        multiprocessors=properties.multi_processor_count,
        shared_bytes_per_block=int(shared),
        has_warpgroups=arch == WARPGROUPS,
    )


def architecture_number(arch: str) -> int:
    """90 for `sm_90a`."""
    match = re.fullmatch(r"sm_(\d{2,3})[af]?", arch)
    if match is None:
        raise OptionError("architecture", found=repr(arch), expected="a name such as sm_90")
    return int(match.group(1))
