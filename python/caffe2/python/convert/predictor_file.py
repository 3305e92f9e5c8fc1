"""Exported predictors: one minidb file with nets and parameters."""

from __future__ import annotations

import os
import re

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import workspace
from caffe2.python.convert.errors import BAD_DATA, CANNOT_WRITE, NO_INPUT, ConvertError, one_line
from caffe2.python.convert.files import whole_file
from caffe2.python.convert.model import Model, argument, value_of
from caffe2.python.onnx.workspace import Workspace
from caffe2.python.predictor import predictor_exporter, predictor_py_utils
from caffe2.python.predictor.predictor_constants import predictor_constants as keys


def _shapes(meta, inputs):
    """Of the inputs that the file fills with zeros of a shape."""
    shapes = {}
    for entry in meta.nets:
        for op in entry.value.op if entry.key == keys.PREDICT_INIT_NET_TYPE else ():
            shape = argument(op, "shape")
            if op.output and op.output[0] in inputs and shape and len(shape.ints) > 1:
                shapes[op.output[0]] = list(shape.ints)
    return shapes


def _check_nets(meta, path):
    found = [entry.key for entry in meta.nets]
    for key in (keys.PREDICT_NET_TYPE, keys.GLOBAL_INIT_NET_TYPE):
        if key not in found:
            others = f", only {', '.join(found)}" if found else ""
            raise ConvertError(f"{path} is not an exported predictor: it has no net {key}{others}")


def read(path: str) -> Model:
    """The model of a file. Its nets may only have operators that untrusted models may use. Raises
    ConvertError."""
    try:
        C.check_is_model(path)
    except RuntimeError as error:
        status = BAD_DATA if os.path.exists(path) else NO_INPUT
        raise ConvertError(one_line(error), status) from error
    ws = Workspace()
    with workspace.WorkspaceGuard(ws._name):
        try:
            meta = predictor_exporter.load_from_db(path, "minidb", trust_model=True)
            predictor_exporter.restrict(meta)
            _check_nets(meta, path)
            net = predictor_py_utils.GetNet(meta, keys.PREDICT_NET_TYPE)
            workspace.RunNetOnce(predictor_py_utils.GetNet(meta, keys.GLOBAL_INIT_NET_TYPE))
            parameters = predictor_py_utils.GetBlobs(meta, keys.PARAMETERS_BLOB_TYPE)
            for name in parameters:
                if not workspace.HasBlob(name):
                    raise ConvertError(
                        f"{path} lists the parameter {name}, but its init net does not load it"
                    )
            values = {name: value_of(workspace.FetchBlob(name)) for name in parameters}
        except ConvertError:
            raise
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            raise ConvertError(
                f"{path} is not an exported predictor that can be read: {one_line(error)}"
            ) from error
    inputs = predictor_py_utils.GetBlobs(meta, keys.INPUTS_BLOB_TYPE)
    outputs = predictor_py_utils.GetBlobs(meta, keys.OUTPUTS_BLOB_TYPE)
    net = caffe2_pb2.NetDef.FromString(net.SerializeToString())
    net.external_input[:] = [*inputs, *values]
    net.external_output[:] = outputs
    return Model(
        net,
        values,
        inputs,
        outputs,
        _shapes(meta, inputs),
        predictor_py_utils.GetApplicationSpecificInfoDict(meta),
    )


def write(model: Model, path: str) -> None:
    """Writes a model; raises ConvertError."""
    ws = Workspace()
    with whole_file(path) as temporary, workspace.WorkspaceGuard(ws._name):
        for name, value in model.values.items():
            workspace.FeedBlob(name, value)
        export = predictor_exporter.PredictorExportMeta(
            model.net,
            list(model.values),
            model.inputs,
            model.outputs,
            shapes={name: [max(shape[0], 1), *shape[1:]] for name, shape in model.shapes.items()},
        )
        try:
            predictor_exporter.save_to_db("minidb", temporary, export, info=model.info)
        except RuntimeError as error:
            why = re.sub(re.escape(temporary) + r"[^\s:]*", path, one_line(error))
            raise ConvertError(f"cannot write {path}: {why}", CANNOT_WRITE) from error
