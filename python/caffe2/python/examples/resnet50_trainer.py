"""Trains ResNet-50 (or ResNeXt) on images, on the devices of one or several machines.

    python -m caffe2.python.examples.resnet50_trainer --train_data train-lmdb \
        --test_data test-lmdb --num_shards 2 --shard_id 0 --run_id run1 \
        --redis_host redis.example --use_cpu

The databases hold Datum records (make_image_db --format datum); `--train_data null` means random
images, to measure the speed. All shards need the same run_id and meet through Redis or in
--file_store_path. Under torchrun, mpirun, srun and other launchers leave these flags out
(docs/launchers.md). `redis-cli hgetall RUN_ID/status/0` shows the state of shard 0. Each epoch ends
with a test and a saved model.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import (
    brew,
    core,
    data_parallel_model,
    dyndep,
    experiment_util,
    model_helper,
    optimizer,
    timeout_guard,
    workspace,
)
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper
from caffe2.python.models import resnet
from caffe2.python.predictor import predictor_exporter as pred_exp
from caffe2.python.predictor import predictor_py_utils as pred_utils
from caffe2.python.predictor.predictor_constants import predictor_constants

logging.basicConfig()
log = logging.getLogger("resnet50_trainer")
log.setLevel(logging.INFO)
logging.getLogger("data_parallel_model").setLevel(logging.INFO)  # logs the launcher's settings

dyndep.InitOpsLibrary("@/caffe2/caffe2/distributed:file_store_handler_ops")
dyndep.InitOpsLibrary("@/caffe2/caffe2/distributed:redis_store_handler_ops")

# Momentum and step schedule of the paper.
MOMENTUM, NESTEROV = 0.9, 1
EPOCHS_PER_STEP, STEP_FACTOR = 30, 0.1
TEST_BATCHES = 100


def add_image_input(model: ModelHelper, reader: BlobLike, batch_size: int, args: argparse.Namespace,
                    is_test: bool) -> None:
    """Images "data" [batch, channels, size, size] about -1 to 1 and "label" [batch]."""
    data, _ = brew.image_input(
        model, reader, ["data", "label"], batch_size=batch_size, output_type=args.dtype,
        use_gpu_transform=not args.use_cpu, use_caffe_datum=True,
        mean_per_channel=args.image_mean_per_channel, std_per_channel=args.image_std_per_channel,
        mean=128.0, std=128.0, scale=256, crop=args.image_size, mirror=1, is_test=is_test)
    model.StopGradient(data, data)


def add_null_input(model: ModelHelper, batch_size: int, args: argparse.Namespace) -> None:
    """Random images and labels, made once."""
    suffix = "_fp32" if args.dtype == "float16" else ""
    data = model.param_init_net.GaussianFill(
        [], ["data" + suffix],
        shape=[batch_size, args.num_channels, args.image_size, args.image_size])
    if suffix:
        model.param_init_net.FloatToHalf(data, "data")
    model.param_init_net.ConstantFill(
        [], ["label"], shape=[batch_size], value=1, dtype=core.DataType.INT32)


def forward_pass(model: ModelHelper, loss_scale: float, args: argparse.Namespace,
                 is_test: bool = False) -> list[core.BlobReference]:
    """The net, its loss and its accuracy; returns the losses, here one."""
    pred = resnet.create_resnext(
        model, "data", num_input_channels=args.num_channels, num_labels=args.num_labels,
        num_layers=args.num_layers, num_groups=args.resnext_num_groups,
        num_width_per_group=args.resnext_width_per_group, no_bias=True, no_loss=True,
        is_test=is_test)
    if args.dtype == "float16":
        pred = model.net.HalfToFloat(pred, pred + "_fp32")
    softmax, loss = model.SoftmaxWithLoss([pred, "label"], ["softmax", "loss"])
    loss = model.Scale(loss, scale=loss_scale)
    brew.accuracy(model, [softmax, "label"], "accuracy", top_k=1)
    brew.accuracy(model, [softmax, "label"], "accuracy_top5", top_k=5)
    return [loss]


def add_optimizer(model: ModelHelper, args: argparse.Namespace,
                  iterations_per_epoch: int) -> optimizer.Optimizer:
    """Adds momentum SGD, whose rate falls to a tenth every 30 epochs."""
    options: dict[str, Any] = {
        "momentum": MOMENTUM, "nesterov": NESTEROV, "policy": "step", "gamma": STEP_FACTOR,
        "stepsize": EPOCHS_PER_STEP * iterations_per_epoch}
    if args.float16_compute:
        return optimizer.build_fp16_sgd(
            model, args.base_learning_rate, weight_decay=args.weight_decay, **options)
    optimizer.add_weight_decay(model, args.weight_decay)
    return optimizer.build_multi_precision_sgd(model, args.base_learning_rate, **options)


def make_rendezvous(args: argparse.Namespace) -> dict[str, Any]:
    """How the shards meet; sets args.num_shards and args.shard_id."""
    rendezvous = data_parallel_model.RendezvousFromEnvironment(
        num_shards=args.num_shards, shard_id=args.shard_id, run_id=args.run_id,
        init_method=args.init_method, redis_host=args.redis_host, redis_port=args.redis_port,
        file_store_path=args.file_store_path, engine="NCCL" if args.use_nccl else "GLOO",
        transport=args.distributed_transport, interface=args.distributed_interfaces.split(",")[0])
    args.num_shards, args.shard_id = rendezvous["num_shards"], rendezvous["shard_id"]
    return rendezvous


def build_model(name: str, db: str, args: argparse.Namespace, per_device: int,
                rendezvous: dict[str, Any], iterations_per_epoch: int | None = None) -> ModelHelper:
    """A created data-parallel model; for testing unless `iterations_per_epoch` is given."""
    trains = iterations_per_epoch is not None
    epoch_iterations = iterations_per_epoch or 0
    model = model_helper.ModelHelper(name=name, init_params=trains, arg_scope={
        "order": "NCHW", "use_cudnn": True, "cudnn_exhaustive_search": True,
        "ws_nbytes_limit": args.cudnn_workspace_limit_mb * 1024 * 1024})
    if db == "null":
        input_builder = lambda model: add_null_input(model, per_device, args)  # noqa: E731
    else:
        shards = {"num_shards": args.num_shards, "shard_id": args.shard_id}
        reader = model.CreateDB(name + "_reader", db=db, db_type=args.db_type, **shards)
        input_builder = lambda model: add_image_input(  # noqa: E731
            model, reader, per_device, args, is_test=not trains)
    data_parallel_model.Parallelize(
        model, input_builder_fun=input_builder,
        forward_pass_builder_fun=lambda model, loss_scale: forward_pass(
            model, loss_scale, args, is_test=not trains),
        optimizer_builder_fun=(
            lambda model: add_optimizer(model, args, epoch_iterations)) if trains else None,
        devices=args.devices, rendezvous=rendezvous if trains else None,
        optimize_gradient_memory=False, use_nccl=args.use_nccl, cpu_device=args.use_cpu,
        shared_model=args.use_cpu and args.num_shards == 1, combine_spatial_bn=False)
    if trains:
        data_parallel_model.OptimizeGradientMemory(model, {}, set(), False)
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    return model


def mean_over_devices(model: ModelHelper, blob: str) -> float:
    """The mean of a scalar blob over the model's devices."""
    values = [float(workspace.FetchBlob(f"{model._device_prefix}_{device}/{blob}"))
              for device in model._devices]
    return sum(values) / len(values)


def run_test(model: ModelHelper, args: argparse.Namespace,
             total_batch_size: int) -> tuple[float, float]:
    """(top-1, top-5) accuracy."""
    count = TEST_BATCHES
    if args.test_epoch_size is not None:
        count = max(1, args.test_epoch_size // total_batch_size // args.num_shards)
    top1 = top5 = 0.0
    for _ in range(count):
        workspace.RunNet(model.net)
        top1 += mean_over_devices(model, "accuracy") / count
        top5 += mean_over_devices(model, "accuracy_top5") / count
    return top1, top5


def run_epoch(args: argparse.Namespace, epoch: int, model: ModelHelper,
              test_model: ModelHelper | None, total_batch_size: int,
              explog: experiment_util.ModelTrainerLog) -> int:
    """Trains for an epoch, tests and logs; returns the number of the next epoch."""
    iterations = int(args.epoch_size / total_batch_size / args.num_shards)
    log.info("Starting epoch %d/%d", epoch, args.num_epochs)
    for i in range(iterations):
        # The first iteration waits for the other shards.
        timeout = args.first_iter_timeout if i == 0 else args.timeout
        with timeout_guard.CompleteInTimeOrDie(timeout):
            start = time.time()
            workspace.RunNet(model.net)
            seconds = time.time() - start
        log.info("Finished iteration %d/%d of epoch %d (%.2f images/sec)", i + 1, iterations,
                 epoch, total_batch_size / seconds)
        loss, accuracy = mean_over_devices(model, "loss"), mean_over_devices(model, "accuracy")
        log.info("Training loss: %s, accuracy: %s", loss, accuracy)
        if not loss < 40:
            raise RuntimeError(f"Exploded gradients: the loss is {loss}")
    top1, top5 = run_test(test_model, args, total_batch_size) if test_model else (-1, -1)
    rates = data_parallel_model.GetLearningRateBlobNames(model)
    explog.log(
        input_count=(epoch + 1) * iterations * total_batch_size, batch_count=iterations,
        additional_values={
            "accuracy": mean_over_devices(model, "accuracy"), "epoch": epoch, "loss": loss,
            "learning_rate": float(workspace.FetchBlob(rates[0]).ravel()[0]),
            "top1_test_accuracy": top1, "top5_test_accuracy": top5})
    return epoch + 1


def model_path(args: argparse.Namespace, epoch: int) -> str:
    """The file of the model after an epoch."""
    return os.path.join(args.file_store_path, f"{args.save_model_name}_{epoch}.mdl")


def save_model(args: argparse.Namespace, model: ModelHelper, epoch: int,
               previous: str | None) -> str:
    """Writes the model of the first device, removes the file `previous`; returns the new path."""
    prefix = f"{model._device_prefix}_{model._devices[0]}/"
    # Random images are made once, like parameters.
    inputs = {prefix + "data", prefix + "data_fp32", prefix + "label"}
    params = {str(blob) for blob in data_parallel_model.GetCheckpointParams(model)} - inputs
    path = model_path(args, epoch)
    pred_exp.save_to_db("minidb", path, pred_exp.PredictorExportMeta(
        predict_net=model.net.Proto(), parameters=sorted(params), inputs=[prefix + "data"],
        outputs=[prefix + "softmax"],
        shapes={prefix + "softmax": (1, args.num_labels),
                prefix + "data": (args.num_channels, args.image_size, args.image_size)}))
    if previous is not None and os.path.isfile(previous):
        os.remove(previous)
    return path


def load_model(path: str, model: ModelHelper) -> None:
    """Reads the parameters of a saved model (and its iteration) into the workspace."""
    log.info("Loading model %s", path)
    meta = pred_exp.load_from_db(path, "minidb")
    for kind in (predictor_constants.GLOBAL_INIT_NET_TYPE,
                 predictor_constants.PREDICT_INIT_NET_TYPE):
        net = core.Net(pred_utils.GetNet(meta, kind))
        if model._device_type != caffe2_pb2.CPU:
            net.RunAllOnGPU()
        workspace.RunNetOnce(net)
    # The counter is on the CPU, wherever the model is.
    iteration = workspace.FetchBlob("optimizer_iteration")
    workspace.FeedBlob("optimizer_iteration", iteration, core.DeviceOption(caffe2_pb2.CPU))


def resume(args: argparse.Namespace, model: ModelHelper) -> int:
    """Loads --load_model_path; returns the epoch to continue with."""
    load_model(args.load_model_path, model)
    data_parallel_model.FinalizeAfterCheckpoint(model)
    suffix = os.path.splitext(args.load_model_path)[0].rpartition("_")[2]
    if not suffix.isdigit():
        log.warning("--load_model_path %s does not end in _<epoch>: training starts at epoch 0",
                    args.load_model_path)
        return 0
    log.info("Reset epoch to %s", suffix)
    return int(suffix)


def train(args: argparse.Namespace) -> None:
    """Trains for --num_epochs on all devices, and tests after each."""
    if args.gpus is not None:
        args.devices = [int(device) for device in args.gpus.split(",")]
    else:
        args.devices = list(range(args.num_gpus))
    num_devices = len(args.devices)
    log.info("Running on %s: %s", "CPU replicas" if args.use_cpu else "GPUs", args.devices)
    if args.batch_size % num_devices:
        raise ValueError(f"--batch_size {args.batch_size} is not divisible by {num_devices}")
    if args.use_nccl and args.use_cpu:
        raise ValueError("--use_nccl and --use_cpu cannot be used together")
    rendezvous = make_rendezvous(args)
    global_batch_size = args.batch_size * args.num_shards
    iterations_per_epoch = args.epoch_size // global_batch_size
    if iterations_per_epoch == 0:
        raise ValueError(f"--epoch_size {args.epoch_size} is less than one batch of all shards, "
                         f"{global_batch_size}")
    args.epoch_size = iterations_per_epoch * global_batch_size
    log.info("Using epoch size: %d", args.epoch_size)

    per_device = args.batch_size // num_devices
    model = build_model("resnet50", args.train_data, args, per_device, rendezvous,
                        iterations_per_epoch)
    test_model = None
    if args.test_data is not None:
        log.info("Building the test net")
        test_model = build_model("resnet50_test", args.test_data, args, per_device, rendezvous)
    epoch = 0
    if args.load_model_path is not None:
        epoch = resume(args, model)
    explog = experiment_util.ModelTrainerLog(
        f"resnet{args.num_layers}_gpu{num_devices}_b{args.batch_size}_L{args.num_labels}"
        f"_lr{args.base_learning_rate:.2f}_v2", args)
    saved = None  # of this run: no other model is removed
    while epoch < args.num_epochs:
        epoch = run_epoch(args, epoch, model, test_model, args.batch_size, explog)
        saved = save_model(args, model, epoch, saved)


def _truth(text):
    """True for any text, as in Caffe2, except for texts that clearly mean no."""
    return text.lower() not in ("", "0", "false", "no")


def parse_args() -> argparse.Namespace:
    """The flags of the command line."""
    parser = argparse.ArgumentParser(description="Caffe2: ResNet-50 training")
    add = parser.add_argument
    add("--train_data", required=True, help="training database, or 'null' for random data")
    add("--test_data", help="test database")
    add("--db_type", default="lmdb", help="type of the databases")
    add("--gpus", help="comma-separated numbers of the devices")
    add("--num_gpus", type=int, default=1, help="number of devices, instead of --gpus")
    add("--num_channels", type=int, default=3, help="channels of an image")
    add("--image_size", type=int, default=227, help="side of the cropped images, in pixels")
    add("--num_labels", type=int, default=1000, help="number of classes")
    add("--batch_size", type=int, default=32, help="images in a batch, over all devices here")
    add("--epoch_size", type=int, default=1500000, help="images in an epoch, over all shards")
    add("--test_epoch_size", type=int, help=f"images of a test; default: {TEST_BATCHES} batches")
    add("--num_epochs", type=int, default=1000, help="epochs to train")
    add("--base_learning_rate", type=float, default=0.1)
    add("--weight_decay", type=float, default=1e-4)
    add("--cudnn_workspace_limit_mb", type=int, default=64,
        help="no effect: cuDNN may use up to an eighth of a GPU's memory, at most 4 GiB")
    add("--num_layers", type=int, default=50, choices=[18, 34, 50, 101, 152])
    add("--resnext_num_groups", type=int, default=1, help="groups of ResNeXt; 1: ResNet")
    add("--resnext_width_per_group", type=int, default=64, help="channels of a group")
    add("--image_mean_per_channel", type=float, nargs="+", help="mean of each channel")
    add("--image_std_per_channel", type=float, nargs="+", help="deviation of each channel")
    add("--num_shards", type=int,
        help="processes that train together; default: from the launcher, or 1")
    add("--shard_id", type=int, help="number of this process, from 0")
    add("--run_id", help="name of the run, the same on all shards; default: from the launcher")
    add("--init_method", help="where shards meet: tcp://host:port, redis://host:port, file:///path "
        "or env://")
    add("--redis_host", help="host of the Redis server where shards meet")
    add("--redis_port", type=int, default=6379)
    add("--file_store_path", default="/tmp",
        help="folder of the models, where shards also meet without Redis")
    add("--save_model_name", default="resnet50_model", help="name of the saved models")
    add("--load_model_path", help="saved model to continue from")
    add("--use_cpu", type=_truth, nargs="?", const=True, default=False, help="train on the CPU")
    add("--use_nccl", action="store_true",
        help="shards, of one GPU each, exchange gradients by NCCL instead of Gloo")
    add("--dtype", default="float", choices=["float", "float16"], help="type of the activations")
    add("--float16_compute", action="store_true", help="update float16 parameters in float16")
    add("--distributed_transport", default="auto",
        help="tcp, shared_memory, or auto: shared_memory if all shards run on one machine")
    add("--distributed_interfaces", default="", help="network interface to use")
    add("--first_iter_timeout", type=int, default=600, help="seconds for the first iteration")
    add("--timeout", type=int, default=60, help="seconds for every other iteration")
    return parser.parse_args()


if __name__ == "__main__":
    workspace.GlobalInit(["caffe2", "--caffe2_log_level=2"])
    train(parse_args())
