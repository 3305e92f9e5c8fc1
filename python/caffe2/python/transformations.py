"""Transforms that change nets in place.

`Transformer().RemoveIdentities(net)` applies one transform; each transform of
workspace.ApplyTransform is such a method. Caffe2's passes over nets with parameters do not exist
here: their functions raise NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace


class Transformer:
    """Each transform is a method that takes a Net and replaces its NetDef."""

    @classmethod
    def runTransform(cls, transform_name: str, net: core.Net) -> None:
        """Applies a transform to a Net. Raises AttributeError for an unknown one."""
        if transform_name not in C.transforms():
            raise AttributeError(
                f"Transformation {transform_name} not found; there are {C.transforms()}")
        net.Proto().CopyFrom(workspace.ApplyTransform(transform_name, net))

    def __getattr__(self, transform_name: str) -> Callable[[core.Net], None]:
        return lambda net: self.runTransform(transform_name, net)


def _missing(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"{name} is not part of this package; {instead}")


def fuseNNPACKConvRelu(net: core.Net) -> NoReturn:
    """Raises NotImplementedError: NNPACK is not used."""
    _missing("fuseNNPACKConvRelu", "convolutions run by oneDNN")


def optimizeForMKLDNN(net: core.Net, training_mode: bool = False) -> NoReturn:
    """Raises NotImplementedError: there are no operators of IDEEP."""
    _missing("optimizeForMKLDNN", "CPU operators use oneDNN as they are")


def fuseConvBN(net: core.Net) -> NoReturn:
    """Raises NotImplementedError: normalizations are folded into filters in C++ only."""
    _missing("fuseConvBN", "FoldBatchNorm of caffe2/graph/inference.h does so in C++")
