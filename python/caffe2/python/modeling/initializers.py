"""Initializers of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.core import BlobReference, DataType, ScopedBlobReference
from caffe2.python.modeling.parameter_info import ParameterInfo

# The arguments of helpers that say how a parameter is filled: (operator type, arguments); an
# Initializer, or its class.
FillerLike = Sequence[Any]
InitializerLike = Any


class Initializer:
    """Fills a new blob with an operator: Initializer("XavierFill"), with its arguments."""

    def __init__(self, operator_name: str | None = None, **kwargs: Any) -> None:
        self.operator_name = operator_name
        self.operator_kwargs = kwargs

    def update(self, operator_name: str | None, kwargs: dict[str, Any]) -> None:
        """Sets the operator and its arguments, if none were given."""
        if self.operator_name is None:
            self.operator_name = operator_name
            self.operator_kwargs = kwargs

    def create_param(self, param_name: BlobLike, init_net: core.Net,
                     shape: Sequence[int]) -> ParameterInfo:
        """Adds the filler to `init_net`; returns the ParameterInfo.

        Raises ValueError if no operator is set.
        """
        if self.operator_name is None:
            raise ValueError(f"no initializer was given for parameter {param_name}")
        fill = getattr(init_net, self.operator_name)
        blob = fill([], param_name, shape=shape, **self.operator_kwargs)
        return ParameterInfo(param_id=None, param=blob, shape=shape)


class ExternalInitializer:
    """For parameters that are filled elsewhere, before the model runs."""

    def create_param(self, param_name: BlobLike, init_net: core.Net,
                     shape: Sequence[int]) -> ParameterInfo:
        """A parameter whose blob is made elsewhere. Raises TypeError for other names."""
        if isinstance(param_name, BlobReference):
            blob = BlobReference(str(param_name), init_net)
        elif isinstance(param_name, str):
            blob = ScopedBlobReference(param_name, init_net)
        else:
            raise TypeError(f"a parameter name is a string or a BlobReference, not {param_name!r}")
        return ParameterInfo(param_id=None, param=blob, shape=shape)


class _TwoTypesInitializer(Initializer):
    """Fills a float32 blob and keeps it beside a float16 one."""

    def _fill(self, blob, init_net, shape):
        fill = getattr(init_net, self.operator_name)
        return fill([], blob, shape=shape, **self.operator_kwargs)


class PseudoFP16Initializer(_TwoTypesInitializer):
    """For float16 parameters with a float32 copy "<name>_fp32", which the optimizer updates."""

    def create_param(self, param_name: BlobLike, init_net: core.Net,
                     shape: Sequence[int]) -> ParameterInfo:
        """A float16 parameter with a float copy that the optimizer updates."""
        copy = self._fill(param_name + "_fp32", init_net, shape)
        blob = init_net.FloatToHalf(copy, param_name)
        return ParameterInfo(param_id=None, param=blob, shape=shape,
                             blob_copy={DataType.FLOAT: copy})


class ReversePseudoFP16Initializer(_TwoTypesInitializer):
    """For float32 parameters with a float16 copy "<name>_fp16"."""

    def create_param(self, param_name: BlobLike, init_net: core.Net,
                     shape: Sequence[int]) -> ParameterInfo:
        """A float parameter with a float16 copy."""
        blob = self._fill(param_name, init_net, shape)
        copy = init_net.FloatToHalf(blob, param_name + "_fp16")
        return ParameterInfo(param_id=None, param=blob, shape=shape,
                             blob_copy={DataType.FLOAT16: copy})


# Their names until 2018.
pFP16Initializer = PseudoFP16Initializer
ReversepFP16Initializer = ReversePseudoFP16Initializer


def update_initializer(initializer_class: Any, operator_name_and_kwargs: FillerLike | None,
                       default_operator_name_and_kwargs: FillerLike) -> Any:
    """The initializer from the arguments of a helper.

    Args:
      initializer_class: a class, or an object of one; default Initializer.
      operator_name_and_kwargs, default_operator_name_and_kwargs: (operator type, arguments); the
        first may be None.

    Raises TypeError for a class or an object that is no initializer.
    """
    # Scripts pass longer tuples; the further elements never had an effect.
    name, kwargs = (operator_name_and_kwargs or default_operator_name_and_kwargs)[:2]
    if initializer_class is None:
        return Initializer(name, **kwargs)
    if isinstance(initializer_class, type):
        return initializer_class(name, **kwargs)
    if not hasattr(initializer_class, "update"):
        raise TypeError(
            "an initializer is a class or an object of modeling.initializers, not "
            f"{initializer_class!r}; operators are given as weight_init=({name!r}, {{}})")
    initializer_class.update(name, kwargs)
    return initializer_class
