"""Trains LeNet on MNIST and exports it for prediction.

    make_mnist_db --image_file train-images-idx3-ubyte.gz --label_file train-labels-idx1-ubyte.gz \
        --output_file mnist-train-lmdb --format tensorprotos
    (and mnist-test-lmdb from the t10k files)
    python -m caffe2.python.examples.mnist_lenet \
        --train_data mnist-train-lmdb --test_data mnist-test-lmdb
"""

from __future__ import annotations

import argparse
import logging

from caffe2.python import brew, core, optimizer
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.examples import image_classifier
from caffe2.python.model_helper import ModelHelper
from caffe2.python.predictor import predictor_exporter as pe

logging.basicConfig(level=logging.INFO)


def add_lenet(model: ModelHelper, data: BlobLike) -> core.BlobReference:
    """Two convolutions and two fully connected layers (LeCun et al., 1998)."""
    conv1 = brew.conv(model, data, "conv1", dim_in=1, dim_out=20, kernel=5)  # 28 -> 24
    pool1 = brew.max_pool(model, conv1, "pool1", kernel=2, stride=2)  # -> 12
    conv2 = brew.conv(model, pool1, "conv2", dim_in=20, dim_out=50, kernel=5)  # -> 8
    pool2 = brew.max_pool(model, conv2, "pool2", kernel=2, stride=2)  # -> 4
    fc3 = brew.fc(model, pool2, "fc3", dim_in=50 * 4 * 4, dim_out=500)
    relu3 = brew.relu(model, fc3, "relu3")
    pred = brew.fc(model, relu3, "pred", dim_in=500, dim_out=10)
    return brew.softmax(model, pred, "softmax")


def add_training_operators(model: ModelHelper, softmax: BlobLike, label: BlobLike,
                           args: argparse.Namespace) -> None:
    """Adds loss, accuracy, gradients and the optimizer."""
    xent = model.LabelCrossEntropy([softmax, label], "xent")
    loss = model.AveragedLoss(xent, "loss")
    brew.accuracy(model, [softmax, label], "accuracy")
    model.AddGradientOperators([loss])
    optimizer.build_sgd(
        model, base_learning_rate=args.base_learning_rate, policy="step", stepsize=1, gamma=0.999)


def train(args: argparse.Namespace) -> None:
    """Trains for --iterations."""
    model = ModelHelper(name="train_net", arg_scope=image_classifier.ARG_SCOPE)
    data, label = image_classifier.add_input(model, args, args.train_data)
    add_training_operators(model, add_lenet(model, data), label, args)
    image_classifier.create(model, args.seed)
    image_classifier.run_training(model, args.iterations)


def export(prefix: str) -> None:
    """Writes <prefix>.minidb, and <prefix>_init_net.pb with <prefix>_predict_net.pb."""
    model = image_classifier.export(add_lenet, prefix)
    pe.save_to_db("minidb", prefix + ".minidb", pe.PredictorExportMeta(
        predict_net=model.net.Proto(), parameters=[str(p) for p in model.params],
        inputs=["data"], outputs=["softmax"]))


def main() -> None:
    """Trains, tests and exports."""
    args = image_classifier.make_parser(
        "LeNet on MNIST", batch_size=64, iterations=200, base_learning_rate=0.1).parse_args()
    core.GlobalInit(["caffe2", "--caffe2_log_level=1"])
    train(args)
    if args.test_data:
        image_classifier.test(add_lenet, args)
    if args.save_model_name:
        export(args.save_model_name)


if __name__ == "__main__":
    main()
