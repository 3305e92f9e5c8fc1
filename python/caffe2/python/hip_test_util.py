"""Whether a test's operators run on an AMD GPU."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.proto import caffe2_pb2


def run_in_hip(gc: caffe2_pb2.DeviceOption, dc: Iterable[caffe2_pb2.DeviceOption]) -> bool:
    """True if the device option gc, or one of dc, is of type HIP."""
    return any(device.device_type == caffe2_pb2.HIP for device in (gc, *dc))
