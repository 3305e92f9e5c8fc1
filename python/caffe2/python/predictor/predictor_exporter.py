"""Models for prediction in one database: nets and parameters."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence

from caffe2.proto import caffe2_pb2, metanet_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, scope, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.predictor import predictor_py_utils as utils
from caffe2.python.predictor import serde
from caffe2.python.predictor.predictor_constants import predictor_constants
from caffe2.python.predictor_class import TRUST_SETTING, restricted


class PredictorExportMeta(collections.namedtuple("PredictorExportMeta", [
        "predict_net", "parameters", "inputs", "outputs", "shapes", "name", "extra_init_net",
        "global_init_net", "net_type", "num_workers", "trainer_prefix"])):
    """The parts of an exported model.

    Args:
      predict_net: the Net or NetDef that predicts. With a Plan or PlanDef only the keys of the
        parts are available; get_meta_net_def fails.
      parameters, inputs, outputs: lists of blobs; no blob may be both parameter and input or
        output.
      shapes: {blob: shape} of inputs and outputs, which are made before the first run.
      name: the name of the model, which distinguishes several models in one file.
      extra_init_net: a net to run once before predicting.
      global_init_net: a Net whose operators run after the parameters are loaded.
      net_type, num_workers: the executor of predict_net and its threads; default: its own.
      trainer_prefix: prefix of the keys of the plans that train.

    Raises ValueError for a parameter that is also an input or output, and for equal inputs.
    """

    def __new__(cls, predict_net: core.Net | core.Plan | caffe2_pb2.NetDef | caffe2_pb2.PlanDef,
                parameters: Iterable[BlobLike], inputs: Iterable[BlobLike],
                outputs: Iterable[BlobLike], shapes: Mapping[str, Sequence[int]] | None = None,
                name: str = "", extra_init_net: core.Net | caffe2_pb2.NetDef | None = None,
                global_init_net: core.Net | None = None,
                net_type: str | None = None, num_workers: int | None = None,
                trainer_prefix: str | None = None) -> PredictorExportMeta:
        inputs, outputs, parameters = (
            [str(blob) for blob in blobs] for blobs in (inputs, outputs, parameters))
        if len(set(inputs)) != len(inputs):
            raise ValueError(f"the inputs {inputs} are not all different")
        for what, blobs in (("inputs", inputs), ("outputs", outputs)):
            both = set(parameters) & set(blobs)
            if both:
                raise ValueError(f"Parameters and {what} are required to be disjoint. "
                                 f"Intersection: {sorted(both)}")
        if isinstance(predict_net, (core.Net, core.Plan)):
            predict_net = predict_net.Proto()
        proto = type(predict_net)()
        proto.CopyFrom(predict_net)
        return super().__new__(cls, proto, parameters, inputs, outputs, shapes or {}, name,
                               extra_init_net, global_init_net, net_type, num_workers,
                               trainer_prefix)

    def _key(self, base):
        return utils.get_comp_name(base, self.name)

    def _trainer_key(self, base):
        prefix = f"{self.trainer_prefix}_" if self.trainer_prefix else ""
        return prefix + self._key(base)

    def inputs_name(self) -> str:
        """The key in the meta net of the names of the inputs."""
        return self._key(predictor_constants.INPUTS_BLOB_TYPE)

    def outputs_name(self) -> str:
        """The key in the meta net of the names of the outputs."""
        return self._key(predictor_constants.OUTPUTS_BLOB_TYPE)

    def parameters_name(self) -> str:
        """The key in the meta net of the names of the parameters."""
        return self._key(predictor_constants.PARAMETERS_BLOB_TYPE)

    def global_init_name(self) -> str:
        """The key in the meta net of the net that loads the parameters."""
        return self._key(predictor_constants.GLOBAL_INIT_NET_TYPE)

    def predict_init_name(self) -> str:
        """The key in the meta net of the net that prepares a workspace."""
        return self._key(predictor_constants.PREDICT_INIT_NET_TYPE)

    def predict_net_name(self) -> str:
        """The key in the meta net of the net that predicts."""
        return self._key(predictor_constants.PREDICT_NET_TYPE)

    def train_init_plan_name(self) -> str:
        """The key in the meta net of the plan that prepares training."""
        return self._trainer_key(predictor_constants.TRAIN_INIT_PLAN_TYPE)

    def train_plan_name(self) -> str:
        """The key in the meta net of the plan that trains."""
        return self._trainer_key(predictor_constants.TRAIN_PLAN_TYPE)


def get_predictor_exporter_helper(submodelNetName: str) -> PredictorExportMeta:
    """An empty PredictorExportMeta for the name of a model; it knows the keys of the parts."""
    return PredictorExportMeta(
        core.Net(submodelNetName), parameters=[], inputs=[], outputs=[], name=submodelNetName)


def _global_init_net(meta, db_type):
    net = core.Net("global-init")
    if db_type != "manifold_db":  # the server loads the parameters of such a model
        net.Load([predictor_constants.PREDICTOR_DBREADER], meta.parameters)
    proto = net.Proto()
    if meta.global_init_net:
        proto.op.extend(meta.global_init_net.Proto().op)
    utils.AddModelIdArg(meta, proto)
    return proto


def get_meta_net_def(predictor_export_meta: PredictorExportMeta, ws: C.Workspace | None = None,
                     db_type: str | None = None) -> metanet_pb2.MetaNetDef:
    """The MetaNetDef of a PredictorExportMeta.

    Args:
      ws: the Workspace with the shapes that `predictor_export_meta` lacks; default: the current
        one. Blobs of unknown shape are made with shape [0].
      db_type: the type of the database to write; for "manifold_db" no parameters are loaded.

    Raises TypeError if predict_net is not a net.
    """
    meta = predictor_export_meta
    if not isinstance(meta.predict_net, caffe2_pb2.NetDef):
        raise TypeError(f"a NetDef predicts, not a {type(meta.predict_net).__name__}")
    ws = ws or workspace.C.Workspace.current
    meta_net_def = metanet_pb2.MetaNetDef()
    utils.AddNet(meta_net_def, meta.predict_init_name(), utils.create_predict_init_net(ws, meta))
    utils.AddNet(meta_net_def, meta.global_init_name(), _global_init_net(meta, db_type))
    utils.AddNet(meta_net_def, meta.predict_net_name(), utils.create_predict_net(meta))
    utils.AddBlobs(meta_net_def, meta.parameters_name(), meta.parameters)
    utils.AddBlobs(meta_net_def, meta.inputs_name(), meta.inputs)
    utils.AddBlobs(meta_net_def, meta.outputs_name(), meta.outputs)
    return meta_net_def


def set_model_info(meta_net_def: metanet_pb2.MetaNetDef, project_str: str, model_class_str: str,
                   version: str) -> None:
    """Stores the origin of the model."""
    meta_net_def.modelInfo.project = project_str
    meta_net_def.modelInfo.modelClass = model_class_str
    meta_net_def.modelInfo.version = version


def save_to_db(db_type: str, db_destination: str, predictor_export_meta: PredictorExportMeta,
               use_ideep: bool = False, info: Mapping[str, str] | None = None) -> None:
    """Writes nets and parameters (from the current workspace) to a new database.

    `use_ideep` is without effect: parameters have one layout on the CPU. `info`, {key: text}, is
    stored for users of the model.
    """
    C.show_progress_state("saving")
    meta_net_def = get_meta_net_def(predictor_export_meta, db_type=db_type)
    for key, value in (info or {}).items():
        utils.AddApplicationSpecificInfo(meta_net_def, key, value)
    workspace.FeedBlob(predictor_constants.META_NET_DEF,
                       serde.serialize_protobuf_struct(meta_net_def))
    workspace.RunOperatorOnce(core.CreateOperator(
        "Save",
        [core.BlobReference(blob) for blob in
         [predictor_constants.META_NET_DEF, *predictor_export_meta.parameters]],
        [], absolute_path=1, db=db_destination, db_type=db_type))


def restrict(meta_net_def: metanet_pb2.MetaNetDef, trust_setting: str = "") -> None:
    """Limits the loops of the nets. Raises RuntimeError if a net has an operator that untrusted
    models may not use, and ValueError if there are plans. `trust_setting`: for errors, the setting
    that lifts the limits."""
    if meta_net_def.plans:
        advice = f": load it with {trust_setting} if you trust whoever made it"
        raise ValueError("the model has plans, which train" + (advice if trust_setting else ""))
    for entry in meta_net_def.nets:
        entry.value.CopyFrom(restricted(entry.key, entry.value, trust_setting))


def load_from_db(filename: str, db_type: str,
                 device_option: caffe2_pb2.DeviceOption | None = None,
                 trust_model: bool = False) -> metanet_pb2.MetaNetDef:
    """The MetaNetDef of a database, which stays open in the current workspace for
    GLOBAL_INIT_NET_TYPE to read the parameters. Raises RuntimeError if the file is no model; the
    text says what it is.

    `device_option` (default: the device scope) becomes the device of the nets and of all operators
    of the two init nets, so that the parameters are loaded to it. `trust_model` allows operators
    that open files or run Python, and plans; without it, they raise RuntimeError or ValueError.
    """
    reader = core.BlobReference(predictor_constants.PREDICTOR_DBREADER)
    record = core.BlobReference(predictor_constants.META_NET_DEF)
    if db_type == "minidb":
        C.check_is_model(filename)
    with core.EmptyDeviceScope():
        workspace.RunOperatorOnce(core.CreateOperator(
            "CreateDB", [], [reader], db=filename, db_type=db_type))
        workspace.RunOperatorOnce(core.CreateOperator("Load", [reader], [record]))
    meta_net_def = serde.deserialize_protobuf_struct(
        workspace.FetchBlob(str(record)), metanet_pb2.MetaNetDef)
    if not trust_model:
        restrict(meta_net_def, TRUST_SETTING)
    device_option = device_option or scope.CurrentDeviceScope()
    if device_option is not None:
        init_nets = (predictor_constants.GLOBAL_INIT_NET_TYPE,
                     predictor_constants.PREDICT_INIT_NET_TYPE)
        for entry in meta_net_def.nets:
            entry.value.device_option.CopyFrom(device_option)
            for op in entry.value.op if entry.key in init_nets else ():
                op.device_option.CopyFrom(device_option)
    return meta_net_def


def prepare_prediction_net(filename: str, db_type: str,
                           device_option: caffe2_pb2.DeviceOption | None = None,
                           trust_model: bool = False) -> core.Net:
    """Loads a model into the current workspace and creates its net; returns the Net.

    `trust_model`: as in load_from_db; it also allows parameters that are not finite.
    """
    meta_net_def = load_from_db(filename, db_type, device_option, trust_model)
    for key in (predictor_constants.GLOBAL_INIT_NET_TYPE,
                predictor_constants.PREDICT_INIT_NET_TYPE):
        workspace.RunNetOnce(utils.GetNet(meta_net_def, key))
    if not trust_model:
        workspace.C.Workspace.current.check_finite(
            list(utils.GetBlobs(meta_net_def, predictor_constants.PARAMETERS_BLOB_TYPE)),
            TRUST_SETTING)
    net = core.Net(utils.GetNet(meta_net_def, predictor_constants.PREDICT_NET_TYPE))
    workspace.CreateNet(net, overwrite=True)
    return net
