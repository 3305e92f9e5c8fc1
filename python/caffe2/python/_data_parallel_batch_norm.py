"""Batch normalization over the batches of all devices of a shard; part of data_parallel_model."""

from __future__ import annotations

from caffe2.proto import caffe2_pb2
from caffe2.python import core
from caffe2.python._data_parallel_replicas import device_scope_name
from caffe2.python.model_helper import ModelHelper


def combine_spatial_bn(model: ModelHelper) -> None:
    """Lets the SpatialBN operators of all devices, and their gradients, use the sums over the
    batches of all devices. Does nothing for a single device."""
    if len(model._devices) == 1:
        return
    ops = []
    for group in _interleave(model):
        kind = group[0].type
        if kind == "SpatialBN" and not _is_test(group[0]):
            ops += _join(group, _forward_sums(group), "ChannelStats")
        elif kind == "SpatialBNGradient":
            ops += _join(group, _backward_sums(group), "ChannelBackpropStats")
        else:
            ops += group
    proto = model.net.Proto()
    kept = [caffe2_pb2.OperatorDef.FromString(op.SerializeToString()) for op in ops]
    proto.ClearField("op")
    proto.op.extend(kept)
    model.net._InvalidateLookupTables()


def _is_test(op):
    return any(arg.name == "is_test" and arg.i for arg in op.arg)


def _interleave(model):
    """Lists of the operators that do the same on all devices, in order.

    Raises ValueError unless the operators of all devices are alike.
    """
    replicas = {device: [] for device in model._devices}
    prefixes = {device: device_scope_name(model, device) for device in model._devices}
    for op in model.net.Proto().op:
        owners = [device for device, prefix in prefixes.items()
                  if any(blob.startswith(prefix) for blob in (*op.output, *op.input))]
        if len(owners) != 1:
            raise ValueError(f"operator {op.type} {list(op.input)} -> {list(op.output)} belongs to "
                             "no single device: spatial_bn cannot be combined")
        replicas[owners[0]].append(op)
    groups = list(zip(*replicas.values()))
    uneven = len({len(ops) for ops in replicas.values()}) > 1
    if uneven or any(len({op.type for op in group}) > 1 for group in groups):
        raise ValueError("the devices do not run the same operators: spatial_bn cannot be combined")
    return groups


def _forward_sums(group):
    """(inputs of ChannelStats, its outputs) of each operator."""
    return [([op.input[0]], [op.input[0] + "_sums", op.input[0] + "_sumsq"]) for op in group]


def _backward_sums(group):
    # Inputs X, scale, dY, mean, inv_std; the outputs are dX, dscale, dbias.
    return [([op.input[0], op.input[3], op.input[4], op.input[2]],
             [op.output[1] + "_sums", op.output[2] + "_sums"]) for op in group]


def _join(group, operands, stats_type):
    """The operators of a group, after operators that sum their statistics over all devices."""
    order = [arg for arg in group[0].arg if arg.name == "order"]
    stats = [
        core.CreateOperator(stats_type, _references(inputs), _references(outputs), arg=order,
                            device_option=op.device_option, is_gradient_op=op.is_gradient_op)
        for op, (inputs, outputs) in zip(group, operands)]
    sums, totals = [], []
    for k in range(2):
        parts = [outputs[k] for _, outputs in operands]
        totals.append(parts[0] + "_combined")
        sums.append(core.CreateOperator(
            "Sum", _references(parts), core.BlobReference(totals[k]), name="dpm",
            device_option=group[0].device_option, is_gradient_op=group[0].is_gradient_op))
    joined = []
    for op, (_, outputs) in zip(group, operands):
        own = totals
        if op.device_option.device_type != caffe2_pb2.CPU and op is not group[0]:
            own = [blob + "_combined" for blob in outputs]
            sums += [core.CreateOperator(
                "Copy", core.BlobReference(source), core.BlobReference(blob), name="dpm",
                device_option=op.device_option, is_gradient_op=op.is_gradient_op)
                for source, blob in zip(totals, own)]
        copy = caffe2_pb2.OperatorDef()
        copy.CopyFrom(op)
        copy.input.extend(own)
        copy.arg.add(name="num_batches", i=len(group))
        joined.append(copy)
    return [*stats, *sums, *joined]


def _references(names):
    return [core.BlobReference(name) for name in names]
