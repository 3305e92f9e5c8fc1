"""Clips the gradients of a net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caffe2.python import core
from caffe2.python.modeling.net_modifier import NetModifier


class GradientClipping(NetModifier):
    """Limits gradients in place.

    Args:
      grad_clip_method: "by_norm" scales a gradient down to the norm `clip_threshold`; "by_value"
        limits its elements to [clip_min, clip_max].
      clip_norm_type: "l1_norm" or "l2_norm".
      use_parameter_norm: the threshold is `clip_threshold` times the norm of the parameter.
      compute_norm_ratio: adds the blob "<parameter>_norm_ratio": norm of gradient / norm of
        parameter.
      blobs_to_include, blobs_to_exclude: parameters; default: all with a gradient, and none.

    Raises ValueError for unknown methods and norms.
    """

    L1_NORM, L2_NORM = "l1_norm", "l2_norm"
    BY_NORM, BY_VALUE = "by_norm", "by_value"
    GRAD_CLIP_METHODS = [BY_NORM, BY_VALUE]
    CLIP_GRADIENT_NORM_TYPES = [L2_NORM, L1_NORM]

    def __init__(self, grad_clip_method: str, clip_norm_type: str = "l2_norm",
                 clip_threshold: float = 0.1, use_parameter_norm: bool = False,
                 compute_norm_ratio: bool = False, clip_max: float = 1, clip_min: float = -1,
                 blobs_to_include: Sequence[str] | None = None,
                 blobs_to_exclude: Sequence[str] | None = None) -> None:
        if grad_clip_method not in self.GRAD_CLIP_METHODS:
            raise ValueError(f"{grad_clip_method} is not one of {self.GRAD_CLIP_METHODS}")
        if clip_norm_type not in self.CLIP_GRADIENT_NORM_TYPES:
            raise ValueError(f"{clip_norm_type} is not one of {self.CLIP_GRADIENT_NORM_TYPES}")
        self.grad_clip_method = grad_clip_method
        self.clip_norm_type = clip_norm_type
        self.clip_threshold = float(clip_threshold)
        self.use_parameter_norm = use_parameter_norm
        self.compute_norm_ratio = compute_norm_ratio
        self.clip_max, self.clip_min = float(clip_max), float(clip_min)
        self.blobs_to_include = blobs_to_include
        self.blobs_to_exclude = blobs_to_exclude

    def modify_net(self, net: core.Net, init_net: core.Net | None = None,
                   grad_map: Mapping[str, Any] | None = None,
                   blob_to_device: Mapping[str, Any] | None = None,
                   modify_output_record: bool = False) -> None:
        """Needs `grad_map`. Raises ValueError for blobs without a gradient."""
        gradients = {str(blob): grad for blob, grad in (grad_map or {}).items()}
        included = [str(blob) for blob in self.blobs_to_include or gradients]
        excluded = {str(blob) for blob in self.blobs_to_exclude or ()}
        missing = sorted((set(included) | excluded) - set(gradients))
        if missing:
            raise ValueError(f"blobs {missing} have no gradient")
        for name in included:
            if name in excluded:
                continue
            device = (blob_to_device or {}).get(name)
            with core.DeviceScope(device) if device else core.EmptyDeviceScope():
                self._clip(net, core.BlobReference(name), gradients[name])

    def _norm(self, net, blob, name):
        if self.clip_norm_type == self.L1_NORM:
            return net.LpNorm(blob, net.NextScopedBlob(prefix=name), p=1)
        return net.Sqrt(net.SumSqrElements(blob), net.NextScopedBlob(prefix=name))

    def _clip(self, net, param, grad):
        values = grad.values if isinstance(grad, core.GradientSlice) else grad
        if self.grad_clip_method == self.BY_VALUE:
            net.Clip([values], [values], max=self.clip_max, min=self.clip_min)
            return
        norm = self._norm(net, values, f"{values}_{self.clip_norm_type}")
        if not self.use_parameter_norm:
            net.ClipTensorByScaling([values, norm], [values], threshold=self.clip_threshold)
            return
        of_param = self._norm(net, param, f"{param}_{self.clip_norm_type}")
        net.ClipTensorByScaling([values, norm, of_param], [values], threshold=self.clip_threshold)
        if self.compute_norm_ratio:
            net.Div([norm, of_param], net.NextScopedBlob(prefix=param + "_norm_ratio"))
