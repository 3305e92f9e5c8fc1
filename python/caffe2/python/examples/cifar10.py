"""Trains a small convolutional net on CIFAR-10, with checkpoints, and exports it.

    make_cifar_db --input_folder cifar-10-batches-bin --format tensorprotos \
        --output_train_db_name cifar10-train-lmdb --output_test_db_name cifar10-test-lmdb
    python -m caffe2.python.examples.cifar10 \
        --train_data cifar10-train-lmdb --test_data cifar10-test-lmdb

With the default rates, the test accuracy is 47 % after the first 49,000 training images.
"""

from __future__ import annotations

import argparse
import logging

from caffe2.python import brew, core, optimizer
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.examples import image_classifier
from caffe2.python.model_helper import ModelHelper

logging.basicConfig(level=logging.INFO)


def add_model(model: ModelHelper, data: BlobLike) -> core.BlobReference:
    """Three convolutions with pooling, two fully connected layers."""
    x = brew.conv(model, data, "conv1", 3, 32, kernel=5, stride=1, pad=2)  # 32 -> 32
    x = brew.max_pool(model, x, "pool1", kernel=3, stride=2)  # -> 15
    x = brew.relu(model, x, "relu1")
    x = brew.conv(model, x, "conv2", 32, 32, kernel=5, stride=1, pad=2)
    x = brew.relu(model, x, "conv2")
    x = brew.average_pool(model, x, "pool2", kernel=3, stride=2)  # -> 7
    x = brew.conv(model, x, "conv3", 32, 64, kernel=5, stride=1, pad=2)
    x = brew.relu(model, x, "conv3")
    x = brew.average_pool(model, x, "pool3", kernel=3, stride=2)  # -> 3
    x = brew.fc(model, x, "fc1", 64 * 3 * 3, 64)
    x = brew.fc(model, x, "fc2", 64, 10)
    return brew.softmax(model, x, "softmax")


def add_training_operators(model: ModelHelper, softmax: BlobLike, label: BlobLike,
                           args: argparse.Namespace) -> None:
    """Adds loss, accuracy, gradients and the optimizer."""
    xent = model.LabelCrossEntropy([softmax, label], "xent")
    loss = model.AveragedLoss(xent, "loss")
    brew.accuracy(model, [softmax, label], "accuracy")
    model.AddGradientOperators([loss])
    optimizer.add_weight_decay(model, args.weight_decay)
    optimizer.build_sgd(
        model, base_learning_rate=args.base_learning_rate, policy="fixed", momentum=0.9)


def add_checkpoints(model: ModelHelper, every: int, prefix: str) -> None:
    """Writes iteration and parameters to <prefix>_<iteration>.lmdb every `every` iterations."""
    iteration = brew.iter(model, "iter")
    model.Checkpoint([iteration, *model.params], [], db=prefix + "_%05d.lmdb", db_type="lmdb",
                     every=every)


def train(args: argparse.Namespace) -> None:
    """Trains for --iterations, with checkpoints if --checkpoint_every is set."""
    model = ModelHelper(name="train_net", arg_scope=image_classifier.ARG_SCOPE)
    data, label = image_classifier.add_input(model, args, args.train_data)
    add_training_operators(model, add_model(model, data), label, args)
    if args.checkpoint_every:
        add_checkpoints(model, args.checkpoint_every, args.save_model_name or "cifar10_checkpoint")
    image_classifier.create(model, args.seed)
    image_classifier.run_training(model, args.iterations)


def parse_args() -> argparse.Namespace:
    """The flags of the command line."""
    parser = image_classifier.make_parser(
        "A small net on CIFAR-10", batch_size=100, iterations=2000, base_learning_rate=0.01)
    parser.add_argument("--weight_decay", type=float, default=0.004)
    parser.add_argument("--checkpoint_every", type=int, default=0,
                        help="iterations between checkpoints; 0: none")
    return parser.parse_args()


def main() -> None:
    """Trains, tests and exports."""
    args = parse_args()
    core.GlobalInit(["caffe2", "--caffe2_log_level=1"])
    train(args)
    if args.test_data:
        image_classifier.test(add_model, args)
    if args.save_model_name:
        image_classifier.export(add_model, args.save_model_name)


if __name__ == "__main__":
    main()
