"""Static quantization of trained nets: 8-bit integers replace floats."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python._core.messages import TryReadProtoWithClass
from caffe2.python.convert.errors import ConvertError, one_line
from caffe2.python.convert.model import Model, model_of_nets, value_of
from caffe2.python.convert.net_pair import init_net_of
from caffe2.python.predictor_class import restricted

# How the range of an activation follows from its values on the examples.
RANGES = ("mse", "minmax")


def quantize_model(
    model: Model,
    batches: Iterable[Mapping[str, Any]],
    ranges: str = "mse",
    per_channel: bool = True,
) -> Model:
    """The model with Int8 operators (caffe2/graph/quantization.h says which).

    Args:
      batches: examples, {input: array} each; dimension 0 is the batch.
      ranges: "mse", the range with the least squared error, or "minmax", the whole range.
      per_channel: a scale for each filter instead of one for all filters of a layer.

    Raises ConvertError if there are no examples, if the examples do not match the inputs of the
    net, and for a net or values that cannot be quantized.
    """
    ws = C.Workspace()
    for name, value in model.values.items():
        ws.feed_blob(name, value)
    for name in model.inputs:
        ws.create_blob(name)
    try:
        quantizer = C.StaticQuantizer(
            restricted("the net", model.net).SerializeToString(),
            model.inputs,
            ws,
            ranges,
            per_channel,
        )
        shapes: dict[str, list[int]] = {}
        for batch in batches:
            for name, value in batch.items():
                ws.feed_blob(name, value)
                shapes[name] = [0, *value.shape[1:]]
            quantizer.observe()
        net = caffe2_pb2.NetDef.FromString(quantizer.finish())
    except RuntimeError as error:
        raise ConvertError(f"the model cannot be quantized: {one_line(error)}") from error
    net.name = model.net.name
    values = {
        name: value_of(ws.fetch_blob(name))
        for name in net.external_input
        if name not in model.inputs
    }
    return dataclasses.replace(model, net=net, values=values, shapes={**shapes, **model.shapes})


def quantize(
    init_net: Any,
    predict_net: Any,
    batches: Iterable[Mapping[str, Any]],
    ranges: str = "mse",
    per_channel: bool = True,
) -> tuple[caffe2_pb2.NetDef, caffe2_pb2.NetDef]:
    """(init net, predict net) of the quantized model, for workspace.Predictor and others.

    Args:
      init_net, predict_net: NetDefs, Nets, or serialized NetDefs.
      batches, ranges, per_channel: as for quantize_model.

    Raises ConvertError, as quantize_model.
    """
    init, predict = (
        TryReadProtoWithClass(caffe2_pb2.NetDef, net)
        if isinstance(net, (bytes, str))
        else net.Proto()
        if hasattr(net, "Proto")
        else net
        for net in (init_net, predict_net)
    )
    model = quantize_model(
        model_of_nets(init, predict, "init_net", "predict_net"), batches, ranges, per_channel
    )
    return init_net_of(model), model.net
