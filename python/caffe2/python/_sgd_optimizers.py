"""Stochastic gradient descent and weight decay; public through caffe2.python.optimizer."""

from __future__ import annotations

from typing import Any

from caffe2.python import core
from caffe2.python._optimizer_base import Optimizer, RateOptimizer, is_sparse


class SgdOptimizer(RateOptimizer):
    """Stochastic gradient descent, with momentum (0: plain). State: "<param>_momentum", and one
    blob for each device that holds 1."""

    _RATE = "base_learning_rate"

    def __init__(self, base_learning_rate: float = 0.01, policy: str = "fixed",
                 momentum: float = 0.0, nesterov: int = 1,
                 sparse_dedup_aggregator: str | None = None, lars: float | None = None,
                 **kwargs: Any) -> None:
        super().__init__(base_learning_rate, policy, kwargs)
        self.momentum = momentum
        self.nesterov = nesterov
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.lars = lars

    def _build_rate(self, net, param_init_net, base):
        # The momentum operators subtract; without momentum, the step is added.
        return super()._build_rate(net, param_init_net, -base if self.momentum else base)

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        one = self._constant(param_init_net, "ONE", 1.0)
        self._share(one)
        if self.momentum:
            momentum = self._zeros_like(param_init_net, param, "_momentum")
        if is_sparse(grad):
            if self.momentum:
                # The step must not overwrite the gradient, which other tables may share.
                net.SparseMomentumSGDUpdate(
                    [grad.values, momentum, rate, param, grad.indices],
                    [param + "_momentum_step", momentum, param],
                    momentum=self.momentum, nesterov=self.nesterov)
            else:
                net.ScatterWeightedSum([param, one, grad.indices, grad.values, rate], param)
        elif self.momentum:
            net.MomentumSGDUpdate([grad, momentum, rate, param], [grad, momentum, param],
                                  momentum=self.momentum, nesterov=self.nesterov)
        else:
            net.WeightedSum([param, one, grad, rate], param)

    def _update_master(self, net, param_init_net, info, master, grad, rate):
        """Updates a float32 copy by its float32 gradient, and writes the float16 parameter."""
        if self.momentum:
            momentum = self._keep(param_init_net.ConstantFill(
                [master], info.blob + "_momentum", value=0.0))
            net.MomentumSGDUpdate([grad, momentum, rate, master], [grad, momentum, master],
                                  momentum=self.momentum, nesterov=self.nesterov)
        else:
            one = self._constant(param_init_net, "ONE", 1.0)
            net.WeightedSum([master, one, grad, rate], master)
        if master != info.blob:
            net.FloatToHalf(master, info.blob)


class MultiPrecisionSgdOptimizer(SgdOptimizer):
    """SGD, with momentum or without, on the float32 copies of float16 parameters
    (PseudoFP16Initializer); float32 parameters are updated as by SgdOptimizer."""

    def __init__(self, base_learning_rate: float = 0.1, momentum: float = 0.0,
                 policy: str = "fixed", nesterov: int = 1,
                 sparse_dedup_aggregator: str | None = None, **kwargs: Any) -> None:
        super().__init__(base_learning_rate, policy, momentum, nesterov, sparse_dedup_aggregator,
                         **kwargs)

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        master = (info.blob_copy or {}).get(core.DataType.FLOAT)
        if master is None:
            super()._update(net, param_init_net, info, grad, rate, iteration)
            return
        self._require_dense(info)
        grad_fp32 = net.HalfToFloat(grad, grad + "_fp32")
        self._update_master(net, param_init_net, info, master, grad_fp32, rate)


class FP16SgdOptimizer(SgdOptimizer):
    """SGD, with momentum or without, and weight decay for float16 and float32 parameters, computed
    in float32. State, in float32: "<param>_momentum"."""

    _SPARSE = False

    def __init__(self, base_learning_rate: float = 0.1, momentum: float = 0.0,
                 policy: str = "fixed", nesterov: int = 1, weight_decay: float = 0.0001,
                 sparse_dedup_aggregator: str | None = None, **kwargs: Any) -> None:
        super().__init__(base_learning_rate, policy, momentum, nesterov, sparse_dedup_aggregator,
                         **kwargs)
        self.weight_decay = weight_decay

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        copies = info.blob_copy or {}
        master = copies.get(core.DataType.FLOAT, info.blob)
        if core.DataType.FLOAT in copies:
            grad = net.HalfToFloat(grad, grad + "_fp32")
        if self.weight_decay:
            one = self._constant(param_init_net, "ONE", 1.0)
            decay = self._constant(param_init_net, "wd", self.weight_decay)
            net.WeightedSum([grad, one, master, decay], grad)
        self._update_master(net, param_init_net, info, master, grad, rate)


class WeightDecayBuilder(Optimizer):
    """Adds weight_decay * parameter to the gradient; no update."""

    def __init__(self, weight_decay: float) -> None:
        super().__init__()
        self.weight_decay = weight_decay

    def _run(self, net, param_init_net, param_info):
        self._require_dense(param_info)
        one = self._constant(param_init_net, "ONE", 1.0)
        decay = self._constant(param_init_net, "wd", self.weight_decay)
        grad = param_info.grad
        net.WeightedSum([grad, one, param_info.blob, decay], grad)
