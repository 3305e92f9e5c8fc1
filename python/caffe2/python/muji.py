"""Sums of blobs over the GPUs of one process, written into a net; data_parallel_model does more.

Each function takes the net, one blob for each GPU, the suffix of the names of the results, and the
numbers of the GPUs (default 0, 1, ...). It returns the results, one on each GPU. The GPUs need no
peer access to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike


def OnGPU(gpu_id: int) -> caffe2_pb2.DeviceOption:
    """The DeviceOption of a GPU."""
    return core.DeviceOption(caffe2_pb2.CUDA, gpu_id)


def OnCPU() -> caffe2_pb2.DeviceOption:
    """The DeviceOption of the CPU."""
    return core.DeviceOption(caffe2_pb2.CPU)


def Allreduce(net: core.Net, blobs: Sequence[BlobLike], reduced_affix: str = "_reduced",
              gpu_indices: Sequence[int] | None = None) -> Any:
    """Adds the sum of the blobs on all GPUs. Raises ValueError unless there are as many GPUs."""
    gpus = list(range(len(blobs)) if gpu_indices is None else gpu_indices)
    if not blobs or len(gpus) != len(blobs):
        raise ValueError(f"there must be one blob for each of the GPUs {gpus}, found {len(blobs)}")
    blobs = [core.BlobReference(str(blob), net) for blob in blobs]
    first = gpus[0]
    with core.DeviceScope(OnGPU(first)):
        copies = [net.Copy(blob, f"{blob}_gpu_{first}_copy") for blob in blobs[1:]]
        total = net.Sum([blobs[0], *copies], blobs[0] + reduced_affix)
    results = [total]
    for gpu, blob in zip(gpus[1:], blobs[1:]):
        with core.DeviceScope(OnGPU(gpu)):
            results.append(net.Copy(total, blob + reduced_affix))
    return results


def _of(count):
    def allreduce(net, blobs, reduced_affix, gpu_indices):
        if len(blobs) != count:
            raise ValueError(f"{len(blobs)} blobs, not {count}")
        return Allreduce(net, blobs, reduced_affix, gpu_indices)

    allreduce.__doc__ = f"Allreduce of {count} blobs."
    return allreduce


AllreduceFallback = Allreduce
Allreduce2, Allreduce4, Allreduce8 = map(_of, (2, 4, 8))
Allreduce4Group2 = Allreduce4
