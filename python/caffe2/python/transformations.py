"""Transforms that change nets in place.

`Transformer().RemoveIdentities(net)`; the same for all transforms of workspace.ApplyTransform.
Caffe2's passes over nets with parameters do not exist here: their functions raise
NotImplementedError.
"""

from caffe2.python import _import_c_extension as C
from caffe2.python import workspace


class Transformer:
    """Each transform is a method that takes a Net and replaces its NetDef."""

    @classmethod
    def runTransform(cls, transform_name, net):
        """Applies a transform to a Net. Raises AttributeError for an unknown one."""
        if transform_name not in C.transforms():
            raise AttributeError(
                f"Transformation {transform_name} not found; there are {C.transforms()}")
        net.Proto().CopyFrom(workspace.ApplyTransform(transform_name, net))

    def __getattr__(self, transform_name):
        return lambda net: self.runTransform(transform_name, net)


def _missing(name, instead):
    raise NotImplementedError(f"{name} is not part of this package; {instead}")


def fuseNNPACKConvRelu(net):
    """Raises NotImplementedError: NNPACK is not used."""
    _missing("fuseNNPACKConvRelu", "convolutions run by oneDNN")


def optimizeForMKLDNN(net, training_mode=False):
    """Raises NotImplementedError: there are no operators of IDEEP."""
    _missing("optimizeForMKLDNN", "CPU operators use oneDNN as they are")


def fuseConvBN(net):
    """Raises NotImplementedError: normalizations are folded into filters in C++ only."""
    _missing("fuseConvBN", "FoldBatchNorm of caffe2/graph/inference.h does so in C++")
