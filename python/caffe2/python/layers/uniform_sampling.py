"""A random sample of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import constant_param, require_scalar
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class UniformSampling(ModelLayer):
    """A Struct of `samples`, int32 [num_samples]: the input, whose elements are distinct, followed
    by random integers from the rest of [0, num_elements); and `sampling_prob`, float [num_samples],
    the probability with which each was drawn."""

    def __init__(self, model: LayerModel, input_record: Record, num_samples: int, num_elements: int,
                 name: str = "uniform_sampling", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert num_elements > num_samples > 0, (
            f"{num_samples} samples of {num_elements} elements")
        require_scalar(input_record)
        self.num_elements = num_elements
        self.num_samples = self.create_param(
            param_name="num_examples", shape=[1],
            initializer=("GivenTensorInt64Fill", {"values": [num_samples]}),
            optimizer=model.NoOptim)
        self.sampling_prob = constant_param(
            self, "prob", float(num_samples) / num_elements, shape=[num_samples])
        self.output_schema = schema.Struct(
            ("samples", schema.Scalar(np.int32, self.get_next_blob_reference("samples"))),
            ("sampling_prob", schema.Scalar(np.float32, self.sampling_prob)))

    def add_ops(self, net: core.Net) -> None:
        """Adds UniqueUniformFill after the input."""
        given, samples = self.input_record(), self.output_schema.samples()
        net.StopGradient(self.sampling_prob, self.sampling_prob)
        count = net.Shape([given], net.NextScopedBlob("shape"))
        count = net.Sub([self.num_samples, count], count)
        drawn = net.UniqueUniformFill(
            [count, given], net.NextScopedBlob("samples_before_concat"), min=0,
            max=self.num_elements - 1, input_as_shape=True)
        net.Concat([given, drawn], [samples, net.NextScopedBlob("split_info")], axis=0)
        net.StopGradient(samples, samples)
