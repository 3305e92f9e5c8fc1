"""Exports a model as two NetDefs: one that fills its parameters and one that predicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import core, utils
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.net import Net

_FILLERS = {
    np.dtype("float32"): "GivenTensorFill",
    np.dtype("float64"): "GivenTensorDoubleFill",
    np.dtype("int32"): "GivenTensorIntFill",
    np.dtype("int64"): "GivenTensorInt64Fill",
    np.dtype("int16"): "GivenTensorInt16Fill",
    np.dtype("bool"): "GivenTensorBoolFill",
    np.dtype("uint8"): "GivenTensorStringFill",
    np.dtype("O"): "GivenTensorStringFill",
}


def add_tensor(net: caffe2_pb2.NetDef, name: str, blob: Any) -> None:
    """Adds to a NetDef the operator that fills blob `name` with an array.

    uint8 arrays become one string, as in Caffe2. Raises TypeError for element types without a
    filler.
    """
    if blob.dtype not in _FILLERS:
        raise TypeError(f"blob {name} cannot be exported: there is no filler for {blob.dtype}")
    shape, values = blob.shape, blob
    if blob.dtype == np.uint8:
        shape, values = [1], [blob.tobytes()]
    elif blob.dtype == object:
        values = blob.ravel().tolist()
    op = core.CreateOperator(
        _FILLERS[blob.dtype], [], [core.BlobReference(name)],
        arg=[utils.MakeArgument("shape", list(shape)), utils.MakeArgument("values", values)])
    net.op.extend([op])


def Export(workspace: Any, net: Net,
           params: Iterable[BlobLike]) -> tuple[caffe2_pb2.NetDef, caffe2_pb2.NetDef]:
    """(init_net, predict_net) of a trained model.

    Args:
      workspace: a Workspace, or the module caffe2.python.workspace.
      net: the Net that predicts.
      params: the blobs to fill.

    Both nets list their inputs and outputs; outputs are the blobs that no operator reads. Raises
    ValueError if the net has operators of a gradient.
    """
    fetch = getattr(workspace, "fetch_blob", None) or workspace.FetchBlob
    proto = net if isinstance(net, caffe2_pb2.NetDef) else net.Proto()
    if any(op.is_gradient_op for op in proto.op):
        raise ValueError(f"net {proto.name} computes gradients; see ExtractPredictorNet")
    predict_net = caffe2_pb2.NetDef()
    predict_net.CopyFrom(proto)
    init_net = caffe2_pb2.NetDef()
    names = [str(param) for param in params]
    for name in sorted(names):
        add_tensor(init_net, name, np.asarray(fetch(name)))
    if not predict_net.external_output:
        read = {blob for op in proto.op for blob in op.input}
        predict_net.external_output.extend(
            dict.fromkeys(b for op in proto.op for b in op.output if b not in read))
    written = {blob for op in proto.op for blob in op.output}
    known = set(predict_net.external_input)
    for op in proto.op:
        for blob in op.input:
            if blob not in written and blob not in known:
                predict_net.external_input.append(blob)
                known.add(blob)
    init_net.external_output.extend(names)
    return init_net, predict_net
