"""What frontend, backend and their users share."""

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, utils

_used_names = set()


def dummy_name(used_names=None):
    """A blob name that was not given before; with `used_names` forgets and avoids those instead."""
    if used_names is not None:
        _used_names.clear()
        _used_names.update(used_names)
        return None
    index = len(_used_names)
    while f"OC2_DUMMY_{index}" in _used_names:
        index += 1
    name = f"OC2_DUMMY_{index}"
    _used_names.add(name)
    return name


def c2_native_run_op(op_def, inputs):
    """Runs one operator in a workspace of its own.

    Args:
      inputs: {blob: array}, or arrays in the order of the operator's inputs.

    Returns (workspace, {output: array}).
    """
    ws = C.Workspace()
    _feed(ws, inputs, op_def.input)
    ws.run(op_def)
    return ws, {name: ws.fetch_blob(name) for name in op_def.output}


def c2_native_run_net(init_net, predict_net, inputs):
    """Runs two NetDefs (the first may be None) in a workspace of their own.

    Args:
      inputs: {blob: array}, or arrays for the first external inputs that `init_net` does not make.

    Returns (workspace, {external output: array}).
    """
    ws = C.Workspace()
    made = set()
    if init_net is not None:
        ws.run(init_net)
        made = {name for op in init_net.op for name in op.output}
    _feed(ws, inputs, [name for name in predict_net.external_input if name not in made])
    ws.run(predict_net)
    return ws, {name: ws.fetch_blob(name) for name in predict_net.external_output}


def _feed(ws, inputs, names):
    if not isinstance(inputs, dict):
        if len(inputs) > len(names):
            raise ValueError(f"{len(inputs)} values for the inputs {list(names)}")
        inputs = dict(zip(names, inputs))
    for name, value in inputs.items():
        ws.feed_blob(name, np.asarray(value))


def load_caffe2_net(file):
    """A NetDef from a file, binary or text."""
    with open(file, "rb") as f:
        return utils.TryReadProtoWithClass(caffe2_pb2.NetDef, f.read())


def save_caffe2_net(net, file, output_txt=False):
    """Writes a NetDef; with `output_txt` also as text beside it (file + "txt")."""
    with open(file, "wb") as f:
        f.write(net.SerializeToString())
    if output_txt:
        with open(file + "txt", "w") as f:
            f.write(str(net))


def fill_operator(array, output):
    """The operator that makes a blob of this content.

    Raises TypeError for an element type that has no such operator.
    """
    return core.Net("fill").Const(np.asarray(array), output).Net().Proto().op[0]


def benchmark_caffe2_model(init_net, predict_net, warmup_iters=3, main_iters=10):
    """Milliseconds that a run of `predict_net` takes; its inputs must be made by `init_net`."""
    from caffe2.python import workspace

    with workspace.WorkspaceGuard("onnx_benchmark"):
        workspace.ResetWorkspace()
        workspace.RunNetOnce(init_net)
        workspace.CreateNet(predict_net, overwrite=True)
        times = workspace.BenchmarkNet(predict_net.name, warmup_iters, main_iters, False)
        workspace.ResetWorkspace()
    return times[0]
