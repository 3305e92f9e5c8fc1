"""The messages of NetDef graphs, plans and serialized blobs.

The classes are built at import from a description of the messages that the build made
(``descriptors.bin``), so that they fit whatever protobuf runtime is installed, 3.20 or later.
"""

import importlib

_MODULES = ("caffe2_pb2", "metanet_pb2", "predictor_consts_pb2", "caffe_datum_pb2")


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"caffe2.proto.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
