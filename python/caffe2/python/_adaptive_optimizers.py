"""Optimizers with a rate for each parameter; public through caffe2.python.optimizer."""

from __future__ import annotations

from typing import Any

from caffe2.python import core, utils
from caffe2.python._optimizer_base import RateOptimizer, is_sparse


class _FtrlBase(RateOptimizer):
    """Follow the regularized leader. Its operators compute the rate from `alpha` themselves."""

    def __init__(self, alpha: float = 0.01, beta: float = 1e-4, lambda1: float = 0,
                 lambda2: float = 0, sparse_dedup_aggregator: str | None = None,
                 engine: str = "") -> None:
        super().__init__(alpha)
        self.beta = beta
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.engine = engine

    def _build_rate(self, net, param_init_net, base):
        return None, None

    def _state(self, param_init_net, param, suffix):
        return self._keep(param_init_net.ConstantFill(
            [param], param + suffix, extra_shape=[2], value=0.0))

    def _arguments(self):
        return {"alpha": self.alpha, "beta": self.beta, "lambda1": self.lambda1,
                "lambda2": self.lambda2, "engine": self.engine}


class FtrlOptimizer(_FtrlBase):
    """McMahan et al., "Ad click prediction", 2013. State: "<param>_ftrl_nz" [..., 2]."""

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        state = [info.blob, self._state(param_init_net, info.blob, "_ftrl_nz")]
        if is_sparse(grad):
            net.SparseFtrl([*state, grad.indices, grad.values], state, **self._arguments())
        else:
            net.Ftrl([*state, grad], state, **self._arguments())


class GFtrlOptimizer(_FtrlBase):
    """Group lasso Ftrl, of dense parameters: drops whole columns. State: "<param>_gftrl_nz"
    [..., 2]."""

    _SPARSE = False

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        state = [info.blob, self._state(param_init_net, info.blob, "_gftrl_nz")]
        net.GFtrl([*state, grad], state, **self._arguments())


class WngradOptimizer(RateOptimizer):
    """Wu, Ward and Bottou, "WNGrad", 2018. State: "<param>_moment", one float that begins with
    moment_init. With output_effective_lr (and _and_update) the rate (and the step) are written to
    "<param>_effective_lr" ("<param>_update")."""

    def __init__(self, alpha: float = 1.0, epsilon: float = 1e-9, policy: str = "fixed",
                 sparse_dedup_aggregator: str | None = None, engine: str = "",
                 moment_init: float = 100.0, lars: float | None = None,
                 output_effective_lr: bool = False, output_effective_lr_and_update: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(alpha, policy, kwargs)
        self.epsilon = epsilon
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.engine = engine
        self.moment_init = moment_init
        self.lars = lars
        self.output_effective_lr = output_effective_lr
        self.output_effective_lr_and_update = output_effective_lr_and_update

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        moment = self._vector(param_init_net, param, "_moment", 1, self.moment_init)
        outputs = [param, moment]
        arguments = {"epsilon": self.epsilon, "engine": self.engine}
        if is_sparse(grad):
            net.SparseWngrad(
                [param, moment, grad.indices, grad.values, rate], outputs, **arguments)
            return
        if self.output_effective_lr or self.output_effective_lr_and_update:
            outputs.append(param + "_effective_lr")
        if self.output_effective_lr_and_update:
            outputs.append(param + "_update")
        net.Wngrad([param, moment, grad, rate], outputs, **arguments)


class StormOptimizer(RateOptimizer):
    """Cutkosky and Orabona, "Momentum-based variance reduction", 2019. State: "<param>_moment", and
    "<param>_grad_sq_sum", one float that begins with grad_sq_init."""

    _RATE = "lr"

    def __init__(self, lr: float = 0.1, momentum: float = 10.0, beta: float = 0.1,
                 grad_sq_init: float = 0.01, policy: str = "fixed",
                 sparse_dedup_aggregator: str | None = None, lars: float | None = None,
                 **kwargs: Any) -> None:
        super().__init__(lr, policy, kwargs)
        self.momentum = momentum
        self.beta = beta
        self.grad_sq_init = grad_sq_init
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.lars = lars

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        state = [param, self._zeros_like(param_init_net, param, "_moment"),
                 self._vector(param_init_net, param, "_grad_sq_sum", 1, self.grad_sq_init)]
        arguments = {"momentum": self.momentum, "beta": self.beta}
        if is_sparse(grad):
            net.SparseStorm([*state, grad.values, grad.indices, rate], state, **arguments)
        else:
            net.Storm([*state, grad, rate], state, **arguments)


class AdamOptimizer(RateOptimizer):
    """Kingma and Ba, "Adam", 2014. State: "<param>_first_moment" and "<param>_second_moment", or
    with rowWise "<param>_avg_second_moment" with one value a row.

    Args:
      rowWise: for sparse gradients.
      enableRAdam: rectified Adam (Liu et al., 2019), for sparse gradients.
      use_lr_adaption, lr_alpha, normalized_lr_adaption: lets the operator LearningRateAdaption
        change the learning rate.
      use_smart_decay: the moments of a row also decay in iterations without a gradient for it
        (SmartDecaySparseAdam). For sparse gradients; not with the options above.
    """

    def __init__(self, alpha: float = 0.001, beta1: float = 0.9, beta2: float = 0.999,
                 epsilon: float = 1e-8, policy: str = "fixed", use_lr_adaption: bool = False,
                 lr_alpha: float = 0.01, normalized_lr_adaption: bool = True,
                 sparse_dedup_aggregator: str | None = None, rowWise: bool = False,
                 engine: str = "", enableRAdam: bool = False, use_smart_decay: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(alpha, policy, kwargs)
        if rowWise and enableRAdam:
            raise ValueError("rowWise and enableRAdam cannot be used together")
        if use_smart_decay and (rowWise or enableRAdam or use_lr_adaption):
            raise ValueError(
                "use_smart_decay cannot be used with rowWise, enableRAdam or use_lr_adaption")
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.use_lr_adaption = use_lr_adaption
        self.lr_alpha = lr_alpha
        self.normalized_lr_adaption = normalized_lr_adaption
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.rowWise = rowWise
        self.engine = engine
        self.enableRAdam = enableRAdam
        self.use_smart_decay = use_smart_decay

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        state = [param, self._zeros_like(param_init_net, param, "_first_moment")]
        if is_sparse(grad) and self.rowWise:
            state.append(self._zeros_of_rows(param_init_net, param, "_avg_second_moment"))
        else:
            state.append(self._zeros_like(param_init_net, param, "_second_moment"))
        self._share(iteration)
        step = [param + "_effective_grad"] if self.use_lr_adaption else []
        arguments = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
        if is_sparse(grad):
            self._update_rows(net, param_init_net, state, grad, [rate, iteration], step, arguments)
        else:
            net.Adam([*state, grad, rate, iteration], [*state, *step], **arguments)
        if self.use_lr_adaption:
            values = grad.values if is_sparse(grad) else grad
            net.LearningRateAdaption([rate, values, *step], [rate], lr_alpha=self.lr_alpha,
                                     normalized_lr_adaption=self.normalized_lr_adaption)

    def _update_rows(self, net, param_init_net, state, grad, rate, step, arguments):
        add = net.SparseAdam
        if self.use_smart_decay:
            add = net.SmartDecaySparseAdam
            state = [*state, self._zeros_of_rows(
                param_init_net, state[0], "_last_seen", dtype=core.DataType.INT64)]
        elif self.rowWise:
            add = net.RowWiseSparseAdam
        elif self.enableRAdam:
            arguments["enableRAdam"] = True
        add([*state, grad.indices, grad.values, *rate], [*state, *step], **arguments)


class AdadeltaOptimizer(RateOptimizer):
    """Zeiler, "ADADELTA", 2012. State: "<param>_squared_moment" and
    "<param>_squared_moment_update"."""

    def __init__(self, alpha: float = 0.01, epsilon: float = 1e-4, decay: float = 0.95,
                 policy: str = "fixed", sparse_dedup_aggregator: str | None = None,
                 engine: str = "", **kwargs: Any) -> None:
        super().__init__(alpha, policy, kwargs)
        self.epsilon = epsilon
        self.decay = decay
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.engine = engine

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        state = [param, self._zeros_like(param_init_net, param, "_squared_moment"),
                 self._zeros_like(param_init_net, param, "_squared_moment_update")]
        arguments = {"epsilon": self.epsilon, "decay": self.decay, "engine": self.engine}
        if is_sparse(grad):
            net.SparseAdadelta([*state, grad.indices, grad.values, rate], state, **arguments)
        else:
            net.Adadelta([*state, grad, rate], state, **arguments)


class RmsPropOptimizer(RateOptimizer):
    """Tieleman and Hinton, 2012. State: "<param>_mean_squares", "<param>_momentum"."""

    _SPARSE = False

    def __init__(self, alpha: float = 0.01, decay: float = 0.9, momentum: float = 0.0,
                 epsilon: float = 1e-5, policy: str = "fixed", engine: str = "",
                 **kwargs: Any) -> None:
        super().__init__(alpha, policy, kwargs)
        self.decay = decay
        self.momentum = momentum
        self.epsilon = epsilon
        self.engine = engine

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        one = self._constant(param_init_net, "ONE", 1.0)
        state = [self._zeros_like(param_init_net, param, suffix)
                 for suffix in ("_mean_squares", "_momentum")]
        # The operator turns the gradient into the step.
        net.RmsProp([grad, *state, rate], [grad, *state], decay=self.decay,
                    momentum=self.momentum, epsilon=self.epsilon, engine=self.engine)
        net.WeightedSum([param, one, grad, one], param)


class YellowFinOptimizer(RateOptimizer):
    """Zhang and Mitliagkas, "YellowFin and the art of momentum tuning", 2017. State: "<param>" with
    _moment, _lr_avg, _mu_avg, _curv_win, _g_avg, _g2_avg and _scalars_memory."""

    _SPARSE = False
    _NUM_SCALARS = 5  # that the operator keeps between its runs

    def __init__(self, alpha: float = 0.1, mu: float = 0.0, beta: float = 0.999,
                 curv_win_width: int = 20, zero_debias: bool = True, epsilon: float = 0.1 ** 6,
                 policy: str = "fixed", sparse_dedup_aggregator: str | None = None,
                 **kwargs: Any) -> None:
        super().__init__(alpha, policy, kwargs)
        if alpha <= 0:
            raise ValueError(f"the learning rate {alpha} of YellowFin is not positive")
        self.mu = mu
        self.beta = beta
        self.curv_win_width = curv_win_width
        self.zero_debias = zero_debias
        self.epsilon = epsilon
        self.sparse_dedup_aggregator = sparse_dedup_aggregator

    def _build_rate(self, net, param_init_net, base):
        # The operator tunes the rate; alpha is its first value.
        return None, utils.BuildUniqueMutexIter(param_init_net, net)

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        state = [
            param,
            self._zeros_like(param_init_net, param, "_moment"),
            self._vector(param_init_net, param, "_lr_avg", 1, self.alpha),
            self._vector(param_init_net, param, "_mu_avg", 1, self.mu),
            self._vector(param_init_net, param, "_curv_win", self.curv_win_width, 0.0),
            self._zeros_like(param_init_net, param, "_g_avg"),
            self._zeros_like(param_init_net, param, "_g2_avg"),
            self._vector(param_init_net, param, "_scalars_memory", self._NUM_SCALARS, 0.0),
        ]
        self._share(iteration)
        net.YellowFin([*state, grad, iteration], state, beta=self.beta, epsilon=self.epsilon,
                      curv_win_width=self.curv_win_width, zero_debias=self.zero_debias)
