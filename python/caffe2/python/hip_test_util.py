"""Whether a test's operators run on an AMD GPU."""

from caffe2.proto import caffe2_pb2


def run_in_hip(gc, dc):
    """True if the device option gc, or one of dc, is of type HIP."""
    return any(device.device_type == caffe2_pb2.HIP for device in (gc, *dc))
