"""Adadelta and DecayAdagrad; public through caffe2.python.optimizer."""

from caffe2.python._adaptive_optimizers import _AlphaOptimizer


class AdadeltaOptimizer(_AlphaOptimizer):
    """Zeiler, "ADADELTA", 2012. State: "<param>_squared_moment" and
    "<param>_squared_moment_update"."""

    def __init__(self, alpha=0.01, epsilon=1e-4, decay=0.95, policy="fixed",
                 sparse_dedup_aggregator=None, engine="", **kwargs):
        super().__init__(alpha, policy, kwargs)
        self.epsilon = epsilon
        self.decay = decay
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.engine = engine

    def _run(self, net, param_init_net, param_info):
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        param, grad = param_info.blob, self._deduplicated(net, param_info)
        state = [param, self._zeros_like(param_init_net, param, "_squared_moment"),
                 self._zeros_like(param_init_net, param, "_squared_moment_update")]
        options = {"epsilon": self.epsilon, "decay": self.decay, "engine": self.engine}
        if self._is_sparse(param_info):
            net.SparseAdadelta([*state, grad.indices, grad.values, rates[0]], state, **options)
        else:
            net.Adadelta([*state, grad, rates[0]], state, **options)


class DecayAdagradOptimizer(_AlphaOptimizer):
    """Adagrad with a first moment and weight decay. State: "<param>_first_mo1ment" (Caffe2's name)
    and "<param>_second_moment"; "<param>_squared_sum" where the gradient is sparse, which Adagrad
    updates."""

    def __init__(self, alpha=0.01, beta1=0.0, beta2=0.999, epsilon=0.1, weight_decay=0.0,
                 bias_correction_first=True, policy="fixed", engine="", **kwargs):
        super().__init__(alpha, policy, kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        self.bias_correction_first = bias_correction_first
        self.engine = engine

    def _run(self, net, param_init_net, param_info):
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        param, grad = param_info.blob, param_info.grad
        rate, iteration = rates
        if self._is_sparse(param_info):
            state = [param, self._zeros_like(param_init_net, param, "_squared_sum")]
            net.SparseAdagrad([*state, grad.indices, grad.values, rate], state,
                              epsilon=self.epsilon)
            return
        state = [param, self._zeros_like(param_init_net, param, "_first_mo1ment"),
                 self._zeros_like(param_init_net, param, "_second_moment")]
        self._share(iteration)
        net.DecayAdagrad(
            [*state, grad, rate, iteration], state, beta1=self.beta1, beta2=self.beta2,
            epsilon=self.epsilon, weight_decay=self.weight_decay,
            bias_correction_first=self.bias_correction_first)
