"""Shared by the examples that classify small pictures: reading, running, flags, export."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable

import numpy as np

from caffe2.python import brew, core, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper
from caffe2.python.predictor import mobile_exporter

# function(model, data) -> the softmax
AddModel = Callable[[ModelHelper, BlobLike], core.BlobReference]

ARG_SCOPE = {"order": "NCHW"}
LOG_EVERY = 50  # iterations

log = logging.getLogger("image_classifier")


def add_images(model: ModelHelper, args: argparse.Namespace,
               reader: BlobLike) -> tuple[core.BlobReference, core.BlobReference]:
    """Images [batch, channels, height, width] with values from 0 to less than 1, and their classes,
    int32 [batch], from a reader of TensorProtos."""
    data_uint8, label = model.net.TensorProtosDBInput(
        reader, ["data_uint8", "label"], batch_size=args.batch_size)
    data = model.net.Cast(data_uint8, "data", to=core.DataType.FLOAT)
    data = model.net.Scale(data, data, scale=float(1.0 / 256))
    return model.net.StopGradient(data, data), label


def add_input(model: ModelHelper, args: argparse.Namespace,
              db: str) -> tuple[core.BlobReference, core.BlobReference]:
    """As add_images, from a database of which this model reads all records."""
    return add_images(model, args, model.CreateDB("dbreader_" + db, db=db, db_type=args.db_type))


def create(model: ModelHelper, seed: int = 1) -> None:
    """Creates the model's net, after the parameters that the model defines. Runs with the same seed
    draw the same parameters."""
    model.param_init_net.set_rand_seed(seed)
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net, overwrite=True)


def run_training(model: ModelHelper, iterations: int) -> None:
    """Runs the net `iterations` times; logs its blobs "loss" and "accuracy"."""
    for i in range(iterations):
        workspace.RunNet(model.net)
        if i % LOG_EVERY == 0 or i + 1 == iterations:
            log.info("iteration %d: loss %.4f, accuracy %.3f", i,
                     workspace.FetchBlob("loss"), workspace.FetchBlob("accuracy"))


def test(add_model: AddModel, args: argparse.Namespace) -> float:
    """Logs and returns the mean accuracy, 0 to 1, over args.test_iterations batches of test data.

    `add_model(model, data)` adds the network and returns its softmax. The parameters are in the
    workspace.
    """
    model = ModelHelper(name="test_net", arg_scope=ARG_SCOPE, init_params=False)
    data, label = add_input(model, args, args.test_data)
    brew.accuracy(model, [add_model(model, data), label], "accuracy")
    create(model)
    accuracies = []
    for _ in range(args.test_iterations):
        workspace.RunNet(model.net)
        accuracies.append(float(workspace.FetchBlob("accuracy")))
    mean = float(np.mean(accuracies))
    log.info("test accuracy: %.4f", mean)
    return mean


def export(add_model: AddModel, prefix: str) -> ModelHelper:
    """Writes <prefix>_init_net.pb and <prefix>_predict_net.pb, "data" to "softmax"; returns the
    model."""
    model = ModelHelper(name="deploy_net", arg_scope=ARG_SCOPE, init_params=False)
    model.net.AddExternalInput("data")
    add_model(model, "data")
    model.net.AddExternalOutput("softmax")
    init_net, predict_net = mobile_exporter.Export(workspace, model.net, model.params)
    for net, suffix in ((init_net, "_init_net.pb"), (predict_net, "_predict_net.pb")):
        with open(prefix + suffix, "wb") as f:
            f.write(net.SerializeToString())
    return model


def make_parser(description: str, batch_size: int, iterations: int,
                base_learning_rate: float) -> argparse.ArgumentParser:
    """A parser of the flags that these examples share, with the given defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--train_data", required=True, help="training database of TensorProtos")
    parser.add_argument("--test_data", help="test database")
    parser.add_argument("--db_type", default="lmdb", help="type of the databases")
    parser.add_argument("--batch_size", type=int, default=batch_size, help="images in a batch")
    parser.add_argument("--iterations", type=int, default=iterations, help="batches to train on")
    parser.add_argument("--test_iterations", type=int, default=100, help="batches to test on")
    parser.add_argument("--base_learning_rate", type=float, default=base_learning_rate)
    parser.add_argument("--seed", type=int, default=1, help="draws the first parameters")
    parser.add_argument("--save_model_name", help="path prefix of the files to write")
    return parser
