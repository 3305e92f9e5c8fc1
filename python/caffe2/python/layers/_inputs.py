"""Checks and conversions of inputs that layers share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.layers.layers import Initializer, ModelLayer, Record


def require_scalar(record: Record) -> None:
    """Raises AssertionError unless a record is a Scalar."""
    assert isinstance(record, schema.Scalar), (
        f"the input must be a Scalar, found {record!r}")


def require_shape(record: Record) -> tuple[int, ...]:
    """The shape of a row of a Scalar. Raises AssertionError unless it has an axis, and elements
    along the first one."""
    require_scalar(record)
    shape = record.field_type().shape
    assert len(shape) > 0 and shape[0] > 0, (
        f"each row of the input {record()} must be a tensor with elements, but its type "
        f"{record.field_type()} has the shape {shape}; give the Scalar such a type")
    return shape


def require_fields(record: Record, **fields: schema.Field) -> None:
    """Raises AssertionError unless a record has the columns of these fields."""
    wanted = schema.Struct(*fields.items())
    assert schema.is_schema_subset(wanted, record), (
        f"the input needs the columns {wanted.field_names()} and has {record.field_names()}")


def uniform_filler(fan_in: float, numerator: float = 1.0) -> Initializer:
    """The initializer with uniform numbers in +-sqrt(numerator / fan_in)."""
    scale = math.sqrt(numerator / fan_in)
    return "UniformFill", {"min": -scale, "max": scale}


def cast(net: core.Net, scalar: schema.Scalar, dtype: Any, name: BlobLike) -> BlobReference:
    """The blob of a column as elements of a numpy type, in a new blob `name` if they differ."""
    if scalar.field_type().base == dtype:
        return scalar()
    return net.Cast(scalar(), name, to=schema.data_type_for_dtype(dtype))


def label_as_prediction(net: core.Net, record: Record) -> BlobReference:
    """The label as elements of the prediction's type."""
    dtype = record.prediction.field_type().base
    if record.label.field_type().base == dtype:
        return record.label()
    return cast(net, record.label, dtype, net.NextScopedBlob("cast_label"))


def float_weight(net: core.Net, record: Record) -> BlobReference:
    """The weights of rows as float32."""
    return cast(net, record.weight, np.float32, record.weight() + "_float32")


def weighted(net: core.Net, record: Record, loss: BlobReference, name: str) -> BlobReference:
    """`loss` times the weights of rows, if the record has a column `weight`. No gradient flows to
    the weights."""
    if "weight" not in record.fields:
        return loss
    weight = net.StopGradient([float_weight(net, record)],
                              [net.NextScopedBlob("weight_stop_gradient")])
    return net.Mul([loss, weight], net.NextScopedBlob(name))


def constant_param(layer: ModelLayer, name: str, value: float, dtype: Any = core.DataType.FLOAT,
                   shape: Sequence[int] = (1,)) -> BlobReference:
    """A parameter of a layer that starts with a value and is not trained."""
    return layer.create_param(
        param_name=name, shape=list(shape),
        initializer=("ConstantFill", {"value": value, "dtype": dtype}),
        optimizer=layer.model.NoOptim)


def object_param(layer: ModelLayer, name: str, creator: str, **arguments: Any) -> BlobReference:
    """A parameter of a layer that is not a tensor, such as a mutex, made by an operator."""
    return layer.create_param(param_name=name, shape=None, initializer=(creator, arguments),
                              optimizer=layer.model.NoOptim)


def empty_param(layer: ModelLayer, name: str, dtype: Any = core.DataType.FLOAT) -> BlobReference:
    """A parameter of a layer that starts without elements and is not trained."""
    return layer.create_param(param_name=name, shape=[0],
                              initializer=("ConstantFill", {"dtype": dtype}),
                              optimizer=layer.model.NoOptim)


def collected_rows(layer: ModelLayer, name: str,
                   record: Record
                   ) -> tuple[BlobReference, BlobReference, BlobReference, schema.Struct]:
    """(rows, number of rows seen, mutex, Struct of the three): the parameters of a layer that
    collects rows of the column `record` in the blob `name`."""
    rows = empty_param(layer, name)
    visited = constant_param(layer, "num_visited", 0, core.DataType.INT64, shape=())
    mutex = object_param(layer, "mutex", "CreateMutex")
    return rows, visited, mutex, schema.Struct(
        (name, schema.from_blob_list(record, [rows])),
        ("num_visited", schema.Scalar(blob=visited)), ("mutex", schema.Scalar(blob=mutex)))
