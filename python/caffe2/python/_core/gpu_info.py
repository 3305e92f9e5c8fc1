"""Properties of the CUDA driver and its devices; public through workspace.

Without a GPU the functions return what Caffe2 built without GPUs returns.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import numpy as np

from caffe2.python import _import_c_extension as C

# CUdevice_attribute of cuda.h.
_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR = 75, 76


def _driver():
    driver = ctypes.CDLL("libcuda.so.1")
    _call(driver, "cuInit", 0)
    return driver


def _call(driver, function, *args):
    """Calls a function of the driver; raises RuntimeError with its error code."""
    code = getattr(driver, function)(*args)
    if code != 0:
        raise RuntimeError(f"the CUDA driver's {function} failed with error {code}")


def _device(driver, device_id):
    device = ctypes.c_int()
    _call(driver, "cuDeviceGet", ctypes.byref(device), int(device_id))
    return device


@contextlib.contextmanager
def _context(driver, device):
    """Within the block, makes the context that the library has on the device the current one."""
    context = ctypes.c_void_p()
    _call(driver, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    try:
        _call(driver, "cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            _call(driver, "cuCtxPopCurrent_v2", ctypes.byref(context))
    finally:
        _call(driver, "cuDevicePrimaryCtxRelease_v2", device)


def GetCUDAVersion() -> int:
    """The version of CUDA that the driver runs, for instance 12040 for 12.4; 0 without GPUs."""
    if not C.has_cuda_support:
        return 0
    version = ctypes.c_int()
    _call(_driver(), "cuDriverGetVersion", ctypes.byref(version))
    return version.value


def GetHIPVersion() -> int:
    """0: this build has no HIP."""
    return 0


def GetDeviceProperties(deviceid: int) -> dict[str, Any] | None:
    """{"name", "major", "minor" (of the compute capability), "totalGlobalMem" (bytes)} of a GPU;
    None without GPUs. Raises RuntimeError if there are GPUs, but not this one."""
    if not C.has_gpu_support:
        return None
    driver = _driver()
    device = _device(driver, deviceid)
    name, total = ctypes.create_string_buffer(256), ctypes.c_size_t()
    _call(driver, "cuDeviceGetName", name, len(name), device)
    _call(driver, "cuDeviceTotalMem_v2", ctypes.byref(total), device)
    capability = []
    for attribute in (_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR):
        value = ctypes.c_int()
        _call(driver, "cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        capability.append(value.value)
    return {"name": name.value.decode(), "major": capability[0], "minor": capability[1],
            "totalGlobalMem": total.value}


def GetGPUMemoryInfo(device_id: int = 0) -> tuple[int, int] | None:
    """(free, total) bytes of a GPU's memory; None without GPUs."""
    if not C.has_gpu_support:
        return None
    driver = _driver()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with _context(driver, _device(driver, device_id)):
        _call(driver, "cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def GetGpuPeerAccessPattern() -> np.ndarray:
    """An array [GPUs, GPUs] of bool: whether GPU i can read the memory of GPU j (also for i = j);
    empty without GPUs."""
    if not C.has_gpu_support:
        return np.array([])
    driver = _driver()
    devices = [_device(driver, i) for i in range(C.num_cuda_devices())]
    pattern = np.eye(len(devices), dtype=bool)
    for i, reader in enumerate(devices):
        for k, owner in enumerate(devices):
            if i != k:
                access = ctypes.c_int()
                _call(driver, "cuDeviceCanAccessPeer", ctypes.byref(access), reader, owner)
                pattern[i, k] = access.value != 0
    return pattern
