"""data_parallel_model: replicas on the CPU, in one and in several processes."""

import os
import subprocess
import sys

import data_parallel_worker as worker
import numpy as np
import pytest
import sparse_shard_worker

from caffe2.proto import caffe2_pb2
from caffe2.python import (
    _data_parallel_build,
    _data_parallel_passes,
    brew,
    core,
    memonger,
    muji,
    optimizer,
    workspace,
)
from caffe2.python import data_parallel_model as dpm
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling import initializers
from redis_server import RedisServer


@pytest.fixture(autouse=True)
def first_instances():
    optimizer.reset_optimizer_instance_count()


def reference(first):
    """The trajectory of the weights from `first`, in double, by the formulas of the gradient."""
    w, b = first.astype(np.float64), np.full(worker.OUTPUTS, 0.5)
    momentum_w, momentum_b = np.zeros_like(w), np.zeros_like(b)
    trajectory = [w]
    for x, y in worker.batches():
        error = (x @ w.T + b - y) / len(x)
        momentum_w = 0.9 * momentum_w + 0.05 * error.T @ x
        momentum_b = 0.9 * momentum_b + 0.05 * error.sum(0)
        w, b = w - momentum_w, b - momentum_b
        trajectory.append(w)
    return np.stack(trajectory)


@pytest.mark.parametrize("devices, arguments", [
    ([0], {}),
    ([0, 1], {}),
    ([0, 1], {"shared_model": True}),
    ([0, 1, 2, 3], {"net_type": "simple"}),
    ([0, 1], {"optimize_gradient_memory": True}),
    ([0, 1], {"dynamic_memory_management": True}),
])
def test_trajectory_is_that_of_the_whole_batch(devices, arguments):
    model = ModelHelper("one_process")
    worker.build(model, devices, None, **arguments)
    trajectory = worker.train(model, 0, 1, devices)
    np.testing.assert_allclose(trajectory, reference(trajectory[0]), rtol=1e-5, atol=1e-6)
    for device in devices if "shared_model" not in arguments else ():
        np.testing.assert_array_equal(workspace.FetchBlob(f"cpu_{device}/w"), trajectory[-1])


@pytest.fixture(params=["file", "redis"])
def store(request, tmp_path):
    if request.param == "file":
        yield f"file:{tmp_path}"
        return
    server = RedisServer()
    yield f"redis:{server.port}"
    server.kill()


@pytest.mark.parametrize("devices", [1, 2])
def test_two_processes_train_as_one(store, devices, tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, worker.__file__, str(shard), "2", str(devices), store,
             str(tmp_path / f"shard_{shard}.npz")],
            stderr=subprocess.PIPE, env=dict(os.environ, OMP_NUM_THREADS="1"))
        for shard in range(2)]
    errors = [process.communicate(timeout=120)[1].decode() for process in workers]
    assert [process.returncode for process in workers] == [0, 0], errors
    shards = [np.load(tmp_path / f"shard_{shard}.npz") for shard in range(2)]
    trajectory = shards[0]["trajectory"]
    np.testing.assert_array_equal(trajectory, shards[1]["trajectory"])
    np.testing.assert_allclose(trajectory, reference(trajectory[0]), rtol=1e-5, atol=1e-6)
    for shard in shards:
        np.testing.assert_array_equal(shard["loaded"], np.full_like(trajectory[0], 4))


def image_model(devices, combine_spatial_bn):
    """A convolution, SpatialBN and Relu over images of 4 channels, 8 in all."""
    model = ModelHelper("image", arg_scope={"order": "NCHW"})

    def add_forward(model, loss_scale):
        x = brew.conv(model, "x", "conv", 4, 6, 3, pad=1, weight_init=("GaussianFill", {}))
        x = brew.relu(model, brew.spatial_bn(model, x, "bn", 6), "relu")
        x = brew.fc(model, brew.average_pool(model, x, "pool", global_pooling=True), "fc", 6, 2)
        loss = model.net.AveragedLoss(model.net.SquaredL2Distance([x, "y"], "distance"), "loss")
        return [model.net.Scale(loss, scale=loss_scale)]

    dpm.Parallelize_CPU(
        model, lambda model: None, add_forward,
        lambda model: optimizer.build_sgd(model, 0.1, momentum=0.9), devices=devices,
        combine_spatial_bn=combine_spatial_bn)
    model.param_init_net.set_rand_seed(3)
    return model


def train_images(devices, combine_spatial_bn, steps=3, share=False):
    workspace.ResetWorkspace()
    model = image_model(devices, combine_spatial_bn)
    if share:
        dpm.OptimizeGradientMemory(model, {"x": [8 // len(devices), 4, 5, 5]}, {"x", "y"}, True)
    rng = np.random.default_rng(2)
    x = rng.standard_normal((8, 4, 5, 5)).astype(np.float32)
    x[4:] *= 3  # other statistics on the second device
    y = rng.standard_normal((8, 2)).astype(np.float32)
    rows = 8 // len(devices)
    for device in devices:
        workspace.FeedBlob(f"cpu_{device}/x", x[device * rows:(device + 1) * rows])
        workspace.FeedBlob(f"cpu_{device}/y", y[device * rows:(device + 1) * rows])
    workspace.RunNetOnce(model.param_init_net)
    first = {name: workspace.FetchBlob(f"cpu_0/{name}") for name in ("conv_w", "fc_w")}
    workspace.CreateNet(model.net)
    workspace.RunNet(model.net, steps)
    names = ("conv_w", "bn_s", "bn_b", "bn_rm", "bn_riv", "fc_w")
    return first, {name: workspace.FetchBlob(f"cpu_0/{name}") for name in names}


def test_combined_batch_normalization_is_that_of_the_whole_batch():
    first_one, one = train_images([0], False)
    first_two, two = train_images([0, 1], True)
    for name in first_one:
        np.testing.assert_array_equal(first_one[name], first_two[name])
    for name, expected in one.items():
        np.testing.assert_allclose(two[name], expected, rtol=2e-4, atol=2e-5, err_msg=name)
    _, shared = train_images([0, 1], True, share=True)
    for name, expected in two.items():
        np.testing.assert_array_equal(shared[name], expected)
    _, apart = train_images([0, 1], False)
    assert abs(apart["conv_w"] - one["conv_w"]).max() > 1e-3


def train_prepared(devices, passes, monkeypatch, steps=3, **arguments):
    """A residual block of three convolutions over 8 images. Returns the parameters by name, the
    types of the net's operators and the log lines about planned memory."""
    workspace.ResetWorkspace()
    model = ModelHelper("prepared", arg_scope={"order": "NCHW"})
    lines = []

    def note(*line):
        if line[0].startswith("Planned memory"):
            lines.append(line)

    monkeypatch.setattr(_data_parallel_passes.log, "info", note)

    def convolve(model, x, name, outputs, kernel):
        x = brew.conv(model, x, name, 6 if name != "stem" else 4, outputs, kernel, no_bias=True,
                      pad=kernel // 2, weight_init=("XavierFill", {}))
        return brew.spatial_bn(model, x, name + "_bn", outputs)

    def add_forward(model, loss_scale):
        x = brew.relu(model, convolve(model, "x", "stem", 6, 3), "stem_relu")
        y = brew.relu(model, convolve(model, x, "a", 6, 1), "a_relu")
        y = brew.sum(model, [convolve(model, y, "b", 6, 3), x], "sum")
        y = brew.average_pool(model, brew.relu(model, y, "out"), "pool", global_pooling=True)
        y = brew.fc(model, y, "fc", 6, 2)
        loss = model.net.AveragedLoss(model.net.SquaredL2Distance([y, "y"], "distance"), "loss")
        return [model.net.Scale(loss, scale=loss_scale)]

    def add_optimizer(model):
        optimizer.add_weight_decay(model, 1e-2)
        return optimizer.build_sgd(model, 0.05, momentum=0.9)

    dpm.Parallelize_CPU(model, lambda model: None, add_forward, devices=devices,
                        optimizer_builder_fun=add_optimizer, passes=passes, **arguments)
    model.param_init_net.set_rand_seed(3)
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((8, 4, 5, 5)), rng.standard_normal((8, 2))
    rows = 8 // len(devices)
    for device in devices:
        for name, values in (("x", x), ("y", y)):
            workspace.FeedBlob(f"cpu_{device}/{name}",
                               values[device * rows:(device + 1) * rows].astype(np.float32))
    dpm.RunInitNet(model)
    dpm.RunNet(model, steps)
    values = {str(param): workspace.FetchBlob(param) for param in model.GetParams("")}
    return values, [op.type for op in model.net.Proto().op], lines


@pytest.mark.parametrize("devices", [[0], [0, 1]])
@pytest.mark.parametrize("arguments", [{}, {"net_type": "simple"}, {"shared_model": True}])
def test_passes_change_no_more_than_rounding(devices, arguments, monkeypatch):
    plain, types, lines = train_prepared(devices, None, monkeypatch, **arguments)
    assert "SpatialBNRelu" not in types and not lines
    start, _, _ = train_prepared(devices, None, monkeypatch, steps=0, **arguments)
    assert all(abs(plain[name] - start[name]).max() > 1e-3 for name in plain if "_w" in name)

    planned, types, lines = train_prepared(
        devices, dpm.TrainingPasses(fuse="off", memory_plan=True), monkeypatch, **arguments)
    assert "SpatialBNRelu" not in types
    (_, device, size, unplanned), = lines
    assert device == "cpu" and size < unplanned
    for name, expected in plain.items():
        np.testing.assert_array_equal(planned[name], expected, err_msg=name)

    for passes, there, gone in [
            (dpm.TrainingPasses(memory_plan=False), "SpatialBNRelu", "Relu"),
            (dpm.TrainingPasses(fuse_conv="prologue"), "NormReluConvStats", "Conv"),
            (dpm.TrainingPasses(fused_updates=True), "MultiMomentumSGDUpdate", "MomentumSGDUpdate"),
            (dpm.TrainingPasses(fuse_conv="residual", gradient_sums=True, fused_updates=True),
             "MultiMomentumSGDUpdate", "WeightedSum")]:
        prepared, types, _ = train_prepared(devices, passes, monkeypatch, **arguments)
        assert there in types and gone not in types
        assert prepared.keys() == plain.keys()
        for name, expected in plain.items():
            np.testing.assert_allclose(prepared[name], expected, rtol=1e-4, atol=1e-5,
                                       err_msg=name)


def test_passes_leave_blobs_to_keep(monkeypatch):
    passes = dpm.TrainingPasses()
    values = []
    for chosen in (None, passes):
        train_prepared([0, 1], chosen, monkeypatch, blobs_to_keep=["a_bn", "stem"])
        values.append([workspace.FetchBlob(f"cpu_{device}/{name}")
                       for device in (0, 1) for name in ("a_bn", "stem")])
    for expected, found in zip(*values):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# Scripts of Caffe2 know no passes, and may fetch or read the gradient of their data.
@pytest.mark.parametrize("passes, reader, keep, there", [
    (None, "", [], True), (dpm.TrainingPasses(), "", [], False),
    (dpm.TrainingPasses(), "operator", [], True), (dpm.TrainingPasses(), "output", [], True),
    (dpm.TrainingPasses(), "", ["x_grad"], True)])
def test_the_gradient_of_the_data_stays_if_something_names_it(passes, reader, keep, there):
    workspace.ResetWorkspace()
    model = ModelHelper("data_gradient")

    def add_forward(model, loss_scale):
        y = brew.fc(model, "x", "fc", 3, 2)
        loss = model.net.AveragedLoss(model.net.SquaredL2Distance([y, "y"], "distance"), "loss")
        return [model.net.Scale(loss, scale=loss_scale)]

    def use_gradient(model, *_):
        if reader == "operator":
            model.net.Scale("cpu_0/x_grad", "cpu_0/doubled", scale=2.0)
        if reader == "output":
            model.net.AddExternalOutput("cpu_0/x_grad")

    dpm.Parallelize_CPU(
        model, lambda model: None, add_forward, devices=[0], net_transformer_fun=use_gradient,
        optimizer_builder_fun=lambda model: optimizer.build_sgd(model, 0.1), passes=passes,
        blobs_to_keep=keep)
    workspace.FeedBlob("cpu_0/x", np.ones((4, 3), np.float32))
    workspace.FeedBlob("cpu_0/y", np.ones((4, 2), np.float32))
    dpm.RunInitNet(model)
    weights = workspace.FetchBlob("cpu_0/fc_w")
    y = np.ones((4, 3)) @ weights.T + workspace.FetchBlob("cpu_0/fc_b")
    dpm.RunNet(model, 1)
    assert workspace.HasBlob("cpu_0/x_grad") == there
    if there:
        expected = (y - 1) / 4 @ weights
        np.testing.assert_allclose(
            workspace.FetchBlob("cpu_0/x_grad"), expected, rtol=1e-4, atol=1e-6)
        if reader == "operator":
            doubled = workspace.FetchBlob("cpu_0/doubled")
            np.testing.assert_allclose(doubled, 2 * expected, rtol=1e-4, atol=1e-6)


def test_passes_of_devices():
    on_cpu = dpm.ChooseTrainingPasses(caffe2_pb2.CPU)
    assert (on_cpu.fuse, on_cpu.fuse_conv, on_cpu.memory_plan) == ("all", "none", True)
    assert on_cpu.unused_gradients and on_cpu.fused_updates and on_cpu.gradient_sums
    float16 = caffe2_pb2.TensorProto.FLOAT16
    on_gpu = dpm.ChooseTrainingPasses(caffe2_pb2.CUDA, "NHWC", float16)
    assert (on_gpu.fuse_conv, on_gpu.filter_copies) == ("residual", float16)
    assert on_gpu.fused_updates and on_gpu.gradient_sums
    on_gpu.fuse = "bn"
    assert on_gpu.fuse == "bn"
    with pytest.raises(RuntimeError, match="some"):
        dpm.TrainingPasses(fuse="some")


@pytest.mark.parametrize("error, arguments", [
    (TypeError, {"passes": "all"}),
    (ValueError, {"optimize_gradient_memory": True}),
    (ValueError, {"dynamic_memory_management": True}),
    (ValueError, {"combine_spatial_bn": True}),
    (ValueError, {"optimizer_builder_fun": None})])
def test_passes_that_contradict_other_arguments(error, arguments):
    arguments = {"passes": dpm.TrainingPasses(), "optimizer_builder_fun": lambda model: None,
                 **arguments}
    with pytest.raises(error, match="passes"):
        dpm.Parallelize_CPU(ModelHelper("contradicting"), lambda model: None,
                            lambda model, loss_scale: [], devices=[0], **arguments)


def test_blob_names_and_checkpoint_params():
    model = image_model([0, 1], False)
    assert {"cpu_0/conv_w", "cpu_1/conv_w"} <= {str(p) for p in model.params}
    assert model._device_grouped_blobs["fc_w_grad"][1] == "cpu_1/fc_w_grad"
    assert {str(blob) for blob in dpm.GetCheckpointParams(model)} == {
        "optimizer_iteration",
        *("cpu_0/" + name for name in (
            "conv_w", "conv_w_momentum", "conv_b", "conv_b_momentum", "bn_s", "bn_s_momentum",
            "bn_b", "bn_b_momentum", "bn_rm", "bn_riv", "fc_w", "fc_w_momentum", "fc_b",
            "fc_b_momentum", "ONE_0_0"))}
    assert dpm.stripBlobName("cpu_0/a/b") == "a/b"
    net, params = dpm.ExtractPredictorNet(model, ["x"], ["fc"], None)
    assert "conv_w" in params and net.Proto().op[0].input[0] == "x"


def test_sums_start_after_the_last_replica_of_a_gradient():
    model = image_model([0, 1], False)
    ops = list(model.net.Proto().op)
    sums = {op.input[0]: i for i, op in enumerate(ops) if op.name == "dpm" and op.type == "Sum"}
    assert len(sums) == len(model._grad_names)
    for blob, at in sums.items():
        writers = [i for i, op in enumerate(ops[:at])
                   if {blob, blob.replace("cpu_0", "cpu_1")} & set(op.output)]
        assert len(writers) == 2 and at > max(writers)
    # The classifier's gradients are known first, and reduced before the rest is computed.
    last = max(i for i, op in enumerate(ops) if op.type == "ConvGradient")
    assert sums["cpu_0/fc_w_grad"] < last < sums["cpu_0/conv_w_grad"]


def test_sparse_gradients_are_joined():
    model = ModelHelper("sparse")

    def add_forward(model, loss_scale):
        table = model.create_param("table", [4, 2], initializers.Initializer("ConstantFill"))
        rows = model.net.Gather([table, "ids"], "rows")
        loss = model.net.AveragedLoss(model.net.SumElements(rows, "sum"), "loss")
        return [model.net.Scale(loss, scale=loss_scale)]

    dpm.Parallelize_CPU(model, lambda model: None, add_forward,
                        lambda model: optimizer.build_sgd(model, 0.5), devices=[0, 1])
    workspace.FeedBlob("cpu_0/ids", np.array([0, 1]))
    workspace.FeedBlob("cpu_1/ids", np.array([1, 3]))
    dpm.RunInitNet(model)
    dpm.RunNet(model, 1)
    expected = -0.25 * np.array([[1, 1], [2, 2], [0, 0], [1, 1]])
    for device in (0, 1):
        np.testing.assert_allclose(workspace.FetchBlob(f"cpu_{device}/table"), expected)


def update_rows(update, ids, grads, steps=2, rate=0.5):
    """A table [5, 2] of zeros after `steps` updates of the rows `ids` in their order; each changes
    the state. "of sums" first adds the gradients of a row."""
    ids, grads = np.array(ids), np.array(grads, np.float64)
    if update.endswith("of sums"):
        ids, positions = np.unique(ids, return_inverse=True)
        sums = np.zeros((len(ids), 2))
        np.add.at(sums, positions, grads)
        grads = sums
    table, state = np.zeros((5, 2)), np.zeros((5, 2))
    for _ in range(steps):
        for row, grad in zip(ids, grads):
            if update == "sgd":
                table[row] -= rate * grad
            elif update == "momentum":
                state[row] = 0.9 * state[row] + rate * grad
                table[row] -= state[row]
            else:
                state[row] += grad**2
                table[row] -= rate * grad / (np.sqrt(state[row]) + 1e-3)
    return table


@pytest.mark.parametrize("net_type, update, rows", [
    ("simple", "sgd", "one replica without"), ("dag", "sgd", "one shard without"),
    ("simple", "momentum", "one shard without"), ("dag", "momentum", "one replica without"),
    ("dag", "adagrad", "one replica without"), ("dag", "adagrad of sums", "one replica without")])
def test_rows_of_sparse_gradients_are_gathered_from_all_shards(net_type, update, rows, tmp_path):
    script = os.path.join(os.path.dirname(__file__), "sparse_shard_worker.py")
    outputs = [str(tmp_path / f"{shard}.npz") for shard in (0, 1)]
    (tmp_path / "store").mkdir()
    shards = [subprocess.Popen([sys.executable, script, str(shard), "2", str(tmp_path / "store"),
                                outputs[shard], net_type, update, rows]) for shard in (0, 1)]
    try:
        assert [shard.wait(120) for shard in shards] == [0, 0]
    finally:
        for shard in shards:
            shard.kill()  # nothing where it has ended
            shard.wait()
    # Losses are scaled by 1 / 4.
    replicas = sum(sparse_shard_worker.IDS[rows], [])
    ids = sum(replicas, [])
    grads = np.concatenate([sparse_shard_worker.slopes(each) for each in replicas]) / 4
    expected = [update_rows(update, ids, factor * grads)
                for factor in sparse_shard_worker.FACTORS.values()]
    for output in outputs:
        result = np.load(output)
        for replica in (0, 1):
            np.testing.assert_array_equal(result["indices"][replica], ids)
            np.testing.assert_allclose(result["values"][replica], 3 * grads, rtol=1e-6)
            np.testing.assert_allclose(result["tables"][:, replica], expected, rtol=1e-5)
        np.testing.assert_array_equal(result["biases"][0], result["biases"][1])
        if update == "sgd":
            np.testing.assert_allclose(result["biases"][0], [-1, -1], rtol=1e-6)
        types = result["types"].tolist()
        assert types.count("AllgatherRows") == 3 and types.count("AllreduceBucket") == 1
        assert "SparseToDense" not in types
        assert result["equal"].tolist() == [True, False]


@pytest.mark.parametrize("update", ["sgd", "momentum", "adagrad"])
def test_tables_that_share_a_gradient_on_devices_of_one_process(update):
    model = ModelHelper("shared_gradient")
    dpm.Parallelize_CPU(model, lambda model: None, sparse_shard_worker.add_forward,
                        optimizer_builder_fun=sparse_shard_worker.OPTIMIZERS[update],
                        devices=[0, 1])
    replicas = [[0, 1, 1], [1, 3]]
    for device, ids in enumerate(replicas):
        workspace.FeedBlob(f"cpu_{device}/ids", np.array(ids, np.int64))
        workspace.FeedBlob(f"cpu_{device}/slopes", sparse_shard_worker.slopes(ids))
    dpm.RunInitNet(model)
    dpm.RunNet(model, 2)
    grads = np.concatenate([sparse_shard_worker.slopes(ids) for ids in replicas]) / 2
    for name, factor in sparse_shard_worker.FACTORS.items():
        expected = update_rows(update, sum(replicas, []), factor * grads)
        for device in (0, 1):
            np.testing.assert_allclose(workspace.FetchBlob(f"cpu_{device}/{name}"), expected,
                                       rtol=1e-5, err_msg=f"{name} on {device}")


def test_one_shard_is_like_itself():
    model = ModelHelper("alone")
    model._rendezvous = None
    assert dpm._RunComparison(model, "whatever")


def test_muji_sums_over_gpus():
    net = core.Net("muji")
    blobs = [net.AddExternalInput(f"x{i}") for i in range(4)]
    results = muji.Allreduce4(net, blobs, "_sum", [2, 0, 1, 3])
    assert results == ["x0_sum", "x1_sum", "x2_sum", "x3_sum"]
    devices = {op.output[0]: op.device_option.device_id for op in net.Proto().op}
    assert [devices[blob] for blob in results] == [2, 0, 1, 3]
    for op in net.Proto().op:
        op.ClearField("device_option")  # to run it without a GPU
    for i, blob in enumerate(blobs):
        workspace.FeedBlob(blob, np.float32([1, 10]) * 2**i)
    workspace.RunNetOnce(net)
    for blob in results:
        np.testing.assert_array_equal(workspace.FetchBlob(blob), [15, 150])
    with pytest.raises(ValueError, match="4 blobs, not 2"):
        muji.Allreduce2(net, blobs, "_sum", [0, 1])
    with pytest.raises(ValueError, match="one blob for each of the GPUs .0, 1., found 4"):
        muji.Allreduce(net, blobs, gpu_indices=[0, 1])


def test_shards_on_gpus_may_be_joined_by_nccl(monkeypatch):
    # None is used.
    monkeypatch.setattr(_data_parallel_build, "_devices_of", lambda devices, cpu_device: devices)
    model = ModelHelper("nccl")

    def add_forward(model, loss_scale):
        table = model.create_param("table", [4, 2], initializers.Initializer("ConstantFill"))
        bias = model.create_param("bias", [2], initializers.Initializer("ConstantFill"))
        rows = model.net.Gather([table, "ids"], "rows")
        return [model.net.Scale(model.net.SumElements(blob, f"{blob}_sum"), scale=loss_scale)
                for blob in (rows, bias)]

    dpm.Parallelize_GPU(
        model, lambda model: None, add_forward, lambda model: optimizer.build_sgd(model, 0.5),
        devices=[0], rendezvous={"num_shards": 2, "shard_id": 0, "kv_handler": "store",
                                 "engine": "NCCL", "exit_nets": None})
    engines = {op.type: op.engine for net in (model.param_init_net, model.net)
               for op in net.Proto().op if "allreduce_0_cw" in [*op.input, *op.output]
               or "broadcast_0_cw" in op.input}
    assert engines == dict.fromkeys([
        "CreateCommonWorld", "CloneCommonWorld", "Broadcast", "AllreduceBucket",
        "AwaitCollectives", "AllgatherRows"], "NCCL")


def test_exchanges_of_a_net_have_one_order_on_all_shards():
    model = ModelHelper("order")
    worker.build(model, [0], {"num_shards": 2, "shard_id": 0, "kv_handler": "store",
                              "engine": "GLOO", "exit_nets": None})
    dpm.AddBlobSync(model, ["extra"])
    dpm.AddDistributedBlobSync(model, ["count", "total"])
    exchanges = [op for op in model.net.Proto().op
                 if op.input and op.input[0] in ("allreduce_0_cw", "broadcast_0_cw")]
    assert [op.type for op in exchanges[-3:]] == ["Broadcast", "Allreduce", "Allreduce"]
    for earlier, later in zip(exchanges, exchanges[1:]):
        assert set(later.control_input) & set(earlier.output)


def test_refusals():
    arguments = (lambda model: None, lambda model, loss_scale: [])
    with pytest.raises(RuntimeError, match="CUDA devices .0, 1. are asked for, but there are"):
        dpm.Parallelize_GPU(ModelHelper("gpu"), *arguments, devices=[0, 1])
    with pytest.raises(ValueError, match="Can only specify one"):
        dpm.Parallelize_CPU(ModelHelper("both"), *arguments, lambda m: None, lambda m: None)
    with pytest.raises(ValueError, match="list of loss blobs"):
        dpm.Parallelize_CPU(ModelHelper("loss"), arguments[0], lambda m, s: "loss",
                            lambda m: None, devices=[0])
    for rendezvous, message in [
            ({"num_shards": 2}, "lacks .'shard_id'"),
            ({"num_shards": 2, "shard_id": 2, "kv_handler": "s"}, "shard_id 2 is not one of 2"),
            ({"num_shards": 2, "shard_id": 0}, "need a kv_handler"),
            ({"num_shards": 2, "shard_id": 0, "mpi_rendezvous": True}, "need a kv_handler"),
            ({"num_shards": 2, "shard_id": 0, "engine": "X"}, "by the engine GLOO or NCCL"),
            ({"num_shards": 2, "shard_id": 0, "engine": "NCCL"}, "shards that train on GPUs")]:
        with pytest.raises(ValueError, match=message):
            dpm.Parallelize_CPU(ModelHelper("shards"), *arguments, rendezvous=rendezvous)


def test_net_for_device():
    net = core.Net("for_device")
    net.Relu(net.AddExternalInput("a"), "b")
    device = core.DeviceOption(caffe2_pb2.CPU, 1)
    with pytest.raises(ValueError, match="has no device"):
        dpm.ConvertNetForDevice(net)
    converted = dpm.ConvertNetForDevice(net, device)
    op = converted.Proto().op[0]
    assert (list(op.input), list(op.output)) == (["cpu_1/a"], ["cpu_1/b"])
    assert list(converted.Proto().external_input) == ["cpu_1/a"]
    assert op.device_option == device
    assert list(net.Proto().op[0].input) == ["a"]


def test_learning_rate_blobs_and_synchronize():
    model = ModelHelper("rates")
    worker.build(model, [0, 1], None)
    assert dpm.GetLearningRateBlobNames(model) == ["SgdOptimizer_0_lr_cpu"]
    dpm.Synchronize(model)  # one shard: nothing to wait for
    dpm.AddBlobSync(model, ["extra"])
    for device, value in ((0, 3.0), (1, 4.0)):
        workspace.FeedBlob(f"cpu_{device}/extra", np.float32([value]))
    worker.train(model, 0, 1, [0, 1])
    assert workspace.FetchBlob("cpu_1/extra") == [3.0]


@pytest.mark.parametrize("nesterov", [False, True])
def test_bmuf_follows_its_formula(nesterov):
    model = ModelHelper("bmuf")

    def add_forward(model, loss_scale):
        w = model.create_param("w", [2], initializers.Initializer("ConstantFill", value=0.0))
        loss = model.net.AveragedLoss(model.net.SquaredL2Distance(
            [model.net.ExpandDims(w, "row", dims=[0]), "target"], "distance"), "loss")
        return [loss]

    def add_update(model):
        optimizer.build_sgd(model, 0.25)

    dpm.Parallelize_CPU_BMUF(model, lambda model: None, add_forward, add_update,
                             block_learning_rate=0.8, devices=[0, 1], nesterov=nesterov,
                             warmup_iterations=1)
    targets = np.float32([[1, 2], [3, -4]])
    for device in (0, 1):
        workspace.FeedBlob(f"cpu_{device}/target", targets[device:device + 1])
    dpm.RunInitNet(model)
    dpm.RunWarmup(model)
    w = np.stack([0.25 * targets[0]] * 2)  # one step on device 0, given to both
    np.testing.assert_allclose([workspace.FetchBlob(f"cpu_{d}/w") for d in (0, 1)], w)
    g, v, previous = w[0], np.zeros(2), np.zeros(2)
    for _ in range(3):
        dpm.RunNet(model, 2)
        for _ in range(2):
            w = w - 0.25 * (w - targets)
        v, previous = 0.5 * v + 0.8 * (w.mean(0) - g), v
        g = g + v - (0.5 * (v - previous) if nesterov else 0)
        w = np.stack([g, g])
        for device in (0, 1):
            np.testing.assert_allclose(workspace.FetchBlob(f"cpu_{device}/w"), g, rtol=1e-5)
    np.testing.assert_allclose(workspace.FetchBlob("cpu_0/w_v"), v, rtol=1e-5)


def count_blobs(proto):
    return len({blob for op in proto.op for blob in (*op.input, *op.output)})


def test_gradients_share_memory():
    model = image_model([0], False)
    plain = model.net.Proto()
    shared = memonger.share_grad_blobs(
        model.net, model._losses_by_gpu[0], set(model.param_to_grad.values()), "cpu_0/")
    with_activations = memonger.share_grad_blobs(
        model.net, model._losses_by_gpu[0], set(model.param_to_grad.values()), "cpu_0/",
        share_activations=True, dont_share_blobs={"cpu_0/x", "cpu_0/y"})
    assert count_blobs(plain) > count_blobs(shared) > count_blobs(with_activations)
