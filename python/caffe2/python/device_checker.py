"""Compares the results of operators and nets on several devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import scope, workspace
from caffe2.python._core.blob_reference import BlobLike


class DeviceChecker:
    """Runs operators and nets on each device and compares the results with the first device's.

    Args:
      threshold: the largest difference of two elements.
      device_options: DeviceOptions.

    Raises ValueError without devices.
    """

    def __init__(self, threshold: float, device_options: Sequence[caffe2_pb2.DeviceOption]) -> None:
        if not device_options:
            raise ValueError("DeviceChecker: there are no devices to compare")
        self._threshold = threshold
        self._device_options = device_options

    def _agree(self, results, names):
        for name, *values in zip(names, *results):
            for value in values[1:]:
                if not np.allclose(value, values[0], rtol=self._threshold, atol=self._threshold):
                    print(f"{name} differs between devices:\n{values[0]}\n{value}")
                    return False
        return True

    def CheckSimple(
            self, op: caffe2_pb2.OperatorDef, inputs: Sequence[Any],
            outputs_to_check: Sequence[int],
            input_device_options: Mapping[str, caffe2_pb2.DeviceOption] | None = None) -> bool:
        """True if the outputs (given by index) of an operator agree on all devices."""
        input_device_options = input_device_options or {}
        results = []
        with workspace.WorkspaceGuard("_device_check_"):
            for device in self._device_options:
                op.device_option.CopyFrom(scope.checked_device(device))
                for name, value in zip(op.input, inputs):
                    workspace.FeedBlob(name, value, input_device_options.get(name, device))
                workspace.RunOperatorOnce(op)
                results.append([workspace.FetchBlob(op.output[i]) for i in outputs_to_check])
                workspace.ResetWorkspace()
        return self._agree(results, [op.output[i] for i in outputs_to_check])

    def CheckNet(self, net: caffe2_pb2.NetDef, inputs: Mapping[str, Any] | None = None,
                 blobs_to_check: Iterable[str] | None = None,
                 ignore: Iterable[BlobLike] | None = None) -> bool:
        """True if the blobs (default: all outputs) of a net agree on all devices."""
        proto = type(net)()
        proto.CopyFrom(net)
        ignored = {str(blob) for blob in ignore or ()}
        names = blobs_to_check or sorted({blob for op in proto.op for blob in op.output})
        names = [name for name in names if name not in ignored]
        results = []
        with workspace.WorkspaceGuard("_device_check_"):
            for device in self._device_options:
                for name, value in (inputs or {}).items():
                    workspace.FeedBlob(name, value, device)
                for op in proto.op:
                    op.device_option.CopyFrom(scope.checked_device(device))
                workspace.RunNetOnce(proto)
                results.append([workspace.FetchBlob(name) for name in names])
                workspace.ResetWorkspace()
        return self._agree(results, names)
