"""Checks and conversions of inputs that layers share."""

import math

import numpy as np

from caffe2.python import core, schema


def require_scalar(record):
    """Raises AssertionError unless a record is a Scalar."""
    assert isinstance(record, schema.Scalar), (
        f"Incorrect input type. Expected Scalar, got {record!r}")


def require_fields(record, **fields):
    """Raises AssertionError unless a record has the columns of these fields."""
    wanted = schema.Struct(*fields.items())
    assert schema.is_schema_subset(wanted, record), (
        f"the input needs the columns {wanted.field_names()} and has {record.field_names()}")


def uniform_filler(fan_in, numerator=1.0):
    """The initializer by uniform numbers within sqrt(numerator / fan_in) of 0."""
    scale = math.sqrt(numerator / fan_in)
    return "UniformFill", {"min": -scale, "max": scale}


def cast(net, scalar, dtype, name):
    """The blob of a column as elements of a numpy type, in a new blob `name` if they differ."""
    if scalar.field_type().base == dtype:
        return scalar()
    return net.Cast(scalar(), name, to=schema.data_type_for_dtype(dtype))


def label_as_prediction(net, record):
    """The label as elements of the prediction's type."""
    dtype = record.prediction.field_type().base
    if record.label.field_type().base == dtype:
        return record.label()
    return cast(net, record.label, dtype, net.NextScopedBlob("cast_label"))


def float_weight(net, record):
    """The weights of rows as float32."""
    return cast(net, record.weight, np.float32, record.weight() + "_float32")


def weighted(net, record, loss, name):
    """`loss` times the weights of rows, if the record has such, to which no gradient flows."""
    if "weight" not in record.fields:
        return loss
    weight = net.StopGradient([float_weight(net, record)],
                              [net.NextScopedBlob("weight_stop_gradient")])
    return net.Mul([loss, weight], net.NextScopedBlob(name))


def constant_param(layer, name, value, dtype=core.DataType.FLOAT, shape=(1,)):
    """A parameter of a layer that starts with a value and is not trained."""
    return layer.create_param(
        param_name=name, shape=list(shape),
        initializer=("ConstantFill", {"value": value, "dtype": dtype}),
        optimizer=layer.model.NoOptim)


def object_param(layer, name, creator, **arguments):
    """A parameter of a layer that is no tensor, as a mutex, made by an operator."""
    return layer.create_param(param_name=name, shape=None, initializer=(creator, arguments),
                              optimizer=layer.model.NoOptim)


def empty_param(layer, name, dtype=core.DataType.FLOAT):
    """A parameter of a layer that starts without elements and is not trained."""
    return layer.create_param(param_name=name, shape=[0],
                              initializer=("ConstantFill", {"dtype": dtype}),
                              optimizer=layer.model.NoOptim)


def collected_rows(layer, name, record):
    """The parameters of a layer that collects rows of the column `record`: the blobs of the rows,
    `name`, the number of rows seen and a mutex; and the Struct of all three."""
    rows = empty_param(layer, name)
    visited = constant_param(layer, "num_visited", 0, core.DataType.INT64, shape=())
    mutex = object_param(layer, "mutex", "CreateMutex")
    return rows, visited, mutex, schema.Struct(
        (name, schema.from_blob_list(record, [rows])),
        ("num_visited", schema.Scalar(blob=visited)), ("mutex", schema.Scalar(blob=mutex)))
