"""Sums, broadcasts and barriers of the replicas of a data-parallel model.

Part of data_parallel_model. Over several shards (processes) these are collective operators, whose
common worlds the init net makes; see distributed/README.md.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, utils, workspace
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._data_parallel_replicas import (
    device_scope_name,
    replace_proto,
    replicas_of,
    stripBlobName,
)
from caffe2.python.model_helper import ModelHelper

log = logging.getLogger("data_parallel_model")

_DEFAULT_TIMEOUT_SEC = 30
_DEFAULT_BARRIER_NET_TIMEOUT_SEC = 300
_ALLREDUCE_WORLD = "allreduce_0_cw"
_BROADCAST_WORLD = "broadcast_0_cw"


def check_rendezvous(rendezvous: Mapping[str, Any] | None, on_gpus: bool) -> None:
    """Raises ValueError, saying what is wrong, for a rendezvous that cannot join shards."""
    if rendezvous is None:
        return
    missing = {"num_shards", "shard_id"} - set(rendezvous)
    if missing:
        raise ValueError(f"the rendezvous lacks {sorted(missing)}")
    shards, shard = rendezvous["num_shards"], rendezvous["shard_id"]
    if not 0 <= shard < shards:
        raise ValueError(f"shard_id {shard} is not one of {shards} shards")
    engine = rendezvous.get("engine", "GLOO")
    if engine not in ("GLOO", "NCCL"):
        raise ValueError(f"shards are joined by the engine GLOO or NCCL, not {engine!r}")
    if engine == "NCCL" and not on_gpus:
        raise ValueError("the engine NCCL joins shards that train on GPUs")
    if shards > 1 and not rendezvous.get("kv_handler"):
        raise ValueError("several shards need a kv_handler, the blob of their store")


def num_shards(model: ModelHelper) -> int:
    """The number of processes that train the model together; 1 without a rendezvous."""
    return 1 if model._rendezvous is None else model._rendezvous["num_shards"]


def _engine(model):
    """The engine that carries gradients and parameters between the shards. Barriers and
    comparisons, which are on the host, always use GLOO."""
    return (model._rendezvous or {}).get("engine", "GLOO")


def _options(model, timeout_sec=_DEFAULT_TIMEOUT_SEC):
    options = C.DataParallelOptions(
        [
            core.DeviceOption(model._device_type, device).SerializeToString()
            for device in model._devices
        ]
    )
    options.timeout_ms = int(timeout_sec * 1000)
    if num_shards(model) > 1:
        rendezvous = model._rendezvous
        options.num_shards = rendezvous["num_shards"]
        options.shard_id = rendezvous["shard_id"]
        options.store_handler = str(rendezvous["kv_handler"])
        options.engine = _engine(model)
        options.transport = rendezvous.get("transport", "auto")
        options.interface = rendezvous.get("interface") or ""
        options.port_range = rendezvous.get("port_range") or ""
    else:
        options.first_bucket_bytes = options.bucket_bytes = 0  # nothing to send: no buckets
    return options


def _apply(net, function, *args):
    """Replaces the NetDef of a net by what a pass of the library makes of it."""
    replace_proto(
        net, caffe2_pb2.NetDef.FromString(function(net.Proto().SerializeToString(), *args))
    )


def _settings(model: ModelHelper) -> list[str]:
    """What must be the same on all shards, as far as the model tells: strings "name=value"."""
    settings = [f"devices of a shard={len(model._devices)}"]
    for op in model.param_init_net.Proto().op:
        if op.type == "CreateDB":
            args = {arg.name: arg.s.decode() for arg in op.arg}
            contents = C.record_fingerprint(args.get("db_type", "leveldb"), args["db"])
            settings.append(f"data of {op.output[0]}={contents}")
    batches = [
        str(arg.i) for op in model.net.Proto().op for arg in op.arg if arg.name == "batch_size"
    ]
    if batches:
        settings.append(f"batch_size={','.join(batches)}")
    return settings


def add_common_worlds(model: ModelHelper) -> None:
    """Lets the init net connect the shards, once; closes the connections in the exit nets."""
    rendezvous = model._rendezvous
    if (
        rendezvous is None
        or num_shards(model) == 1
        or model.param_init_net.BlobIsDefined(_ALLREDUCE_WORLD)
    ):
        return
    handler = str(rendezvous["kv_handler"])
    if not model.param_init_net.BlobIsDefined(handler):
        model.param_init_net.AddExternalInput(core.BlobReference(handler))
    _apply(model.param_init_net, C.add_common_worlds, _options(model))
    for net in rendezvous.get("exit_nets") or ():
        for name in (_BROADCAST_WORLD, _ALLREDUCE_WORLD):
            world = core.BlobReference(name)
            net.DestroyCommonWorld(world, world, engine=_engine(model))


def last_exchange(net: core.Net) -> list[BlobReference]:
    """[an output of the last operator of a net that exchanges data with other shards], or []. The
    next such operator must wait for it, so that all shards run them in one order."""
    worlds = {_ALLREDUCE_WORLD, _BROADCAST_WORLD}
    outputs = [op.output[0] for op in net.Proto().op if op.output and worlds & {*op.input[:1]}]
    return [core.BlobReference(blob) for blob in outputs[-1:]]


def broadcast(model: ModelHelper, net: core.Net, names: Iterable[str]) -> None:
    """Adds to `net` the broadcast of blobs from the first device of shard 0 to all others."""
    add_common_worlds(model)
    world = core.BlobReference(_BROADCAST_WORLD)
    if num_shards(model) > 1 and not net.BlobIsDefined(world):
        net.AddExternalInput(world)
    _apply(net, C.add_blob_broadcast, [replicas_of(model, name) for name in names], _options(model))


def copy_computed_params(model: ModelHelper) -> None:
    """Copies the running statistics of the first device of this shard to its other devices."""
    if len(model._devices) == 1 or model._shared_model:
        return
    for name in model._computed_param_names:
        blobs = replicas_of(model, name)
        for device, blob in zip(model._devices[1:], blobs[1:]):
            model.net.Copy(
                core.BlobReference(blobs[0]),
                core.BlobReference(blob),
                name="dpm",
                device_option=core.DeviceOption(model._device_type, device),
            )


def reduce_gradients(model: ModelHelper) -> None:
    """Adds the sums of all gradients over devices and shards.

    Buckets of dense gradients are summed in the order in which the backward pass completes them,
    each as soon as it is complete. Every device also gets the sparse gradient rows of all devices
    and shards.
    """
    add_common_worlds(model)
    dense, sparse, shapes = [], [], caffe2_pb2.TensorShapes()
    known, types = workspace.InferShapesAndTypes([model.param_init_net], {})
    # Parameters that are added up have one gradient.
    params_of: dict[Any, list[str]] = defaultdict(list)
    for blob, grad in model.param_to_grad.items():
        params_of[_key(grad)].append(str(blob))
    for name in model._grad_names:
        first = model._device_grouped_blobs[name][model._devices[0]]
        if isinstance(first, core.GradientSlice):
            sparse.append(name)
            continue
        param = params_of[_key(first)][0]
        if param not in known:
            raise ValueError(f"the shape of parameter {param} cannot be inferred from the init net")
        shapes.shapes.add(name=str(first), dims=known[param], data_type=types[param])
        dense.append(replicas_of(model, name))
    if len(model._devices) * num_shards(model) == 1:
        return
    if dense:
        _apply(
            model.net, C.add_gradient_reduction, dense, shapes.SerializeToString(), _options(model)
        )
    _join_sparse_gradients(model, sparse, params_of)


def _key(grad):
    return tuple(map(str, grad)) if isinstance(grad, core.GradientSlice) else str(grad)


def _join_sparse_gradients(model, names, params_of):
    """Makes the rows of all devices and shards the gradients on every device, in new blobs
    "<param>_grad_indices_joined" and "<param>_grad_values_joined": the old blobs may belong to
    other gradients, too, or be input. Parameters that share a gradient share the new one, which is
    named after the first of them."""
    reductions = [op.output[0] for op in model.net.Proto().op if op.type == "AllreduceBucket"]
    previous = reductions[-1:]  # one order of collectives on all shards
    for i, name in enumerate(model._grad_names):
        if name not in names:
            continue
        slices = model._device_grouped_blobs[name]
        params = {device: params_of[_key(piece)] for device, piece in slices.items()}
        first = params[model._devices[0]][0] + "_grad"
        with core.DeviceScope(core.DeviceOption(model._device_type, model._devices[0])):
            rows = _rows_of_devices(model, [slices[device] for device in model._devices], first)
            if num_shards(model) > 1:
                rows = model.net.AllgatherRows(
                    [core.BlobReference(_ALLREDUCE_WORLD), *rows],
                    [first + "_indices_joined", first + "_values_joined"],
                    engine=_engine(model),
                    name=f"allgather_{stripBlobName(first)}",
                    control_input=previous,
                    timeout_ms=_DEFAULT_TIMEOUT_SEC * 1000,
                )
                previous = [rows[0]]
        joined = {
            device: _on_device(model, rows, device, params[device][0]) for device in model._devices
        }
        for device, piece in joined.items():
            model.param_to_grad.update(
                (core.BlobReference(param), piece) for param in params[device]
            )
        model._grad_names[i] = stripBlobName(joined[model._devices[0]])
        model._device_grouped_blobs[model._grad_names[i]] = joined


def _rows_of_devices(model, slices, prefix):
    """[indices, values] of all devices of this shard, on the first."""
    if len(slices) == 1:
        return list(slices[0])
    suffix = "devices" if num_shards(model) > 1 else "joined"
    rows = []
    for part in ("indices", "values"):
        name = f"{prefix}_{part}_{suffix}"
        rows.append(
            model.net.Concat(
                [getattr(piece, part) for piece in slices],
                [name, name + "_splitinfo"],
                axis=0,
                name="dpm",
            )[0]
        )
    return rows


def _on_device(model, rows, device, param):
    if device == model._devices[0]:
        return core.GradientSlice(*rows)
    option = core.DeviceOption(model._device_type, device)
    return core.GradientSlice(
        *(
            model.net.Copy(blob, f"{param}_grad_{part}_joined", name="dpm", device_option=option)
            for part, blob in zip(("indices", "values"), rows)
        )
    )


def sum_params(model: ModelHelper, net: core.Net, names: Iterable[str]) -> None:
    """Adds to `net` the sum of blobs over all devices and shards; it is on the first device."""
    add_common_worlds(model)
    device = core.DeviceOption(model._device_type, model._devices[0])
    sums = []
    with core.DeviceScope(device):
        for name in names:
            blobs = [core.BlobReference(blob) for blob in replicas_of(model, name)]
            sums.append(net.Sum(blobs, blobs[0], name="dpm") if len(blobs) > 1 else blobs[0])
        if num_shards(model) > 1:
            world = core.BlobReference(_ALLREDUCE_WORLD)
            net.AllreduceBucket(
                [world, *sums],
                sums,
                engine=_engine(model),
                name=f"{net.Name()}_sum",
                timeout_ms=_DEFAULT_TIMEOUT_SEC * 1000,
            )


def _create_common_world(rendezvous, net, blob, timeout_sec, name=None):
    """Adds the connection of all shards; its operator's name, by default "<blob>_op", must differ
    from others of the run."""
    return net.CreateCommonWorld(
        core.BlobReference(str(rendezvous["kv_handler"])),
        core.BlobReference(blob),
        name=name or f"{blob}_op",
        size=rendezvous["num_shards"],
        rank=rendezvous["shard_id"],
        engine="GLOO",
        timeout_ms=int(timeout_sec * 1000),
        transport=rendezvous.get("transport", "auto"),
        interface=rendezvous.get("interface") or "",
        port_range=rendezvous.get("port_range") or "",
    )


def _CreateOrCloneCommonWorld(
    net: core.Net,
    common_world_blob: BlobLike,
    rendezvous: Mapping[str, Any],
    name: str | None = None,
    timeout_sec: float | None = None,
) -> BlobReference:
    """Adds the connection of all shards to `net`: a clone of the first one that the net makes, if
    it makes one. Returns the common world, the blob `common_world_blob`.

    `name` of the operator, by default "<common_world_blob>_op", must differ from others of the run.
    """
    name = name or f"{common_world_blob}_op"
    timeout_sec = timeout_sec or _DEFAULT_TIMEOUT_SEC
    for op in net.Proto().op:
        if op.type == "CreateCommonWorld":
            return net.CloneCommonWorld(
                core.BlobReference(op.output[0]),
                core.BlobReference(str(common_world_blob)),
                name=name,
                engine=op.engine,
            )
    return _create_common_world(rendezvous, net, str(common_world_blob), timeout_sec, name)


class CollectivesConcurrencyControl:
    """Common worlds that collective operators take in turn. An operator waits for the one that had
    its common world before.

    Args:
      name: of the common worlds: "<name>_<number>_cw".
      max_concurrent_context: how many there are, and how many operators may run at once.
      param_init_net: the net that makes them, when they are first needed.
      rendezvous: as data_parallel_model.Parallelize takes it.
    """

    def __init__(
        self,
        name: str,
        max_concurrent_context: int,
        param_init_net: core.Net,
        rendezvous: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.param_init_net = param_init_net
        self.max_concurrent_context = max_concurrent_context
        self.counter = 0
        self.common_worlds: list[BlobReference] = []
        self.control_inputs: list[BlobLike] = []
        self.rendezvous = rendezvous

    def get_control_and_context(
        self, control_output_blob: BlobLike
    ) -> tuple[BlobReference, BlobLike | None]:
        """(common world, control input) of the next operator, whose output is
        `control_output_blob`. The control input is the output of the operator that had the common
        world before, or None."""
        slot = self.counter % self.max_concurrent_context
        self.counter += 1
        if slot == len(self.common_worlds):
            self.common_worlds.append(
                _create_common_world(
                    self.rendezvous,
                    self.param_init_net,
                    f"{self.name}_{slot}_cw",
                    _DEFAULT_TIMEOUT_SEC,
                )
            )
            self.control_inputs.append(control_output_blob)
            return self.common_worlds[slot], None
        previous, self.control_inputs[slot] = self.control_inputs[slot], control_output_blob
        return self.common_worlds[slot], previous


_barriers_made = 0


def create_barrier_net(
    model: ModelHelper, init_net: core.Net, name: str, timeout_sec: float
) -> core.Net:
    """A net that waits for all shards. `init_net` gets the operators that make its common world."""
    global _barriers_made
    suffix = f"_{_barriers_made}" if _barriers_made else ""
    _barriers_made += 1
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
        world = _create_common_world(
            model._rendezvous, init_net, f"{name}_barrier_cw{suffix}", timeout_sec
        )
        net = core.Net(f"{name}_barrier_net")
        net.Barrier(
            world, [], engine="GLOO", name=f"{name}_barrier", timeout_ms=int(timeout_sec * 1000)
        )
    return net


def same_on_all_shards(
    model: ModelHelper, blob: BlobLike, timeout_sec: float = _DEFAULT_TIMEOUT_SEC
) -> bool:
    """Whether a float tensor of this workspace, on the device of the device scope, is the same on
    all shards, bit for bit.

    Raises RuntimeError if the shapes differ, or a shard does not come within `timeout_sec` seconds.
    """
    if num_shards(model) == 1:
        return True
    name = f"{blob}_comparison"
    net = core.Net(name)
    first = net.EnsureCPUOutput(core.BlobReference(str(blob)), core.BlobReference(name))
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
        world = _create_common_world(model._rendezvous, net, f"{net.Name()}_cw", timeout_sec)
        net.Broadcast([world, first], [first], engine="GLOO")
    workspace.RunNetOnce(net)
    own, expected = workspace.FetchBlob(str(blob)), workspace.FetchBlob(name)
    same = own.tobytes() == expected.tobytes()
    workspace.FeedBlob(f"{name}_differing", np.array([not same], np.float32))
    end = core.Net(f"{name}_end")
    differing = core.BlobReference(f"{name}_differing")
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
        end.Allreduce([world, differing], [differing], engine="GLOO")
        end.DestroyCommonWorld(world, world, engine="GLOO")
    workspace.RunNetOnce(end)
    return workspace.FetchBlob(differing)[0] == 0


def barrier_of_epochs(model: ModelHelper, timeout_sec: float) -> None:
    """Puts a barrier before the nets of the model, where early shards wait for the others, and lets
    the shards compare their settings when they join the run. Call it when the model is complete."""
    if num_shards(model) == 1:
        return
    init_net = core.Net("barrier_init_net")
    barrier = create_barrier_net(model, init_net, "pre_training", timeout_sec)
    model._data_parallel_model_init_nets.insert(0, init_net)
    model._data_parallel_model_nets.insert(0, barrier)
    # The process joins the run with the first world that is made, whichever that is.
    for net in model._data_parallel_model_init_nets:
        for op in net.Proto().op:
            if op.type == "CreateCommonWorld":
                op.arg.append(utils.MakeArgument("settings", _settings(model)))


def add_blobs_to_sync(model: ModelHelper, names: Iterable[str]) -> None:
    """Records the replicas of blobs that are not parameters."""
    for name in names:
        if name.startswith(model._device_prefix + "_"):
            raise ValueError(f"give blobs without the name of a device, not {name}")
        model._device_grouped_blobs[name] = {
            device: core.BlobReference(device_scope_name(model, device) + name)
            for device in model._devices
        }


def AddBlobSync(model: ModelHelper, blobs: Iterable[BlobLike], net: core.Net | None = None) -> None:
    """Adds to the net (default: the model's) the broadcast of blobs, named without device, from the
    first device of shard 0 to all others."""
    add_blobs_to_sync(model, [str(blob) for blob in blobs])
    broadcast(model, net or model.net, sorted({str(blob) for blob in blobs}))
