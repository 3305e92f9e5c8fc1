"""The parameters of a model, with their shapes, gradients and optimizers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Union

import numpy as np

from caffe2.python import core
from caffe2.python.core import BlobReference

# A tag of ParameterTags, or several.
Tags = Union[str, Iterable[str]]


class ParameterTags:
    """The purposes of parameters."""

    BIAS = "BIAS"
    WEIGHT = "WEIGHT"
    COMPUTED_PARAM = "COMPUTED_PARAM"


class ParameterInfo:
    """A parameter: its blob, shape, gradient and optimizer.

    Attributes:
      name: the blob's name.
      blob: its BlobReference.
      shape: list of dimensions, or None.
      size: number of elements, or None.
      grad: the blob of its gradient (or a GradientSlice), once there is one.
      blob_copy: {DataType: blob} of copies in other types.
    """

    def __init__(self, param_id: int | None, param: BlobReference, key: Any = None,
                 shape: Any = None, length: int | None = None, grad: Any = None,
                 blob_copy: Any = None) -> None:
        if not isinstance(param, core.BlobReference):
            raise TypeError(f"a parameter is a BlobReference, not {param!r}")
        self.param_id = param_id
        self.name = str(param)
        self.blob = param
        self.key = key
        self.shape = shape
        self.size = None if shape is None else int(np.prod(shape))
        self.length = max(1, length if length is not None else 1)
        self.grad = grad
        self.blob_copy = blob_copy
        self._cloned_init_net = None
        self._optimizer = None

    @property
    def parameter(self) -> BlobReference:
        """The blob of the parameter."""
        return self.blob

    @property
    def optimizer(self) -> Any:
        """The Optimizer that updates this parameter; set once."""
        return self._optimizer

    @optimizer.setter
    def optimizer(self, value: Any) -> None:
        if self._optimizer is not None:
            raise ValueError(f"parameter {self.name} has an optimizer already")
        self._optimizer = value

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"ParameterInfo({self.name!r}, shape={self.shape})"
