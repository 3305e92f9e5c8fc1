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


class AdagradOptimizer(_AlphaOptimizer):
    """Duchi et al., "Adaptive subgradient methods", 2011. State: "<param>_squared_sum";
    with rowWise, of parameters with sparse gradients, "<param>_avg_squared_sum" with one value for
    each row."""

    def __init__(self, alpha=0.01, epsilon=1e-4, decay=1, policy="fixed",
                 sparse_dedup_aggregator=None, rowWise=False, engine="", lars=None, **kwargs):
        super().__init__(alpha, policy, kwargs)
        self.epsilon = epsilon
        self.decay = decay
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
                epsilon=self.epsilon, engine=self.engine)
            return
        net.Adagrad([param, squared_sum, grad, rates[0]], [param, squared_sum],
                    epsilon=self.epsilon, decay=float(self.decay), engine=self.engine)


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

        def vector(suffix, size, value):
            blob = param_init_net.ConstantFill([], param + suffix, shape=[size], value=value)
            self._aux_params.local.append(blob)
            return blob

        moment = self._zeros_like(param_init_net, param, "_moment")
        lr_avg = vector("_lr_avg", 1, self.alpha)
        mu_avg = vector("_mu_avg", 1, self.mu)
        curv_win = vector("_curv_win", self.curv_win_width, 0.0)
        g_avg = self._zeros_like(param_init_net, param, "_g_avg")
        g2_avg = self._zeros_like(param_init_net, param, "_g2_avg")
        scalars = vector("_scalars_memory", self._NUM_SCALARS, 0.0)
        iteration = utils.BuildUniqueMutexIter(param_init_net, net)
        self._share(iteration)
        state = [param, moment, lr_avg, mu_avg, curv_win, g_avg, g2_avg, scalars]
        net.YellowFin([*state, param_info.grad, iteration], state, beta=self.beta,
                      epsilon=self.epsilon, curv_win_width=self.curv_win_width,
                      zero_debias=self.zero_debias)
