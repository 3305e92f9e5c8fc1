"""Optimizers: functions that add the update of all parameters to a model with gradients.

Each build_* function takes the model and the learning rate (with `policy` and its arguments, see
the operator LearningRate), and returns the Optimizer it used.
"""

from collections import defaultdict, namedtuple

from caffe2.proto import caffe2_pb2
from caffe2.python import core, scope, utils
from caffe2.python.modeling.parameter_info import ParameterInfo

_OPTIMIZER_ITERATION_NAME = "optimizer_iteration"
_LEARNING_RATE_INJECTION = "lr_injection"

# State of an optimizer: blobs of one parameter (local) and of all (shared).
AuxOptimizerParams = namedtuple("AuxOptimizerParams", ["local", "shared"])

_instances = defaultdict(int)
_learning_rate_multiplier = 1.0


def get_lr_injection():
    """The factor that optimizers built with allow_lr_injection start from."""
    return _learning_rate_multiplier


def set_lr_injection(lr_injection_value):
    global _learning_rate_multiplier
    _learning_rate_multiplier = float(lr_injection_value)


def _current_device():
    return scope.CurrentDeviceScope() or caffe2_pb2.DeviceOption()


def _device_suffix(device):
    node = f"_{device.node_name}" if device.node_name else ""
    return f"{node}_gpu{device.device_id}" if device.device_type else f"{node}_cpu"


class Optimizer:
    """Adds the update of one parameter to a net; one object serves all parameters of a model."""

    def __init__(self):
        self._aux_params = AuxOptimizerParams(local=[], shared=[])
        self._instance_num = _instances[self.__class__.__name__]
        _instances[self.__class__.__name__] += 1
        self._lr_multiplier = None
        self._lr_multiplier_on_gpu = False
        self._allow_injection = False

    def __call__(self, net, param_init_net, param, grad=None):
        """Adds the update of `param`: a ParameterInfo, or a blob with its gradient."""
        if grad is None:
            if not isinstance(param, ParameterInfo) or param.grad is None:
                raise ValueError(f"parameter {param} has no gradient")
            info = param
        else:
            blob = core.BlobReference(param) if isinstance(param, str) else param
            info = ParameterInfo(param_id=None, param=blob, grad=grad)
        self._run(net, param_init_net, info)

    def _run(self, net, param_init_net, param_info):
        raise NotImplementedError("an Optimizer defines _run")

    @property
    def attributes(self):
        """What the optimizer was built with."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def get_cpu_blob_name(self, base_str, node_name=""):
        return f"{type(self).__name__}_{self._instance_num}_{base_str}{node_name}_cpu"

    def get_gpu_blob_name(self, base_str, gpu_id, node_name=""):
        return f"{type(self).__name__}_{self._instance_num}_{base_str}{node_name}_gpu{gpu_id}"

    def make_unique_blob_name(self, base_str):
        """The name of a blob of this optimizer on the current device."""
        suffix = _device_suffix(_current_device())
        return f"{type(self).__name__}_{self._instance_num}_{base_str}{suffix}"

    def build_lr(self, net, param_init_net, base_learning_rate, learning_rate_blob=None,
                 policy="fixed", iter_val=0, **kwargs):
        """(the blob of the learning rate, made once per device, and of the iteration).

        The blob holds -base_learning_rate: to be added.
        """
        iteration = utils.BuildUniqueMutexIter(
            param_init_net, net, iter=_OPTIMIZER_ITERATION_NAME, iter_val=iter_val)
        if learning_rate_blob is None:
            learning_rate_blob = self.make_unique_blob_name("lr")
        if net.BlobIsDefined(learning_rate_blob):
            rate = core.BlobReference(learning_rate_blob, net)
        else:
            rate = net.LearningRate(
                [iteration], core.BlobReference(learning_rate_blob),
                base_lr=-base_learning_rate, policy=policy, **kwargs)
            if self._allow_injection:
                rate = self._inject(net, param_init_net, rate)
        if self._lr_multiplier is not None:
            rate = net.Mul([rate, self._lr_multiplier],
                           self.make_unique_blob_name("scaled_lr"), broadcast=1)
        return rate, iteration

    def _inject(self, net, param_init_net, rate):
        factor = param_init_net.ConstantFill(
            [], _LEARNING_RATE_INJECTION, shape=[1], value=get_lr_injection())
        return net.Mul([rate, factor], rate, broadcast=1)

    def add_lr_multiplier(self, lr_multiplier, is_gpu_blob=False):
        """Multiplies the learning rate with a blob of one float."""
        self._lr_multiplier = lr_multiplier
        self._lr_multiplier_on_gpu = is_gpu_blob

    def get_auxiliary_parameters(self):
        """The blobs of the optimizer's state, to be saved with the parameters."""
        return self._aux_params

    def scale_learning_rate(self, scale):
        """Multiplies the learning rate of updates that are built from now on."""
        self.alpha *= scale

    def _zeros_like(self, param_init_net, param, suffix):
        """State of the shape of the parameter."""
        blob = param_init_net.ConstantFill([param], param + suffix, value=0.0)
        self._aux_params.local.append(blob)
        return blob

    @staticmethod
    def _constant(param_init_net, prefix, value):
        """One float, made once per device: "ONE_0_0" (device type and id)."""
        device = _current_device()
        node = f"_{device.node_name}" if device.node_name else ""
        name = f"{prefix}_{device.device_type}_{device.device_id}{node}"
        if param_init_net.BlobIsDefined(core.ScopedName(name)):
            return core.ScopedBlobReference(name, param_init_net)
        return param_init_net.ConstantFill([], name, shape=[1], value=value)

    @staticmethod
    def _is_sparse(param_info):
        return isinstance(param_info.grad, core.GradientSlice)

    def _require_dense(self, param_info):
        if self._is_sparse(param_info):
            raise ValueError(
                f"{type(self).__name__} does not support the sparse gradient of {param_info.name}")


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
        param, grad = param_info.blob, param_info.grad
        if self.base_learning_rate == 0:
            return
        if self.base_learning_rate < 0:
            raise ValueError(f"the learning rate {self.base_learning_rate} is negative")
        if self.lars is not None and not self._is_sparse(param_info):
            if not 0 <= self.lars < 1:
                raise ValueError(f"lars must lie in [0, 1), not {self.lars}")
            self.add_lr_multiplier(net.Lars([param, grad], param + "_lars_rescale",
                                            offset=self.lars))
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
                one = self._constant(param_init_net, "ONE", 1.0)
                net.ScatterWeightedSum([param, one, grad.indices, grad.values, rate], param)
        elif self.momentum:
            net.MomentumSGDUpdate([grad, momentum, rate, param], [grad, momentum, param],
                                  momentum=self.momentum, nesterov=self.nesterov)
        else:
            one = self._constant(param_init_net, "ONE", 1.0)
            net.WeightedSum([param, one, grad, rate], param)


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
    """Duchi et al., "Adaptive subgradient methods", 2011. State: "<param>_squared_sum"."""

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
        param, grad = param_info.blob, param_info.grad
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
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
        param, grad = param_info.blob, param_info.grad
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
        param, grad = param_info.blob, param_info.grad
        rates = self._rate(net, param_init_net)
        if rates is None:
            return
        rate, iteration = rates
        moments = [self._zeros_like(param_init_net, param, suffix)
                   for suffix in ("_first_moment", "_second_moment")]
        self._aux_params.shared.append(iteration)
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


# -- Building --------------------------------------------------------------------------------------


def _param_to_device(model):
    """{blob: device of the operator that wrote it last}, None where it has none."""
    devices = {}
    for net in (model.param_init_net, model.net):
        default = net.Proto().device_option if net.Proto().HasField("device_option") else None
        for op in net.Proto().op:
            device = op.device_option if op.HasField("device_option") else default
            for blob in op.output:
                devices[blob] = device
    return devices


def get_param_device(param_name, grad, param_to_device=None, default_device=None):
    """The DeviceOption on which a parameter is updated: that of the parameter, else of its
    gradient, else the default (the CPU)."""
    devices = param_to_device or {}
    blobs = [param_name, *(grad if isinstance(grad, core.GradientSlice) else [grad])]
    for blob in blobs:
        if devices.get(str(blob)) is not None:
            return devices[str(blob)]
    return default_device or core.DeviceOption(caffe2_pb2.CPU)


def _norm_ratio(model, params, max_gradient_norm):
    """A blob: what to multiply the learning rate with, so that the norm of all gradients stays
    at most max_gradient_norm."""
    net = model.net
    squares = []
    for info in params:
        values = info.grad.values if isinstance(info.grad, core.GradientSlice) else info.grad
        squares.append(net.SumSqrElements(values, values + "_squared_sum"))
    norm = net.Sqrt(net.Sum(squares, "grad_squared_sum"), "global_gradient_norm")
    limit = model.param_init_net.ConstantFill(
        [], "max_gradient_norm", shape=[], value=float(max_gradient_norm))
    larger = net.Max([norm, limit], "gradient_norm_or_limit")
    return net.Div([limit, larger], "norm_ratio")


def _build(model, optimizer, weights_only=False, use_param_info_optim=True,
           max_gradient_norm=None, allow_lr_injection=False):
    """Adds the update of all parameters (or of weights only) that have a gradient."""
    model.Validate()
    devices = _param_to_device(model)
    params = [info for info in model.GetOptimizationParamInfo()
              if not weights_only or info.blob in model.weights]
    optimizer._allow_injection = allow_lr_injection
    if max_gradient_norm is not None:
        optimizer.add_lr_multiplier(_norm_ratio(model, params, max_gradient_norm))
    for info in params:
        device = get_param_device(info.name, info.grad, devices)
        use = info.optimizer if use_param_info_optim and info.optimizer else optimizer
        with core.DeviceScope(device):
            use(model.net, model.param_init_net, info)
    return optimizer


def add_weight_decay(model, weight_decay):
    """Adds weight_decay * weight to the gradients of all weights (not biases); before build_*."""
    if weight_decay == 0.0:
        return None
    if weight_decay < 0.0:
        raise ValueError(f"the weight decay {weight_decay} is negative")
    return _build(model, WeightDecayBuilder(weight_decay), weights_only=True,
                  use_param_info_optim=False)


def build_sgd(model, base_learning_rate, max_gradient_norm=None, allow_lr_injection=False,
              **kwargs):
    """SgdOptimizer: momentum, nesterov, policy and its arguments."""
    return _build(model, SgdOptimizer(base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_multi_precision_sgd(model, base_learning_rate, max_gradient_norm=None,
                              allow_lr_injection=False, **kwargs):
    """MultiPrecisionSgdOptimizer: float16 parameters with float32 copies."""
    return _build(model, MultiPrecisionSgdOptimizer(base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_ftrl(model, engine="SIMD", **kwargs):
    """FtrlOptimizer: alpha, beta, lambda1, lambda2."""
    return _build(model, FtrlOptimizer(engine=engine, **kwargs))


def build_adagrad(model, base_learning_rate, parameters=None, max_gradient_norm=None,
                  allow_lr_injection=False, **kwargs):
    """AdagradOptimizer: epsilon, decay, policy."""
    return _build(model, AdagradOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_adam(model, base_learning_rate, max_gradient_norm=None, allow_lr_injection=False,
               **kwargs):
    """AdamOptimizer: beta1, beta2, epsilon, policy."""
    return _build(model, AdamOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_rms_prop(model, base_learning_rate, max_gradient_norm=None, allow_lr_injection=False,
                   **kwargs):
    """RmsPropOptimizer: decay, momentum, epsilon, policy."""
    return _build(model, RmsPropOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def reset_optimizer_instance_count():
    """Starts the numbers in the names of optimizers' blobs from 0 again."""
    _instances.clear()
