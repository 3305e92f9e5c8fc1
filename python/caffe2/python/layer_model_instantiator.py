"""Generates nets from the layers of a layer model.

`include_tags` limits each to the layers that have one of these tags. Nets have the input records
and, with the columns that they compute, the output records of the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from caffe2.python import core, schema
from caffe2.python.layer_model_helper import LayerModelHelper
from caffe2.python.layers.layers import InstantiationContext
from caffe2.python.layers.tags import Tags


def _layers(model, include_tags, excluded_by):
    return [layer for layer in model.layers
            if excluded_by not in layer.tags
            and (include_tags is None or not layer.tags.isdisjoint(include_tags))]


def shrink_output_schema(net: core.Net, out_schema: schema.Field) -> Any:
    """The columns of a record that a net defines. A record with at most one column stays as it
    is."""
    names = out_schema.field_names()
    if len(names) <= 1:
        return out_schema
    columns = [column for column in zip(names, out_schema.field_types(), out_schema.field_blobs(),
                                        out_schema.field_metadata())
               if net.BlobIsDefined(column[2])]
    if not columns:
        return schema.Struct()
    return schema.from_column_list(*map(list, zip(*columns)))


def generate_predict_net(model: LayerModelHelper,
                         include_tags: Iterable[str] | None = None) -> core.Net:
    """The net "predict_net" of all layers without Tags.EXCLUDE_FROM_PREDICTION."""
    net = core.Net("predict_net")
    for layer in _layers(model, include_tags, Tags.EXCLUDE_FROM_PREDICTION):
        layer.add_operators(net, context=InstantiationContext.PREDICTION)
    net.set_input_record(model.input_feature_schema.clone())
    net.set_output_record(shrink_output_schema(net, model.output_schema.clone()))
    return net


def _set_training_records(net, model):
    net.set_input_record(model.input_feature_schema + model.trainer_extra_schema)
    net.set_output_record(
        shrink_output_schema(net, model.output_schema + model.metrics_schema))


def generate_eval_net(model: LayerModelHelper,
                      include_tags: Iterable[str] | None = None) -> core.Net:
    """The net "eval_net" of all layers without Tags.EXCLUDE_FROM_EVAL."""
    net = core.Net("eval_net")
    for layer in _layers(model, include_tags, Tags.EXCLUDE_FROM_EVAL):
        layer.add_operators(net, context=InstantiationContext.EVAL)
    _set_training_records(net, model)
    return net


def generate_training_nets_forward_only(model: LayerModelHelper,
                                        include_tags: Iterable[str] | None = None
                                        ) -> tuple[core.Net, core.Net]:
    """(net that makes parameters and constants, "train_net") of all layers without
    Tags.EXCLUDE_FROM_TRAIN, without gradients."""
    net = core.Net("train_net")
    init_net = model.create_init_net("train_init_net")
    for layer in _layers(model, include_tags, Tags.EXCLUDE_FROM_TRAIN):
        layer.add_operators(net, init_net)
    _set_training_records(net, model)
    return init_net, net


def generate_training_nets(model: LayerModelHelper,
                           include_tags: Iterable[str] | None = None) -> tuple[core.Net, core.Net]:
    """generate_training_nets_forward_only, with regularizers on the loss and, if the model has a
    loss, its gradients, the updates of the parameters and the model's modifiers of nets."""
    init_net, net = generate_training_nets_forward_only(model, include_tags)
    model.apply_regularizers_on_loss(net, init_net)
    if not model.has_loss():
        return init_net, net
    grad_map = net.AddGradientOperators(model.loss.field_blobs())
    model.apply_post_grad_net_modifiers(net, init_net, grad_map, modify_output_record=True)
    model.apply_optimizers(net, init_net, grad_map)
    model.apply_regularizers_after_optimizer(net, init_net, grad_map)
    model.apply_final_net_modifiers(net, init_net, grad_map, modify_output_record=True)
    return init_net, net
