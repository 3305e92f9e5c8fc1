"""Where the operators of a net run, and with which seeds; a part of Net."""

from __future__ import annotations

import zlib

from caffe2.proto import caffe2_pb2
from caffe2.python._core.device_option import DeviceOption


class NetDevices:
    """The methods of Net that place all of its operators on a device, or seed them."""

    _net: caffe2_pb2.NetDef

    def RunAllOnGPU(self, gpu_id: int = 0, use_cudnn: bool = False) -> None:
        """Places the net on a CUDA device; with `use_cudnn`, prefers the engine CUDNN."""
        _place_on_gpu(self._net, gpu_id, use_cudnn)

    def RunAllOnMKL(self) -> None:
        """Places the net on devices of the type MKLDNN. As in Caffe2 without MKL, the net then
        cannot be created, because no operator exists for them. Operators of the CPU use oneDNN."""
        self._net.device_option.CopyFrom(caffe2_pb2.DeviceOption(device_type=caffe2_pb2.MKLDNN))

    def RunAllOnIDEEP(self) -> None:
        """Places the net on devices of the type IDEEP; see RunAllOnMKL."""
        self._net.device_option.CopyFrom(caffe2_pb2.DeviceOption(device_type=caffe2_pb2.IDEEP))

    def set_rand_seed(self, seed: int = 100, sequence_seed: bool = True,
                      seed_on_op_def: bool = False) -> None:
        """Seeds the operators that the net has now, so that each run draws the same numbers.

        Args:
          sequence_seed: operator i gets seed + i.
          seed_on_op_def: each operator gets a hash of its definition and the seed.

        Without both, all operators get the same seed. Raises ValueError if both are True.
        """
        if sequence_seed and seed_on_op_def:
            raise ValueError("sequence_seed and seed_on_op_def cannot both be True")
        for i, op in enumerate(self._net.op):
            hashed = zlib.crc32(op.SerializeToString(deterministic=True), seed)
            op.device_option.random_seed = (
                hashed if seed_on_op_def else seed + i if sequence_seed else seed)


def _place_on_gpu(proto: caffe2_pb2.NetDef, gpu_id: int, use_cudnn: bool) -> None:
    """Places a NetDef, and the steps of recurrent networks in it, on a CUDA device."""
    proto.device_option.CopyFrom(DeviceOption(caffe2_pb2.CUDA, gpu_id))
    for op in proto.op:
        if use_cudnn:
            op.engine = "CUDNN"
        for argument in op.arg if op.type == "RecurrentNetwork" else ():
            if argument.name == "step_net":
                _place_on_gpu(argument.n, gpu_id, use_cudnn)
