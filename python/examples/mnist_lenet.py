"""Trains LeNet on MNIST and exports it for prediction.

    make_mnist_db --image_file train-images-idx3-ubyte.gz --label_file train-labels-idx1-ubyte.gz \
        --output_file mnist-train-lmdb --format tensorprotos
    (and mnist-test-lmdb from the t10k files)
    python mnist_lenet.py --train_data mnist-train-lmdb --test_data mnist-test-lmdb
"""

import argparse
import logging

import numpy as np

from caffe2.python import brew, core, model_helper, optimizer, workspace
from caffe2.python.predictor import mobile_exporter
from caffe2.python.predictor import predictor_exporter as pe

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("mnist_lenet")


def add_input(model, batch_size, db, db_type):
    """Images [batch, 1, 28, 28] with values 0 to 1, and their digits."""
    data_uint8, label = brew.db_input(
        model, blobs_out=["data_uint8", "label"], batch_size=batch_size, db=db, db_type=db_type)
    data = model.net.Cast(data_uint8, "data", to=core.DataType.FLOAT)
    data = model.net.Scale(data, data, scale=float(1.0 / 256))
    return model.net.StopGradient(data, data), label


def add_lenet(model, data):
    """Two convolutions and two fully connected layers (LeCun et al., 1998)."""
    conv1 = brew.conv(model, data, "conv1", dim_in=1, dim_out=20, kernel=5)  # 28 -> 24
    pool1 = brew.max_pool(model, conv1, "pool1", kernel=2, stride=2)  # -> 12
    conv2 = brew.conv(model, pool1, "conv2", dim_in=20, dim_out=50, kernel=5)  # -> 8
    pool2 = brew.max_pool(model, conv2, "pool2", kernel=2, stride=2)  # -> 4
    fc3 = brew.fc(model, pool2, "fc3", dim_in=50 * 4 * 4, dim_out=500)
    relu3 = brew.relu(model, fc3, "relu3")
    pred = brew.fc(model, relu3, "pred", dim_in=500, dim_out=10)
    return brew.softmax(model, pred, "softmax")


def add_training(model, softmax, label, args):
    xent = model.LabelCrossEntropy([softmax, label], "xent")
    loss = model.AveragedLoss(xent, "loss")
    model.AddGradientOperators([loss])
    optimizer.build_sgd(
        model, base_learning_rate=args.base_learning_rate, policy="step", stepsize=1, gamma=0.999)


def build(name, db, args, train):
    """A created model; its accuracy is the blob "accuracy"."""
    model = model_helper.ModelHelper(
        name=name, arg_scope={"order": "NCHW"}, init_params=train)
    data, label = add_input(model, args.batch_size, db, args.db_type)
    softmax = add_lenet(model, data)
    brew.accuracy(model, [softmax, label], "accuracy")
    if train:
        add_training(model, softmax, label, args)
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net, overwrite=True)
    return model


def train(args):
    model = build("mnist_train", args.train_data, args, train=True)
    for i in range(args.iterations):
        workspace.RunNet(model.net)
        if i % 50 == 0 or i + 1 == args.iterations:
            log.info("iteration %d: loss %.4f, accuracy %.3f", i,
                     workspace.FetchBlob("loss"), workspace.FetchBlob("accuracy"))


def test(args):
    """The accuracy on the test data."""
    model = build("mnist_test", args.test_data, args, train=False)
    accuracies = []
    for _ in range(args.test_iterations):
        workspace.RunNet(model.net)
        accuracies.append(float(workspace.FetchBlob("accuracy")))
    log.info("test accuracy: %.4f", np.mean(accuracies))
    return np.mean(accuracies)


def export(args):
    """Writes <prefix>.minidb, and <prefix>_init_net.pb with <prefix>_predict_net.pb."""
    model = model_helper.ModelHelper(
        name="mnist_deploy", arg_scope={"order": "NCHW"}, init_params=False)
    model.net.AddExternalInput("data")
    add_lenet(model, "data")
    model.net.AddExternalOutput("softmax")
    pe.save_to_db("minidb", args.save_model_name + ".minidb", pe.PredictorExportMeta(
        predict_net=model.net.Proto(), parameters=[str(p) for p in model.params],
        inputs=["data"], outputs=["softmax"]))
    init_net, predict_net = mobile_exporter.Export(workspace, model.net, model.params)
    for net, suffix in ((init_net, "_init_net.pb"), (predict_net, "_predict_net.pb")):
        with open(args.save_model_name + suffix, "wb") as f:
            f.write(net.SerializeToString())


def parse_args():
    parser = argparse.ArgumentParser(description="LeNet on MNIST")
    parser.add_argument("--train_data", required=True, help="training database of TensorProtos")
    parser.add_argument("--test_data", help="test database")
    parser.add_argument("--db_type", default="lmdb", help="type of the databases")
    parser.add_argument("--batch_size", type=int, default=64, help="images in a batch")
    parser.add_argument("--iterations", type=int, default=200, help="batches to train on")
    parser.add_argument("--test_iterations", type=int, default=100, help="batches to test on")
    parser.add_argument("--base_learning_rate", type=float, default=0.1)
    parser.add_argument("--save_model_name", help="path prefix of the exported model")
    return parser.parse_args()


def main():
    args = parse_args()
    core.GlobalInit(["caffe2", "--caffe2_log_level=1"])
    train(args)
    if args.test_data:
        test(args)
    if args.save_model_name:
        export(args)


if __name__ == "__main__":
    main()
