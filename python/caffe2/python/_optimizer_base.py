"""The base of all optimizers; public through caffe2.python.optimizer."""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
from collections import defaultdict, namedtuple
from collections.abc import Mapping
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, scope, utils, workspace
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.layer_checks import check_spelling
from caffe2.python._core.net import Net
from caffe2.python.modeling.parameter_info import ParameterInfo

_OPTIMIZER_ITERATION_NAME = "optimizer_iteration"

# State of an optimizer: blobs of one parameter (local) and of all (shared).
AuxOptimizerParams = namedtuple("AuxOptimizerParams", ["local", "shared"])

# Class name -> number of objects made so far.
_optimizer_instance_count: dict[str, int] = defaultdict(int)


def reset_optimizer_instance_count() -> None:
    """Restarts the numbers in the names of optimizers' blobs at 0."""
    _optimizer_instance_count.clear()


def _current_device():
    return scope.CurrentDeviceScope() or caffe2_pb2.DeviceOption()


def _device_suffix(device):
    node = f"_{device.node_name}" if device.node_name else ""
    return f"{node}_gpu{device.device_id}" if device.device_type else f"{node}_cpu"


class Optimizer:
    """Adds the update of one parameter to a net; one object serves all parameters of a model."""

    def __init__(self) -> None:
        self._aux_params = AuxOptimizerParams(local=[], shared=[])
        self._instance_num = _optimizer_instance_count[self.__class__.__name__]
        _optimizer_instance_count[self.__class__.__name__] += 1
        self._lr_multiplier: BlobLike | None = None
        self._lr_multiplier_on_gpu = False
        self._local_lr_multiplier = None  # of the parameter that is being updated
        # Whether the learning rate counts iterations by itself, in "optimizer_iteration_lr", so
        # that it can be reset alone.
        self.use_dedicated_lr_iteration_counter = False

    def __call__(self, net: Net, param_init_net: Net, param: Any, grad: Any = None) -> None:
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
    def attributes(self) -> dict[str, Any]:
        """The arguments that the optimizer was built with."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def get_cpu_blob_name(self, base_str: str, node_name: str = "") -> str:
        """The name of a blob of this optimizer on the CPU (of a node)."""
        return f"{type(self).__name__}_{self._instance_num}_{base_str}{node_name}_cpu"

    def get_gpu_blob_name(self, base_str: str, gpu_id: int, node_name: str = "") -> str:
        """The name of a blob of this optimizer on a GPU (of a node)."""
        return f"{type(self).__name__}_{self._instance_num}_{base_str}{node_name}_gpu{gpu_id}"

    def make_unique_blob_name(self, base_str: str) -> str:
        """The name of a blob of this optimizer on the current device."""
        suffix = _device_suffix(_current_device())
        return f"{type(self).__name__}_{self._instance_num}_{base_str}{suffix}"

    def build_lr(self, net: Net, param_init_net: Net, base_learning_rate: float,
                 learning_rate_blob: BlobLike | None = None, policy: str = "fixed",
                 iter_val: int = 0, **kwargs: Any) -> tuple[BlobReference, BlobReference]:
        """(blob of the learning rate, made once per device; blob of the iteration).

        The rate is a float scalar: -base_learning_rate, changed by the policy (see the operator
        LearningRate, which gets `kwargs`) and the multipliers. It is negative because updates are
        added.
        """
        suffix = "_lr" if self.use_dedicated_lr_iteration_counter else ""
        iteration = utils.BuildUniqueMutexIter(
            param_init_net, net, iter=_OPTIMIZER_ITERATION_NAME + suffix,
            iter_mutex="iteration_mutex" + suffix, iter_val=iter_val)
        if learning_rate_blob is None:
            learning_rate_blob = self.make_unique_blob_name("lr")
        if net.BlobIsDefined(learning_rate_blob):
            rate = core.BlobReference(learning_rate_blob, net)
        else:
            rate = net.LearningRate(
                [iteration], core.BlobReference(learning_rate_blob),
                base_lr=-base_learning_rate, policy=policy, **kwargs)
        if self._lr_multiplier is not None:
            multiplier = self._lr_multiplier
            if not self._lr_multiplier_on_gpu and _current_device().device_type:
                multiplier = net.CopyFromCPUInput(
                    multiplier, self.make_unique_blob_name("lr_multiplier"))
            rate = net.Mul([rate, multiplier], self.make_unique_blob_name("scaled_lr"), broadcast=1)
        if self._local_lr_multiplier is not None:
            rate = net.Mul([rate, self._local_lr_multiplier],
                           self.make_unique_blob_name("local_scaled_lr"), broadcast=1)
        return rate, iteration

    def add_lr_multiplier(self, lr_multiplier: BlobLike, is_gpu_blob: bool = False) -> None:
        """Multiplies the learning rate by a blob of one float."""
        self._lr_multiplier = lr_multiplier
        self._lr_multiplier_on_gpu = is_gpu_blob

    @staticmethod
    def dedup(net: Net, sparse_dedup_aggregator: str | None, grad: Any) -> Any:
        """A GradientSlice with distinct indices: the aggregator, "sum" or "mean", combines the rows
        of an index; None keeps all rows. Raises TypeError for a dense gradient."""
        if not is_sparse(grad):
            raise TypeError(f"dedup takes a sparse gradient, not {grad!r}")
        if not sparse_dedup_aggregator:
            return grad
        return net.DeduplicateGradientSlices(grad, sparse_dedup_aggregator)

    def scale_learning_rate(self, *args: Any, **kwargs: Any) -> None:
        """Multiplies the learning rate; defined by subclasses that have one."""
        raise NotImplementedError(f"{type(self).__name__} has no scale_learning_rate")

    def create_lars_inputs(self, param_init_net: Net, weight_decay: float, trust: float,
                           lr_max: float) -> tuple[BlobReference, BlobReference, BlobReference]:
        """The blobs weight_decay, trust and lr_max, one float each."""
        def fill(name: str, value: float) -> BlobReference:
            return param_init_net.ConstantFill([], name, shape=[1], value=value)

        return (fill("weight_decay", weight_decay), fill("trust", trust), fill("lr_max", lr_max))

    def get_auxiliary_parameters(self) -> AuxOptimizerParams:
        """The blobs of the optimizer's state, to be saved with the parameters."""
        return self._aux_params

    def _share(self, blob):
        if blob not in self._aux_params.shared:
            self._aux_params.shared.append(blob)

    def _zeros_like(self, param_init_net, param, suffix):
        """State of the shape of the parameter."""
        return self._keep(param_init_net.ConstantFill([param], param + suffix, value=0.0))

    def _zeros_of_rows(self, param_init_net, param, suffix, dtype=core.DataType.FLOAT):
        """State of one number for each row of the parameter."""
        shapes, _ = workspace.InferShapesAndTypes([param_init_net], {})
        if str(param) not in shapes:
            raise ValueError(f"the number of rows of {param} cannot be inferred")
        return self._keep(param_init_net.ConstantFill(
            [], param + suffix, shape=[shapes[str(param)][0]], value=0, dtype=dtype))

    def _vector(self, param_init_net, param, suffix, size, value):
        """State of `size` floats."""
        return self._keep(param_init_net.ConstantFill(
            [], param + suffix, shape=[size], value=value))

    def _keep(self, blob):
        """Notes state of the parameter."""
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

    def _require_dense(self, param_info):
        if is_sparse(param_info.grad):
            raise ValueError(
                f"{type(self).__name__} does not support the sparse gradient of {param_info.name}")


def is_sparse(grad: Any) -> bool:
    """True for a GradientSlice, the gradient of some rows only."""
    return isinstance(grad, core.GradientSlice)


class RateOptimizer(Optimizer):
    """Base of the optimizers with a base learning rate; subclasses define _update.

    With a rate of 0 nothing is updated.

    Args:
      rate: the base learning rate, kept in the attribute that _RATE names. Not negative.
      policy, kwargs: how the rate changes; see build_lr.

    Raises ValueError for a rate that is no number, an unknown policy, and a misspelt argument.
    """

    _RATE = "alpha"
    _SPARSE = True  # whether sparse gradients can be used
    lars: float | None = None
    sparse_dedup_aggregator: str | None = None

    def __init__(self, rate: float, policy: str = "fixed",
                 kwargs: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        if (isinstance(rate, bool) or not isinstance(rate, numbers.Real)
                or not math.isfinite(rate)):
            raise ValueError(f"{type(self).__name__}: {self._RATE} must be a number, not {rate!r}")
        arguments = {argument.name: argument for argument in C.OpSchema.get("LearningRate").args}
        policies = arguments["policy"].choices
        if policy not in policies:
            near = difflib.get_close_matches(str(policy), policies, 1)
            raise ValueError(
                f"{type(self).__name__}: there is no policy {policy!r}"
                + (f"; did you mean {near[0]}?" if near else f", but {', '.join(policies)}"))
        own = inspect.signature(type(self)).parameters
        check_spelling(type(self).__name__, "argument", set(kwargs or {}) - set(arguments), own)
        setattr(self, self._RATE, rate)
        self.policy = policy
        self.init_kwargs = kwargs or {}

    def scale_learning_rate(self, scale: float) -> None:
        """Multiplies the learning rate of updates that are built from now on."""
        setattr(self, self._RATE, getattr(self, self._RATE) * scale)

    def _run(self, net, param_init_net, param_info):
        base = getattr(self, self._RATE)
        if base < 0:
            raise ValueError(f"the learning rate {base} is negative")
        if base == 0:
            return
        if not self._SPARSE:
            self._require_dense(param_info)
        self._add_lars(net, param_info)
        rate, iteration = self._build_rate(net, param_init_net, base)
        grad = param_info.grad
        if is_sparse(grad):
            grad = self.dedup(net, self.sparse_dedup_aggregator, grad)
        self._update(net, param_init_net, param_info, grad, rate, iteration)

    def _build_rate(self, net, param_init_net, base):
        """(learning rate, number of the iteration): blobs."""
        rate, iteration = self.build_lr(
            net, param_init_net, base, policy=self.policy, **self.init_kwargs)
        if self.use_dedicated_lr_iteration_counter:
            iteration = utils.BuildUniqueMutexIter(
                param_init_net, net, iter=_OPTIMIZER_ITERATION_NAME)
        return rate, iteration

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        """Adds the update of the ParameterInfo `info`.

        Args:
          grad: the blob of its gradient, or a GradientSlice, with distinct indices if an
            aggregator is set.
          rate, iteration: the results of _build_rate.
        """
        raise NotImplementedError("an optimizer defines _update")

    def _add_lars(self, net, param_info):
        """Scales the learning rate of a dense parameter by layer-wise adaptive rate scaling (You et
        al., 2017), if `self.lars`, the offset of the divisor, is set."""
        self._local_lr_multiplier = None
        if self.lars is None or is_sparse(param_info.grad):
            return
        if self.lars < 0:
            raise ValueError(f"lars ({self.lars}) must not be negative")
        name = self.make_unique_blob_name(param_info.name.replace("/", "_") + "_lars")
        self._local_lr_multiplier = net.Lars([param_info.blob, param_info.grad],
                                             core.BlobReference(name), offset=self.lars)
