"""The NVIDIA driver of this machine, asked through its own library, so that neither cupy nor torch is needed.

Source: CUDA Driver API reference, "Initialization", "Version Management" and "Device Management".
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
_NAME_BYTES = 256
# CUdevice_attribute: the major and minor number of the compute capability.
_CAPABILITY_MAJOR = 75
_CAPABILITY_MINOR = 76


@dataclass(frozen=True)
class Gpu:
    """Name and architecture, as `NVIDIA H200` and `sm_90`."""

    name: str
    architecture: str


@dataclass(frozen=True)
class Driver:
    """What the driver says; `fault` is empty where it and at least one GPU can be used.

    `version` is the newest CUDA version that it runs.
    """

    version: tuple[int, int]
    gpus: tuple[Gpu, ...]
    fault: str = ""

    @property
    def version_text(self) -> str:
        """The version as written: 13.0."""
        return f"{self.version[0]}.{self.version[1]}"


def find_driver() -> Driver:
    """Ask the driver for its version and its GPUs."""
    library = _load()
    if library is None:
        return Driver((0, 0), (), "no NVIDIA driver")
    code = library.cuInit(0)
    number = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(number))
    version = (number.value // 1000, number.value % 1000 // 10)
    if code:
        return Driver(version, (), f"the NVIDIA driver does not start (cuInit gave error {code})")
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    gpus = tuple(_gpu(library, index) for index in range(count.value))
    return Driver(version, gpus, "" if gpus else "an NVIDIA driver, but no GPU")


def _load() -> ctypes.CDLL | None:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _gpu(library: ctypes.CDLL, index: int) -> Gpu:
    device = ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), index)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    library.cuDeviceGetName(name, _NAME_BYTES, device)
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.cuDeviceGetAttribute(ctypes.byref(major), _CAPABILITY_MAJOR, device)
    library.cuDeviceGetAttribute(ctypes.byref(minor), _CAPABILITY_MINOR, device)
    return Gpu(name.value.decode(), f"sm_{major.value}{minor.value}")
