"""The devices of blobs, and copies of blobs that operators need on other devices; public through
caffe2.python.core."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.device_option import device_option_equal
from caffe2.python._core.operator_def import CreateOperator

BlobDevices = dict[str, caffe2_pb2.DeviceOption]
_Devices = list[caffe2_pb2.DeviceOption]

# A blob, and the device on which an operator needs it.
RemapEntry = collections.namedtuple("RemapEntry", ["blob", "device"])

# Operators whose inputs, or outputs, are always on the host.
_HOST_INPUT = {"CopyCPUToGPU", "CopyFromCPUInput", "Iter", "AtomicIter", "LearningRate"}
_HOST_OUTPUT = {"CopyGPUToCPU", "EnsureCPUOutput", "Iter", "AtomicIter", "Shape"}


def device_equal(src: caffe2_pb2.DeviceOption, dst: caffe2_pb2.DeviceOption) -> bool:
    """True if two device options name the same device; their nodes may differ."""
    return device_option_equal(src, dst)


def InferOpBlobDevices(op: caffe2_pb2.OperatorDef) -> tuple[_Devices, _Devices]:
    """([DeviceOption of each input], [of each output]) of an OperatorDef."""
    host = caffe2_pb2.DeviceOption(device_type=caffe2_pb2.CPU, node_name=op.device_option.node_name)
    inputs = host if op.type in _HOST_INPUT else op.device_option
    outputs = host if op.type in _HOST_OUTPUT else op.device_option
    return [inputs] * len(op.input), [outputs] * len(op.output)


def InferOpBlobDevicesAsDict(op: caffe2_pb2.OperatorDef) -> tuple[BlobDevices, BlobDevices]:
    """({input: DeviceOption}, {output: DeviceOption}) of an OperatorDef."""
    inputs, outputs = InferOpBlobDevices(op)
    return dict(zip(op.input, inputs)), dict(zip(op.output, outputs))


def InferOpDeviceAsBlobDevices(op: caffe2_pb2.OperatorDef) -> tuple[_Devices, _Devices]:
    """InferOpBlobDevices as if all blobs were on the device of the operator."""
    return [op.device_option] * len(op.input), [op.device_option] * len(op.output)


def update_placeholder_op_output(op: caffe2_pb2.OperatorDef, blob_to_device: BlobDevices) -> None:
    """Renames the outputs of an operator that writes on the host (Recv), in place: blobs that
    `blob_to_device`, {blob: DeviceOption}, has on another device get "_cpu" appended to their
    names."""
    for i, blob in enumerate(op.output):
        if blob in blob_to_device and blob_to_device[blob].device_type != caffe2_pb2.CPU:
            op.output[i] = blob + "_cpu"


def InferBlobDevices(net: Any) -> BlobDevices:
    """{blob: DeviceOption of the operator that wrote it last}."""
    return {blob: device for op in net.Proto().op
            for blob, device in zip(op.output, InferOpBlobDevices(op)[1])}


def copy_func_between_devices(src: caffe2_pb2.DeviceOption,
                              dst: caffe2_pb2.DeviceOption
                              ) -> Callable[[Any, BlobLike, BlobLike], BlobReference]:
    """A function (net, input, output) that adds the copy of a blob between devices.

    Raises ValueError for devices that no operator copies between.
    """
    kinds = (src.device_type, dst.device_type)
    operators = {(caffe2_pb2.CPU, caffe2_pb2.CPU): "Copy",
                 (caffe2_pb2.CUDA, caffe2_pb2.CUDA): "Copy",
                 (caffe2_pb2.CPU, caffe2_pb2.CUDA): "CopyCPUToGPU",
                 (caffe2_pb2.CUDA, caffe2_pb2.CPU): "CopyGPUToCPU"}
    if kinds not in operators:
        raise ValueError(f"no operator copies from a device of type {kinds[0]} to {kinds[1]}")
    on_gpu = src if kinds == (caffe2_pb2.CUDA, caffe2_pb2.CPU) else dst

    def copy(net, blob, output):
        net._ExtendOps([CreateOperator(
            operators[kinds], BlobReference(str(blob)), BlobReference(str(output)),
            device_option=on_gpu)])
        return BlobReference(str(output), net)

    return copy


def _copy_name(blob, device):
    if device.device_type == caffe2_pb2.CPU:
        return blob + "_cpu"
    return f"{blob}_gpu_{device.device_id}"


def InjectCrossDeviceCopies(net: Any, blob_to_device: BlobDevices | None = None,
                            blob_remap: dict[tuple[str, bytes], str] | None = None,
                            placeHolderOps: Sequence[str] | None = None) -> tuple[Any, BlobDevices]:
    """A copy of a net in which operators that need a blob of another device read a copy of it.

    Args:
      blob_to_device: {blob: DeviceOption} of the external inputs that are not on the net's device;
        changed in place.
      blob_remap: {(blob, serialized device): copy} of copies that earlier nets made; changed in
        place.
      placeHolderOps: types of operators that read blobs on any device.

    Returns (Net, blob_to_device). Raises ValueError for inputs that no operator writes and
    blob_to_device lacks, and for a blob that operators of different devices write.
    """
    blob_to_device = {} if blob_to_device is None else blob_to_device
    blob_remap = {} if blob_remap is None else blob_remap
    new_net = net.Clone(net.Name() + "_cross_device", op_id_mask=[])
    for (blob, _), copy in blob_remap.items():
        if new_net.BlobIsDefined(blob) and not new_net.BlobIsDefined(copy):
            new_net.AddExternalInput(BlobReference(copy))
    for op in net.Proto().op:
        input_devices, output_devices = InferOpBlobDevices(op)
        renamed = {}
        for blob, device in zip(op.input, input_devices):
            if blob not in blob_to_device and blob in net.Proto().external_input:
                blob_to_device[blob] = net.Proto().device_option
            if blob not in blob_to_device:
                raise ValueError(f"No device information found for blob {blob}.")
            if op.type in (placeHolderOps or ()) or device_equal(blob_to_device[blob], device):
                continue
            entry = (blob, device.SerializeToString())
            if entry not in blob_remap:
                blob_remap[entry] = _copy_name(blob, device)
                copy_func_between_devices(blob_to_device[blob], device)(
                    new_net, blob, blob_remap[entry])
                blob_to_device[blob_remap[entry]] = device
            renamed[blob] = blob_remap[entry]
        for blob, device in zip(op.output, output_devices):
            known = blob_to_device.get(blob)
            if known is not None and blob not in op.input and not device_equal(known, device):
                raise ValueError(f"blob {blob} is written on two devices: {known} and {device} "
                                 f"(operator {op.type})")
        new_op = caffe2_pb2.OperatorDef()
        new_op.CopyFrom(op)
        new_op.input[:] = [renamed.get(blob, blob) for blob in op.input]
        # An operator in place works on the copy.
        new_op.output[:] = [renamed.get(blob, blob) for blob in op.output]
        for blob, device in zip(new_op.output, output_devices):
            blob_to_device[blob] = device
            for entry in [entry for entry in blob_remap if entry[0] == blob]:
                del blob_remap[entry]  # a copy of what the blob held before
        new_net._ExtendOps([new_op])
    return new_net, blob_to_device


def InjectDeviceCopiesAmongNets(nets: Sequence[Any],
                                blob_to_device_init: BlobDevices | None = None
                                ) -> tuple[list[Any], BlobDevices]:
    """InjectCrossDeviceCopies of nets that run one after the other.

    Returns (list of Nets, blob_to_device). Raises the errors of InjectCrossDeviceCopies.
    """
    if not isinstance(nets, (list, tuple)) or not nets:
        raise ValueError("InjectDeviceCopiesAmongNets takes a list of nets")
    blob_to_device = dict(blob_to_device_init or {})
    blob_remap: dict[tuple[str, bytes], str] = {}
    new_nets = []
    for net in nets:
        new_net, blob_to_device = InjectCrossDeviceCopies(net, blob_to_device, blob_remap)
        new_nets.append(new_net)
    return new_nets, blob_to_device


def InjectDeviceCopiesAmongNetsWithoutB2D(nets: Sequence[Any],
                                          blob_to_device_init: BlobDevices | None = None
                                          ) -> list[Any]:
    """The nets of InjectDeviceCopiesAmongNets alone."""
    return InjectDeviceCopiesAmongNets(nets, blob_to_device_init)[0]
