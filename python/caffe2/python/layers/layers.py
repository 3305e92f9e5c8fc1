"""The base of all layers, their parameters, and the registry of layers by name."""

from __future__ import annotations

import logging
from collections import namedtuple
from collections.abc import Collection, Sequence
from typing import Any, Protocol, Union

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, schema, scope, utils
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers.tags import TagContext

logger = logging.getLogger(__name__)

# Sparse features of a row: ids, or ids with scores.
IdList = schema.List(np.int64)
IdScoreList = schema.Map(np.int64, np.float32)
IdListWithEvicted = schema.ListWithEvicted(np.int64)
IdScoreListWithEvicted = schema.MapWithEvicted(np.int64, np.float32)

# A schema.Field; each layer checks which kind it needs.
Record = Any

# (operator type,) or (operator type, {argument: value}).
Initializer = Union[tuple[str], tuple[str, dict[str, Any]]]

# An Optimizer, the NoOptim of the model, or None for the model's default.
Optim = Any

# The column of ids that a parameter is looked up by, and the mean number of ids in a row.
LayerPsParam = namedtuple("LayerPsParam", ["sparse_key", "average_length"])

# Features that a layer reads: their type, as in a FeatureSpec, and the set of their ids.
AccessedFeatures = namedtuple("AccessedFeatures", ["type", "ids"])


# -- Records ---------------------------------------------------------------------------------------


def almost_equal_schemas(record: Record, original_schema: schema.Field,
                         check_field_names: bool = True, check_field_types: bool = True,
                         check_field_metas: bool = False) -> bool:
    """Like schema.equal_schemas, but IdList and IdScoreList also equal their variants with a column
    of evicted ids."""
    for plain, with_evicted in ((IdList, IdListWithEvicted),
                                (IdScoreList, IdScoreListWithEvicted)):
        if original_schema == plain:
            return any(
                schema.equal_schemas(record, candidate, check_field_names=check_field_names,
                                     check_field_types=check_field_types,
                                     check_field_metas=check_field_metas)
                for candidate in (plain, with_evicted))
    return schema.equal_schemas(record, original_schema)


def get_key(record: Record) -> Any:
    """The column of ids of an IdList or IdScoreList.

    Raises NotImplementedError for other records, AssertionError if the column has no metadata.
    """
    if almost_equal_schemas(record, IdList):
        key = record["values"]
    elif almost_equal_schemas(record, IdScoreList, check_field_types=False):
        key = record["values:keys"]
    else:
        raise NotImplementedError(f"not a list of ids: {record}")
    assert key.metadata is not None, f"Blob {key()} doesn't have metadata"
    return key


def get_categorical_limit(record: Record) -> int | None:
    """The exclusive upper bound of the ids of a list, from the metadata of the column; None if it
    has none."""
    return get_key(record).metadata.categorical_limit


def get_avg_length(record: Record) -> float | None:
    """The expected number of items in a row of a List, from the metadata of its lengths."""
    return record["lengths"].metadata.expected_value


def set_request_only(field: schema.Field) -> None:
    """Marks all columns of a field as the same for all rows of a request.

    Raises AssertionError for a column with a categorical limit that is not of integers.
    """
    for scalar in field.all_scalars():
        metadata = scalar.metadata or schema.Metadata()
        specs = metadata.feature_specs or schema.FeatureSpec()
        integral = np.issubdtype(scalar.field_type(), np.integer)
        assert integral or metadata.categorical_limit is None, (
            f"column {scalar()} has a categorical_limit ({metadata.categorical_limit}), but its "
            f"type {scalar.field_type()} is not one of integers")
        scalar.set_metadata(metadata._replace(
            feature_specs=specs._replace(feature_is_request_only=True, feature_to_index=None)))


def is_request_only_scalar(scalar: schema.Scalar) -> bool:
    """True if set_request_only has marked a column."""
    metadata = scalar.field_metadata()
    return bool(metadata) and all(
        getattr(entry and entry.feature_specs, "feature_is_request_only", False)
        for entry in metadata)


# -- Registry --------------------------------------------------------------------------------------


class InstantiationContext:
    """The kinds of nets that operators are generated for."""

    ACCUMULATE_PRED = "accumulate_pred"  # predictions, labels and weights, kept for calibration
    EVAL = "eval"
    PREDICTION = "prediction"
    TRAINING = "training"


_LAYER_REGISTRY: dict[str, type] = {}


def register_layer(name: str, layer: type[ModelLayer]) -> None:
    """Registers a class under a name; raises AssertionError if the name is taken."""
    assert name not in _LAYER_REGISTRY, f"{name} already exists"
    _LAYER_REGISTRY[name] = layer


def layer_exists(name: str) -> bool:
    """True if a class is registered under the name."""
    return name in _LAYER_REGISTRY


def layer_names() -> list[str]:
    """The names under which classes are registered."""
    return sorted(_LAYER_REGISTRY)


def get_layer_class(name: str) -> type[Any]:
    """The class that is registered under a name; raises KeyError."""
    return _LAYER_REGISTRY[name]


def create_layer(layer_name: str, *args: Any, **kwargs: Any) -> Any:
    """A new layer, which is not yet part of its model; raises KeyError for an unknown name."""
    return get_layer_class(layer_name)(*args, **kwargs)


# -- Layers ----------------------------------------------------------------------------------------


class LayerModel(Protocol):
    """The interface of the model that layers use; layer_model_helper.LayerModelHelper documents its
    members."""

    net: core.Net
    global_constants: dict[str, BlobReference]

    NoOptim: Any

    @property
    def metrics_schema(self) -> schema.Struct:
        """The record of the metrics."""

    def next_layer_name(self, prefix: str) -> str:
        """A name for a new layer."""

    def create_param(self, param_name: Any, shape: Any, initializer: Any, optimizer: Optim = None,
                     ps_param: LayerPsParam | None = None,
                     regularizer: Any = None) -> LayerParameter:
        """A LayerParameter."""

    def add_global_constant(self, name: str, array: Any = None, dtype: Any = None,
                            initializer: Any = None) -> BlobReference:
        """Adds a constant, which all init nets make."""

    def maybe_add_global_constant(self, name: str, *args: Any, **kwargs: Any) -> BlobReference:
        """add_global_constant, unless there is an equal one."""

    def add_metric_field(self, name: str, value: Any) -> None:
        """Adds a field to the metrics."""

    def add_ad_hoc_plot_blob(self, blob: BlobReference, dtype: Any = None) -> None:
        """Adds a blob to the metrics that are plotted."""


class LayerParameter:
    """A parameter of a layer.

    Attributes:
      parameter: its BlobReference.
      initializer: the OperatorDef that makes it, or None.
      optimizer: the Optimizer that updates it, the model's NoOptim, or None for the default.
      ps_param: a LayerPsParam of a parameter that is looked up by ids, or None.
      regularizer: a Regularizer, or None.
      shape: list of dimensions; None if it is unknown or the parameter is not a tensor. Raises
        AssertionError if it is set to another shape.
    """

    def __init__(self, parameter: BlobReference | None = None, optimizer: Optim = None,
                 initializer: caffe2_pb2.OperatorDef | None = None,
                 ps_param: LayerPsParam | None = None, regularizer: Any = None) -> None:
        assert isinstance(parameter, core.BlobReference), (
            f"expect {parameter} to be a blob reference")
        self._shape: list[int] | None = None  # before the initializer, which sets it
        self.parameter = parameter
        self.optimizer = optimizer
        self.initializer = initializer
        self.ps_param = ps_param
        self.regularizer = regularizer

    @property
    def initializer(self) -> caffe2_pb2.OperatorDef | None:
        """The OperatorDef that makes the parameter, or None."""
        return self._initializer

    @initializer.setter
    def initializer(self, op: caffe2_pb2.OperatorDef | None) -> None:
        assert op is None or core.IsOperator(getattr(op, "type", "")), (
            f"the initializer of {self} must be an operator, not of {type(op)}")
        self._initializer = op
        if op is not None:
            self.shape = self._infer_shape_from_initializer()

    @property
    def shape(self) -> list[int] | None:
        """List of dimensions, or None."""
        return self._shape

    @shape.setter
    def shape(self, shape: list[int] | None) -> None:
        assert self._shape is None or self._shape == shape, (
            f"parameter {self} has the shape {self._shape}, which cannot become {shape}")
        self._shape = shape

    def _infer_shape_from_initializer(self):
        """From the argument `shape`, else by running the initializer, which may load the
        parameter."""
        for arg in self.initializer.arg:
            if arg.name == "shape":
                return list(arg.ints)
        ws = C.Workspace()
        try:
            ws.run(self.initializer)
            value = ws.fetch_blob(str(self.parameter))
        except RuntimeError as error:
            logger.warning("Cannot infer the shape of blob %s from operator %s: %s",
                           self.parameter, self.initializer.type, error)
            return None
        return list(value.shape) if isinstance(value, np.ndarray) else None

    def __str__(self) -> str:
        return str(self.parameter)


class ModelLayer:
    """A part of a model that adds its own operators to each kind of net.

    Subclasses make their parameters (create_param) and set `output_schema`, a record, when they are
    constructed, and define add_ops for prediction. Where other nets need other operators they also
    define add_eval_ops, add_train_ops or add_ops_to_accumulate_pred.

    Attributes:
      name: unique in the model, and the name scope of parameters and blobs.
      model: the LayerModelHelper.
      kwargs: further keyword arguments of the constructor.
      tags: a set; see Tags.
      params: LayerParameters.
      request_only: whether all inputs are the same for all rows of a request.
    """

    def __init__(self, model: LayerModel, prefix: str, input_record: Record,
                 predict_input_record_fields: Any = None, tags: Collection[str] | None = None,
                 **kwargs: Any) -> None:
        """
        Args:
          prefix: the name; the model adds a number if the name is taken.
          input_record: the inputs.
          predict_input_record_fields: the field or fields that prediction reads; default all.
          tags: in addition to the tags of the current Tags blocks.
        """
        self.name = model.next_layer_name(prefix)
        self.model = model
        self.kwargs = kwargs
        self._input_record = input_record
        self._predict_input_record = None
        if predict_input_record_fields:
            if not isinstance(predict_input_record_fields, list):
                predict_input_record_fields = [predict_input_record_fields]
            self._predict_input_record = input_record[predict_input_record_fields]
        scalars = input_record.all_scalars()
        self.request_only = bool(scalars) and all(map(is_request_only_scalar, scalars))
        self.precomputation_request_only = False
        self.precomputation_object_only = False
        self._output_schema: Record = None
        self._predict_output_schema: Record = None
        self.eval_output_schema: Record = None
        self.tags = set(tags or []) | set(TagContext.current().tags)
        self.params: list[LayerParameter] = []
        self._export_output_for_metrics = False
        self._export_params_for_metrics = False

    def get_type(self) -> str:
        """The name of the class."""
        return self.__class__.__name__

    # -- Records -----------------------------------------------------------------------------------

    def _check_output_schema(self):
        assert self._output_schema is not None, f"layer {self.name} sets no output_schema"
        assert self._predict_output_schema is None or schema.is_schema_subset(
            self._predict_output_schema, self._output_schema), (
                f"the predict_output_schema of layer {self.name} is not a part of its "
                "output_schema")

    @property
    def input_record(self) -> Record:
        """The inputs."""
        return self._input_record

    @property
    def predict_input_record(self) -> Record:
        """The inputs that prediction reads."""
        return self._predict_input_record or self._input_record

    @property
    def output_schema(self) -> Record:
        """The record of the outputs; set once."""
        if self.request_only:
            set_request_only(self._output_schema)
        self._check_output_schema()
        return self._output_schema

    @output_schema.setter
    def output_schema(self, output_schema: Record) -> None:
        assert self._output_schema is None, f"layer {self.name} has an output schema"
        self._output_schema = output_schema

    @property
    def predict_output_schema(self) -> Record:
        """The outputs of prediction: all of output_schema, or some of it; set once."""
        self._check_output_schema()
        return self._predict_output_schema or self._output_schema

    @predict_output_schema.setter
    def predict_output_schema(self, output_schema: Record) -> None:
        assert self._predict_output_schema is None, (
            f"layer {self.name} has an output schema of prediction")
        self._predict_output_schema = output_schema

    def get_next_blob_reference(self, name: str) -> BlobReference:
        """A new blob of the model, "<layer>/<name>"."""
        with scope.NameScope(self.name, reset=True):
            return self.model.net.NextScopedBlob(name)

    # -- Parameters --------------------------------------------------------------------------------

    def create_param(self, param_name: str, shape: Sequence[int] | None, initializer: Initializer,
                     optimizer: Optim, ps_param: LayerPsParam | None = None,
                     regularizer: Any = None) -> BlobReference:
        """Adds the parameter "<layer>/<param_name>", or the one that ParameterSharing substitutes
        for it; returns its blob.

        Args:
          shape: list of dimensions; None if the initializer determines it.
          initializer: (operator type,) or (operator type, {argument: value}).
          optimizer, ps_param, regularizer: as in LayerParameter.
        """
        with scope.NameScope(self.name, reset=True):
            param = self.model.create_param(
                param_name=param_name, shape=shape, initializer=initializer, optimizer=optimizer,
                ps_param=ps_param, regularizer=regularizer)
        assert all(param.parameter != other.parameter for other in self.params), (
            f"layer {self.name} has two parameters {param}")
        self.params.append(param)
        return param.parameter

    def get_parameters(self) -> list[LayerParameter]:
        """The LayerParameters."""
        return self.params

    def get_fp16_compatible_parameters(self) -> list[BlobReference]:
        """The blobs of the parameters that can be stored as float16."""
        return []

    def get_memory_usage(self) -> int:
        """The size of the large parameters in bytes."""
        return 0

    def get_accessed_features(self) -> dict[str, list[AccessedFeatures]]:
        """{field: list of AccessedFeatures} of the features that the layer reads."""
        return {}

    # -- Operators ---------------------------------------------------------------------------------

    def add_init_params(self, init_net: core.Net) -> None:
        """Adds the initializers of the parameters, except those that the net has already."""
        for param in self.params:
            init_op = param.initializer
            if not init_op:
                continue
            device = scope.CurrentDeviceScope()
            if device and not init_op.HasField("device_option"):
                init_op = caffe2_pb2.OperatorDef()
                init_op.CopyFrom(param.initializer)
                init_op.device_option.CopyFrom(device)
            known = (op for op in init_net.Proto().op if op.output == init_op.output)
            if not any(utils.OpAlmostEqual(op, init_op, "debug_info") for op in known):
                init_net._ExtendOps([init_op])

    def add_operators(self, net: core.Net, init_net: core.Net | None = None,
                      context: str = InstantiationContext.TRAINING) -> None:
        """Adds the operators of an InstantiationContext, and initializers if there is an init net.

        Raises AssertionError for TRAINING without an init net.
        """
        with scope.NameScope(self.name):
            assert init_net or context in (
                InstantiationContext.PREDICTION, InstantiationContext.EVAL,
                InstantiationContext.ACCUMULATE_PRED), (
                    f"layer {self.name} needs an init_net in the context {context}")
            if init_net:
                self.add_init_params(init_net)
            add = {
                InstantiationContext.TRAINING: self.add_train_ops,
                InstantiationContext.EVAL: self.add_eval_ops,
                InstantiationContext.ACCUMULATE_PRED: self.add_ops_to_accumulate_pred,
            }.get(context, self.add_ops)
            add(net)
            if self._export_params_for_metrics and context in (
                    InstantiationContext.TRAINING, InstantiationContext.EVAL):
                self.add_param_copy_operators(net)

    def add_ops(self, net: core.Net) -> None:
        """Adds the operators of prediction."""
        raise NotImplementedError(f"{self.get_type()} defines no add_ops")

    def add_eval_ops(self, net: core.Net) -> None:
        """Adds the operators of evaluation; default: add_ops."""
        self.add_ops(net)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the operators of training; default: add_eval_ops."""
        self.add_eval_ops(net)

    def add_ops_to_accumulate_pred(self, net: core.Net) -> None:
        """Adds the operators that keep predictions; default: add_eval_ops."""
        self.add_eval_ops(net)

    # -- Metrics -----------------------------------------------------------------------------------

    def add_param_copy_operators(self, net: core.Net) -> None:
        """Copies the parameters into the blobs of export_params_for_metrics."""
        for param in self.params:
            net.Copy([param.parameter],
                     self.model.metrics_schema[str(param.parameter)].field_blobs())

    def export_output_for_metrics(self) -> None:
        """Adds the output to the model's metrics, as "<layer>/output"."""
        self._export_output_for_metrics = True
        self.model.add_metric_field(self.name + "/output", self.output_schema)

    def export_params_for_metrics(self) -> None:
        """Adds copies of the parameters to the model's metrics, by their names."""
        self._export_params_for_metrics = True
        for param in self.params:
            copy = self.get_next_blob_reference(str(param).split("/")[-1] + "_copy")
            self.model.add_metric_field(str(param.parameter), copy)
