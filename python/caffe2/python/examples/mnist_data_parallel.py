"""Trains LeNet on MNIST with data_parallel_model, in one process or in each one that a launcher
starts.

    doppio run -n 2 -- python -m caffe2.python.examples.mnist_data_parallel \
        --train_data mnist-train-lmdb --test_data mnist-test-lmdb

The databases are made as for mnist_lenet. --batch_size is per process. docs/launchers.md lists the
launchers.
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

import numpy as np

from caffe2.python import brew, model_helper, optimizer, workspace
from caffe2.python import data_parallel_model as dpm
from caffe2.python.examples import image_classifier
from caffe2.python.examples.mnist_lenet import add_lenet

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("mnist_data_parallel")


def build(name: str, db: str, args: argparse.Namespace, rendezvous: dict[str, Any],
          trains: bool) -> model_helper.ModelHelper:
    """A created data-parallel model of one replica on the CPU; its blobs begin with cpu_0/."""
    model = model_helper.ModelHelper(
        name=name, arg_scope=image_classifier.ARG_SCOPE, init_params=trains)
    reader = model.CreateDB(
        name + "_reader", db=db, db_type=args.db_type, num_shards=rendezvous["num_shards"],
        shard_id=rendezvous["shard_id"])

    def add_forward(model, loss_scale):
        softmax = add_lenet(model, "data")
        brew.accuracy(model, [softmax, "label"], "accuracy")
        loss = model.AveragedLoss(model.LabelCrossEntropy([softmax, "label"], "xent"), "loss")
        return [model.Scale(loss, scale=loss_scale)]

    def add_optimizer(model):
        return optimizer.build_adam(
            model, args.base_learning_rate, policy="cosine", max_lr=1.0, min_lr=0.0,
            period=args.iterations)

    dpm.Parallelize_CPU(
        model, lambda model: image_classifier.add_images(model, args, reader), add_forward,
        optimizer_builder_fun=add_optimizer if trains else None, devices=[0],
        rendezvous=rendezvous if trains else None)
    model.param_init_net.set_rand_seed(args.seed)
    dpm.RunInitNet(model)
    return model


def fetch(blob: str) -> float:
    """The value of a scalar blob of the replica."""
    return float(workspace.FetchBlob("cpu_0/" + blob))


def train(args: argparse.Namespace, rendezvous: dict[str, Any]) -> None:
    """Trains for --iterations."""
    model = build("train", args.train_data, args, rendezvous, trains=True)
    for i in range(args.iterations):
        dpm.RunNet(model, 1)
        if i % image_classifier.LOG_EVERY == 0 or i + 1 == args.iterations:
            log.info("iteration %d: loss %.4f, accuracy %.3f", i, fetch("loss"), fetch("accuracy"))


def test(args: argparse.Namespace, rendezvous: dict[str, Any]) -> None:
    """Logs the mean accuracy, 0 to 1, over --test_iterations batches of this process."""
    model = build("test", args.test_data, args, rendezvous, trains=False)
    accuracies = []
    for _ in range(args.test_iterations):
        workspace.RunNet(model.net)
        accuracies.append(fetch("accuracy"))
    log.info("shard %d of %d: test accuracy: %.4f", rendezvous["shard_id"],
             rendezvous["num_shards"], np.mean(accuracies))


def main() -> None:
    """Trains and tests."""
    args = image_classifier.make_parser(
        "LeNet on MNIST, data parallel", batch_size=64, iterations=200,
        base_learning_rate=0.002).parse_args()
    workspace.GlobalInit(["caffe2", "--caffe2_log_level=1"])
    rendezvous = dpm.RendezvousFromEnvironment()
    train(args, rendezvous)
    if args.test_data:
        test(args, rendezvous)


if __name__ == "__main__":
    main()
