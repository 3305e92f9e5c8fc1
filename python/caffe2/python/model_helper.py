"""A model: the net that computes, the net that makes its parameters, and the parameters."""

from __future__ import annotations

import collections
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import core, recurrent, scope, workspace
from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python._core.gradients import Gradient
from caffe2.python._core.layer_checks import check_spelling
from caffe2.python._core.net import Net
from caffe2.python._core.operator_methods import OperatorMethods
from caffe2.python._core.operator_types import CheckOperatorType
from caffe2.python._core.refused_calls import undone_if_refused
from caffe2.python.modeling import initializers
from caffe2.python.modeling.parameter_info import ParameterInfo, ParameterTags, Tags
from caffe2.python.modeling.parameter_sharing import parameter_sharing_context

logger = logging.getLogger(__name__)

# {name without device: {number of the device: the blob, or its gradient, on it}}.
Replicas = dict[str, dict[int, Any]]

_INIT_NET_MARK = "/param_init_net"

# Operators that the brew helpers do not wrap but that models may call directly.
_known_working_ops = {
    "Accuracy", "Adagrad", "Adam", "Add", "Alias", "AveragedLoss", "BatchMatMul", "BooleanMask",
    "Cast", "Checkpoint", "Clip", "Concat", "ConstantFill", "Conv", "Copy", "CopyCPUToGPU",
    "CopyFromCPUInput", "CopyGPUToCPU", "CreateDB", "CrossEntropy", "DequeueBlobs", "Div",
    "EnqueueBlobs", "EnsureCPUOutput", "Flatten", "FlattenToVec", "Gather", "LabelCrossEntropy",
    "LearningRate", "MakeTwoClass", "MatMul", "Mul", "NCCLAllreduce", "NCHW2NHWC", "NHWC2NCHW",
    "PRelu", "PackSegments", "Print", "ReduceFrontMean", "Relu", "Reshape", "Scale",
    "ScatterAssign", "ScatterWeightedSum", "Sigmoid", "Slice", "Snapshot", "Softmax",
    "SoftmaxWithLoss", "SpatialBN", "Split", "SquaredL2Distance", "Squeeze", "StopGradient",
    "Sub", "Sum", "Summarize", "Tanh", "Tile", "Transpose", "UnpackSegments", "WeightedSum",
    "YellowFin",
}

_DEFAULT_ARG_SCOPE = {"order": "NCHW", "use_cudnn": True, "cudnn_exhaustive_search": False}


class ModelHelper(OperatorMethods):
    """A model under construction, filled by the functions of caffe2.python.brew.

    Attributes:
      net, param_init_net: the net that computes, and the one that makes parameters; run the
        latter once.
      params: trainable parameters (BlobReferences); weights and biases are parts of it.
      param_to_grad: {parameter: gradient}, after AddGradientOperators.
      arg_scope: arguments that the helpers pass to operators.
    """

    param_init_net: Net
    params: list[BlobReference]
    param_to_grad: dict[BlobReference, Gradient]
    _parameters_info: dict[str, ParameterInfo]
    _computed_params: list[BlobReference]

    # What data_parallel_model notes on the models that it makes data parallel.
    _devices: list[int]
    _device_type: int
    _device_prefix: str
    _shared_model: bool
    _rendezvous: Mapping[str, Any] | None
    _sync_barrier_net: Net | None
    _sync_barrier_net_timeout: float
    _checkpoint_net: Net | None
    _optimizer: Any
    _passes: Any
    _passes_keep: set[str]
    _prepared: Any
    _param_names: list[str]
    _computed_param_names: list[str]
    _grad_names: list[str]
    _input_blobs: dict[int, str]
    _losses_by_gpu: Mapping[int, list[BlobReference]]
    _device_grouped_blobs: Replicas
    _data_parallel_model_init_nets: list[Net]
    _data_parallel_model_nets: list[Any]  # a Net, or (Net, number of runs)
    _warmup_iterations: int
    _warmup_broadcast: Net
    _global_model_init_net: Net
    _global_model_param_updates_net: Net

    def __init__(self, name: str | None = None, init_params: bool = True,
                 allow_not_known_ops: bool = True, skip_sparse_optim: bool = False,
                 param_model: ModelHelper | None = None,
                 arg_scope: Mapping[str, Any] | None = None) -> None:
        """
        Args:
          name: of the net; the other is "<name>_init".
          init_params: False if the parameters exist already, as for a test net.
          allow_not_known_ops: whether any operator may be called as a method.
          param_model: another model whose parameters and init net this one shares.
          arg_scope: replaces the default {order: NCHW, use_cudnn, cudnn_exhaustive_search}.
        """
        self.name = name or "model"
        self.net = core.Net(self.name)
        if param_model is not None:
            self.param_init_net = param_model.param_init_net
            self.param_to_grad = param_model.param_to_grad
            self.params = param_model.params
            self._parameters_info = param_model._parameters_info
            self._computed_params = param_model._computed_params
        else:
            self.param_init_net = core.Net(self.name + "_init")
            self.param_to_grad = {}
            self.params = []
            self._parameters_info = {}
            self._computed_params = []
        self.gradient_ops_added = False
        self.init_params = init_params
        self.allow_not_known_ops = allow_not_known_ops
        self.skip_sparse_optim = skip_sparse_optim
        self.weights: list[BlobReference] = []
        self.biases: list[BlobReference] = []
        self.grad_map: dict[str, Gradient] = {}
        self._arg_scope = dict(_DEFAULT_ARG_SCOPE)
        if arg_scope is not None:
            check_spelling("arg_scope", "key", arg_scope, (*_DEFAULT_ARG_SCOPE, "ws_nbytes_limit"))
            self._arg_scope.update(arg_scope)

    @property
    def arg_scope(self) -> dict[str, Any]:
        """The arguments that brew gives to every operator of the model."""
        return self._arg_scope

    def get_name(self) -> str:
        """The name of the model."""
        return self.name

    # -- Parameters --------------------------------------------------------------------------------

    def create_param(self, param_name: BlobLike, shape: Sequence[int], initializer: Any,
                     tags: Tags | None = None) -> BlobReference:
        """Adds a parameter; returns its BlobReference.

        Args:
          param_name: a BlobReference, or a string, to which the name scope is added, or the scope
            that ParameterSharing substitutes for it.
          shape: list of dimensions.
          initializer: what fills it (modeling.initializers); not used with init_params=False.
          tags: ParameterTags, one or several.

        If the parameter exists already, it is returned unchanged. Raises TypeError for another kind
        of name or initializer, AssertionError if the existing parameter has another shape.
        """
        if isinstance(param_name, core.BlobReference):
            blob = core.BlobReference(str(param_name), self.net)
        elif isinstance(param_name, str):
            blob = core.BlobReference(
                parameter_sharing_context.get_parameter_name(param_name), self.net)
        else:
            raise TypeError(f"a parameter name is a string or a BlobReference, not {param_name!r}")
        if str(blob) in self._parameters_info:
            info = self._parameters_info[str(blob)]
            assert info.shape is None or list(info.shape) == list(shape), (
                f"parameter {blob} has the shape {list(info.shape)}, not {list(shape)}")
            return info.blob
        if not self.init_params:
            initializer = initializers.ExternalInitializer()
        if not hasattr(initializer, "create_param"):
            raise TypeError(f"parameter {blob}: the initializer is {initializer!r}, must be one "
                            'such as initializers.Initializer("XavierFill")')
        info = initializer.create_param(
            param_name=core.BlobReference(str(blob)), init_net=self.param_init_net, shape=shape)
        self._parameters_info[str(blob)] = info
        self.AddParameter(info.blob, tags)
        return info.blob

    def get_param_info(self, param: BlobLike) -> ParameterInfo:
        """The ParameterInfo of a parameter; raises KeyError for other blobs."""
        return self._parameters_info[str(param)]

    def add_param_DEPRECATED(self, param: BlobReference, key: Any = None,
                             shape: Sequence[int] | None = None,
                             length: int | None = None) -> ParameterInfo:
        """AddParameter; returns the ParameterInfo."""
        self.AddParameter(param)
        return self.get_param_info(param)

    def AddParameter(self, param: BlobReference, tags: Tags | None = None) -> None:
        """Declares an existing blob a parameter of the model."""
        tags = {tags} if isinstance(tags, str) else set(tags or ())
        if str(param) not in self._parameters_info:
            self._parameters_info[str(param)] = ParameterInfo(
                param_id=len(self._parameters_info), param=param)
        if ParameterTags.COMPUTED_PARAM in tags:
            self._computed_params.append(param)
        else:
            self.params.append(param)
        if ParameterTags.WEIGHT in tags:
            self.weights.append(param)
        if ParameterTags.BIAS in tags:
            self.biases.append(param)

    @contextlib.contextmanager
    def _undone_if_refused(self) -> Iterator[None]:
        """Takes back what the block has added to the model and its nets if it raises."""
        lists = self.params, self._computed_params, self.weights, self.biases
        counts = [len(each) for each in lists]
        known = len(self._parameters_info)
        try:
            with undone_if_refused(self.net), undone_if_refused(self.param_init_net):
                yield
        except Exception:
            for each, count in zip(lists, counts):
                del each[count:]
            while len(self._parameters_info) > known:
                self._parameters_info.popitem()
            raise

    @staticmethod
    def _normalize_namescope(namescope):
        if namescope is None:
            return scope.CurrentNameScope()
        if namescope == "" or namescope.endswith(scope._NAMESCOPE_SEPARATOR):
            return namescope
        return namescope + scope._NAMESCOPE_SEPARATOR

    def _in_scope(self, params, namescope):
        namescope = self._normalize_namescope(namescope)
        if namescope == "":
            return params[:]
        return [p for p in params if p.GetNameScope().startswith(namescope)]

    def GetParams(self, namescope: str | None = None,
                  top_scope: bool = False) -> list[BlobReference]:
        """The trainable parameters under a name scope (default: the current one) or deeper."""
        return self._in_scope(self.params, namescope)

    def GetComputedParams(self, namescope: str | None = None) -> list[BlobReference]:
        """Parameters that operators update themselves, as SpatialBN's running mean."""
        return self._in_scope(self._computed_params, namescope)

    def GetAllParams(self, namescope: str | None = None) -> list[BlobReference]:
        """GetParams, then GetComputedParams."""
        return self.GetParams(namescope) + self.GetComputedParams(namescope)

    def GetParameterBlobs(self, namescope: str | None = None) -> list[BlobReference]:
        """GetParams."""
        return self.GetParams(namescope)

    def GetOptimizationParamInfo(self,
                                 params: Sequence[BlobLike] | None = None) -> list[ParameterInfo]:
        """The ParameterInfo, with its gradient, of each of `params` (default: the parameters of the
        current name scope) that has a gradient."""
        params = params if params is not None else self.GetParams()
        return [self._info_with_grad(p) for p in params if p in self.param_to_grad]

    def _info_with_grad(self, param):
        info = self.get_param_info(param)
        info.grad = self.param_to_grad[param]
        return info

    # -- Gradients ---------------------------------------------------------------------------------

    def GetParamsToGradient(self, *args: Any, **kwargs: Any) -> dict[BlobReference, Gradient]:
        """get_param_to_grad of all parameters."""
        return self.get_param_to_grad(self.params)

    def get_param_to_grad(self, params: Sequence[BlobReference]) -> dict[BlobReference, Gradient]:
        """{parameter: gradient} of those that have one.

        Raises RuntimeError before AddGradientOperators.
        """
        if not self.gradient_ops_added:
            raise RuntimeError("You need to call AddGradientOperators() first.")
        return {p: self.grad_map[str(p)] for p in params if str(p) in self.grad_map}

    def AddGradientOperators(self, *args: Any, **kwargs: Any) -> dict[str, Gradient]:
        """Adds gradients to the net (core.Net.AddGradientOperators) and fills param_to_grad.

        Returns {blob name: gradient}. Raises RuntimeError if called twice.
        """
        if self.gradient_ops_added:
            raise RuntimeError("You cannot run AddGradientOperators twice.")
        self.Validate()
        self.grad_map = self.net.AddGradientOperators(*args, **kwargs)
        self.gradient_ops_added = True
        self.param_to_grad = self.get_param_to_grad(self.params)
        for param, grad in self.param_to_grad.items():
            self.get_param_info(param).grad = grad
        return self.grad_map

    def GetCompleteNet(self) -> Net:
        """param_init_net and net as one Net, "<name>_complete_net"."""
        complete = self.param_init_net.Clone(self.name + "_complete_net", keep_schema=True)
        # By this ConstructInitTrainNetfromNet tells them apart.
        for op in complete.Proto().op:
            op.debug_info += _INIT_NET_MARK
        complete.AppendNet(self.net)
        if self.net.Proto().HasField("type"):
            complete.Proto().type = self.net.Proto().type
        return complete

    def ConstructInitTrainNetfromNet(self, net: Net) -> None:
        """Splits a net that GetCompleteNet of another model has returned into param_init_net and
        net."""
        starts = [op.debug_info.endswith(_INIT_NET_MARK) for op in net.Proto().op]
        init = [i for i, is_init in enumerate(starts) if is_init]
        main = [i for i, is_init in enumerate(starts) if not is_init]
        self.param_init_net = net.Clone(self.name + "_init", op_id_mask=init,
                                        update_external_list=True)
        self.net = net.Clone(self.name, op_id_mask=main, update_external_list=True)

    def _Validate(self):
        """The names of parameters that were added twice, sorted."""
        counts = collections.Counter(map(str, self.params))
        return sorted(name for name, count in counts.items() if count > 1)

    def Validate(self) -> None:
        """Raises AssertionError if a parameter was added twice."""
        assert not self._Validate(), f"parameters were added twice: {self._Validate()}"

    # -- Data --------------------------------------------------------------------------------------

    def CreateDB(  # type: ignore[override]  # has no inputs
            self, blob_out: BlobLike, db: str, db_type: str, **kwargs: Any) -> BlobReference:
        """A reader of a database, made by param_init_net."""
        return self.param_init_net.CreateDB([], blob_out, db=db, db_type=db_type, **kwargs)

    def TensorProtosDBInput(  # type: ignore[override]  # makes its own reader
            self, unused_blob_in: BlobsLike, blob_out: BlobsLike, batch_size: int, db: str,
            db_type: str, **kwargs: Any) -> Any:
        """Batches of TensorProtos records of a database."""
        reader = self.CreateDB("dbreader_" + db, db, db_type)
        return self.net.TensorProtosDBInput(reader, blob_out, batch_size=batch_size, **kwargs)

    # -- Nets --------------------------------------------------------------------------------------

    def GetDevices(self) -> list[int]:
        """The devices of data_parallel_model, by number."""
        if not getattr(self, "_devices", None):
            raise RuntimeError("the model is not data parallel")
        return self._devices

    def RunAllOnGPU(self, *args: Any, **kwargs: Any) -> None:
        """Places both nets on a CUDA device; see Net.RunAllOnGPU."""
        self.param_init_net.RunAllOnGPU(*args, **kwargs)
        self.net.RunAllOnGPU(*args, **kwargs)

    def Proto(self) -> caffe2_pb2.NetDef:
        """The NetDef of the net."""
        return self.net.Proto()

    def InitProto(self) -> caffe2_pb2.NetDef:
        """The NetDef of param_init_net."""
        return self.param_init_net.Proto()

    def _repr_svg_(self) -> str:
        """The graph of the net as SVG, for notebooks."""
        return self.net._repr_svg_()

    def RunInit(self) -> None:
        """Runs param_init_net, which makes the parameters."""
        workspace.RunNetOnce(self.param_init_net)

    def CreateNet(self) -> None:
        """Makes the net in the current workspace."""
        workspace.CreateNet(self.net)

    def Run(self, *args: Any, **kwargs: Any) -> None:
        """Runs the created net; see workspace.RunNet for the arguments."""
        workspace.RunNet(self.net, *args, **kwargs)

    def _operator(self, op_type: str) -> Callable[..., Any]:
        """Any operator is a method that adds it to the net."""
        if not core.IsOperator(op_type):
            CheckOperatorType(op_type, type(self))
        if op_type not in _known_working_ops:
            if not self.allow_not_known_ops:
                raise AttributeError(f"Operator {op_type} is not known to be safe")
            logger.debug("operator %s is called on a model directly", op_type)
        return getattr(self.net, op_type)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_known_working_ops})


def ExtractPredictorNet(net_proto: caffe2_pb2.NetDef, input_blobs: Sequence[BlobLike],
                        output_blobs: Sequence[BlobLike],
                        device: caffe2_pb2.DeviceOption | None = None,
                        renames: Mapping[str, str] | None = None,
                        disabled_inputs: Sequence[str] | None = None) -> tuple[Net, list[str]]:
    """The part of a net that computes outputs from inputs, for prediction.

    Args:
      net_proto: the NetDef.
      input_blobs, output_blobs: lists of blobs.
      device: DeviceOption for all operators; default: their own.
      renames: {blob: new name}.
      disabled_inputs: blobs whose readers are left out.

    Returns (Net, list of its other external inputs: the parameters). Operators whose is_test
    argument is 0 run in test mode. Raises ValueError if an input is not read.
    """
    new_names = {str(old): str(new) for old, new in (renames or {}).items()}

    def rename(blob: str) -> str:
        return new_names.get(blob, blob)

    inputs = {str(blob) for blob in input_blobs}
    outputs = {str(blob) for blob in output_blobs}
    disabled = {str(blob) for blob in disabled_inputs or ()}
    known = set(inputs) | (set(net_proto.external_input) - disabled)
    forward, read = [], set()
    for op in net_proto.op:
        if op.is_gradient_op or not set(op.input) <= known or inputs & set(op.output):
            continue
        forward.append(op)
        known.update(op.output)
    needed, kept = set(outputs), []
    for op in reversed(forward):
        if needed & set(op.output):
            kept.append(op)
            needed.update(op.input)
            read.update(op.input)
    missing = outputs - {blob for op in kept for blob in op.output}
    if missing:
        raise ValueError(f"net {net_proto.name} cannot compute {sorted(missing)}")
    unread = inputs - read
    if unread:
        raise ValueError(f"inputs {sorted(unread)} are not used by net {net_proto.name}")

    predict = core.Net(net_proto.name + "_predict")
    written, externals, operators = set(), [], []
    for op in reversed(kept):
        copy = caffe2_pb2.OperatorDef()
        copy.CopyFrom(op)
        externals += [b for b in op.input if b not in written and b not in externals]
        written.update(op.output)
        for field in ("input", "output"):
            names = [rename(blob) for blob in getattr(copy, field)]
            copy.ClearField(field)
            getattr(copy, field).extend(names)
        for argument in copy.arg:
            if argument.name == "is_test":
                argument.i = 1
        if device is not None:
            copy.device_option.CopyFrom(device)
        if copy.type == "RecurrentNetwork":
            recurrent.prepare_for_prediction(copy, device, rename)
        operators.append(copy)
    for blob in externals:
        predict.AddExternalInput(core.BlobReference(rename(blob)))
    predict._ExtendOps(operators)
    for blob in output_blobs:
        predict.AddExternalOutput(core.BlobReference(rename(str(blob))))
    parameters = [rename(blob) for blob in externals if blob not in inputs]
    return predict, parameters
