"""One shard of the training that test_data_parallel checks; run by itself by that test.

Usage: data_parallel_worker.py SHARD NUM_SHARDS DEVICES STORE OUTPUT, where STORE is
"file:<directory>" or "redis:<port>". Saves the trajectory of the weights as an array.
"""

import sys

import numpy as np

from caffe2.python import core, dyndep, model_helper, optimizer, workspace
from caffe2.python import data_parallel_model as dpm
from caffe2.python.modeling import initializers
from caffe2.python.modeling.parameter_info import ParameterTags

BATCH = 16  # over all replicas
FEATURES, OUTPUTS = 3, 2
STEPS = 6


def batches():
    """(x [BATCH, FEATURES], y [BATCH, OUTPUTS]) of each step."""
    rng = np.random.default_rng(5)
    for _ in range(STEPS):
        x = rng.standard_normal((BATCH, FEATURES))
        yield x, x @ np.array([[1, -2], [3, 0], [0, 1]]) + rng.standard_normal((1, OUTPUTS))


def build(model, devices, rendezvous, **kwargs):
    """A linear regression, trained by SGD with momentum 0.9 and rate 0.05."""

    def add_input(model):
        pass

    def add_forward(model, loss_scale):
        weight = model.create_param(
            "w", [OUTPUTS, FEATURES], initializers.Initializer(
                "GaussianFill", std=1.0), tags=ParameterTags.WEIGHT)
        bias = model.create_param(
            "b", [OUTPUTS], initializers.Initializer("ConstantFill", value=0.5),
            tags=ParameterTags.BIAS)
        prediction = model.net.FC(["x", weight, bias], "prediction")
        distance = model.net.SquaredL2Distance([prediction, "y"], "distance")
        return [model.net.Scale(model.net.AveragedLoss(distance, "loss"), scale=loss_scale)]

    def add_optimizer(model):
        return optimizer.build_sgd(model, 0.05, momentum=0.9, nesterov=0)

    dpm.Parallelize_CPU(model, add_input, add_forward, optimizer_builder_fun=add_optimizer,
                        devices=devices, rendezvous=rendezvous, **kwargs)


def train(model, shard, num_shards, devices):
    """The weights before the first and after each step, as replica 0 of this shard has them."""
    replicas = num_shards * len(devices)
    rows = BATCH // replicas

    def feed(x, y):
        for i, device in enumerate(devices):
            part = slice((shard * len(devices) + i) * rows, (shard * len(devices) + i + 1) * rows)
            workspace.FeedBlob(f"cpu_{device}/x", x[part].astype(np.float32))
            workspace.FeedBlob(f"cpu_{device}/y", y[part].astype(np.float32))

    trajectory = []
    for step, (x, y) in enumerate(batches()):
        feed(x, y)
        if step == 0:
            dpm.RunInitNet(model)
            trajectory.append(workspace.FetchBlob(f"cpu_{devices[0]}/w"))
        dpm.RunNet(model, 1)
        trajectory.append(workspace.FetchBlob(f"cpu_{devices[0]}/w"))
    return np.stack(trajectory)


def make_store(store):
    """The blob of the store handler."""
    kind, _, place = store.partition(":")
    if kind == "redis":
        dyndep.InitOpsLibrary("@/caffe2/caffe2/distributed:redis_store_handler_ops")
        workspace.RunOperatorOnce(core.CreateOperator(
            "RedisStoreHandlerCreate", [], ["store_handler"], host="127.0.0.1", port=int(place),
            prefix="test_run"))
    else:
        workspace.RunOperatorOnce(core.CreateOperator(
            "FileStoreHandlerCreate", [], ["store_handler"], path=place, prefix="test_run"))
    return "store_handler"


def main():
    shard, num_shards, devices = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rendezvous = {
        "kv_handler": make_store(sys.argv[4]), "shard_id": shard, "num_shards": num_shards,
        "engine": "GLOO", "transport": "tcp", "interface": "", "exit_nets": [core.Net("exit")]}
    model = model_helper.ModelHelper("worker")
    build(model, list(range(devices)), rendezvous)
    trajectory = train(model, shard, num_shards, list(range(devices)))
    # What one shard loads from a checkpoint, all get.
    if shard == 0:
        workspace.FeedBlob("cpu_0/w", np.full((OUTPUTS, FEATURES), 4, np.float32))
    dpm.FinalizeAfterCheckpoint(model)
    dpm.Synchronize(model)
    loaded = workspace.FetchBlob(f"cpu_{devices - 1}/w")
    np.savez(sys.argv[5], trajectory=trajectory, loaded=loaded)
    dpm.Synchronize(model)
    workspace.RunNetOnce(rendezvous["exit_nets"][0])


if __name__ == "__main__":
    main()
