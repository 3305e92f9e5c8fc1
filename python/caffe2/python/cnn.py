"""CNNModelHelper: a ModelHelper with the brew helpers as methods, as older scripts use it."""

from __future__ import annotations

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import FillerLike


class CNNModelHelper(ModelHelper):
    """``model.Conv("data", "conv1", 3, 64, kernel=7)`` is ``brew.conv(model, ...)``."""

    def __init__(self, order: str = "NCHW", name: str | None = None, use_cudnn: bool = True,
                 cudnn_exhaustive_search: bool = False, ws_nbytes_limit: int | None = None,
                 init_params: bool = True, skip_sparse_optim: bool = False,
                 param_model: ModelHelper | None = None) -> None:
        arg_scope = {"order": order, "use_cudnn": use_cudnn,
                     "cudnn_exhaustive_search": cudnn_exhaustive_search}
        if ws_nbytes_limit:
            arg_scope["ws_nbytes_limit"] = ws_nbytes_limit
        if order not in ("NHWC", "NCHW"):
            raise ValueError(f"the order is NCHW or NHWC, not {order!r}")
        super().__init__(name=name or "CNN", init_params=init_params,
                         skip_sparse_optim=skip_sparse_optim, param_model=param_model,
                         arg_scope=arg_scope)
        self.order = order
        self.use_cudnn = use_cudnn
        self.cudnn_exhaustive_search = cudnn_exhaustive_search
        self.ws_nbytes_limit = ws_nbytes_limit

    # Initializers for `weight_init` and `bias_init`.

    @property
    def XavierInit(self) -> FillerLike:
        """The (filler, arguments) of Xavier's initialization."""
        return "XavierFill", {}

    @property
    def MSRAInit(self) -> FillerLike:
        """The (filler, arguments) of He's initialization."""
        return "MSRAFill", {}

    @property
    def ZeroInit(self) -> FillerLike:
        """The (filler, arguments) of zeros."""
        return "ConstantFill", {}

    def ConstantInit(self, value: float) -> FillerLike:
        """The (filler, arguments) of a constant `value`."""
        return "ConstantFill", {"value": value}

    @property
    def CPU(self) -> caffe2_pb2.DeviceOption:
        """The DeviceOption of the CPU."""
        return core.DeviceOption(caffe2_pb2.CPU)

    @property
    def GPU(self) -> caffe2_pb2.DeviceOption:
        """The DeviceOption of the first GPU."""
        return core.DeviceOption(caffe2_pb2.CUDA, 0)


def _method(name):
    def method(self, *args, **kwargs):
        return getattr(brew, name)(self, *args, **kwargs)

    method.__doc__ = f"See brew.{name}."
    return method


for _name, _helper in {
    "Accuracy": "accuracy", "AddWeightDecay": "add_weight_decay", "AveragePool": "average_pool",
    "Concat": "concat", "Conv": "conv", "ConvNd": "conv_nd", "ConvTranspose": "conv_transpose",
    "DepthConcat": "depth_concat", "Dropout": "dropout", "FC": "fc", "FC_Decomp": "fc_decomp",
    "FC_Prune": "fc_prune", "FC_Sparse": "fc_sparse", "GroupConv": "group_conv",
    "GroupConv_Deprecated": "group_conv_deprecated", "PackedFC": "packed_fc",
    "ImageInput": "image_input", "InstanceNorm": "instance_norm", "Iter": "iter", "LRN": "lrn",
    "MaxPool": "max_pool", "MaxPoolWithIndex": "max_pool_with_index", "PRelu": "prelu",
    "Relu": "relu", "Softmax": "softmax",
    "SpatialBN": "spatial_bn", "SpatialGN": "spatial_gn", "Sum": "sum", "Tanh": "tanh",
    "Transpose": "transpose", "VideoInput": "video_input",
}.items():
    setattr(CNNModelHelper, _name, _method(_helper))
