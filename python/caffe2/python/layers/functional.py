"""Layers from functions, and by LayerModelHelper from single operators."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import core, schema, scope, workspace
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record

logger = logging.getLogger(__name__)

_Type = caffe2_pb2.TensorProto
_ELEMENTS = {
    _Type.DOUBLE: np.float64, _Type.FLOAT: np.float32, _Type.INT32: np.int32,
    _Type.INT64: np.int64, _Type.FLOAT16: np.float16,
}


class Functional(ModelLayer):
    """A layer without parameters. ``function(net, input_record, output_schema, **kwargs)`` adds its
    operators.

    Types and element shapes of the outputs are inferred by a call of the function with inputs
    without rows. If that fails, they stay unknown, and a warning is logged.
    """

    def __init__(self, model: LayerModel, input_record: Record, output_names_or_num: Any,
                 function: Callable[..., object], name: str = "functional",
                 output_dtypes: Any = None, tags: Collection[str] | None = None,
                 **kwargs: Any) -> None:
        """
        Args:
          input_record: a record, or a value for schema.as_record, such as a blob or a list of
            blobs.
          output_names_or_num: a number, a name, a list of names, or the output Field itself. The
            number 1 and a name give a Scalar, others a Struct.
          output_dtypes: the type of all outputs, or a list of them, instead of inference.
        """
        input_record = schema.as_record(input_record)
        super().__init__(model, name, input_record, tags=tags, **kwargs)
        self._function = function
        self._kwargs = kwargs
        if isinstance(output_names_or_num, schema.Field):
            self.output_schema = output_names_or_num.clone(keep_blobs=True)
            return
        outputs = self._new_outputs(output_names_or_num)
        several = isinstance(output_names_or_num, list) or (
            isinstance(output_names_or_num, int) and output_names_or_num != 1)
        self.output_schema = outputs if several else outputs[0]
        scalars = self.output_schema.all_scalars()
        if output_dtypes is None:
            self._infer_types(scalars)
            return
        if not isinstance(output_dtypes, list):
            output_dtypes = [output_dtypes] * len(scalars)
        assert len(output_dtypes) == len(scalars), (
            f"there must be one type for each of the {len(scalars)} outputs, "
            f"found {len(output_dtypes)}")
        for dtype, scalar in zip(output_dtypes, scalars):
            scalar.set_type(dtype)

    def _new_outputs(self, names_or_num):
        """A Struct of new blobs under the name of the layer."""
        if isinstance(names_or_num, int):
            outputs = schema.RawTuple(names_or_num)
        else:
            names = names_or_num if isinstance(names_or_num, list) else [names_or_num]
            outputs = schema.Struct(*[(name, np.void) for name in names])
        with scope.NameScope(self.name, reset=True):
            return schema.NewRecord(self.model.net, outputs)

    def _infer_types(self, scalars):
        net = core.Net("_temp_type_and_shape_inference_net")
        try:
            schema.InitEmptyRecord(net, self.input_record, enforce_types=True)
            self._function(net, self.input_record, self.output_schema, **self._kwargs)
            shapes, types = workspace.InferShapesAndTypes([net], {})
        except (TypeError, RuntimeError) as error:
            logger.warning("The output types of layer %s are not inferred: %s", self.name, error)
            return
        for scalar in scalars:
            shape = shapes.get(str(scalar()))
            if shape is None or (shape and shape[0] != 0):
                # If the first dimension is not the rows, the others are not known either.
                logger.warning("The output type of layer %s is not inferred: shape %s of %s",
                               self.name, shape, scalar())
                continue
            element = _ELEMENTS.get(types[str(scalar())])
            if element is not None:
                scalar.set_type((element, tuple(shape[1:])))

    def add_ops(self, net: core.Net) -> None:
        """Adds the operators of the function."""
        self._function(net, self.input_record, self.output_schema, **self._kwargs)
