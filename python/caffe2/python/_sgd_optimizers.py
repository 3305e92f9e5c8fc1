"""Stochastic gradient descent and weight decay; public through caffe2.python.optimizer."""

from caffe2.python import core
from caffe2.python._optimizer_base import Optimizer


class SgdOptimizer(Optimizer):
    """Stochastic gradient descent, with momentum (0: plain). State: "<param>_momentum"."""

    def __init__(self, base_learning_rate=0.01, policy="fixed", momentum=0.0, nesterov=1,
                 sparse_dedup_aggregator=None, lars=None, **kwargs):
        super().__init__()
        self.base_learning_rate = base_learning_rate
        self.policy = policy
        self.momentum = momentum
        self.nesterov = nesterov
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.lars = lars
        self.init_kwargs = kwargs

    def scale_learning_rate(self, scale):
        self.base_learning_rate *= scale

    def _learning_rate(self, net, param_init_net):
        # The momentum operators subtract; without momentum, the step is added.
        sign = -1 if self.momentum else 1
        return self.build_lr(net, param_init_net, self.base_learning_rate * sign,
                             policy=self.policy, **self.init_kwargs)[0]

    def _run(self, net, param_init_net, param_info):
        if self.base_learning_rate == 0:
            return
        if self.base_learning_rate < 0:
            raise ValueError(f"the learning rate {self.base_learning_rate} is negative")
        self._add_lars(net, param_info)
        param, grad = param_info.blob, self._deduplicated(net, param_info)
        rate = self._learning_rate(net, param_init_net)
        if self.momentum:
            momentum = self._zeros_like(param_init_net, param, "_momentum")
        if self._is_sparse(param_info):
            if self.momentum:
                net.SparseMomentumSGDUpdate(
                    [grad.values, momentum, rate, param, grad.indices],
                    [grad.values, momentum, param],
                    momentum=self.momentum, nesterov=self.nesterov)
            else:
                one = self._shared_one(param_init_net)
                net.ScatterWeightedSum([param, one, grad.indices, grad.values, rate], param)
        elif self.momentum:
            net.MomentumSGDUpdate([grad, momentum, rate, param], [grad, momentum, param],
                                  momentum=self.momentum, nesterov=self.nesterov)
        else:
            one = self._shared_one(param_init_net)
            net.WeightedSum([param, one, grad, rate], param)

    def _shared_one(self, param_init_net):
        one = self._constant(param_init_net, "ONE", 1.0)
        self._share(one)
        return one


class MultiPrecisionSgdOptimizer(SgdOptimizer):
    """SGD with momentum on the float32 copies of float16 parameters (PseudoFP16Initializer);
    float32 parameters are updated as by SgdOptimizer."""

    def __init__(self, base_learning_rate=0.1, momentum=0.0, policy="fixed", nesterov=1,
                 sparse_dedup_aggregator=None, **kwargs):
        super().__init__(base_learning_rate, policy, momentum, nesterov, sparse_dedup_aggregator,
                         **kwargs)

    def _run(self, net, param_init_net, param_info):
        copies = param_info.blob_copy or {}
        master = copies.get(core.DataType.FLOAT)
        if master is None:
            super()._run(net, param_init_net, param_info)
            return
        self._require_dense(param_info)
        if self.momentum == 0:
            raise ValueError("multi-precision SGD needs momentum > 0")
        grad = param_info.grad
        rate = self._learning_rate(net, param_init_net)
        momentum = self._zeros_like(param_init_net, master, "_momentum")
        grad_fp32 = net.HalfToFloat(grad, grad + "_fp32")
        net.MomentumSGDUpdate([grad_fp32, momentum, rate, master], [grad_fp32, momentum, master],
                              momentum=self.momentum, nesterov=self.nesterov)
        net.FloatToHalf(master, param_info.blob)


class FP16SgdOptimizer(SgdOptimizer):
    """SGD with momentum and weight decay for float16 parameters, computed in float32; float32
    parameters are updated likewise. State, in float32: "<param>_momentum"."""

    def __init__(self, base_learning_rate=0.1, momentum=0.0, policy="fixed", nesterov=1,
                 weight_decay=0.0001, sparse_dedup_aggregator=None, **kwargs):
        super().__init__(base_learning_rate, policy, momentum, nesterov, sparse_dedup_aggregator,
                         **kwargs)
        self.weight_decay = weight_decay

    def _run(self, net, param_init_net, param_info):
        self._require_dense(param_info)
        if self.momentum == 0:
            raise ValueError("float16 SGD needs momentum > 0")
        param, grad = param_info.blob, param_info.grad
        copies = param_info.blob_copy or {}
        is_half = core.DataType.FLOAT in copies
        rate = self._learning_rate(net, param_init_net)
        master = copies.get(core.DataType.FLOAT, param)
        momentum = self._zeros_like(param_init_net, master, "_momentum")
        if is_half:
            grad = net.HalfToFloat(grad, grad + "_fp32")
        if self.weight_decay:
            one = self._constant(param_init_net, "ONE", 1.0)
            decay = self._constant(param_init_net, "wd", self.weight_decay)
            net.WeightedSum([grad, one, master, decay], grad)
        net.MomentumSGDUpdate([grad, momentum, rate, master], [grad, momentum, master],
                              momentum=self.momentum, nesterov=self.nesterov)
        if is_half:
            net.FloatToHalf(master, param)


class WeightDecayBuilder(Optimizer):
    """Adds weight_decay * parameter to the gradient; no update."""

    def __init__(self, weight_decay):
        super().__init__()
        self.weight_decay = weight_decay

    def _run(self, net, param_init_net, param_info):
        self._require_dense(param_info)
        one = self._constant(param_init_net, "ONE", 1.0)
        decay = self._constant(param_init_net, "wd", self.weight_decay)
        grad = param_info.grad
        net.WeightedSum([grad, one, param_info.blob, decay], grad)
