"""Adagrad with its options; public through caffe2.python.optimizer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from caffe2.python import core, workspace
from caffe2.python._optimizer_base import RateOptimizer, is_sparse

log = logging.getLogger("optimizer")


class _AveragingOptimizer(RateOptimizer):
    """Base of the optimizers that can also keep averages of the parameters."""

    _SWA = {"swa_avg_start_it": "avg_start", "swa_avg_end_it": "avg_end",
            "swa_feedback_start_it": "feedback_start", "swa_feedback_step": "feedback_step",
            "swa_feedback_end_it": "feedback_end"}
    _EMA = {"ema_start", "ema_end", "ema_step", "ema_alpha", "ema_teacher_alpha",
            "ema_teacher_module_name"}

    def _set_averages(self, swa_options, ema_options):
        """Keeps the options of the averages; see AdagradOptimizer. Raises ValueError for unknown
        options."""
        for options, known in ((swa_options, self._SWA), (ema_options, self._EMA)):
            unknown = sorted(set(options or ()) - set(known))
            if unknown:
                raise ValueError(f"unknown options {unknown}; there are {sorted(known)}")
        self.swa_options, self.ema_options = swa_options or {}, ema_options or {}
        self.param2ema_teacher_param = {}

    def set_mapping_for_param2ema_teacher_param(self, param_mapping: Mapping[str, str]) -> None:
        """Names the blobs that keep the averages of teachers: {parameter: blob}."""
        self.param2ema_teacher_param = param_mapping

    def _add_swa(self, net, param_init_net, param, iteration):
        """Stochastic weight averaging, if it was asked for: "<param>_swa"."""
        if not self.swa_options:
            return
        average = self._zeros_like(param_init_net, param, "_swa")
        net.SWA([param, average, iteration], [param, average],
                **{self._SWA[key]: value for key, value in self.swa_options.items()})

    def _add_ema(self, net, param_init_net, param, iteration):
        """Exponential moving averages, if they were asked for: "<param>_ema", and of a teacher."""
        times = {key: self.ema_options.get(key) for key in ("ema_start", "ema_end", "ema_step")}
        alpha, teacher_alpha = map(self.ema_options.get, ("ema_alpha", "ema_teacher_alpha"))
        if alpha is not None:
            average = self._zeros_like(param_init_net, param, "_ema")
            net.EMA([param, average, iteration], [param, average], ema_alpha=alpha, **times)
        if teacher_alpha is not None and param in self.param2ema_teacher_param:
            average = core.BlobReference(str(self.param2ema_teacher_param[param]))
            if not param_init_net.BlobIsDefined(average):
                self._keep(param_init_net.ConstantFill([param], average, value=0.0))
            net.EMA([param, average, iteration], [param, average], ema_alpha=teacher_alpha, **times)


class _Pruning:
    """The pruning_options of AdagradOptimizer."""

    _KNOWN = {"mask_tensor", "mask_db_path", "mask_db_type", "mask_blob_name", "prune_delays",
              "prune_ratios", "prune_block_size"}

    def __init__(self, options):
        unknown = sorted(set(options) - self._KNOWN)
        if unknown:
            raise ValueError(f"unknown options {unknown}; there are {sorted(self._KNOWN)}")
        options = {key: value for key, value in options.items() if value is not None}
        self.tensor = options.get("mask_tensor")
        self.path, self.db_type = options.get("mask_db_path"), options.get("mask_db_type")
        self.blob_name = options.get("mask_blob_name")
        self.delays = list(options.get("prune_delays", []))
        self.ratios = list(options.get("prune_ratios", []))
        self.block_size = options.get("prune_block_size", 1)
        if (self.path is None) != (self.db_type is None):
            raise ValueError("a mask in a database needs mask_db_path and mask_db_type")
        if len(self.delays) != len(self.ratios):
            raise ValueError(f"there are {len(self.delays)} prune_delays, but {len(self.ratios)} "
                             "prune_ratios")
        if sum([self.tensor is not None, self.path is not None, bool(self.delays)]) != 1:
            raise ValueError("a mask is either mask_tensor, or in a database, or made of "
                             "prune_delays")
        if self.tensor is not None and not isinstance(self.tensor, np.ndarray):
            raise TypeError(f"mask_tensor must be an array, not {type(self.tensor).__name__}")

    def mask(self, param_init_net, param, sparse):
        """The blob of the mask: float, shaped like the parameter; for sparse gradients bits in
        uint8."""
        if self.path is not None:
            return param_init_net.Load([], self.blob_name or f"{param}_mask", db=self.path,
                                       db_type=self.db_type, absolute_path=True)
        values = np.zeros(0) if self.tensor is None else self.tensor
        name = f"{param}_empty_mask" if self.tensor is None else f"{param}_mask"
        if not sparse:
            return param_init_net.GivenTensorFill(
                [], name, values=values.astype(np.float32).ravel(), shape=values.shape)
        return param_init_net.GivenTensorByteStringToUInt8Fill(
            [], name, values=[values.astype(np.uint8).tobytes()], shape=values.shape)

    @property
    def arguments(self):
        plan = {"delays": self.delays, "prune_ratios": self.ratios} if self.delays else {}
        return {"block_size": self.block_size, **plan}


class AdagradOptimizer(_AveragingOptimizer):
    """Duchi et al., "Adaptive subgradient methods", 2011. State: "<param>_squared_sum"; with
    rowWise, of parameters with sparse gradients, "<param>_avg_squared_sum" with one value a row.

    Args:
      weight_decay: the share of a parameter that is added to its gradient; not for vectors.
      output_effective_lr, output_effective_lr_and_update: write the rate (and the step) of dense
        parameters to "<param>_effective_lr" ("<param>_update").
      swa_options: dict; stochastic weight averaging of dense parameters in "<param>_swa". The mean
        covers the iterations swa_avg_start_it to swa_avg_end_it. Every swa_feedback_step iterations
        from swa_feedback_start_it to swa_feedback_end_it the parameter is set to the mean (see the
        operator SWA).
      ema_options: dict; exponential moving averages in "<param>_ema": ema_alpha, the share of the
        average that is kept, and the iterations ema_start, ema_end, ema_step; ema_teacher_alpha
        for the blobs of set_mapping_for_param2ema_teacher_param (see the operator EMA).
      weight_scale: an object with stepsize, upper_bound_iter, scale (see the operator WeightScale)
        and to_aux: whether the state is scaled, too.
      counter_halflife: with rowWise, counts the updates of rows in "<param>_update_counter", which
        halves in this number of iterations; rarely updated rows decay more.
      use_dedicated_lr_iteration_counter: the learning rate has an iteration counter of its own.
      pruning_options: dict; keeps parts of a parameter at zero (see the operators MaskedAdagrad,
        MaskedSparseAdagrad). The mask is one of: the array mask_tensor, with 1 or 0 for each
        element of a dense parameter, or a bit of uint8 for each block of prune_block_size elements
        of a sparse one; the blob mask_blob_name of the database mask_db_path of type mask_db_type;
        or a mask that is made at the iterations prune_delays and drops the shares prune_ratios of
        the blocks, the ones of smallest norm.

    Raises ValueError for options that cannot be used together, and for decay and rowWise with a
    gradient that does not allow them.
    """

    def __init__(self, alpha: float = 0.01, epsilon: float = 1e-4, decay: float = 1,
                 weight_decay: float = 0.0, policy: str = "fixed",
                 sparse_dedup_aggregator: str | None = None, rowWise: bool = False,
                 engine: str = "", lars: float | None = None, output_effective_lr: bool = False,
                 output_effective_lr_and_update: bool = False,
                 pruning_options: Mapping[str, Any] | None = None,
                 swa_options: Mapping[str, Any] | None = None,
                 ema_options: Mapping[str, Any] | None = None, weight_scale: Any = None,
                 counter_halflife: float = -1, use_dedicated_lr_iteration_counter: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(alpha, policy, kwargs)
        self.pruning = _Pruning(pruning_options) if pruning_options else None
        if self.pruning and (weight_decay or output_effective_lr or output_effective_lr_and_update
                             or counter_halflife > 0):
            raise ValueError("pruning_options cannot be used with weight_decay, "
                             "counter_halflife or outputs of the effective rate")
        if lars is not None and weight_decay:
            raise ValueError("lars and weight_decay cannot be used together")
        self.epsilon = epsilon
        self.decay = decay
        self.weight_decay = float(weight_decay)
        self.sparse_dedup_aggregator = sparse_dedup_aggregator
        self.rowWise = rowWise
        self.engine = engine
        self.lars = lars
        self.output_effective_lr = output_effective_lr
        self.output_effective_lr_and_update = output_effective_lr_and_update
        self.weight_scale = weight_scale
        self.counter_halflife = counter_halflife
        self.use_dedicated_lr_iteration_counter = use_dedicated_lr_iteration_counter
        self._set_averages(swa_options, ema_options)

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        by_row = is_sparse(grad) and self.rowWise
        if by_row:
            squares = self._zeros_of_rows(param_init_net, param, "_avg_squared_sum")
        else:
            squares = self._zeros_like(param_init_net, param, "_squared_sum")
        arguments = {"epsilon": self.epsilon, "engine": self.engine,
                     "weight_decay": self._weight_decay_of(param_init_net, param)}
        if is_sparse(grad) and self.decay != 1:
            raise ValueError(f"decay {self.decay} cannot be used with the sparse gradient of "
                             f"{info.name}")
        if self.pruning:
            self._update_masked(net, param_init_net, [param, squares], grad, rate, iteration)
        elif is_sparse(grad):
            self._update_rows(net, param_init_net, param, squares, grad, rate, iteration, arguments)
        else:
            outputs = [param, squares]
            if self.output_effective_lr or self.output_effective_lr_and_update:
                outputs.append(param + "_effective_lr")
            if self.output_effective_lr_and_update:
                outputs.append(param + "_update")
            net.Adagrad([param, squares, grad, rate], outputs, decay=float(self.decay), **arguments)
            self._add_swa(net, param_init_net, param, iteration)
        self._add_ema(net, param_init_net, param, iteration)
        if self.weight_scale:
            for blob in [param, squares] if self.weight_scale.to_aux else [param]:
                net.WeightScale([blob, iteration], [blob], stepsize=self.weight_scale.stepsize,
                                upper_bound_iter=self.weight_scale.upper_bound_iter,
                                scale=float(self.weight_scale.scale))

    def _update_masked(self, net, param_init_net, state, grad, rate, iteration):
        """Adagrad with a mask; a mask that is made while training belongs to the state."""
        param, delays = state[0], self.pruning.delays
        mask = self.pruning.mask(param_init_net, param, is_sparse(grad))
        if delays:
            self._keep(mask)
        arguments = {"epsilon": self.epsilon, "engine": self.engine, **self.pruning.arguments}
        if is_sparse(grad):
            add = net.MaskedRowWiseSparseAdagrad if self.rowWise else net.MaskedSparseAdagrad
            changed = param_init_net.ConstantFill(
                [], param + "_mask_changed_blob", value=False, dtype=core.DataType.BOOL, shape=[1])
            add([*state, grad.indices, grad.values, rate, mask, changed, iteration],
                [*state, mask] if delays else state, **arguments)
            return
        inputs, outputs = [*state, grad, rate, mask], state
        if delays:
            last = self._keep(param_init_net.ConstantFill(
                [], param + "_last_mask_updated_iter", value=-1, dtype=core.DataType.INT64,
                shape=[1]))
            inputs, outputs = [*inputs, iteration, last], [*state, mask, last]
        net.MaskedAdagrad(inputs, outputs, decay=float(self.decay), **arguments)

    def _weight_decay_of(self, param_init_net, param):
        if not self.weight_decay:
            return 0.0
        shapes, _ = workspace.InferShapesAndTypes([param_init_net], {})
        if len(shapes.get(str(param), ())) == 1:
            log.info("no weight decay of the vector %s", param)
            return 0.0
        return self.weight_decay

    def _update_rows(self, net, param_init_net, param, squares, grad, rate, iteration, arguments):
        inputs = [param, squares, grad.indices, grad.values, rate]
        if not self.rowWise:
            net.SparseAdagrad(inputs, [param, squares], **arguments)
            return
        if self.counter_halflife <= 0:
            net.RowWiseSparseAdagrad(inputs, [param, squares], **arguments)
            return
        self._share(iteration)
        counter = self._zeros_of_rows(
            param_init_net, param, "_update_counter", dtype=core.DataType.DOUBLE)
        last = self._zeros_of_rows(
            param_init_net, param, "_prev_update_iter", dtype=core.DataType.INT64)
        net.RowWiseSparseAdagrad([*inputs, counter], [param, squares],
                                 counter_halflife=self.counter_halflife, **arguments)
        net.RowWiseCounter([last, counter, grad.indices, iteration], [last, counter],
                           counter_halflife=self.counter_halflife)


class DecayAdagradOptimizer(_AveragingOptimizer):
    """Adagrad with a first moment and weight decay. State: "<param>_first_mo1ment" (Caffe2's name)
    and "<param>_second_moment"; "<param>_squared_sum" where the gradient is sparse, which Adagrad
    updates. `ema_options` (of dense parameters): see AdagradOptimizer."""

    def __init__(self, alpha: float = 0.01, beta1: float = 0.0, beta2: float = 0.999,
                 epsilon: float = 0.1, weight_decay: float = 0.0,
                 ema_options: Mapping[str, Any] | None = None, bias_correction_first: bool = True,
                 policy: str = "fixed", engine: str = "", **kwargs: Any) -> None:
        super().__init__(alpha, policy, kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        self.bias_correction_first = bias_correction_first
        self.engine = engine
        self._set_averages(None, ema_options)

    def _update(self, net, param_init_net, info, grad, rate, iteration):
        param = info.blob
        if is_sparse(grad):
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
        self._add_ema(net, param_init_net, param, iteration)
