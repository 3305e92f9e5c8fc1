"""Optimizers with a rate for each parameter; public through caffe2.python.optimizer."""

from caffe2.python import utils
from caffe2.python._optimizer_base import Optimizer


class _AlphaOptimizer(Optimizer):
    """Base of the optimizers whose learning rate is called alpha."""

    def __init__(self, alpha, policy, kwargs):
        super().__init__()
        self.alpha = alpha
        self.policy = policy
        self.init_kwargs = kwargs

    def _rate(self, net, param_init_net):
        """(learning rate, iteration); or None where alpha is 0 and nothing is to be updated."""
        if self.alpha <= 0:
            return None
        return self.build_lr(net, param_init_net, self.alpha, policy=self.policy,
                             **self.init_kwargs)

    def _vector(self, param_init_net, param, suffix, size, value):
        """State of `size` floats."""
        blob = param_init_net.ConstantFill([], param + suffix, shape=[size], value=value)
        self._aux_params.local.append(blob)
        return blob


class AdagradOptimizer(_AlphaOptimizer):
    """Duchi et al., "Adaptive subgradient methods", 2011. State: "<param>_squared_sum";
    with rowWise, of parameters with sparse gradients, "<param>_avg_squared_sum" with one value for
    each row."""

    def __init__(self, alpha=0.01, epsilon=1e-4, decay=1, policy="fixed",
                 sparse_dedup_aggregator=None, rowWise=False, engine="", lars=None,
                 weight_decay=0.0, **kwargs):
        super().__init__(alpha, policy, kwargs)
        self.epsilon = epsilon
        self.decay = decay
        self.weight_decay = weight_decay
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.rowWise = rowWise
        self.engine = engine
        self.lars = lars

    def _run(self, net, param_init_net, param_info):
        self._add_lars(net, param_info)
        param, grad = param_info.blob, self._deduplicated(net, param_info)
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        if self._is_sparse(param_info) and self.rowWise:
            squared_sum = self._zeros_of_rows(param_init_net, param, "_avg_squared_sum")
        else:
            squared_sum = self._zeros_like(param_init_net, param, "_squared_sum")
        if self._is_sparse(param_info):
            add = net.RowWiseSparseAdagrad if self.rowWise else net.SparseAdagrad
            add([param, squared_sum, grad.indices, grad.values, rates[0]], [param, squared_sum],
                epsilon=self.epsilon, weight_decay=self.weight_decay, engine=self.engine)
            return
        net.Adagrad([param, squared_sum, grad, rates[0]], [param, squared_sum],
                    epsilon=self.epsilon, decay=float(self.decay),
                    weight_decay=self.weight_decay, engine=self.engine)


class FtrlOptimizer(_AlphaOptimizer):
    """McMahan et al., "Ad click prediction", 2013. State: "<param>_ftrl_nz" [..., 2]."""

    def __init__(self, alpha=0.01, beta=1e-4, lambda1=0, lambda2=0, sparse_dedup_aggregator=None,
                 engine=""):
        super().__init__(alpha, "fixed", {})
        self.beta = beta
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.engine = engine

    def _run(self, net, param_init_net, param_info):
        param, grad = param_info.blob, self._deduplicated(net, param_info)
        if self.alpha <= 0:
            return
        state = param_init_net.ConstantFill(
            [param], param + "_ftrl_nz", extra_shape=[2], value=0.0)
        self._aux_params.local.append(state)
        arguments = {"alpha": self.alpha, "beta": self.beta, "lambda1": self.lambda1,
                     "lambda2": self.lambda2, "engine": self.engine}
        if self._is_sparse(param_info):
            net.SparseFtrl([param, state, grad.indices, grad.values], [param, state], **arguments)
        else:
            net.Ftrl([param, state, grad], [param, state], **arguments)


class GFtrlOptimizer(FtrlOptimizer):
    """Group lasso Ftrl, of dense parameters: drops whole columns. State: "<param>_gftrl_nz"
    [..., 2]."""

    def _run(self, net, param_init_net, param_info):
        self._require_dense(param_info)
        if self.alpha <= 0:
            return
        param = param_info.blob
        state = param_init_net.ConstantFill(
            [param], param + "_gftrl_nz", extra_shape=[2], value=0.0)
        self._aux_params.local.append(state)
        net.GFtrl([param, state, param_info.grad], [param, state], alpha=self.alpha,
                  beta=self.beta, lambda1=self.lambda1, lambda2=self.lambda2, engine=self.engine)


class WngradOptimizer(_AlphaOptimizer):
    """Wu, Ward and Bottou, "WNGrad", 2018. State: "<param>_moment", one float that begins with
    moment_init. With output_effective_lr (and _and_update) the rate (and the step) are written to
    "<param>_effective_lr" ("<param>_update")."""

    def __init__(self, alpha=1.0, epsilon=1e-9, policy="fixed", sparse_dedup_aggregator=None,
                 engine="", moment_init=100.0, lars=None, output_effective_lr=False,
                 output_effective_lr_and_update=False, **kwargs):
        super().__init__(alpha, policy, kwargs)
        self.epsilon = epsilon
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.engine = engine
        self.moment_init = moment_init
        self.lars = lars
        self.output_effective_lr = output_effective_lr
        self.output_effective_lr_and_update = output_effective_lr_and_update

    def _run(self, net, param_init_net, param_info):
        self._add_lars(net, param_info)
        param, grad = param_info.blob, self._deduplicated(net, param_info)
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        moment = self._vector(param_init_net, param, "_moment", 1, self.moment_init)
        outputs = [param, moment]
        arguments = {"epsilon": self.epsilon, "engine": self.engine}
        if self._is_sparse(param_info):
            net.SparseWngrad(
                [param, moment, grad.indices, grad.values, rates[0]], outputs, **arguments)
            return
        if self.output_effective_lr or self.output_effective_lr_and_update:
            outputs.append(param + "_effective_lr")
        if self.output_effective_lr_and_update:
            outputs.append(param + "_update")
        net.Wngrad([param, moment, grad, rates[0]], outputs, **arguments)


class StormOptimizer(_AlphaOptimizer):
    """Cutkosky and Orabona, "Momentum-based variance reduction", 2019. State: "<param>_momentum",
    and "<param>_grad_sq_sum", one float that begins with grad_sq_init."""

    def __init__(self, lr=0.1, momentum=10.0, beta=0.1, grad_sq_init=0.01, policy="fixed",
                 sparse_dedup_aggregator=None, lars=None, **kwargs):
        super().__init__(lr, policy, kwargs)
        self.momentum = momentum
        self.beta = beta
        self.grad_sq_init = grad_sq_init
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.lars = lars

    def _run(self, net, param_init_net, param_info):
        self._add_lars(net, param_info)
        param, grad = param_info.blob, self._deduplicated(net, param_info)
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        state = [param, self._zeros_like(param_init_net, param, "_momentum"),
                 self._vector(param_init_net, param, "_grad_sq_sum", 1, self.grad_sq_init)]
        arguments = {"momentum": self.momentum, "beta": self.beta}
        if self._is_sparse(param_info):
            net.SparseStorm(
                [*state, grad.values, grad.indices, rates[0]], state, **arguments)
        else:
            net.Storm([*state, grad, rates[0]], state, **arguments)


class AdamOptimizer(_AlphaOptimizer):
    """Kingma and Ba, "Adam", 2014. State: "<param>_first_moment", "<param>_second_moment"."""

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, policy="fixed",
                 sparse_dedup_aggregator=None, rowWise=False, engine="", **kwargs):
        super().__init__(alpha, policy, kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.rowWise = rowWise
        self.engine = engine

    def _run(self, net, param_init_net, param_info):
        param, grad = param_info.blob, self._deduplicated(net, param_info)
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        rate, iteration = rates
        by_row = self._is_sparse(param_info) and self.rowWise
        zeros = self._zeros_of_rows if by_row else self._zeros_like
        moments = [self._zeros_like(param_init_net, param, "_first_moment"),
                   zeros(param_init_net, param, "_second_moment")]
        self._share(iteration)
        arguments = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}
        outputs = [param, *moments]
        if self._is_sparse(param_info):
            add = net.RowWiseSparseAdam if self.rowWise else net.SparseAdam
            add([param, *moments, grad.indices, grad.values, rate, iteration], outputs, **arguments)
        else:
            net.Adam([param, *moments, grad, rate, iteration], outputs, **arguments)


class RmsPropOptimizer(_AlphaOptimizer):
    """Tieleman and Hinton, 2012. State: "<param>_mean_square", "<param>_momentum"."""

    def __init__(self, alpha=0.01, decay=0.9, momentum=0.0, epsilon=1e-5, policy="fixed",
                 engine="", **kwargs):
        super().__init__(alpha, policy, kwargs)
        self.decay = decay
        self.momentum = momentum
        self.epsilon = epsilon
        self.engine = engine

    def _run(self, net, param_init_net, param_info):
        self._require_dense(param_info)
        param, grad = param_info.blob, param_info.grad
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        one = self._constant(param_init_net, "ONE", 1.0)
        state = [self._zeros_like(param_init_net, param, suffix)
                 for suffix in ("_mean_square", "_momentum")]
        # The operator turns the gradient into the step, which is then added.
        net.RmsProp([grad, *state, rates[0]], [grad, *state], decay=self.decay,
                    momentum=self.momentum, epsilon=self.epsilon, engine=self.engine)
        net.WeightedSum([param, one, grad, one], param)


class YellowFinOptimizer(_AlphaOptimizer):
    """Zhang and Mitliagkas, "YellowFin and the art of momentum tuning", 2017. State: "<param>" with
    _moment, _lr_avg, _mu_avg, _curv_win, _g_avg, _g2_avg and _scalars_memory."""

    _NUM_SCALARS = 5  # that the operator keeps between its runs

    def __init__(self, alpha=0.1, mu=0.0, beta=0.999, curv_win_width=20, zero_debias=True,
                 epsilon=0.1 ** 6, policy="fixed", sparse_dedup_aggregator=None, **kwargs):
        super().__init__(alpha, policy, kwargs)
        if alpha <= 0:
            raise ValueError(f"the learning rate {alpha} of YellowFin is not positive")
        self.mu = mu
        self.beta = beta
        self.curv_win_width = curv_win_width
        self.zero_debias = zero_debias
        self.epsilon = epsilon
        self.sparse_dedup_aggregator = sparse_dedup_aggregator

    def _run(self, net, param_init_net, param_info):
        self._require_dense(param_info)
        param = param_info.blob
        moment = self._zeros_like(param_init_net, param, "_moment")
        lr_avg = self._vector(param_init_net, param, "_lr_avg", 1, self.alpha)
        mu_avg = self._vector(param_init_net, param, "_mu_avg", 1, self.mu)
        curv_win = self._vector(param_init_net, param, "_curv_win", self.curv_win_width, 0.0)
        g_avg = self._zeros_like(param_init_net, param, "_g_avg")
        g2_avg = self._zeros_like(param_init_net, param, "_g2_avg")
        scalars = self._vector(
            param_init_net, param, "_scalars_memory", self._NUM_SCALARS, 0.0)
        iteration = utils.BuildUniqueMutexIter(param_init_net, net)
        self._share(iteration)
        state = [param, moment, lr_avg, mu_avg, curv_win, g_avg, g2_avg, scalars]
        net.YellowFin([*state, param_info.grad, iteration], state, beta=self.beta,
                      epsilon=self.epsilon, curv_win_width=self.curv_win_width,
                      zero_debias=self.zero_debias)
