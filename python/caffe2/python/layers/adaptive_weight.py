"""Trained weights of several losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers.layers import LayerModel, ModelLayer, Optim, Record
from caffe2.python.regularizer import BoundedGradientProjection, LogBarrier, Regularizer


class AdaptiveWeight(ModelLayer):
    """The sum of losses (one float each), weighted by the uncertainty of each task (Kendall et al.,
    "Multi-task learning using uncertainty to weigh losses", arXiv:1705.07115): a float.

    With a variance s^2 of each task, the term of a loss x is x / (2 s^2) + log(s). The trained
    parameter is "mu" = 2 log(s) for the estimation "log_std", "k" = 1 / s^2 for "inv_var".
    """

    def __init__(self, model: LayerModel, input_record: Record, name: str = "adaptive_weight",
                 optimizer: Optim = None, weights: Sequence[float] | None = None,
                 enable_diagnose: bool = False, estimation_method: str = "log_std",
                 pos_optim_method: str = "log_barrier", reg_lambda: float = 0.1,
                 **kwargs: Any) -> None:
        """
        Args:
          weights: the initial 1 / (2 s^2); default: equal weights with the sum 1.
          enable_diagnose: whether the weights become metrics that are plotted.
          estimation_method: "log_std" or "inv_var".
          pos_optim_method: how k stays positive: "log_barrier", with the factor `reg_lambda`, or
            "pos_grad_proj", which clips.
        """
        super().__init__(model, name, input_record, **kwargs)
        self.output_schema = schema.Scalar(
            np.float32, self.get_next_blob_reference("adaptive_weight"))
        self.data = input_record.field_blobs()
        self.num = len(self.data)
        assert self.num > 0, "the input must have a column for each loss, and has none"
        self.optimizer = optimizer
        weights = [1.0 / self.num] * self.num if weights is None else weights
        assert len(weights) == self.num, (
            f"there must be one weight for each of the {self.num} losses, found {len(weights)}")
        assert min(weights) > 0, f"initial weights must be positive, not {weights}"
        self.weights = np.array(weights).astype(np.float32)
        self.estimation_method = str(estimation_method).lower()
        self.pos_optim_method = str(pos_optim_method).lower()
        self.reg_lambda = float(reg_lambda)
        self.enable_diagnose = enable_diagnose
        assert self.estimation_method in ("log_std", "inv_var"), (
            f"unknown estimation method {estimation_method}")
        self.init_func, self.weight_func, self.reg_func = (
            getattr(self, f"{self.estimation_method}_{part}") for part in ("init", "weight", "reg"))
        self.init_func()
        if enable_diagnose:
            self.weight_i = [
                self.get_next_blob_reference(f"adaptive_weight_{i}") for i in range(self.num)]
            for blob in self.weight_i:
                model.add_ad_hoc_plot_blob(blob)

    def concat_data(self, net: core.Net) -> BlobReference:
        """Adds the losses as one blob of [num]."""
        reshaped = []
        for i, loss in enumerate(self.data):
            blobs = net.NextScopedBlob(f"reshaped_data_{i}"), net.NextScopedBlob(f"new_shape_{i}")
            net.Reshape([loss], blobs, shape=[1])
            reshaped.append(blobs[0])
        joined = net.NextScopedBlob("concated_data")
        net.Concat(reshaped, [joined, net.NextScopedBlob("concated_new_shape")], axis=0)
        return joined

    def _create(self, name, values, regularizer=None):
        return self.create_param(
            param_name=name, shape=[self.num],
            initializer=("GivenTensorFill", {"values": values, "dtype": core.DataType.FLOAT}),
            optimizer=self.optimizer, regularizer=regularizer)

    def log_std_init(self) -> None:
        """Makes mu."""
        self.mu = self._create("mu", np.log(1.0 / 2.0 / self.weights))

    def log_std_weight(self, x: BlobReference, net: core.Net, weight: BlobReference) -> None:
        """Adds weight = exp(-mu) / 2."""
        negative, exponential = net.NextScopedBlob("mu_neg"), net.NextScopedBlob("mu_neg_exp")
        net.Negative(self.mu, negative)
        net.Exp(negative, exponential)
        net.Scale(exponential, weight, scale=0.5)

    def log_std_reg(self, net: core.Net, reg: BlobReference) -> None:
        """Adds reg = mu / 2."""
        net.Scale(self.mu, reg, scale=0.5)

    def inv_var_init(self) -> None:
        """Makes k, with a regularizer that keeps it positive."""
        regularizer: Regularizer
        if self.pos_optim_method == "log_barrier":
            regularizer = LogBarrier(reg_lambda=self.reg_lambda)
        elif self.pos_optim_method == "pos_grad_proj":
            regularizer = BoundedGradientProjection(lb=0, left_open=True)
        else:
            raise TypeError(f"unknown positivity optimization method: {self.pos_optim_method}")
        self.k = self._create("k", 2.0 * self.weights, regularizer)

    def inv_var_weight(self, x: BlobReference, net: core.Net, weight: BlobReference) -> None:
        """Adds weight = k / 2."""
        net.Scale(self.k, weight, scale=0.5)

    def inv_var_reg(self, net: core.Net, reg: BlobReference) -> None:
        """Adds reg = -log(k) / 2."""
        logarithm = net.NextScopedBlob("log_k")
        net.Log(self.k, logarithm)
        net.Scale(logarithm, reg, scale=-0.5)

    def add_ops(self, net: core.Net) -> None:
        """Adds the sum of weight * loss + reg."""
        losses = self.concat_data(net)
        weight, reg, product, total = map(
            net.NextScopedBlob, ("weight", "reg", "weighted_x", "weighted_x_add_reg"))
        self.weight_func(losses, net, weight)
        self.reg_func(net, reg)
        net.Mul([weight, losses], product)
        net.Add([product, reg], total)
        net.SumElements(total, self.output_schema())
        if self.enable_diagnose:
            for i, blob in enumerate(self.weight_i):
                net.Slice(weight, blob, starts=[i], ends=[i + 1])
