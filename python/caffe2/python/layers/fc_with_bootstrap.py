"""Several fully connected layers, each trained on a bootstrap sample of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import uniform_filler
from caffe2.python.layers.fc import clip_arguments, clipped, current_fc_version, fc_input_dims
from caffe2.python.layers.layers import Initializer, LayerModel, ModelLayer, Optim, Record
from caffe2.python.layers.sampling_trainable_mixin import SamplingTrainableMixin
from caffe2.python.regularizer import Regularizer


def get_fc_predictor_version(fc_version: str) -> str:
    """The precision of FCWithBootstrap in prediction; raises AssertionError unless "fp32"."""
    assert fc_version == "fp32", f"unsupported FC type version {fc_version}"
    return fc_version


class FCWithBootstrap(SamplingTrainableMixin, ModelLayer):
    """For each of `num_bootstrap` members i the fields "bootstrap_iteration_<i>/indices", rows of
    the batch drawn with replacement, and "bootstrap_iteration_<i>/preds", float. In training these
    are the FC of the drawn rows, else of all rows (and the indices have no meaning)."""

    def __init__(self, model: LayerModel, input_record: Record, output_dims: int,
                 num_bootstrap: int, weight_init: Initializer | None = None,
                 bias_init: Initializer | None = None, weight_optim: Optim = None,
                 bias_optim: Optim = None, name: str = "fc_with_bootstrap",
                 weight_reg: Regularizer | None = None, bias_reg: Regularizer | None = None,
                 clip_param: tuple[float | None, float | None] | None = None, axis: int = 1,
                 **kwargs: Any) -> None:
        """See FC for the arguments."""
        super().__init__(model, name, input_record, **kwargs)
        self.input_dims = fc_input_dims(input_record, axis)
        self.axis = axis
        self.num_bootstrap = num_bootstrap
        self.clip_args = clip_arguments(clip_param)
        default_init = uniform_filler(self.input_dims)
        self.bootstrapped_FCs = []  # weights, bias, weights, ...
        fields = []
        for i in range(num_bootstrap):
            prefix = f"bootstrap_iteration_{i}/"
            fields += [(prefix + part, self.get_next_blob_reference(prefix + part))
                       for part in ("indices", "preds")]
            self.bootstrapped_FCs += [
                self.create_param(prefix + "w", [output_dims, self.input_dims],
                                  weight_init or default_init, weight_optim,
                                  regularizer=weight_reg),
                self.create_param(prefix + "b", [output_dims], bias_init or default_init,
                                  bias_optim, regularizer=bias_reg)]
        self.output_schema = schema.Struct(*fields)

    def _draw_rows(self, net, x, i, bounds):
        """Adds the indices of a member; `bounds` are the batch size and the ends of the range,
        made with the first."""
        with core.NameScope(f"bootstrap_iteration_{i}"):
            if not bounds:
                shape = net.Shape(x, "input_shape")
                first = net.Const(np.array([0]), "batch_size_index")
                batch_size = net.Gather([shape, first], "batch_size")
                low = net.Const(np.array([0]), "lower_bound", dtype=np.int32)
                one = net.Const(np.array([1]), "offset", dtype=np.int32)
                count = net.Cast([batch_size], "int_batch_size", to=core.DataType.INT32)
                bounds += [batch_size, low, net.Sub([count, one], "upper_bound")]
            return net.UniformIntFill(bounds, self.output_schema[2 * i].field_blobs()[0],
                                      input_as_shape=1)

    def _add_ops(self, net, param_blobs, training=False):
        x = self.input_record.field_blobs()[0]
        bounds = []
        for i in range(self.num_bootstrap):
            rows = self._draw_rows(net, x, i, bounds)
            features = x
            if training:
                features = net.Gather(
                    [x, rows], net.NextScopedBlob(f"bootstrapped_features_{i}"))
            params = clipped(net, param_blobs[2 * i:2 * i + 2], self.clip_args)
            net.FC([features, *params], self.output_schema[2 * i + 1].field_blobs(),
                   axis=self.axis, **self.kwargs)

    def add_ops(self, net: core.Net) -> None:
        """Adds the members over all rows, in float; raises AssertionError for another precision."""
        get_fc_predictor_version(current_fc_version())
        self._add_ops(net, self.param_blobs)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the members over their samples."""
        self._add_ops(net, self.train_param_blobs, training=True)

    def get_fp16_compatible_parameters(self) -> list[BlobReference]:
        """The weights."""
        return self.bootstrapped_FCs[::2]

    @property
    def param_blobs(self) -> list[BlobReference]:
        """Weights and bias of each member in turn."""
        return self.bootstrapped_FCs
