"""Training on a sample of outputs."""

from __future__ import annotations

from typing import Any

from caffe2.python import core
from caffe2.python.layers._inputs import require_scalar
from caffe2.python.layers.layers import (
    LayerModel,
    ModelLayer,
    Record,
    get_layer_class,
)
from caffe2.python.layers.sampling_trainable_mixin import SamplingTrainableMixin


class SamplingTrain(ModelLayer):
    """A layer over `input`, given by the name of a SamplingTrainableMixin, as "FC". Training
    computes only its outputs `indices` and with `subtract_log_odd` subtracts the logarithm of
    `sampling_prob`, the probabilities with which they were drawn."""

    def __init__(self, model: LayerModel, input_record: Record, prediction_layer: str,
                 output_dims: int, subtract_log_odd: bool = True, name: str = "sampling_train",
                 **kwargs: Any) -> None:
        """Further arguments go to the layer."""
        super().__init__(model, name, input_record, **kwargs)
        layer_class: Any = get_layer_class(prediction_layer)
        assert issubclass(layer_class, SamplingTrainableMixin), (
            f"{prediction_layer} cannot be trained on samples")
        needed = ["indices", "input"] + ["sampling_prob"] * bool(subtract_log_odd)
        missing = [field for field in needed if field not in input_record]
        assert not missing, f"the input lacks {missing}"
        require_scalar(input_record.indices)
        self.subtract_log_odd = subtract_log_odd
        self._prediction_layer: Any = layer_class(
            model, input_record.input, output_dims=output_dims, **kwargs)
        self._prediction_layer.train_param_blobs = [
            model.net.NextBlob(f"{blob}_sampled") for blob in self._prediction_layer.param_blobs]
        self.params = self._prediction_layer.params
        self.output_schema = self._prediction_layer.output_schema

    def add_ops(self, net: core.Net) -> None:
        """Adds the layer."""
        self._prediction_layer.add_ops(net)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the layer over the sampled rows of its parameters."""
        layer = self._prediction_layer
        for full, sampled in zip(layer.param_blobs, layer.train_param_blobs):
            net.Gather([full, self.input_record.indices()], sampled)
        layer.add_train_ops(net)
        if self.subtract_log_odd:
            log_q = net.Log(self.input_record.sampling_prob(), net.NextScopedBlob("log_q"))
            net.Sub([self.output_schema(), log_q], self.output_schema(), broadcast=1)
