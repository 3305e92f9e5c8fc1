"""Devices of operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

from caffe2.proto import caffe2_pb2


def DeviceOption(device_type: int, cuda_gpu_id: int = 0, random_seed: int | None = None,
                 node_name: str | None = None, numa_node_id: int | None = None,
                 extra_info: Iterable[str] | None = None,
                 device_id: int | None = None) -> caffe2_pb2.DeviceOption:
    """A DeviceOption.

    Args:
      device_type: caffe2_pb2.CPU or caffe2_pb2.CUDA.
      cuda_gpu_id, device_id: the number of the device; both names mean the same.
      random_seed: seed of the operators on it that draw random numbers.
      node_name: the machine, for plans over several machines.
      numa_node_id: the NUMA node of the memory; CPU only.
      extra_info: a list of strings that travel with the operators.

    Raises TypeError for a type or number that is no integer, ValueError for a NUMA node of a GPU.
    """
    _check_integer("device_type", device_type, "such as caffe2_pb2.CPU or caffe2_pb2.CUDA")
    _check_integer("device_id", cuda_gpu_id if device_id is None else device_id, "such as 0")
    option = caffe2_pb2.DeviceOption()
    option.device_type = device_type
    option.device_id = cuda_gpu_id if device_id is None else device_id
    if random_seed is not None:
        option.random_seed = random_seed
    if node_name is not None:
        option.node_name = node_name
    if numa_node_id is not None:
        if device_type != caffe2_pb2.CPU:
            raise ValueError(f"numa_node_id ({numa_node_id}) is for the CPU only")
        option.numa_node_id = numa_node_id
    option.extra_info.extend(extra_info or ())
    return option


def _check_integer(name, value, hint):
    if not isinstance(value, SupportsIndex):
        raise TypeError(f"DeviceOption: {name} is {value!r}, must be an integer, {hint}")


def device_option_equal(opt1: caffe2_pb2.DeviceOption | None, opt2: caffe2_pb2.DeviceOption | None,
                        ignore_node_name: bool = True, ignore_random_seed: bool = True) -> bool:
    """True if two device options (None means the CPU) name the same device."""
    opt1 = opt1 or caffe2_pb2.DeviceOption()
    opt2 = opt2 or caffe2_pb2.DeviceOption()
    if not ignore_node_name and opt1.node_name != opt2.node_name:
        return False
    if not ignore_random_seed and opt1.random_seed != opt2.random_seed:
        return False
    if not opt1.device_type or not opt2.device_type:
        return opt1.device_type == opt2.device_type
    return opt1.device_type == opt2.device_type and opt1.device_id == opt2.device_id


def IsGPUDeviceType(device_type: int) -> bool:
    """True for the device types that are GPUs."""
    return device_type in (caffe2_pb2.CUDA, caffe2_pb2.HIP)
