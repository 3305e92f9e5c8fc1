"""Trains a small convolutional net on CIFAR-10, with checkpoints, and exports it.

    make_cifar_db --input_folder cifar-10-batches-bin --format tensorprotos \
        --output_train_db_name cifar10-train-lmdb --output_test_db_name cifar10-test-lmdb
    python cifar10.py --train_data cifar10-train-lmdb --test_data cifar10-test-lmdb
"""

import argparse
import logging

import numpy as np

from caffe2.python import brew, core, model_helper, optimizer, workspace
from caffe2.python.predictor import mobile_exporter

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("cifar10")

ARG_SCOPE = {"order": "NCHW"}


def add_input(model, batch_size, db, db_type):
    """Images [batch, 3, 32, 32] with values 0 to 1, and their classes."""
    data_uint8, label = brew.db_input(
        model, blobs_out=["data_uint8", "label"], batch_size=batch_size, db=db, db_type=db_type)
    data = model.Cast(data_uint8, "data_cast", to=core.DataType.FLOAT)
    data = model.Scale(data, "data", scale=float(1.0 / 256))
    return model.StopGradient(data, data), label


def add_model(model, data):
    """Three convolutions with pooling, two fully connected layers."""
    x = brew.conv(model, data, "conv1", 3, 32, kernel=5, stride=1, pad=2,
                  weight_init=("GaussianFill", {"std": 1e-3}))  # 32 -> 32
    x = brew.max_pool(model, x, "pool1", kernel=3, stride=2)  # -> 15
    x = brew.relu(model, x, "relu1")
    x = brew.conv(model, x, "conv2", 32, 32, kernel=5, stride=1, pad=2,
                  weight_init=("GaussianFill", {"std": 1e-2}))
    x = brew.relu(model, x, "conv2")
    x = brew.average_pool(model, x, "pool2", kernel=3, stride=2)  # -> 7
    x = brew.conv(model, x, "conv3", 32, 64, kernel=5, stride=1, pad=2,
                  weight_init=("GaussianFill", {"std": 1e-2}))
    x = brew.relu(model, x, "conv3")
    x = brew.average_pool(model, x, "pool3", kernel=3, stride=2)  # -> 3
    x = brew.fc(model, x, "fc1", 64 * 3 * 3, 64, weight_init=("GaussianFill", {"std": 1e-1}))
    x = brew.fc(model, x, "fc2", 64, 10, weight_init=("GaussianFill", {"std": 1e-1}))
    return brew.softmax(model, x, "softmax")


def add_training_operators(model, softmax, label, args):
    xent = model.LabelCrossEntropy([softmax, label], "xent")
    loss = model.AveragedLoss(xent, "loss")
    brew.accuracy(model, [softmax, label], "accuracy")
    model.AddGradientOperators([loss])
    optimizer.add_weight_decay(model, args.weight_decay)
    optimizer.build_sgd(
        model, base_learning_rate=args.base_learning_rate, policy="fixed", momentum=0.9)


def add_checkpoints(model, every, prefix):
    """Writes iteration and parameters to <prefix>_<iteration>.lmdb every so many iterations."""
    iteration = brew.iter(model, "iter")
    model.Checkpoint([iteration, *model.params], [], db=prefix + "_%05d.lmdb", db_type="lmdb",
                     every=every)


def train(args):
    model = model_helper.ModelHelper(name="train_net", arg_scope=ARG_SCOPE)
    data, label = add_input(model, args.batch_size, args.train_data, args.db_type)
    softmax = add_model(model, data)
    add_training_operators(model, softmax, label, args)
    if args.checkpoint_every:
        add_checkpoints(model, args.checkpoint_every, args.save_model_name or "cifar10_checkpoint")
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net, overwrite=True)
    for i in range(args.iterations):
        workspace.RunNet(model.net)
        if i % 50 == 0 or i + 1 == args.iterations:
            log.info("iteration %d: loss %.4f, accuracy %.3f", i,
                     workspace.FetchBlob("loss"), workspace.FetchBlob("accuracy"))


def test(args):
    """The accuracy on the test data."""
    model = model_helper.ModelHelper(name="test_net", arg_scope=ARG_SCOPE, init_params=False)
    data, label = add_input(model, args.batch_size, args.test_data, args.db_type)
    brew.accuracy(model, [add_model(model, data), label], "accuracy")
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net, overwrite=True)
    accuracies = []
    for _ in range(args.test_iterations):
        workspace.RunNet(model.net)
        accuracies.append(float(workspace.FetchBlob("accuracy")))
    log.info("test accuracy: %.4f", np.mean(accuracies))
    return np.mean(accuracies)


def export(prefix):
    """Writes <prefix>_init_net.pb and <prefix>_predict_net.pb."""
    model = model_helper.ModelHelper(name="deploy_net", arg_scope=ARG_SCOPE, init_params=False)
    model.net.AddExternalInput("data")
    add_model(model, "data")
    model.net.AddExternalOutput("softmax")
    init_net, predict_net = mobile_exporter.Export(workspace, model.net, model.params)
    for net, suffix in ((init_net, "_init_net.pb"), (predict_net, "_predict_net.pb")):
        with open(prefix + suffix, "wb") as f:
            f.write(net.SerializeToString())


def parse_args():
    parser = argparse.ArgumentParser(description="A small net on CIFAR-10")
    parser.add_argument("--train_data", required=True, help="training database of TensorProtos")
    parser.add_argument("--test_data", help="test database")
    parser.add_argument("--db_type", default="lmdb", help="type of the databases")
    parser.add_argument("--batch_size", type=int, default=100, help="images in a batch")
    parser.add_argument("--iterations", type=int, default=2000, help="batches to train on")
    parser.add_argument("--test_iterations", type=int, default=100, help="batches to test on")
    parser.add_argument("--base_learning_rate", type=float, default=0.01)
    parser.add_argument("--weight_decay", type=float, default=0.004)
    parser.add_argument("--checkpoint_every", type=int, default=0,
                        help="iterations between checkpoints; 0: none")
    parser.add_argument("--save_model_name", help="path prefix of what is written")
    return parser.parse_args()


def main():
    args = parse_args()
    core.GlobalInit(["caffe2", "--caffe2_log_level=1"])
    train(args)
    if args.test_data:
        test(args)
    if args.save_model_name:
        export(args.save_model_name)


if __name__ == "__main__":
    main()
