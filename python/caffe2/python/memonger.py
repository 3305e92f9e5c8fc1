"""Memory of nets: blobs that are not alive at the same time become one blob.

The functions return a new NetDef and leave the one they get alone. What shares is planned by the
library (caffe2/graph/memory_plan.h), for executors that run operators in definition order or as if
they did.
"""

import collections
import enum
import logging

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core

log = logging.getLogger("memonger")

# When a blob is first written and last used (operator positions in the traversal), and its size.
LiveRange = collections.namedtuple("LiveRange", ["defined", "used", "size"])
Optimization = collections.namedtuple("Optimization", ["net", "assignments", "blob_assignments"])
Statistics = collections.namedtuple("Statistics", ["baseline_nbytes", "optimized_nbytes"])


class AssignmentAlgorithm(enum.Enum):
    GREEDY = 0
    DYNAMIC_PROGRAMMING = 1


def _proto_of(net):
    return net.Proto() if hasattr(net, "Proto") else net


def _shape_messages(blob_shapes):
    shapes = caffe2_pb2.TensorShapes()
    for name, dims in (blob_shapes or {}).items():
        shapes.shapes.add(name=str(name), dims=dims, data_type=core.DataType.FLOAT)
    return shapes.SerializeToString()


def _share(proto, candidates, namescope="", blob_shapes=None):
    """The net with shared blobs, named "<namescope>__m<n>_shared"."""
    serialized = proto.SerializeToString()
    shared_with = C.plan_shared_blobs(serialized, candidates, _shape_messages(blob_shapes))
    names = {}
    for owner in shared_with.values():
        names.setdefault(owner, f"{namescope}__m{len(names)}_shared")
    renamed = {blob: names[owner] for blob, owner in shared_with.items()}
    renamed.update(names)
    log.info("Memonger: %d blobs share the memory of %d", len(renamed), len(names))
    return caffe2_pb2.NetDef.FromString(C.rename_blobs(serialized, renamed))


def share_grad_blobs(net, losses, param_grads, namescope, dont_share_blobs=None,
                     share_activations=False, blob_shapes=None):
    """Lets the gradients of a training net share memory.

    Args:
      net: a Net with gradients.
      losses: its losses, which keep their own memory.
      param_grads: gradients of parameters, likewise.
      namescope: only blobs whose names begin with it share.
      dont_share_blobs: further blobs that keep their own memory.
      share_activations: blobs of the forward pass that the backward pass reads share, too.
      blob_shapes: {blob: shape}: blobs of like size share.

    Returns a NetDef.
    """
    proto = _proto_of(net)
    own = {str(blob) for blob in (*losses, *(dont_share_blobs or ()))}
    for grad in param_grads:
        own.update(map(str, grad if isinstance(grad, core.GradientSlice) else [grad]))
    candidates = set()
    for op in proto.op:
        if op.is_gradient_op:
            candidates.update(op.output)
            if share_activations:
                candidates.update(op.input)
    return _share(proto, {blob for blob in candidates - own if blob.startswith(namescope)},
                  namescope, blob_shapes)


def optimize_inference_for_dag(net, input_blobs, namescope=""):
    """Lets the blobs of a net without gradients share memory, except its inputs and outputs.

    Raises ValueError if it has gradients.
    """
    proto = _proto_of(net)
    if any(op.is_gradient_op for op in proto.op):
        raise ValueError(f"net {proto.name} has gradients; see share_grad_blobs")
    written = {blob for op in proto.op for blob in op.output if blob.startswith(namescope)}
    return _share(proto, written - {str(blob) for blob in input_blobs}, namescope)


def optimize_inference_fast(net, static_blobs):
    """Lets all blobs of a NetDef share memory, except `static_blobs`."""
    written = {blob for op in net.op for blob in op.output}
    return _share(net, written - {str(blob) for blob in static_blobs})


def release_blobs_when_used(netproto, dont_free_blobs, selector_fun=None):
    """A copy of the net that frees blobs behind their last use.

    Args:
      dont_free_blobs: blobs that are kept, as are external outputs and what no operator reads.
      selector_fun: function(blob) that tells whether a blob may be freed; default: all.
    """
    kept = {str(blob) for blob in dont_free_blobs} | set(netproto.external_output)
    kept |= set(netproto.external_input)
    written = {blob for op in netproto.op for blob in op.output}
    last_use, read = {}, set()
    for index, op in enumerate(netproto.op):
        read.update(op.input)
        for blob in (*op.input, *op.output):
            last_use[blob] = index
    freed = collections.defaultdict(list)
    for blob, index in last_use.items():
        if blob in written & read - kept and (selector_fun is None or selector_fun(blob)):
            freed[index].append(blob)
    result = caffe2_pb2.NetDef()
    result.CopyFrom(netproto)
    result.ClearField("op")
    for index, op in enumerate(netproto.op):
        result.op.add().CopyFrom(op)
        for blob in sorted(freed[index]):
            reference = core.BlobReference(blob)
            result.op.append(core.CreateOperator(
                "Free", [reference], [reference], device_option=op.device_option))
    return result
