"""Optimizers: functions that add the update of all parameters to a model with gradients.

Each build_* function takes the model and the learning rate (with `policy` and its arguments, see
the operator LearningRate), and returns the Optimizer it used. It raises ValueError if another call
has built the update of one of the parameters already: both would run in each iteration. Calls for
different parameters, such as in two name scopes, are right.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import core, workspace
from caffe2.python._adagrad_optimizers import AdagradOptimizer, DecayAdagradOptimizer
from caffe2.python._adaptive_optimizers import (
    AdadeltaOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GFtrlOptimizer,
    RmsPropOptimizer,
    StormOptimizer,
    WngradOptimizer,
    YellowFinOptimizer,
)
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.gradients import Gradient
from caffe2.python._optimizer_base import (
    _OPTIMIZER_ITERATION_NAME,
    AuxOptimizerParams,
    Optimizer,
    _optimizer_instance_count,
    reset_optimizer_instance_count,
)
from caffe2.python._sgd_optimizers import (
    FP16SgdOptimizer,
    MultiPrecisionSgdOptimizer,
    SgdOptimizer,
    WeightDecayBuilder,
)
from caffe2.python.model_helper import ModelHelper

__all__ = [
    "AdadeltaOptimizer", "AdagradOptimizer", "AdamOptimizer", "AuxOptimizerParams",
    "DecayAdagradOptimizer", "FP16_ENGINES", "FP16SgdOptimizer", "FtrlOptimizer", "GFtrlOptimizer",
    "MultiPrecisionSgdOptimizer", "Optimizer", "RmsPropOptimizer", "SgdOptimizer", "StormOptimizer",
    "WeightDecayBuilder", "WngradOptimizer", "YellowFinOptimizer", "_OPTIMIZER_ITERATION_NAME",
    "_get_param_to_device", "_optimizer_instance_count", "add_weight_decay", "build_adadelta",
    "build_adagrad", "build_adam", "build_decay_adagrad", "build_fp16_sgd", "build_ftrl",
    "build_gftrl", "build_multi_precision_sgd", "build_rms_prop", "build_sgd", "build_storm",
    "build_wngrad", "build_yellowfin", "get_lr_injection", "get_param_device",
    "reset_optimizer_instance_count", "set_lr_injection",
]

# Engines whose parameters are float16.
FP16_ENGINES = ["SIMD_Q_FP16", "SIMD_Q_STOC_FP16", "SIMD_Q_STOC_MKL_FP16"]

_LEARNING_RATE_INJECTION = "lr_injection"


def get_lr_injection() -> float:
    """The factor of the learning rates of optimizers built with allow_lr_injection; 1 at first."""
    return workspace.FetchBlob(_LEARNING_RATE_INJECTION)


def set_lr_injection(lr_injection_value: float) -> None:
    """Scales the learning rates from the next run on."""
    workspace.FeedBlob(
        _LEARNING_RATE_INJECTION, np.array([float(lr_injection_value)], dtype=np.float32))


# -- Building --------------------------------------------------------------------------------------


def _get_param_to_device(model):
    """{blob: device of the operator that wrote it last, or None}."""
    devices = {}
    for net in (model.param_init_net, model.net):
        default = net.Proto().device_option if net.Proto().HasField("device_option") else None
        for op in net.Proto().op:
            device = op.device_option if op.HasField("device_option") else default
            for blob in op.output:
                devices[blob] = device
    return devices


def get_param_device(param_name: BlobLike, grad: Gradient,
                     param_to_device: Mapping[str, Any] | None = None,
                     default_device: Any = None) -> Any:
    """The DeviceOption on which a parameter is updated: the parameter's, else its gradient's, else
    the default (the CPU)."""
    devices = param_to_device or {}
    blobs = [param_name, *(grad if isinstance(grad, core.GradientSlice) else [grad])]
    for blob in blobs:
        if devices.get(str(blob)) is not None:
            return devices[str(blob)]
    return default_device or core.DeviceOption(caffe2_pb2.CPU)


def _calc_norm_ratio(model, params, devices, max_gradient_norm):
    """A blob on the CPU, the factor of the learning rate that limits the norm of all gradients to
    max_gradient_norm."""
    net, cpu = model.net, core.DeviceOption(caffe2_pb2.CPU)
    with core.NameScope("norm_clipped_grad_update"):
        squares = []
        for i, info in enumerate(params):
            grad = info.grad.values if isinstance(info.grad, core.GradientSlice) else info.grad
            with core.DeviceScope(get_param_device(info.name, info.grad, devices)):
                squared = net.SumSqrElements(grad, f"grad_{i}_squared_sum")
                squares.append(net.EnsureCPUOutput(squared, f"grad_{i}_squared_sum_cpu"))
        with core.DeviceScope(cpu):
            norm = net.Sqrt(net.Sum(squares, "grad_squared_full_sum"), "global_norm")
            limit = model.param_init_net.ConstantFill(
                [], "clip_norm", shape=[], value=float(max_gradient_norm))
            return net.Div([limit, net.Max([norm, limit], "max_norm")], "norm_ratio")


def _lr_multiplier(model, params, devices, max_gradient_norm, allow_lr_injection):
    """The blob that scales all learning rates, or None."""
    ratio = None
    if max_gradient_norm is not None:
        ratio = _calc_norm_ratio(model, params, devices, max_gradient_norm)
    if not allow_lr_injection:
        return ratio
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
        injection = core.BlobReference(_LEARNING_RATE_INJECTION, model.param_init_net)
        if not model.param_init_net.BlobIsDefined(injection):
            model.param_init_net.ConstantFill([], injection, shape=[1], value=1.0)
        if ratio is None:
            return injection
        return model.net.Mul([ratio, injection], core.BlobReference("lr_multiplier"), broadcast=1)


# Net -> {parameter: class of the optimizer that updates it there}.
_updates: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()


def _check_not_updated(model, optimizer_of):
    """Raises ValueError if the net updates one of the parameters already, since both updates would
    run in each iteration. `optimizer_of`: {parameter: class of the new optimizer}."""
    updated = _updates.get(model.net, {})
    twice = [param for param in optimizer_of if param in updated]
    if twice:
        new, old = (", ".join(sorted({names[param] for param in twice}))
                    for names in (optimizer_of, updated))
        raise ValueError(
            f"{new} would update {', '.join(twice[:3])}{', ...' if len(twice) > 3 else ''} of "
            f"model {model.name} a second time in each iteration, after {old}: build one "
            "optimizer, or give some parameters another one with UseOptimizer")


def _build(model, optimizer, weights_only=False, use_param_info_optim=True,
           max_gradient_norm=None, allow_lr_injection=False):
    """Adds the update of all parameters (or of weights only) that have a gradient."""
    if not hasattr(model, "GetOptimizationParamInfo"):
        raise TypeError(f"{type(optimizer).__name__}: a ModelHelper is needed, not {model!r}")
    model.Validate()
    devices = _get_param_to_device(model)
    params = [info for info in model.GetOptimizationParamInfo()
              if not weights_only or info.blob in model.weights]
    if not params:
        warnings.warn(f"{type(optimizer).__name__} updates nothing: no parameter of model "
                      f"{model.name} has a gradient; call AddGradientOperators first", stacklevel=3)
    uses = [info.optimizer if use_param_info_optim and info.optimizer else optimizer
            for info in params]
    updates = not isinstance(optimizer, WeightDecayBuilder)  # which changes gradients only
    if updates:
        _check_not_updated(
            model, {str(info.blob): type(use).__name__ for info, use in zip(params, uses)})
    multiplier = _lr_multiplier(model, params, devices, max_gradient_norm, allow_lr_injection)
    if multiplier is not None:
        optimizer.add_lr_multiplier(multiplier)
    for info, use in zip(params, uses):
        device = get_param_device(info.name, info.grad, devices)
        before = len(model.net.Proto().op)
        with core.DeviceScope(device):
            use(model.net, model.param_init_net, info)
        if updates and len(model.net.Proto().op) > before:  # a rate of 0 updates nothing
            _updates.setdefault(model.net, {})[str(info.blob)] = type(use).__name__
    return optimizer


def add_weight_decay(model: ModelHelper, weight_decay: float) -> None:
    """Adds weight_decay * weight to the gradients of all weights (not biases); before build_*."""
    if weight_decay == 0.0:
        return None
    if weight_decay < 0.0:
        raise ValueError(f"the weight decay {weight_decay} is negative")
    return _build(model, WeightDecayBuilder(weight_decay), weights_only=True,
                  use_param_info_optim=False)


def build_sgd(model: ModelHelper, base_learning_rate: float, max_gradient_norm: float | None = None,
              allow_lr_injection: bool = False, **kwargs: Any) -> SgdOptimizer:
    """SgdOptimizer: momentum, nesterov, policy and its arguments."""
    return _build(model, SgdOptimizer(base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_multi_precision_sgd(model: ModelHelper, base_learning_rate: float,
                              max_gradient_norm: float | None = None,
                              allow_lr_injection: bool = False,
                              **kwargs: Any) -> MultiPrecisionSgdOptimizer:
    """MultiPrecisionSgdOptimizer: float16 parameters with float32 copies."""
    return _build(model, MultiPrecisionSgdOptimizer(base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_fp16_sgd(model: ModelHelper, base_learning_rate: float,
                   **kwargs: Any) -> FP16SgdOptimizer:
    """FP16SgdOptimizer: float16 parameters, momentum, weight_decay."""
    return _build(model, FP16SgdOptimizer(base_learning_rate, **kwargs))


def build_ftrl(model: ModelHelper, engine: str = "SIMD", **kwargs: Any) -> FtrlOptimizer:
    """FtrlOptimizer: alpha, beta, lambda1, lambda2."""
    return _build(model, FtrlOptimizer(engine=engine, **kwargs))


def build_gftrl(model: ModelHelper, engine: str = "", **kwargs: Any) -> GFtrlOptimizer:
    """GFtrlOptimizer: alpha, beta, lambda1, lambda2."""
    return _build(model, GFtrlOptimizer(engine=engine, **kwargs))


def build_wngrad(model: ModelHelper, base_learning_rate: float,
                 parameters: Sequence[BlobLike] | None = None,
                 max_gradient_norm: float | None = None, allow_lr_injection: bool = False,
                 **kwargs: Any) -> WngradOptimizer:
    """WngradOptimizer: epsilon, moment_init, policy."""
    return _build(model, WngradOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_storm(model: ModelHelper, base_learning_rate: float,
                parameters: Sequence[BlobLike] | None = None,
                max_gradient_norm: float | None = None, allow_lr_injection: bool = False,
                **kwargs: Any) -> StormOptimizer:
    """StormOptimizer: momentum, beta, grad_sq_init, policy."""
    return _build(model, StormOptimizer(lr=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_adagrad(model: ModelHelper, base_learning_rate: float,
                  parameters: Sequence[BlobLike] | None = None,
                  max_gradient_norm: float | None = None, allow_lr_injection: bool = False,
                  **kwargs: Any) -> AdagradOptimizer:
    """AdagradOptimizer: epsilon, decay, rowWise, lars, weight_decay, averages, policy."""
    return _build(model, AdagradOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_adam(model: ModelHelper, base_learning_rate: float,
               max_gradient_norm: float | None = None, allow_lr_injection: bool = False,
               **kwargs: Any) -> AdamOptimizer:
    """AdamOptimizer: beta1, beta2, epsilon, rowWise, enableRAdam, policy."""
    return _build(model, AdamOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_rms_prop(model: ModelHelper, base_learning_rate: float,
                   max_gradient_norm: float | None = None, allow_lr_injection: bool = False,
                   **kwargs: Any) -> RmsPropOptimizer:
    """RmsPropOptimizer: decay, momentum, epsilon, policy."""
    return _build(model, RmsPropOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_yellowfin(model: ModelHelper, base_learning_rate: float = 0.1,
                    **kwargs: Any) -> YellowFinOptimizer:
    """YellowFinOptimizer: mu, beta, curv_win_width, zero_debias, epsilon."""
    return _build(model, YellowFinOptimizer(alpha=base_learning_rate, **kwargs))


def build_adadelta(model: ModelHelper, base_learning_rate: float,
                   parameters: Sequence[BlobLike] | None = None,
                   max_gradient_norm: float | None = None, allow_lr_injection: bool = False,
                   **kwargs: Any) -> AdadeltaOptimizer:
    """AdadeltaOptimizer: epsilon, decay, policy."""
    return _build(model, AdadeltaOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)


def build_decay_adagrad(model: ModelHelper, base_learning_rate: float,
                        max_gradient_norm: float | None = None, allow_lr_injection: bool = False,
                        **kwargs: Any) -> DecayAdagradOptimizer:
    """DecayAdagradOptimizer: beta1, epsilon, weight_decay, policy."""
    return _build(model, DecayAdagradOptimizer(alpha=base_learning_rate, **kwargs),
                  max_gradient_norm=max_gradient_norm, allow_lr_injection=allow_lr_injection)
