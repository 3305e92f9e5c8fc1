"""Access to the parts of a MetaNetDef by key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from caffe2.proto import caffe2_pb2, metanet_pb2
from caffe2.python import core, scope
from caffe2.python._core.blob_reference import BlobLike


def get_comp_name(string: str, name: str | None) -> str:
    """The key of a part of the model `name`: "<string>_<name>", or the string if it has none."""
    return f"{string}_{name}" if name else string


def to_first_match_dict(kv_list: Any) -> dict[str, Any]:
    """{key: value} of entries; the first of equal keys wins."""
    return {entry.key: entry.value for entry in kv_list[::-1]}


def create_predict_net(predictor_export_meta: Any) -> caffe2_pb2.NetDef:
    """The NetDef that predicts: inputs and parameters are its external inputs, outputs its external
    outputs."""
    meta = predictor_export_meta
    net = caffe2_pb2.NetDef()
    net.CopyFrom(meta.predict_net)
    net.name = net.name or "predict"
    net.external_input[:] = [*meta.inputs, *meta.parameters]
    net.external_output[:] = meta.outputs
    if meta.net_type is not None:
        net.type = meta.net_type
    if meta.num_workers is not None:
        net.num_workers = meta.num_workers
    return net


def create_predict_init_net(ws: Any, predictor_export_meta: Any) -> caffe2_pb2.NetDef:
    """The NetDef that makes the inputs and outputs, filled with zeros, and runs extra_init_net.

    Args:
      ws: a Workspace with the blobs whose shapes the meta data lacks, or None. Blobs of unknown
        shape get the shape [0].
    """
    meta, net = predictor_export_meta, core.Net("predict-init")
    with scope.EmptyDeviceScope():
        for blob in [*meta.inputs, *meta.outputs]:
            net.ConstantFill([], blob, shape=_shape_of(ws, blob, meta.shapes), value=0.0)
    proto = net.Proto()
    if meta.extra_init_net is not None:
        extra = meta.extra_init_net
        proto.op.extend((extra.Proto() if isinstance(extra, core.Net) else extra).op)
    AddModelIdArg(meta, proto)
    return proto


def _shape_of(ws, blob, shapes):
    if blob in shapes:
        return list(shapes[blob])
    if ws is not None and ws.has_blob(blob):
        return list(getattr(ws.fetch_blob(blob), "shape", [0]))
    return [0]


def GetArgumentByName(net_def: caffe2_pb2.NetDef, arg_name: str) -> caffe2_pb2.Argument | None:
    """The argument of a NetDef, or None."""
    return next((arg for arg in net_def.arg if arg.name == arg_name), None)


def AddModelIdArg(meta_net_def: metanet_pb2.MetaNetDef, net_def: caffe2_pb2.NetDef) -> None:
    """Copies the argument model_id, an integer, from `meta_net_def.predict_net` to a NetDef, if
    there is one."""
    model_id = GetArgumentByName(meta_net_def.predict_net, "model_id")
    if model_id is not None:
        own = GetArgumentByName(net_def, "model_id") or net_def.arg.add(name="model_id")
        own.i = model_id.i


def _value(entries, key, what):
    for entry in entries:
        if entry.key == key:
            return entry.value
    raise KeyError(f"the model has no {what} {key!r}; it has {[entry.key for entry in entries]}")


def _set(entries, key, value):
    if any(entry.key == key for entry in entries):
        raise ValueError(f"the model has {key!r} already")
    entry = entries.add(key=key)
    entry.value.CopyFrom(value)


def GetNet(meta_net_def: metanet_pb2.MetaNetDef, key: str) -> caffe2_pb2.NetDef:
    """The NetDef of a key; raises KeyError."""
    return _value(meta_net_def.nets, key, "net")


def GetBlobs(meta_net_def: metanet_pb2.MetaNetDef, key: str) -> list[str]:
    """The blob names of a key; [] if there is none."""
    for entry in meta_net_def.blobs:
        if entry.key == key:
            return list(entry.value)
    return []


def GetPlan(meta_net_def: metanet_pb2.MetaNetDef, key: str) -> caffe2_pb2.PlanDef:
    """The PlanDef of a key; raises KeyError."""
    return _value(meta_net_def.plans, key, "plan")


GetNetOriginal, GetPlanOriginal = GetNet, GetPlan


def GetBlobsByTypePrefix(meta_net_def: metanet_pb2.MetaNetDef, blob_type_prefix: str) -> list[str]:
    """The distinct blob names of all keys with a prefix, in order."""
    return list(dict.fromkeys(
        blob for entry in meta_net_def.blobs if entry.key.startswith(blob_type_prefix)
        for blob in entry.value))


def AddNet(meta_net_def: metanet_pb2.MetaNetDef, net_name: str, net_def: Any) -> None:
    """Adds a Net or NetDef under a key. Raises ValueError if the key is taken."""
    _set(meta_net_def.nets, net_name,
         net_def.Proto() if isinstance(net_def, core.Net) else net_def)


def AddPlan(meta_net_def: metanet_pb2.MetaNetDef, plan_name: str, plan_def: Any) -> None:
    """Adds a Plan or PlanDef under a key. Raises ValueError if the key is taken."""
    _set(meta_net_def.plans, plan_name,
         plan_def.Proto() if isinstance(plan_def, core.Plan) else plan_def)


def AddBlobs(meta_net_def: metanet_pb2.MetaNetDef, blob_name: str,
             blob_def: Iterable[BlobLike]) -> None:
    """Appends blob names to the list of a key."""
    for entry in meta_net_def.blobs:
        if entry.key == blob_name:
            break
    else:
        entry = meta_net_def.blobs.add(key=blob_name)
    entry.value.extend(str(blob) for blob in blob_def)


def ReplaceBlobs(meta_net_def: metanet_pb2.MetaNetDef, blob_name: str,
                 blob_def: Iterable[BlobLike]) -> None:
    """Replaces the blob names of a key. Raises KeyError if the model has none of this key."""
    for entry in meta_net_def.blobs:
        if entry.key == blob_name:
            entry.value[:] = [str(blob) for blob in blob_def]
            return
    raise KeyError(f"the model has no blobs {blob_name!r}")


def GetApplicationSpecificInfo(meta_net_def: metanet_pb2.MetaNetDef, key: str) -> str | None:
    """The text of a key, or None."""
    for entry in meta_net_def.applicationSpecificInfo:
        if entry.key == key:
            return entry.value
    return None


def GetApplicationSpecificInfoDict(meta_net_def: metanet_pb2.MetaNetDef) -> dict[str, str]:
    """{key: text}; the first of equal keys wins."""
    return to_first_match_dict(meta_net_def.applicationSpecificInfo)


def AddApplicationSpecificInfo(meta_net_def: metanet_pb2.MetaNetDef, key: str, value: str) -> None:
    """Adds text under a key."""
    meta_net_def.applicationSpecificInfo.add(key=key, value=value)


def GetBlobsOrder(meta_net_def: metanet_pb2.MetaNetDef) -> list[str]:
    """The blob names that SetBlobsOrder added."""
    return meta_net_def.blobsOrder


def SetBlobsOrder(meta_net_def: metanet_pb2.MetaNetDef, blobs_order: Iterable[str]) -> None:
    """Appends blob names, in the order in which a server loads them."""
    meta_net_def.blobsOrder.extend(blobs_order)


def SetPreLoadBlobs(meta_net_def: metanet_pb2.MetaNetDef, pre_load_blobs: Iterable[str]) -> None:
    """Appends the names of blobs that a server loads first."""
    meta_net_def.preLoadBlobs.extend(pre_load_blobs)


def SetRequestOnlyEmbeddings(meta_net_def: metanet_pb2.MetaNetDef,
                             request_only_embeddings: Iterable[str]) -> None:
    """Appends the names of embeddings that depend on the request alone."""
    meta_net_def.requestOnlyEmbeddings.extend(request_only_embeddings)
