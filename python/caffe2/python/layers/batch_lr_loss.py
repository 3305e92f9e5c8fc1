"""The loss of logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import constant_param, object_param, require_fields, weighted
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record
from caffe2.python.layers.tags import Tags


class BatchLRLoss(ModelLayer):
    """The cross entropy of the sigmoid of `logit`, float [1], and `label`, summed up over rows or
    averaged: a float. Optional columns:

      weight: of rows.
      log_variance: s, for which the loss of a row becomes (loss exp(-s) + penalty s) / 2.
      prediction: the sigmoid, float [1], for the mixture with the Jensen-Shannon divergence (JSD)
        and for the focal loss.

    As in Caffe2 the factors of the focal loss and of the log variance, [rows, 1], multiply losses
    [rows]: the sum or mean is over the products of all pairs of rows.
    """

    def __init__(self, model: LayerModel, input_record: Record, name: str = "batch_lr_loss",
                 average_loss: bool = True, jsd_weight: float = 0.0, pos_label_target: float = 1.0,
                 neg_label_target: float = 0.0, homotopy_weighting: bool = False,
                 log_D_trick: bool = False, unjoined_lr_loss: bool = False,
                 uncertainty_penalty: float = 1.0, focal_gamma: float = 0.0,
                 stop_grad_in_focal_factor: bool = False, task_gamma: float = 1.0,
                 task_gamma_lb: float = 0.1, **kwargs: Any) -> None:
        """
        Args:
          average_loss: the mean over rows, else their sum.
          jsd_weight: w, for (1 - w) cross entropy + w JSD; with `homotopy_weighting` w starts at 0
            and grows with the iterations.
          pos_label_target, neg_label_target: replace labels above 0.5, and other labels.
          log_D_trick, unjoined_lr_loss: see SigmoidCrossEntropyWithLogits; not both.
          uncertainty_penalty: the penalty of `log_variance`.
          focal_gamma: gamma of the factor (1 - probability of the label)^gamma of the focal loss.
            With `stop_grad_in_focal_factor` no gradient flows through the factor.
          task_gamma: the loss is multiplied by task_gamma^i in run i, at least by `task_gamma_lb`.
        """
        super().__init__(model, name, input_record, **kwargs)
        require_fields(input_record, label=schema.Scalar(), logit=schema.Scalar())
        assert 0 <= jsd_weight <= 1, f"jsd_weight must be in [0, 1], not {jsd_weight}"
        assert 0 <= neg_label_target <= pos_label_target <= 1, (
            f"targets must be 0 <= {neg_label_target} <= {pos_label_target} <= 1")
        assert not (log_D_trick and unjoined_lr_loss), (
            "log_D_trick and unjoined_lr_loss cannot be used together")
        assert uncertainty_penalty >= 0, (
            f"uncertainty_penalty must be at least 0, not {uncertainty_penalty}")
        assert focal_gamma == 0 or "prediction" in input_record, (
            f"the focal loss (focal_gamma {focal_gamma}) needs the column prediction")
        self.average_loss = average_loss
        self.pos_label_target = pos_label_target
        self.neg_label_target = neg_label_target
        self.homotopy_weighting = homotopy_weighting
        self.log_D_trick = log_D_trick
        self.unjoined_lr_loss = unjoined_lr_loss
        self.uncertainty_penalty = uncertainty_penalty
        self.focal_gamma = focal_gamma
        self.stop_grad_in_focal_factor = stop_grad_in_focal_factor
        self.jsd_fuse = jsd_weight > 0 or homotopy_weighting
        if self.jsd_fuse:
            assert "prediction" in input_record, "a mixture with JSD needs the column prediction"
            self.init_weight(jsd_weight, homotopy_weighting)
        self.tags.add(Tags.EXCLUDE_FROM_PREDICTION)
        self.output_schema = schema.Scalar(np.float32, self.get_next_blob_reference("output"))
        self.apply_exp_decay = task_gamma < 1.0
        if self.apply_exp_decay:
            self.task_gamma_cur, self.task_gamma, self.task_gamma_lb = (
                constant_param(self, f"{self.name}_{param}", value)
                for param, value in (("task_gamma_cur", 1.0), ("task_gamma", task_gamma),
                                     ("task_gamma_lb", task_gamma_lb)))

    def init_weight(self, jsd_weight: float, homotopy_weighting: bool) -> None:
        """Makes the weights of the mixture: constants, or parameters that change."""
        if homotopy_weighting:
            self.mutex = object_param(self, f"{self.name}_mutex", "CreateMutex")
            self.counter = constant_param(
                self, f"{self.name}_counter", 0, core.DataType.INT64)
            self.xent_weight = constant_param(self, f"{self.name}_xent_weight", 1.0)
            self.jsd_weight = constant_param(self, f"{self.name}_jsd_weight", 0.0)
        else:
            self.jsd_weight = self.model.add_global_constant(
                f"{self.name}_jsd_weight", jsd_weight)
            self.xent_weight = self.model.add_global_constant(
                f"{self.name}_xent_weight", 1.0 - jsd_weight)

    def update_weight(self, net: core.Net) -> tuple[BlobReference, BlobReference]:
        """Counts the iteration i and sets the weight of the cross entropy to
        (1 + 1e-6 i)^-0.1: 0.93 after a million iterations, 0.5 after a billion."""
        net.AtomicIter([self.mutex, self.counter], [self.counter])
        net.LearningRate([self.counter], [self.xent_weight], base_lr=1.0, policy="inv", gamma=1e-6,
                         power=0.1)
        net.Sub([self.model.global_constants["ONE"], self.xent_weight], [self.jsd_weight])
        return self.xent_weight, self.jsd_weight

    def _label(self, net):
        # Always cast: labels that are declared float may be integers.
        label = net.Cast(self.input_record.label(), net.NextScopedBlob("label_float32"),
                         to=core.DataType.FLOAT)
        label = net.ExpandDims(label, net.NextScopedBlob("expanded_label"), dims=[1])
        if self.pos_label_target != 1.0 or self.neg_label_target != 0.0:
            label = net.StumpFunc(
                label, net.NextScopedBlob("smoothed_label"), threshold=0.5,
                low_value=self.neg_label_target, high_value=self.pos_label_target)
        return label

    def _focal(self, net, loss, label):
        """loss * (p + y - 2 p y)^gamma."""
        prediction = self.input_record.prediction()
        total = net.Add([prediction, label], net.NextScopedBlob("y_plus_p"))
        product = net.Mul([prediction, label], net.NextScopedBlob("yp"))
        twice = net.Scale(product, net.NextScopedBlob("two_yp"), scale=2.0)
        distance = net.Sub([total, twice], net.NextScopedBlob("y_plus_p_sub_two_yp"))
        factor = net.Pow(distance, net.NextScopedBlob("y_plus_p_sub_two_yp_power"),
                         exponent=float(self.focal_gamma))
        if self.stop_grad_in_focal_factor:
            factor = net.StopGradient([factor], [net.NextScopedBlob("focal_factor_stop_gradient")])
        return net.Mul([loss, factor], net.NextScopedBlob("focallossxent"))

    def _decayed(self, net, loss):
        net.Mul([self.task_gamma_cur, self.task_gamma], self.task_gamma_cur)
        factor = net.Max([self.task_gamma_cur, self.task_gamma_lb],
                         net.NextScopedBlob("task_gamma_cur_multiplier"))
        return net.Mul([loss, factor], net.NextScopedBlob("expdecayxent"))

    def _mixed_with_jsd(self, net, loss, label):
        jsd = net.BernoulliJSD([self.input_record.prediction(), label], net.NextScopedBlob("jsd"))
        if self.homotopy_weighting:
            self.update_weight(net)
        return net.WeightedSum([loss, self.xent_weight, jsd, self.jsd_weight],
                               net.NextScopedBlob("loss"))

    def _uncertain(self, net, loss):
        """(loss exp(-s) + penalty s) / 2 of the log variance s."""
        log_variance = net.ExpandDims(self.input_record.log_variance(),
                                      net.NextScopedBlob("expanded_log_variance"), dims=[1])
        negative = net.Negative([log_variance], net.NextScopedBlob("neg_log_variance"))
        # exp of more than 88 overflows.
        negative = net.Clip([negative], net.NextScopedBlob("clipped_neg_log_variance"), max=88.0)
        precision = net.Exp([negative], net.NextScopedBlob("exp_neg_log_variance"))
        scaled = net.Mul([precision, loss], net.NextScopedBlob("exp_neg_log_variance_loss"))
        # The misspelt name of this blob is Caffe2's.
        penalty = net.Scale(log_variance, net.NextScopedBlob("penalized_unceratinty"),
                            scale=float(self.uncertainty_penalty))
        twice = net.Add([scaled, penalty], net.NextScopedBlob("loss"))
        return net.Scale(twice, net.NextScopedBlob("loss"), scale=0.5)

    def add_ops(self, net: core.Net) -> None:
        """Adds the loss."""
        label = self._label(net)
        loss = net.SigmoidCrossEntropyWithLogits(
            [self.input_record.logit(), label], net.NextScopedBlob("cross_entropy"),
            log_D_trick=self.log_D_trick, unjoined_lr_loss=self.unjoined_lr_loss)
        if self.focal_gamma != 0:
            label = net.StopGradient([label], [net.NextScopedBlob("label_stop_gradient")])
            loss = self._focal(net, loss, label)
        if self.apply_exp_decay:
            loss = self._decayed(net, loss)
        if self.jsd_fuse:
            loss = self._mixed_with_jsd(net, loss, label)
        if "log_variance" in self.input_record.fields:
            loss = self._uncertain(net, loss)
        loss = weighted(net, self.input_record, loss, "weighted_cross_entropy")
        reduce = net.AveragedLoss if self.average_loss else net.ReduceFrontSum
        reduce(loss, self.output_schema.field_blobs())
