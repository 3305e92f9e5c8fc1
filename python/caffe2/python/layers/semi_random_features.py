"""Products of random and of learned features."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers.arc_cosine_feature_map import ArcCosineFeatureMap
from caffe2.python.layers.layers import Initializer, LayerModel, Optim, Record


class SemiRandomFeatures(ArcCosineFeatureMap):
    """A Struct of `random`, the arc cosine features of random weights, and `full`, `random` times
    x v^T + c with learned weights, each float [output_dims] (Kawaguchi et al., "Deep semi-random
    features for nonlinear function approximation", arXiv:1702.08882).

    The input is a Scalar, or the Struct of another SemiRandomFeatures. Then its `random` is the
    input of the random weights, and its `full` is the input of the learned ones.
    """

    def __init__(self, model: LayerModel, input_record: Record, output_dims: int, s: int = 1,
                 scale_random: float = 1.0, scale_learned: float = 1.0,
                 weight_init_random: Initializer | None = None,
                 bias_init_random: Initializer | None = None,
                 weight_init_learned: Initializer | None = None,
                 bias_init_learned: Initializer | None = None, weight_optim: Optim = None,
                 bias_optim: Optim = None, set_weight_as_global_constant: bool = False,
                 name: str = "semi_random_features", **kwargs: Any) -> None:
        """See ArcCosineFeatureMap for the arguments, which are given for the random and for the
        learned weights. The optimizers update the learned weights."""
        if isinstance(input_record, schema.Struct):
            self.input_record_full = input_record.full
            self.input_record_random = input_record.random
        else:
            self.input_record_full = self.input_record_random = input_record
        super().__init__(
            model, self.input_record_full, output_dims, s=s, scale=scale_random,
            weight_init=weight_init_random, bias_init=bias_init_random,
            set_weight_as_global_constant=set_weight_as_global_constant,
            initialize_output_schema=False, name=name, **kwargs)
        self.output_schema = schema.Struct(*[
            (field, schema.Scalar((np.float32, output_dims),
                                  model.net.NextScopedBlob(f"{name}_{field}_output")))
            for field in ("full", "random")])
        assert scale_learned > 0.0, f"scale_learned must be positive, not {scale_learned}"
        self.stddev = scale_learned * np.sqrt(1.0 / self.input_dims)
        self.learned_w, self.learned_b = self._initialize_params(
            "learned_w", "learned_b", w_init=weight_init_learned, b_init=bias_init_learned,
            w_optim=weight_optim, b_optim=bias_optim)

    def add_ops(self, net: core.Net) -> None:
        """Adds the features."""
        learned = net.FC(
            self.input_record_full.field_blobs() + [self.learned_w, self.learned_b],
            net.NextScopedBlob("learned_features"))
        random = self._heaviside_with_power(
            net, self._random_features(net, self.input_record_random),
            self.output_schema.random.field_blobs(), self.s)
        net.Mul([random, learned], self.output_schema.full.field_blobs())
