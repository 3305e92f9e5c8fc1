"""Normalizations that layer models apply to the output of a layer."""

from __future__ import annotations

from typing import Any

from caffe2.python.schema import Field


class Normalizer:
    """Called with a LayerModelHelper and a record, adds a layer that normalizes the record, and
    returns its output."""

    def __call__(self, net: Any, param: Field) -> Field:
        return self._run(net, param)

    def _run(self, net, param):
        raise NotImplementedError("a Normalizer defines _run")


class BatchNormalizer(Normalizer):
    """The layer BatchNormalization."""

    def __init__(self, momentum: float, scale_init_value: float = 1.0) -> None:
        """
        Args:
          momentum: the share of the running statistics that each run keeps.
          scale_init_value: the initial value of the scales.
        """
        self._arguments = {
            "momentum": float(momentum), "scale_init_value": float(scale_init_value)}

    def _run(self, net, param):
        return net.BatchNormalization(param, **self._arguments)


class LayerNormalizer(Normalizer):
    """The layer LayerNormalization."""

    def __init__(self, epsilon: float, use_layer_norm_op: bool = True,
                 scale_init_value: float = 1.0) -> None:
        """
        Args:
          epsilon: added to the variance.
          use_layer_norm_op: uses the operator LayerNorm, else elementary operators.
          scale_init_value: the initial value of the scales.
        """
        self._arguments = {
            "epsilon": float(epsilon), "use_layer_norm_op": use_layer_norm_op,
            "scale_init_value": float(scale_init_value)}

    def _run(self, net, param):
        return net.LayerNormalization(param, **self._arguments)
