"""What a program probably meant by the name of an operator that does not exist."""

from __future__ import annotations

import difflib
import functools

from caffe2.python import _import_c_extension as C

_MOST = 3
_PREFIX = 5  # the fewest letters that may stand for an operator that begins with them

# Names that PyTorch, TensorFlow, Keras, MXNet, Caffe and ONNX use, in lower case and without
# underscores -> the operator, which may come with the argument that it needs.
OF_OTHER_LIBRARIES = {
    "adaptiveavgpool": "AveragePool with global_pooling=1",
    "addmm": "FC",
    "avgpool": "AveragePool",
    "averagepooling": "AveragePool",
    "batchnorm": "SpatialBN",
    "batchnormalization": "SpatialBN",
    "bceloss": "SigmoidCrossEntropyWithLogits",
    "bcewithlogitsloss": "SigmoidCrossEntropyWithLogits",
    "bmm": "BatchMatMul",
    "cat": "Concat",
    "chunk": "Split",
    "clamp": "Clip",
    "concatenate": "Concat",
    "conv": "Conv",
    "convolution": "Conv",
    "convtranspose": "ConvTranspose",
    "crossentropyloss": "SoftmaxWithLoss",
    "deconvolution": "ConvTranspose",
    "dense": "FC",
    "detach": "StopGradient",
    "divide": "Div",
    "embedding": "Gather",
    "embeddingbag": "SparseLengthsSum",
    "full": "ConstantFill",
    "fullyconnected": "FC",
    "globalaveragepool": "AveragePool with global_pooling=1",
    "globalaveragepooling": "AveragePool with global_pooling=1",
    "globalavgpool": "AveragePool with global_pooling=1",
    "globalmaxpool": "MaxPool with global_pooling=1",
    "globalmaxpooling": "MaxPool with global_pooling=1",
    "groupnormalization": "GroupNorm",
    "identity": "Copy",
    "innerproduct": "FC",
    "layernormalization": "LayerNorm",
    "linear": "FC",
    "maxpool": "MaxPool",
    "maxpooling": "MaxPool",
    "mm": "MatMul",
    "mseloss": "SquaredL2Distance",
    "multiply": "Mul",
    "neg": "Negative",
    "nllloss": "LabelCrossEntropy",
    "ones": "ConstantFill",
    "permute": "Transpose",
    "rand": "UniformFill",
    "randn": "GaussianFill",
    "relu6": "Clip",
    "select": "Where",
    "silu": "Swish",
    "softmaxcrossentropy": "SoftmaxWithLoss",
    "softmaxcrossentropywithlogits": "SoftmaxWithLoss",
    "softmaxoutput": "SoftmaxWithLoss",
    "stack": "Concat with add_axis=1",
    "subtract": "Sub",
    "unsqueeze": "ExpandDims",
    "upsample": "ResizeNearest",
    "view": "Reshape",
    "zeros": "ConstantFill",
}


def plain_name(name: str) -> str:
    """A name as the table has it: in lower case and without underscores."""
    return name.lower().replace("_", "")


def operator_elsewhere(name: str, cutoff: float = 1) -> str:
    """The operator for a name of another library, or, with a smaller cutoff, for one like it; ""
    if there is none."""
    base = plain_name(name)
    if base.endswith(("1d", "2d", "3d")):
        base = base[:-2]
    close = difflib.get_close_matches(base, OF_OTHER_LIBRARIES, 1, cutoff)
    return OF_OTHER_LIBRARIES[close[0]] if close else ""


@functools.cache
def operator_suggestion(name: str, registered: frozenset[str], methods: frozenset[str]) -> str:
    """A sentence, after a space, with what `name` may stand for; "" if nothing is like it.

    Args:
      registered: the operators.
      methods: other names that the object has, of which `name` may be one.

    Cached, because ``hasattr`` of a blob or net asks, too.
    """
    operator = operator_elsewhere(name)
    if not operator:
        for each in (*sorted(methods), *sorted(registered)):
            if plain_name(each) == plain_name(name):
                return f" Did you mean: [{each}]"
        near = [*C.nearby_opnames(name), *difflib.get_close_matches(name, methods, _MOST, 0.75)]
        if not near and len(name) >= _PREFIX:
            near = sorted((each for each in registered if each.startswith(name)), key=len)
        if near:
            return f" Did you mean: [{','.join(near[:_MOST])}]"
        operator = operator_elsewhere(name, 0.85)
    return f" Use the operator {operator}." if operator else ""
