"""A layer model and records to try its layers with, shared by tests of layers."""

import numpy as np

from caffe2.python import layer_model_instantiator, schema, workspace
from caffe2.python.layer_model_helper import LayerModelHelper

LENGTHS = np.array([2, 0, 3], np.int32)
IDS = np.array([1, 3, 0, 3, 2], np.int64)
SCORES = np.array([0.5, -1, 2, 1, 0.25], np.float32)
SEGMENTS = np.split(np.arange(5), [2, 2])


def new_model():
    workspace.ResetWorkspace()
    return LayerModelHelper("features", schema.Struct(), schema.Struct())


def limited_ids(limit=4):
    return schema.Scalar(np.int64, metadata=schema.Metadata(categorical_limit=limit))


def id_list(model):
    fields = schema.NewRecord(model.net, schema.List(limited_ids()))
    schema.FeedRecord(fields, [LENGTHS, IDS])
    return fields


def id_score_list(model):
    fields = schema.NewRecord(model.net, schema.Map(limited_ids(), np.float32))
    schema.FeedRecord(fields, [LENGTHS, IDS, SCORES])
    return fields


def dense(model, array):
    array = np.asarray(array)
    field = schema.NewRecord(model.net, schema.Scalar((array.dtype, array.shape[1:])))
    schema.FeedRecord(field, [array])
    return field


def run(model, *outputs):
    """The blobs after a forward run of the training net."""
    model.clear_output_schema()
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets_forward_only(model)
    workspace.RunNetOnce(init_net)
    return run_again(net, *outputs)


def run_again(net, *outputs):
    """The blobs after a run of a net whose parameters are there."""
    workspace.RunNetOnce(net)
    values = [workspace.FetchBlob(output()) for output in outputs]
    return values[0] if len(values) == 1 else values


def predict_net(model):
    return layer_model_instantiator.generate_predict_net(model)
