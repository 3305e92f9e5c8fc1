"""Regularizers of parameters: terms added to the loss, and projections after the optimizer.

A Regularizer is called on the loss and after the optimizer (RegularizationBy). Subclasses define
_run_on_loss, which returns the blob of the term (one float), or _run_after_optimizer, which changes
the parameter in place. Both get the net, the net that makes parameters, the parameter
(BlobReference) and its gradient (BlobReference, GradientSlice or None).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import core, utils
from caffe2.python.core import BlobReference


class RegularizationBy:
    """When a regularizer acts."""

    AFTER_OPTIMIZER = "after_optimizer"
    ON_LOSS = "on_loss"


def _require_factor(value, name="reg_lambda", zero_allowed=True):
    if value < 0 or (value == 0 and not zero_allowed):
        raise ValueError(f"{name} must be {'at least' if zero_allowed else 'above'} 0, not {value}")
    return value


def _require_count(k):
    if not isinstance(k, int) or k < 1:
        raise ValueError(f"k must be an integer of at least 1, not {k!r}")
    return k


class Regularizer:
    """The base of all regularizers, which does nothing."""

    def __init__(self) -> None:
        self.kEpsilon = 1e-9  # the distance that elements keep from an open bound

    def __call__(self, net: core.Net, param_init_net: core.Net, param: BlobReference,
                 grad: Any = None, by: str | None = None) -> BlobReference | None:
        """Adds the operators of one point, `by` of RegularizationBy; returns their blob, or None.

        Raises TypeError unless `param` is a BlobReference, ValueError for an unknown `by`.
        """
        if not isinstance(param, core.BlobReference):
            raise TypeError(f"a parameter is a BlobReference, not {param!r}")
        places = utils.EnumClassKeyVals(RegularizationBy).values()
        if by is None or by not in places:
            raise ValueError(f"{type(self).__name__} acts {' or '.join(places)}, not {by}")
        return getattr(self, "_run_" + by)(net, param_init_net, param, grad)

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        return None

    def _run_after_optimizer(self, net, param_init_net, param, grad):
        return None

    def _feature_grouping(self, param, net):
        """The L2 norms of the columns of a weight matrix: one for each feature."""
        squares = net.Mul([param, param], [net.NextScopedBlob("param_mul")])
        sums = net.ReduceFrontSum([squares], [net.NextScopedBlob("param_reduced")])
        return net.Pow([sums], [net.NextScopedBlob("grouped_feature_weight_vec")], exponent=0.5)

    def _ensure_clipped(self, net, param, grad=None, min=None, max=None, open_range=False,
                        left_open=False, right_open=False):
        """Clips the parameter (with a sparse gradient, its rows) in place. None means no bound; an
        open bound moves inwards by kEpsilon."""
        if min is not None and (open_range or left_open):
            min += self.kEpsilon
        if max is not None and (open_range or right_open):
            max -= self.kEpsilon
        sparse = isinstance(grad, core.GradientSlice)
        inputs = [param, grad.indices, grad.values] if sparse else [param]
        net.EnsureClipped(inputs, [param], min=min, max=max)


def _scaled_norm(net, param, blob, p, scale):
    """scale * the sum of the |elements|^p."""
    net.LpNorm([param], [blob], p=p)
    return net.Scale([blob], [blob], scale=scale)


def _trimmed_l1_norm(net, param, blob, k, scale):
    """scale * the sum of the absolute values of all elements but the k largest."""
    magnitudes = net.Abs([param], [net.NextScopedBlob("abs")])
    total = net.SumElements([magnitudes], [net.NextScopedBlob("sum_abs")], average=False)
    largest, _, _ = net.TopK(
        [magnitudes], [net.NextScopedBlob(name) for name in ("topk", "id", "flat_id")], k=k)
    removed = net.SumElements([largest], [net.NextScopedBlob("topk_sum")], average=False)
    net.Sub([total, removed], [blob])
    return net.Scale([blob], [blob], scale=scale)


class L1Norm(Regularizer):
    """reg_lambda * the sum of absolute values."""

    def __init__(self, reg_lambda: float) -> None:
        super().__init__()
        self.reg_lambda = _require_factor(reg_lambda)

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        blob = net.NextScopedBlob(param + "_l1_regularization")
        return _scaled_norm(net, param, blob, 1, self.reg_lambda)


class L2Norm(Regularizer):
    """reg_lambda * the sum of squares."""

    def __init__(self, reg_lambda: float) -> None:
        super().__init__()
        self.reg_lambda = _require_factor(reg_lambda)

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        blob = net.NextScopedBlob(param + "_l2_regularization")
        return _scaled_norm(net, param, blob, 2, self.reg_lambda)


class LpNorm(Regularizer):
    """reg_lambda * the Lp norm of the L2 norms of the columns of a weight matrix."""

    def __init__(self, reg_lambda: float, p_value: float = 0.5) -> None:
        super().__init__()
        self.reg_lambda = _require_factor(reg_lambda, zero_allowed=False)
        self.p_value = _require_factor(p_value, "p_value", zero_allowed=False)

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        blob = net.NextScopedBlob(param + "_dense_feature_regularization")
        norms = self._feature_grouping(param, net)
        raised = net.Pow([norms], [net.NextScopedBlob("lp_vec_raised")], exponent=self.p_value)
        total = net.ReduceFrontSum([raised], [net.NextScopedBlob("lp_vec_summed")])
        norm = net.Pow([total], [net.NextScopedBlob("lp_vec")], exponent=1 / self.p_value)
        return net.Scale([norm], [blob], scale=self.reg_lambda)


class L0ApproxNorm(Regularizer):
    """reg_lambda * max(0, sum_i min(n_i, alpha) / alpha - budget), of the L2 norms n_i of the
    columns of a weight matrix: roughly the number of used features above a budget."""

    def __init__(self, reg_lambda: float, alpha: float = 0.01, budget: float = 0) -> None:
        super().__init__()
        self.reg_lambda = _require_factor(reg_lambda, zero_allowed=False)
        self.alpha = _require_factor(alpha, "alpha", zero_allowed=False)
        self.budget = float(_require_factor(budget, "budget"))

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        blob = net.NextScopedBlob(param + "_dense_feature_regularization")
        norms = self._feature_grouping(param, net)
        magnitudes = net.Abs([norms], [net.NextScopedBlob("l0_abs")])
        clipped = net.Clip([magnitudes], [net.NextScopedBlob("l0_min")], max=self.alpha)
        total = net.ReduceFrontSum([clipped], [net.NextScopedBlob("l0_summed")])
        norm = net.Scale([total], [net.NextScopedBlob("l0_norm")], scale=1 / self.alpha)
        if self.budget:
            budget = net.ConstantFill([], "budget", shape=[1], value=self.budget)
            excess = net.Sub([norm, budget], [net.NextScopedBlob("l0_budget")])
            norm = net.Relu([excess], [net.NextScopedBlob("relu_l0_sub_budget")])
        return net.Scale([norm], [blob], scale=self.reg_lambda)


class L1NormTrimmed(Regularizer):
    """reg_lambda * the sum of absolute values of all elements but the k largest (Yun et al., "The
    Trimmed Lasso", arXiv:1708.04527)."""

    def __init__(self, reg_lambda: float, k: int) -> None:
        super().__init__()
        self.reg_lambda = _require_factor(reg_lambda)
        self.k = _require_count(k)

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        blob = net.NextScopedBlob(param + "_l1_trimmed_regularization")
        return _trimmed_l1_norm(net, param, blob, self.k, self.reg_lambda)


class ElasticNet(Regularizer):
    """l1 * the sum of absolute values + l2 * the sum of squares."""

    def __init__(self, l1: float, l2: float) -> None:
        super().__init__()
        self.l1 = l1
        self.l2 = l2

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        blob = net.NextScopedBlob(param + "_elastic_net_regularization")
        squares = _scaled_norm(net, param, net.NextScopedBlob(param + "_l2_blob"), 2, self.l2)
        magnitudes = _scaled_norm(net, param, net.NextScopedBlob(param + "_l1_blob"), 1, self.l1)
        return net.Add([magnitudes, squares], [blob])


class ElasticNetL1NormTrimmed(Regularizer):
    """ElasticNet without the k largest elements in its first term."""

    def __init__(self, l1: float, l2: float, k: int) -> None:
        super().__init__()
        self.l1 = l1
        self.l2 = l2
        self.k = _require_count(k)

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        blob = net.NextScopedBlob(param + "_elastic_net_l1_trimmed_regularization")
        squares = _scaled_norm(net, param, net.NextScopedBlob(param + "_l2_blob"), 2, self.l2)
        magnitudes = _trimmed_l1_norm(
            net, param, net.NextScopedBlob(param + "_l1_blob"), self.k, self.l1)
        return net.Add([magnitudes, squares], [blob])


class _RowRegularizer(Regularizer):
    """Changes, after the optimizer, the rows that a sparse gradient lists."""

    def _run_after_optimizer(self, net, param_init_net, param, grad):
        if not isinstance(grad, core.GradientSlice):
            raise NotImplementedError(
                f"{type(self).__name__} is not supported for dense parameters")
        self._change_rows(net, param, grad.indices)

    def _change_rows(self, net, param, indices):
        raise NotImplementedError("a regularizer of rows defines _change_rows")


class MaxNorm(_RowRegularizer):
    """Scales rows down to an L2 norm of at most `norm`; dtype "fp16" for float16 parameters."""

    def __init__(self, norm: float = 1.0, dtype: str | None = None) -> None:
        super().__init__()
        self.norm = _require_factor(norm, "norm", zero_allowed=False)
        self.dtype = dtype

    def _change_rows(self, net, param, indices):
        normalize = net.Float16SparseNormalize if self.dtype == "fp16" else net.SparseNormalize
        normalize([param, indices], [param], use_max_norm=True, norm=self.norm)


class ConstantNorm(_RowRegularizer):
    """Scales rows to the L2 norm `norm`."""

    def __init__(self, norm: float = 1.0) -> None:
        super().__init__()
        self.norm = _require_factor(norm, "norm", zero_allowed=False)

    def _change_rows(self, net, param, indices):
        net.SparseNormalize([param, indices], [param], use_max_norm=False, norm=self.norm)


class SparseLpNorm(_RowRegularizer):
    """Shrinks rows: with p = 1 moves each element towards 0 by reg_lambda, with p = 2 scales it."""

    def __init__(self, p: float, reg_lambda: float) -> None:
        super().__init__()
        if p not in (1.0, 2.0):
            raise ValueError(f"p must be 1.0 or 2.0, not {p}")
        self.p = p
        self.reg_lambda = _require_factor(reg_lambda, zero_allowed=False)

    def _change_rows(self, net, param, indices):
        net.SparseLpRegularizer([param, indices], [param], p=self.p, reg_lambda=self.reg_lambda)


class SparseL1Norm(SparseLpNorm):
    """SparseLpNorm with p = 1."""

    def __init__(self, reg_lambda: float) -> None:
        super().__init__(p=1.0, reg_lambda=reg_lambda)


class SparseL2Norm(SparseLpNorm):
    """SparseLpNorm with p = 2."""

    def __init__(self, reg_lambda: float) -> None:
        super().__init__(p=2.0, reg_lambda=reg_lambda)


class LogBarrier(Regularizer):
    """Keeps elements positive: -reg_lambda * discount * sum log(x) on the loss, and a clip after
    the optimizer. The discount falls with the iterations like a learning rate, by a policy of the
    operator LearningRate (Nocedal and Wright, Numerical Optimization, chapter 19)."""

    def __init__(self, reg_lambda: float, discount_policy: str = "inv",
                 discount_options: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.reg_lambda = _require_factor(reg_lambda, zero_allowed=False)
        self.discount_policy = discount_policy
        self.discount_options = discount_options or {"gamma": 1.0, "power": 1.0}

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        iteration = utils.BuildUniqueMutexIter(param_init_net, net)
        discount = net.NextScopedBlob(param + "_log_barrier_discount")
        net.LearningRate([iteration], [discount], base_lr=-self.reg_lambda,
                         policy=self.discount_policy, **self.discount_options)
        # Initial values may be negative, and updates of several trainers may make values negative.
        positive = net.NextScopedBlob(param + "_non_neg")
        net.Clip([param], [positive], min=self.kEpsilon)
        logarithms = net.NextScopedBlob(param + "_log")
        net.Log([positive], [logarithms])
        total = net.NextScopedBlob(param + "_log_sum")
        net.SumElements([logarithms], [total])
        blob = net.NextScopedBlob(param + "_log_barrier")
        return net.Mul([total, discount], [blob], broadcast=1)

    def _run_after_optimizer(self, net, param_init_net, param, grad):
        self._ensure_clipped(net, param, grad, min=0, open_range=True)


class BoundedGradientProjection(Regularizer):
    """Clips elements to [lb, ub], or to an interval open on one side or both, after the optimizer
    (Nocedal and Wright, Numerical Optimization, chapter 16)."""

    def __init__(self, lb: float | None = None, ub: float | None = None, left_open: bool = False,
                 right_open: bool = False, epsilon: float | None = None) -> None:
        """
        Args:
          lb, ub: the bounds; None: no bound.
          left_open, right_open: whether a bound itself is excluded.
          epsilon: the distance that elements keep from an excluded bound; default 1e-9.

        Raises ValueError if the interval is empty.
        """
        super().__init__()
        if epsilon is not None:
            self.kEpsilon = float(_require_factor(epsilon, "epsilon", zero_allowed=False))
        self.lb = None if lb is None else float(lb)
        self.ub = None if ub is None else float(ub)
        self.left_open = left_open
        self.right_open = right_open
        if self.lb is not None and self.ub is not None:
            margin = self.kEpsilon * (bool(left_open) + bool(right_open))
            if self.lb + margin > self.ub:
                raise ValueError(f"no number lies between {lb} and {ub} with margins of "
                                 f"{self.kEpsilon} at the open bounds")

    def _run_after_optimizer(self, net, param_init_net, param, grad):
        self._ensure_clipped(net, param, grad, min=self.lb, max=self.ub, left_open=self.left_open,
                             right_open=self.right_open)


class GroupL1Norm(Regularizer):
    """reg_lambda * sum_g sqrt(size of g) * the L2 norm of g, over groups g of columns of a weight
    matrix (Scardapane et al., "Group sparse regularization for deep neural networks", 2017)."""

    def __init__(self, reg_lambda: float, groups: Sequence[int],
                 stabilizing_val: float = 0) -> None:
        """
        Args:
          groups: the number of columns of each group, in order.
          stabilizing_val: added to the squared norms, because the gradient of the square root is
            large near 0; 1e-8 is a good value.
        """
        super().__init__()
        if not isinstance(groups, list):
            raise TypeError(f"groups must be a list, not {groups!r}")
        self.reg_lambda = _require_factor(reg_lambda)
        self.groups = groups
        self.stabilizing_val = stabilizing_val

    def _run_on_loss(self, net, param_init_net, param, grad=None):
        squares = net.Sqr(param)
        of_columns = net.ReduceSum(squares, axes=[0], keepdims=0)
        sizes = net.GivenTensorIntFill([], 1, shape=[len(self.groups)], values=self.groups)
        of_groups = net.LengthsSum([of_columns, sizes])
        if self.stabilizing_val:
            offset = net.ConstantFill([], 1, value=self.stabilizing_val)
            net.Add([of_groups, offset], [of_groups], broadcast=1)
        norms = net.Sqrt(of_groups)
        factors = net.GivenTensorFill(
            [], shape=[len(self.groups)], values=np.sqrt(self.groups) * self.reg_lambda)
        scaled = net.Mul([norms, factors], ["normalized_l2_norm_scaled"])
        # The misspelt name of this blob is Caffe2's.
        return net.LpNorm(scaled, ["group_l1_nrom"], p=1)
