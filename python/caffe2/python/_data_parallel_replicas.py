"""The replicas of a data-parallel model: how blobs of one name are found on all its devices.

Part of data_parallel_model. Replica d of blob "w" is "<prefix>_<d>/w", where the prefix is "gpu" or
"cpu".
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence

from caffe2.proto import caffe2_pb2
from caffe2.python import core, scope
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.errors import operator_tracebacks
from caffe2.python._core.gradients import Gradient
from caffe2.python.model_helper import ModelHelper, Replicas


def device_scope_name(model: ModelHelper, device: int) -> str:
    """The name scope of a device of the model: "gpu_0/"."""
    return f"{model._device_prefix}_{device}{scope._NAMESCOPE_SEPARATOR}"


def stripBlobName(param: Gradient) -> str:
    """The name of a blob without its device's name scope; for a GradientSlice both names, joined by
    ":".

    Raises ValueError for a name without a scope.
    """
    if isinstance(param, core.GradientSlice):
        return stripBlobName(param.indices) + ":" + stripBlobName(param.values)
    _, separator, name = str(param).partition(scope._NAMESCOPE_SEPARATOR)
    if not separator:
        raise ValueError(f"blob {param} is not in the name scope of a device")
    return name


def for_each_device(model: ModelHelper, function: Callable[[int], object]) -> None:
    """Calls function(device) under the device and name scope of each device of the model."""
    for device in model._devices:
        with core.DeviceScope(core.DeviceOption(model._device_type, device)):
            with core.NameScope(f"{model._device_prefix}_{device}"):
                function(device)


def validate_params(params: Iterable[BlobLike]) -> None:
    """Raises ValueError if a parameter is listed twice."""
    twice = sorted(name for name, count in Counter(map(str, params)).items() if count > 1)
    if twice:
        raise ValueError(f"parameters were added twice: {twice}")


def _device_of(model, blob):
    name = str(blob.indices if isinstance(blob, core.GradientSlice) else blob)
    for device in model._devices:
        if name.startswith(device_scope_name(model, device)):
            return device
    raise ValueError(
        f"blob {name} is not in the name scope of one of the devices "
        f"{[device_scope_name(model, device) for device in model._devices]}")


def group_by_device(model: ModelHelper, params: Sequence[Gradient],
                    non_data_params: Sequence[BlobLike] = ()) -> Replicas:
    """{name: {device: blob}} in the order of `params`, without the first len(non_data_params),
    which were in the model before it became data parallel."""
    grouped: Replicas = {}
    for param in params[len(non_data_params):]:
        grouped.setdefault(stripBlobName(param), {})[_device_of(model, param)] = param
    for name, replicas in grouped.items():
        if len(replicas) != len(model._devices):
            raise ValueError(f"{name} is not on all devices, only on {sorted(replicas)}")
    return grouped


def replicas_of(model: ModelHelper, name: str) -> list[str]:
    """The blobs of this name as strings, in the order of the devices."""
    replicas = model._device_grouped_blobs[name]
    return [str(replicas[device]) for device in model._devices if device in replicas]


def check_devices_of_operators(net: core.Net, model: ModelHelper) -> None:
    """Raises ValueError if an operator of one GPU uses blobs of another GPU, except operators that
    copy, sum or broadcast between GPUs."""
    if model._device_type == caffe2_pb2.CPU:
        return
    prefix = model._device_prefix + "_"
    joining = {"Copy", "CopyGPUToCPU", "CopyCPUToGPU", "Allreduce", "AllreduceBucket", "Broadcast"}
    for op in net.Proto().op:
        if op.type in joining or "NCCL" in op.type or op.name == "dpm":
            continue
        scopes = {blob.partition(scope._NAMESCOPE_SEPARATOR)[0] for blob in (*op.input, *op.output)
                  if blob.startswith(prefix)}
        if len(scopes) > 1:
            raise ValueError(
                f"operator {op.type} {list(op.input)} -> {list(op.output)} uses blobs of several "
                f"devices: {sorted(scopes)}")


def replace_proto(net: core.Net, proto: caffe2_pb2.NetDef) -> None:
    """Replaces the NetDef of a net by what a pass made of it, and keeps what is known about the
    operators that stayed: the lines that created them."""
    lines = operator_tracebacks.get(net.Name(), {})
    stayed: dict[bytes, deque[int]] = defaultdict(deque)
    for index, op in enumerate(net.Proto().op):
        stayed[op.SerializeToString(deterministic=True)].append(index)
    moved = {}
    for index, op in enumerate(proto.op):
        equal = stayed.get(op.SerializeToString(deterministic=True))
        if equal:
            at = equal.popleft()
            if at in lines:
                moved[index] = lines[at]
    operator_tracebacks[net.Name()] = moved
    net.Proto().CopyFrom(proto)
    net._InvalidateLookupTables()


def blobs_of_init_net(model: ModelHelper) -> tuple[list[BlobReference], list[str]]:
    """What the init net fills: (blobs of all devices, sorted by device and name; their names
    without device, sorted).

    Of a shared model these are the parameters of the first device. Raises ValueError if a parameter
    is not among them.
    """
    written = {blob for op in model.param_init_net.Proto().op for blob in op.output}
    blobs: list[str] = []
    names: set[str] = set()
    for device in model._devices:
        prefix = device_scope_name(model, device)
        own = sorted(blob for blob in written if blob.startswith(prefix))
        if model._shared_model and device != model._devices[0]:
            shared = {prefix + name for name in model._param_names}
            own = [blob for blob in own
                   if blob not in shared or stripBlobName(blob) in model._computed_param_names]
        blobs += own
        names.update(map(stripBlobName, own))
    missing = sorted(set(model._param_names) - names)
    if missing:
        raise ValueError(f"parameters are not made by the init net: {missing}")
    return [core.BlobReference(blob) for blob in blobs], sorted(names)


def keep_params_of_first_device(model: ModelHelper) -> None:
    """Makes the parameters of the first device the only ones of the model."""
    model.params = model.GetParams(device_scope_name(model, model._devices[0]), top_scope=True)
    kept = set(model.params)
    model.param_to_grad = {p: g for p, g in model.param_to_grad.items() if p in kept}
    model.weights = [weight for weight in model.weights if weight in kept]
    model.biases = [bias for bias in model.biases if bias in kept]


def share_params_of_first_device(model: ModelHelper, all_params: Iterable[BlobLike]) -> None:
    """Lets all replicas read the parameters of the first device, and drops the others."""
    first = device_scope_name(model, model._devices[0])
    dropped = {str(p) for p in all_params} - {str(p) for p in model.params}
    for net in (model.param_init_net, model.net):
        kept = [op for op in net.Proto().op if not dropped.intersection(op.output)]
        for op in kept:
            for i, blob in enumerate(op.input):
                if blob in dropped:
                    op.input[i] = first + stripBlobName(blob)
        proto = caffe2_pb2.NetDef()
        proto.CopyFrom(net.Proto())
        proto.ClearField("op")
        proto.op.extend(kept)
        proto.external_input[:] = [blob for blob in proto.external_input if blob not in dropped]
        net.Proto().CopyFrom(proto)
        net._InvalidateLookupTables()
