"""Models for prediction in one database: nets and parameters."""

import collections

from caffe2.proto import caffe2_pb2, metanet_pb2
from caffe2.python import core, scope, workspace
from caffe2.python.predictor import predictor_py_utils as utils
from caffe2.python.predictor.predictor_constants import predictor_constants

_FIELDS = ["predict_net", "parameters", "inputs", "outputs", "shapes", "name", "extra_init_net",
           "global_init_net", "net_type", "num_workers"]


class PredictorExportMeta(collections.namedtuple("PredictorExportMeta", _FIELDS)):
    """What is exported.

    Args:
      predict_net: the Net (or NetDef) that predicts.
      parameters, inputs, outputs: lists of blobs; no blob may be both parameter and input or
        output.
      shapes: {blob: shape} of inputs and outputs, which are made before the first run.
      name: of the model; distinguishes several models in one file.
      extra_init_net: a net to run once before predicting.

    Raises ValueError for blobs that are both.
    """

    def __new__(cls, predict_net, parameters, inputs, outputs, shapes=None, name="",
                extra_init_net=None, global_init_net=None, net_type=None, num_workers=None):
        inputs, outputs, parameters = (
            [str(blob) for blob in blobs] for blobs in (inputs, outputs, parameters))
        for what, blobs in (("inputs", inputs), ("outputs", outputs)):
            both = set(parameters) & set(blobs)
            if both:
                raise ValueError(f"Parameters and {what} are required to be disjoint. "
                                 f"Intersection: {sorted(both)}")
        proto = caffe2_pb2.NetDef()
        proto.CopyFrom(predict_net.Proto() if isinstance(predict_net, core.Net) else predict_net)
        return super().__new__(cls, proto, parameters, inputs, outputs, shapes or {}, name,
                               extra_init_net, global_init_net, net_type, num_workers)

    def _key(self, base):
        return f"{base}_{self.name}" if self.name else base

    def inputs_name(self):
        """The key in the meta net of the names of the inputs."""
        return self._key(predictor_constants.INPUTS_BLOB_TYPE)

    def outputs_name(self):
        """The key in the meta net of the names of the outputs."""
        return self._key(predictor_constants.OUTPUTS_BLOB_TYPE)

    def parameters_name(self):
        """The key in the meta net of the names of the parameters."""
        return self._key(predictor_constants.PARAMETERS_BLOB_TYPE)

    def global_init_name(self):
        """The key in the meta net of the net that loads the parameters."""
        return self._key(predictor_constants.GLOBAL_INIT_NET_TYPE)

    def predict_init_name(self):
        """The key in the meta net of the net that prepares a workspace."""
        return self._key(predictor_constants.PREDICT_INIT_NET_TYPE)

    def predict_net_name(self):
        """The key in the meta net of the net that predicts."""
        return self._key(predictor_constants.PREDICT_NET_TYPE)


def _global_init_net(meta):
    net = core.Net("global-init")
    net.Load([predictor_constants.PREDICTOR_DBREADER], meta.parameters)
    proto = net.Proto()
    if meta.global_init_net:
        proto.op.extend(meta.global_init_net.Proto().op)
    return proto


def _predict_init_net(meta):
    net = core.Net("predict-init")
    for blob in [*meta.inputs, *meta.outputs]:
        net.ConstantFill([], blob, shape=list(meta.shapes.get(blob, [0])), value=0.0)
    if meta.extra_init_net is not None:
        extra = meta.extra_init_net
        net.Proto().op.extend((extra.Proto() if isinstance(extra, core.Net) else extra).op)
    return net.Proto()


def _predict_net(meta):
    net = caffe2_pb2.NetDef()
    net.CopyFrom(meta.predict_net)
    net.ClearField("external_input")
    net.ClearField("external_output")
    net.external_input.extend([*meta.inputs, *meta.parameters])
    net.external_output.extend(meta.outputs)
    if meta.net_type is not None:
        net.type = meta.net_type
    if meta.num_workers is not None:
        net.num_workers = meta.num_workers
    return net


def get_meta_net_def(predictor_export_meta, ws=None):
    """The MetaNetDef of what is exported."""
    meta = predictor_export_meta
    meta_net_def = metanet_pb2.MetaNetDef()
    utils.AddNet(meta_net_def, meta.predict_init_name(), _predict_init_net(meta))
    utils.AddNet(meta_net_def, meta.global_init_name(), _global_init_net(meta))
    utils.AddNet(meta_net_def, meta.predict_net_name(), _predict_net(meta))
    utils.AddBlobs(meta_net_def, meta.parameters_name(), meta.parameters)
    utils.AddBlobs(meta_net_def, meta.inputs_name(), meta.inputs)
    utils.AddBlobs(meta_net_def, meta.outputs_name(), meta.outputs)
    return meta_net_def


def set_model_info(meta_net_def, project_str, model_class_str, version):
    """Notes where the model comes from."""
    meta_net_def.modelInfo.project = project_str
    meta_net_def.modelInfo.modelClass = model_class_str
    meta_net_def.modelInfo.version = version


def save_to_db(db_type, db_destination, predictor_export_meta, use_ideep=False):
    """Writes nets and parameters (from the current workspace) to a new database.

    `use_ideep` is without effect: parameters have one layout on the CPU.
    """
    workspace.FeedBlob(predictor_constants.META_NET_DEF,
                       get_meta_net_def(predictor_export_meta).SerializeToString())
    workspace.RunOperatorOnce(core.CreateOperator(
        "Save",
        [core.BlobReference(blob) for blob in
         [predictor_constants.META_NET_DEF, *predictor_export_meta.parameters]],
        [], absolute_path=1, db=db_destination, db_type=db_type))


def load_from_db(filename, db_type, device_option=None):
    """The MetaNetDef of a database, which stays open in the current workspace for
    GLOBAL_INIT_NET_TYPE to read the parameters.

    `device_option` (default: the device scope) becomes that of the nets, and of all operators of
    the two init nets, so that the parameters are loaded to it.
    """
    reader = core.BlobReference(predictor_constants.PREDICTOR_DBREADER)
    record = core.BlobReference(predictor_constants.META_NET_DEF)
    with core.EmptyDeviceScope():
        workspace.RunOperatorOnce(core.CreateOperator(
            "CreateDB", [], [reader], db=filename, db_type=db_type))
        workspace.RunOperatorOnce(core.CreateOperator("Load", [reader], [record]))
    meta_net_def = metanet_pb2.MetaNetDef.FromString(workspace.FetchBlob(str(record)))
    device_option = device_option or scope.CurrentDeviceScope()
    if device_option is not None:
        init_nets = (predictor_constants.GLOBAL_INIT_NET_TYPE,
                     predictor_constants.PREDICT_INIT_NET_TYPE)
        for entry in meta_net_def.nets:
            entry.value.device_option.CopyFrom(device_option)
            for op in entry.value.op if entry.key in init_nets else ():
                op.device_option.CopyFrom(device_option)
    return meta_net_def


def prepare_prediction_net(filename, db_type, device_option=None):
    """Loads a model into the current workspace and creates its net; returns the Net."""
    meta_net_def = load_from_db(filename, db_type, device_option)
    for key in (predictor_constants.GLOBAL_INIT_NET_TYPE,
                predictor_constants.PREDICT_INIT_NET_TYPE):
        workspace.RunNetOnce(utils.GetNet(meta_net_def, key))
    net = core.Net(utils.GetNet(meta_net_def, predictor_constants.PREDICT_NET_TYPE))
    workspace.CreateNet(net, overwrite=True)
    return net
