"""Models made of layers, from which nets for training, evaluation and prediction are generated."""

from __future__ import annotations

import copy
import difflib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from caffe2.python import core, model_helper, muji, schema, scope, utils
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.constants import constant_filler
from caffe2.python._core.gradients import Gradient
from caffe2.python._core.operator_suggestions import operator_elsewhere
from caffe2.python.layers import layers as layer_registry
from caffe2.python.modeling.net_modifier import NetModifier
from caffe2.python.modeling.parameter_info import ParameterInfo
from caffe2.python.modeling.parameter_sharing import parameter_sharing_context
from caffe2.python.optimizer import Optimizer, get_param_device
from caffe2.python.regularizer import RegularizationBy, Regularizer

logger = logging.getLogger(__name__)

_FUNCTIONAL_PREFIX = "FunctionalLayer"


def _suggestion(layer):
    """What was probably meant by the name of a layer, after a semicolon; "" if nothing is like it.
    """
    names = layer_registry.layer_names()
    near = ([name for name in names if name.lower() == layer.lower()]
            or difflib.get_close_matches(layer, names, 1) or [operator_elsewhere(layer)])
    return f"; did you mean {near[0]}?" if near[0] else ""


def _unique_name(name, taken):
    """`name`, or with "_auto_<n>" if it is taken."""
    candidate, index = name, 0
    while candidate in taken:
        candidate = f"{name}_auto_{index}"
        index += 1
    return candidate


class LayerModelHelper(model_helper.ModelHelper):
    """A model of layers (caffe2.python.layers), each of which adds different operators to training,
    evaluation and prediction nets; caffe2.python.layer_model_instantiator generates these nets.

    A method with the name of a layer adds the layer and returns its output record:
    ``y = model.FC(x, 10)``. A method with the name of an operator adds a Functional layer of the
    operator, for a number of outputs or their names: ``model.Relu(y, 1)``. If a layer has the same
    name, that method is called "FunctionalLayer<operator>". With ``output_to_metrics=True`` or
    ``params_to_metrics=True`` a layer's output or copies of its parameters become metrics.

    Attributes:
      param_to_optim: {parameter name: Optimizer, NoOptim or None}.
      param_to_reg: {parameter: Regularizer or None}.
      global_constants: {name: blob} of constants that all init nets make.
      global_constant_initializers: {blob: OperatorDef}.
    """

    def __init__(self, name: str, input_feature_schema: schema.Field,
                 trainer_extra_schema: schema.Field, keep_blobs: bool = False,
                 use_attribution: bool = True) -> None:
        """
        Args:
          name: of the net.
          input_feature_schema: the columns that all nets read.
          trainer_extra_schema: columns that only training and evaluation read, as labels.
          keep_blobs: uses the blobs of the schemas, which are records; else new blobs are made.
          use_attribution: kept for programs that ask for it.
        """
        super().__init__(name=name)
        self._layer_names: set[str] = set()
        self._layers: list[layer_registry.ModelLayer] = []
        self._param_to_shape: dict[str, Any] = {}
        self._seed: int | None = None
        self._sequence_seed = True
        self.param_to_optim: dict[str, Any] = {}
        self.param_to_reg: dict[BlobReference, Regularizer | None] = {}
        self._default_optimizer: Optimizer | None = None
        self._loss: layer_registry.Record = None
        self._prediction: list[tuple[Any, float]] = []
        self._output_schema: layer_registry.Record = None
        self._preproc_output_schema: layer_registry.Record = None
        self._metrics_schema = schema.Struct()
        self._post_grad_net_modifiers: list[NetModifier] = []
        self._final_net_modifiers: list[NetModifier] = []
        self._breakdown_map: dict[str, int] | None = None
        self._input_feature_schema, self._trainer_extra_schema = (
            record.clone() if keep_blobs else schema.NewRecord(self.net, record)
            for record in (input_feature_schema, trainer_extra_schema))
        self._init_global_constants()
        self.param_init_net = self.create_init_net("param_init_net")
        self._initialize_params = True
        self._transfer_learning_blob_name_mappings: Mapping[str, str] | None = None
        self.ad_hoc_diagnose_blobs_and_operations: list[Any] = []
        self.ad_hoc_plot_blobs: list[BlobLike] = []
        self.use_attribution = use_attribution

    # -- Constants ---------------------------------------------------------------------------------

    @staticmethod
    def _get_global_constant_initializer_op(blob_name, array=None, dtype=None, initializer=None):
        """The operator that makes a constant: of an array, or what `initializer(blob)` returns."""
        if array is None:
            assert initializer is not None, f"the constant {blob_name} has no value"
            return initializer(blob_name)
        assert initializer is None, (
            f"the constant {blob_name} has both an array and an initializer; give one of them")
        filler, arguments = constant_filler(np.array(array, dtype=dtype))
        return core.CreateOperator(filler, [], blob_name, arg=arguments)

    def add_global_constant(self, name: str, array: Any = None, dtype: Any = None,
                            initializer: Callable[[BlobReference], Any] | None = None
                            ) -> BlobReference:
        """Adds a constant, which all init nets make; returns its blob.

        Args:
          array: its value, converted to `dtype` if that is given; floats become float32.
          initializer: function(blob) -> OperatorDef, instead of a value.

        Raises AssertionError if the name is taken.
        """
        assert isinstance(name, str), f"the name of a constant must be a string, not {name!r}"
        assert name not in self.global_constants, f"there is a constant {name} already"
        blob = self.net.NextBlob(name)
        self.global_constants[name] = blob
        self.global_constant_initializers[blob] = self._get_global_constant_initializer_op(
            blob, array, dtype, initializer)
        return blob

    def maybe_add_global_constant(self, name: str, *args: Any, **kwargs: Any) -> BlobReference:
        """add_global_constant, or the blob of an equal constant of this name.

        Raises AssertionError if it is not equal.
        """
        if name not in self.global_constants:
            return self.add_global_constant(name, *args, **kwargs)
        blob = self.global_constants[name]
        wanted = self._get_global_constant_initializer_op(blob, *args, **kwargs)
        known = self.global_constant_initializers[blob]
        assert utils.OpAlmostEqual(wanted, known, "debug_info"), (
            f"conflict initializers for global constant {blob}, previous {known}, now {wanted}")
        return blob

    def _init_global_constants(self):
        self.global_constants = {}
        self.global_constant_initializers = {}
        self.add_global_constant("ONE", 1.0)
        self.add_global_constant("NAN", float("NaN"))
        self.add_global_constant("ZERO", 0.0)
        self.add_global_constant("ZERO_RANGE", [0, 0], dtype="int32")

    def _add_global_constants(self, init_net):
        init_net._ExtendOps(self.global_constant_initializers.values())

    def create_init_net(self, name: str) -> core.Net:
        """A new net that makes the constants."""
        init_net = core.Net(name)
        self._add_global_constants(init_net)
        return init_net

    def _GetOne(self):
        return self.global_constants["ONE"]

    # -- Parameters --------------------------------------------------------------------------------

    def set_initialize_params(self, initialize_params: bool) -> None:
        """Sets whether parameters that are created from now on get initializers."""
        self._initialize_params = initialize_params

    def _validate_param_shape(self, param_name, shape):
        known = self._param_to_shape.get(param_name, shape)
        if shape != known:
            raise ValueError(
                "Got inconsistent shapes between shared parameters when trying to map a blob in "
                f"scope {scope.CurrentNameScope()} to {param_name}. ref_shape : {known}, "
                f"shape : {shape}")

    def _validate_param_optim(self, param_name, optim):
        """Raises AssertionError if a shared parameter would get another optimizer than it has."""
        if param_name not in self.param_to_optim:
            return
        known = self.param_to_optim[param_name]
        if optim is None:
            same = known == self._default_optimizer
        elif optim == self.NoOptim:
            same = known == self.NoOptim
        elif isinstance(optim, Optimizer):
            same = type(known) is type(optim) and known.attributes == optim.attributes
        else:
            raise ValueError(
                f"optim should be either None, NoOptim, or an instance of Optimizer, Got {optim}")
        assert same, (
            f"the shared parameter {param_name} has the optimizer {known}, which differs from "
            f"{optim or self._default_optimizer}; layers that share it need the same one")

    def create_param(self, param_name: BlobLike, shape: Any, initializer: Any,
                     optimizer: Any = None, ps_param: layer_registry.LayerPsParam | None = None,
                     regularizer: Regularizer | None = None) -> Any:
        """A LayerParameter. It becomes part of the model with its layer.

        Args:
          param_name: a BlobReference, or a string, which gets the name scope, or the scope that
            ParameterSharing substitutes for it.
          shape: list of dimensions, or None if the initializer determines it.
          initializer: (operator type,) or (operator type, {argument: value}).
          optimizer, ps_param, regularizer: as in LayerParameter.

        Raises ValueError for another kind of name and for a shared parameter of another shape,
        AssertionError for one with another optimizer.
        """
        if isinstance(param_name, core.BlobReference):
            param_name = str(param_name)
        elif isinstance(param_name, str):
            param_name = parameter_sharing_context.get_parameter_name(param_name)
        else:
            raise ValueError(f"Unsupported type for param_name: {param_name!r}")
        blob = core.BlobReference(param_name)
        filler, arguments = initializer if len(initializer) == 2 else (initializer[0], {})
        arguments = copy.deepcopy(arguments)
        if shape is not None:
            assert "shape" not in arguments, f"the shape of {param_name} is given twice"
            arguments["shape"] = shape
        op = None
        if self._initialize_params:
            op = core.CreateOperator(filler, [], blob, **arguments)
        param = layer_registry.LayerParameter(
            parameter=blob, initializer=op, optimizer=optimizer, ps_param=ps_param,
            regularizer=regularizer)
        self._validate_param_shape(param_name, shape)
        self._validate_param_optim(param_name, optimizer)
        self._param_to_shape[param_name] = shape
        return param

    def get_parameter_blobs(self) -> list[BlobReference]:
        """The blobs of the parameters of all layers."""
        return [param.parameter for layer in self._layers for param in layer.get_parameters()]

    @property
    def default_optimizer(self) -> Optimizer | None:
        """The Optimizer of parameters without one of their own, in layers added from now on."""
        return self._default_optimizer

    @default_optimizer.setter
    def default_optimizer(self, optimizer: Optimizer | None) -> None:
        self._default_optimizer = optimizer

    def NoOptim(self, *args: Any, **kwargs: Any) -> None:
        """The "optimizer" of parameters that are not trained; does nothing."""

    # -- Layers ------------------------------------------------------------------------------------

    @property
    def layers(self) -> list[layer_registry.ModelLayer]:
        """The layers, in the order they were added."""
        return self._layers

    def next_layer_name(self, prefix: str) -> str:
        """A name for a new layer under the name scope: `prefix`, or "<prefix>_auto_<n>"."""
        name = _unique_name(core.ScopedName(prefix), self._layer_names)
        self._layer_names.add(name)
        return name

    def add_layer(self, layer: layer_registry.ModelLayer) -> layer_registry.Record:
        """Adds a layer and its parameters; returns its output record.

        Also adds its operators for training to the model's own nets, so that errors show at once.
        """
        self._layers.append(layer)
        for param in layer.get_parameters():
            blob = param.parameter
            self.param_to_optim[str(blob)] = param.optimizer or self.default_optimizer
            self.params.append(blob)
            if isinstance(param, layer_registry.LayerParameter):
                self.param_to_reg[blob] = param.regularizer
            elif not isinstance(param, ParameterInfo):  # which have no regularizers
                raise ValueError(
                    f"unknown object type besides ParameterInfo and LayerParameter: {param}")
        layer.add_operators(self.net, self.param_init_net)
        return layer.output_schema

    def _create_and_add_layer(self, layer_name, *args, output_to_metrics=False,
                              params_to_metrics=False, **kwargs):
        layer = layer_registry.create_layer(layer_name, self, *args, **kwargs)
        if output_to_metrics:
            layer.export_output_for_metrics()
        if params_to_metrics:
            layer.export_params_for_metrics()
        return self.add_layer(layer)

    def __getattr__(self, layer: str) -> Callable[..., Any]:
        if layer.startswith("_"):
            raise AttributeError(layer)
        if layer_registry.layer_exists(layer):
            return lambda *args, **kwargs: self._create_and_add_layer(layer, *args, **kwargs)
        op_type = layer
        if not core.IsOperator(layer) and layer.startswith(_FUNCTIONAL_PREFIX):
            op_type = layer[len(_FUNCTIONAL_PREFIX):]
        elif not core.IsOperator(layer):
            raise AttributeError(
                f"Trying to create non-registered layer: {layer}{_suggestion(layer)}")

        def apply_operator(net, in_record, out_record, **kwargs):
            getattr(net, op_type)(in_record.field_blobs(), out_record.field_blobs(), **kwargs)

        def add(*args, **kwargs):
            kwargs.setdefault("name", op_type)
            return self._create_and_add_layer(
                "Functional", *args, function=apply_operator, **kwargs)

        return add

    # -- Records -----------------------------------------------------------------------------------

    @property
    def input_feature_schema(self) -> layer_registry.Record:
        """The record that all nets read."""
        return self._input_feature_schema

    @property
    def trainer_extra_schema(self) -> layer_registry.Record:
        """The record that only training and evaluation read."""
        return self._trainer_extra_schema

    def add_trainer_extra_schema(self, trainer_extra_schema: schema.Struct) -> None:
        """Adds columns, with new blobs, that only training and evaluation read."""
        self._trainer_extra_schema += schema.NewRecord(self.net, trainer_extra_schema)

    @property
    def metrics_schema(self) -> schema.Struct:
        """The record that training and evaluation return besides the output."""
        return self._metrics_schema

    def add_metric_field(self, name: str, value: Any) -> None:
        """Adds a field (or blob) to the metrics; raises AssertionError if the name is taken."""
        assert name not in self._metrics_schema.fields, f"there is a metric field {name} already"
        self._metrics_schema = self._metrics_schema + schema.Struct((name, value))

    def filter_metrics_schema(self, white_set: Iterable[str]) -> None:
        """Keeps only the columns of the metrics whose names are in a set."""
        for name in self._metrics_schema.field_names():
            if name not in white_set:
                self._metrics_schema = self._metrics_schema - schema.Struct(
                    (name, schema.Scalar()))

    def add_ad_hoc_plot_blob(self, blob: BlobLike, dtype: Any = None) -> None:
        """Adds a blob (float of [1] by default) to the metrics and to `ad_hoc_plot_blobs`."""
        assert isinstance(blob, (str, core.BlobReference)), (
            f"a blob must be a str or a BlobReference, not {blob!r}")
        reference = core.BlobReference(str(blob))  # a str would be a value of the field
        self.add_metric_field(str(blob), schema.Scalar(dtype or (float, (1,)), reference))
        self.ad_hoc_plot_blobs.append(blob)

    @property
    def output_schema(self) -> layer_registry.Record:
        """The record that the nets return; set once, or by add_output_schema."""
        assert self._output_schema is not None, (
            "the model has no output schema; set output_schema, or call add_output_schema")
        return self._output_schema

    @output_schema.setter
    def output_schema(self, record: schema.Field) -> None:
        assert self._output_schema is None, (
            "the model has an output schema already; call clear_output_schema to set another one")
        self._output_schema = record

    def clear_output_schema(self) -> None:
        """Removes the output_schema, so that it can be set again."""
        self._output_schema = None

    def add_output_schema(self, name: str, value: schema.Scalar | schema.Struct) -> None:
        """Adds a field to the output; raises AssertionError if the name is taken."""
        assert isinstance(value, (schema.Scalar, schema.Struct)), (
            f"the output {name} must be a Scalar or a Struct, not {value!r}")
        if self._output_schema is None:
            self._output_schema = schema.Struct((name, value))
            return
        assert name not in self._output_schema.fields, (
            f"there is an output {name} already")
        self._output_schema = self._output_schema + schema.Struct((name, value))

    @property
    def preproc_output_schema(self) -> layer_registry.Record:
        """The record that preprocessing returns; set once."""
        assert self._preproc_output_schema is not None, "set preproc_output_schema first"
        return self._preproc_output_schema

    @preproc_output_schema.setter
    def preproc_output_schema(self, record: schema.Field) -> None:
        assert self._preproc_output_schema is None, "preproc_output_schema is set already"
        self._preproc_output_schema = record

    @property
    def prediction(self) -> list[tuple[Any, float]]:
        """Pairs (record, weight) of add_prediction."""
        assert self._prediction, "the model has no prediction; call add_prediction first"
        return self._prediction

    def add_prediction(self, prediction: Any, weight: float = 1.0) -> None:
        """Adds a record to the predictions."""
        assert prediction is not None, "the prediction is None, must be a record"
        self._prediction.append((prediction, weight))

    @property
    def transfer_learning_blob_name_mappings(self) -> Mapping[str, str] | None:
        """{blob: the blob of another model that gives its initial value}, or None."""
        return self._transfer_learning_blob_name_mappings

    @transfer_learning_blob_name_mappings.setter
    def transfer_learning_blob_name_mappings(self, blob_name_mappings: Mapping[str, str]) -> None:
        assert blob_name_mappings is not None, (
            "transfer_learning_blob_name_mappings is None, must map names of blobs")
        self._transfer_learning_blob_name_mappings = blob_name_mappings

    @property
    def breakdown_map(self) -> dict[str, int] | None:
        """{category: its number, from 0 on}: the categories that metrics are split by, or None."""
        return self._breakdown_map

    @breakdown_map.setter
    def breakdown_map(self, breakdown_map: dict[str, int]) -> None:
        assert isinstance(breakdown_map, dict) and all(isinstance(k, str) for k in breakdown_map), (
            f"breakdown_map must map names to numbers, not {breakdown_map!r}")
        assert sorted(breakdown_map.values()) == list(range(len(breakdown_map))), (
            f"categories must be numbered from 0 on, not {breakdown_map}")
        self._breakdown_map = breakdown_map

    # -- Loss --------------------------------------------------------------------------------------

    @property
    def loss(self) -> layer_registry.Record:
        """The record of the losses. Training minimizes their sum. Set once, or by add_loss."""
        assert self._loss is not None, "the model has no loss; call add_loss first"
        return self._loss

    @loss.setter
    def loss(self, loss: schema.Field) -> None:
        assert self._loss is None, "the model has a loss already; call add_loss for further ones"
        self._loss = loss

    def has_loss(self) -> bool:
        """True if there is a loss."""
        return self._loss is not None

    def add_loss(self, loss: schema.Scalar | schema.Struct, name: str = "unnamed") -> None:
        """Adds a Scalar or Struct to the losses, as `name`, or with "_auto_<n>" if that is taken.
        """
        assert isinstance(loss, (schema.Scalar, schema.Struct)), (
            f"a loss must be a Scalar or a Struct, not {loss!r}")
        if self._loss is None:
            self._loss = schema.Struct((name, loss))
            return
        if isinstance(self._loss, schema.Scalar):  # set as such
            self._loss = schema.Struct(("unnamed", self._loss))
        self._loss = self._loss + schema.Struct((_unique_name(name, self._loss), loss))

    # -- Training nets -----------------------------------------------------------------------------

    @property
    def seed(self) -> int | None:
        """The seed of store_seed, or None."""
        return self._seed

    @property
    def sequence_seed(self) -> bool:
        """True if operators get different seeds."""
        return self._sequence_seed

    def store_seed(self, seed: int, sequence_seed: bool = True) -> None:
        """Keeps a seed for apply_seed; see core.Net.set_rand_seed."""
        self._seed = seed
        self._sequence_seed = sequence_seed

    def apply_seed(self, net: core.Net) -> None:
        """Seeds a net, if a seed is stored."""
        if self._seed:
            net.set_rand_seed(self._seed, self._sequence_seed)

    def _add_net_modifier(self, modifiers, modifier):
        assert modifier not in modifiers, f"{modifier} is already in {modifiers}"
        assert isinstance(modifier, NetModifier), f"{modifier} has to be a NetModifier instance"
        modifiers.append(modifier)

    def add_post_grad_net_modifiers(self, modifier: NetModifier) -> None:
        """Adds a NetModifier that acts between gradients and optimizers."""
        self._add_net_modifier(self._post_grad_net_modifiers, modifier)

    def add_final_net_modifiers(self, modifier: NetModifier) -> None:
        """Adds a NetModifier that acts on the finished training net."""
        self._add_net_modifier(self._final_net_modifiers, modifier)

    def _param_device(self, param, grad_map, blob_to_device):
        """(the gradient, or None, and the device of a parameter)."""
        grad = grad_map.get(str(param))
        device = get_param_device(
            param, grad, param_to_device=blob_to_device or {}, default_device=muji.OnCPU())
        return grad, device

    def apply_regularizers_on_loss(self, train_net: core.Net, train_init_net: core.Net,
                                   blob_to_device: Mapping[str, Any] | None = None) -> None:
        """Adds the terms of the regularizers to the losses."""
        for param, regularizer in self.param_to_reg.items():
            if regularizer is None:
                continue
            assert isinstance(regularizer, Regularizer), f"{regularizer} is no Regularizer"
            term = regularizer(train_net, train_init_net, param, grad=None,
                               by=RegularizationBy.ON_LOSS)
            if term is not None:
                self.add_loss(schema.Scalar(blob=term), str(term))

    def apply_regularizers_after_optimizer(self, train_net: core.Net, train_init_net: core.Net,
                                           grad_map: Mapping[Any, Gradient],
                                           blob_to_device: Mapping[str, Any] | None = None) -> None:
        """Adds the operators of regularizers that change updated parameters.

        Args:
          grad_map: {blob: its gradient}.
          blob_to_device: {blob: DeviceOption}; default the CPU.
        """
        for param, regularizer in self.param_to_reg.items():
            if regularizer is None:
                continue
            assert isinstance(regularizer, Regularizer), f"{regularizer} is no Regularizer"
            grad, device = self._param_device(param, grad_map, blob_to_device)
            with core.DeviceScope(device):
                regularizer(train_net, train_init_net, param, grad=grad,
                            by=RegularizationBy.AFTER_OPTIMIZER)

    def apply_post_grad_net_modifiers(self, trainer_net: core.Net, trainer_init_net: core.Net,
                                      grad_map: Mapping[Any, Gradient],
                                      blob_to_device: Mapping[str, Any] | None = None,
                                      modify_output_record: bool = False) -> None:
        """Calls the modifiers between gradients and optimizers, with the gradients of parameters.
        """
        of_params = {param: grad_map[param] for param in self.param_to_optim if param in grad_map}
        for modifier in self._post_grad_net_modifiers:
            modifier(trainer_net, trainer_init_net, of_params, blob_to_device=blob_to_device,
                     modify_output_record=modify_output_record)

    def apply_final_net_modifiers(self, trainer_net: core.Net, trainer_init_net: core.Net,
                                  grad_map: Mapping[Any, Gradient],
                                  blob_to_device: Mapping[str, Any] | None = None,
                                  modify_output_record: bool = False) -> None:
        """Calls the modifiers of finished nets, with all gradients."""
        for modifier in self._final_net_modifiers:
            modifier(trainer_net, trainer_init_net, grad_map, blob_to_device=blob_to_device,
                     modify_output_record=modify_output_record)

    def apply_optimizers(self, train_net: core.Net, train_init_net: core.Net,
                         grad_map: Mapping[Any, Gradient],
                         blob_to_device: Mapping[str, Any] | None = None) -> None:
        """Adds the updates of all parameters; see apply_regularizers_after_optimizer for the
        arguments.

        Raises ValueError if a parameter with an Optimizer has no gradient, AssertionError if one
        has neither an optimizer of its own nor a default one.
        """
        for param, optimizer in self.param_to_optim.items():
            assert optimizer is not None, (
                f"{param} has no optimizer; the default one is set before layers are added")
            grad, device = self._param_device(param, grad_map, blob_to_device)
            device = copy.deepcopy(device)
            del device.extra_info[:]  # it describes the parameter, not its update
            with core.DeviceScope(device):
                optimizer(train_net, train_init_net, param, grad)
