"""The library's classes Workspace and Blob, with their methods that are written in Python."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from caffe2.proto import caffe2_pb2
from caffe2.python._core.errors import call_explained
from caffe2.python._core.feeding import device_bytes, feedable
from caffe2.python._core.messages import StringifyBlobName, StringifyProto
from caffe2.python.caffe2_pybind11_state import Blob, Workspace


def _workspace_run(self, obj: Any) -> None:
    """Runs a Net, Plan, NetDef, PlanDef or OperatorDef once."""
    proto = obj.Proto() if hasattr(obj, "Proto") else obj
    runners = {
        "PlanDef": self._run_plan, "NetDef": self._run_net, "OperatorDef": self._run_operator}
    name = proto.DESCRIPTOR.name if isinstance(proto, Message) else type(proto).__name__
    if name not in runners:
        raise TypeError(f"a workspace runs nets, plans and operators, not {name}")
    return call_explained(runners[name], proto.SerializeToString())


def _workspace_create_net(self, net: Any, overwrite: bool = False) -> Any:
    """Makes a net of this workspace, from a Net or NetDef."""
    return call_explained(self._create_net, StringifyProto(net, caffe2_pb2.NetDef), overwrite)


def _workspace_feed_blob(self, name: Any, arr: Any, device_option: Any = None) -> None:
    """FeedBlob into this workspace."""
    self.create_blob(StringifyBlobName(name)).feed(arr, device_option)


def _workspace_remove_blob(self, name: Any) -> bool:
    """RemoveBlob from this workspace."""
    return self._remove_blob(StringifyBlobName(name))


def _blob_feed(self, arr: Any, device_option: Any = None) -> bool:
    """Sets the content as FeedBlob does."""
    self._feed(feedable(arr), device_bytes(device_option))
    return True


for _class, _name, _method in (
        (Workspace, "run", _workspace_run), (Workspace, "create_net", _workspace_create_net),
        (Workspace, "feed_blob", _workspace_feed_blob),
        (Workspace, "remove_blob", _workspace_remove_blob), (Blob, "feed", _blob_feed)):
    setattr(_class, _name, _method)
