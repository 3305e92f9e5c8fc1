"""The programs of caffe2.python.examples, on little data."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import caffe2
from caffe2.proto import caffe2_pb2, caffe_datum_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import utils, workspace

_PACKAGE = str(pathlib.Path(caffe2.__file__).parent.parent)


def run(program, *flags, cwd, fails=False):
    """Runs an example, which succeeds, or fails if `fails`; returns its log."""
    environment = dict(os.environ, PYTHONPATH=_PACKAGE)
    result = subprocess.run(
        [sys.executable, "-m", f"caffe2.python.examples.{program}", *flags], cwd=cwd,
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert (result.returncode != 0) == fails, result.stdout
    return result.stdout


def patterns(shape, num_labels, count):
    """Images that show their label: a bright row in a noisy picture."""
    random = np.random.RandomState(0)
    for i in range(count):
        label = i % num_labels
        image = random.randint(0, 60, shape).astype(np.uint8)
        image[:, 2 * label:2 * label + 3] = 250
        yield image, label


def write_db(path, records):
    database = C.create_db("lmdb", str(path), C.Mode.new)
    transaction = database.new_transaction()
    for i, record in enumerate(records):
        transaction.put(f"{i:08d}", record.SerializeToString())
    transaction.commit()
    database.close()
    return str(path)


def tensor_protos(shape, count):
    for image, label in patterns(shape, 10, count):
        protos = caffe2_pb2.TensorProtos()
        tensor = protos.protos.add(dims=image.shape, byte_data=image.tobytes())
        tensor.data_type = caffe2_pb2.TensorProto.BYTE
        protos.protos.add().CopyFrom(utils.NumpyArrayToCaffe2Tensor(np.array([label], np.int32)))
        # As the tools write it: a label is a scalar.
        del protos.protos[1].dims[:]
        yield protos


def datums(size, num_labels, count):
    for image, label in patterns((3, size, size), num_labels, count):
        yield caffe_datum_pb2.Datum(
            channels=3, height=size, width=size, data=image.tobytes(), label=label)


def accuracy_in(log):
    return float(re.search(r"test accuracy: ([0-9.]+)", log).group(1))


def check_exported(prefix, shape):
    """The exported nets predict the label of the patterns."""
    with open(f"{prefix}_init_net.pb", "rb") as init, \
            open(f"{prefix}_predict_net.pb", "rb") as predict:
        predictor = workspace.Predictor(init.read(), predict.read())
    images, labels = zip(*patterns(shape, 10, 20))
    softmax = predictor.run({"data": np.float32(images) / 256})[0]
    assert (softmax.argmax(axis=1) == labels).mean() > 0.9


def test_mnist_lenet(tmp_path):
    data = write_db(tmp_path / "db", tensor_protos((1, 28, 28), 200))
    log = run("mnist_lenet", "--train_data", data, "--test_data", data, "--batch_size", "20",
              "--iterations", "60", "--test_iterations", "10", "--save_model_name", "lenet",
              cwd=tmp_path)
    assert accuracy_in(log) > 0.9
    check_exported(tmp_path / "lenet", (1, 28, 28))
    assert (tmp_path / "lenet.minidb").exists()


def test_mnist_data_parallel_trains_alone(tmp_path):
    data = write_db(tmp_path / "db", tensor_protos((1, 28, 28), 200))
    log = run("mnist_data_parallel", "--train_data", data, "--test_data", data, "--batch_size",
              "20", "--iterations", "60", "--test_iterations", "10", cwd=tmp_path)
    assert "shard 0 of 1: test accuracy" in log
    assert accuracy_in(log) > 0.9


def test_cifar10(tmp_path):
    data = write_db(tmp_path / "db", tensor_protos((3, 32, 32), 200))
    log = run("cifar10", "--train_data", data, "--test_data", data, "--batch_size", "20",
              "--iterations", "120", "--test_iterations", "10",
              "--checkpoint_every", "50", "--save_model_name", "cifar", cwd=tmp_path)
    assert accuracy_in(log) > 0.9
    check_exported(tmp_path / "cifar", (3, 32, 32))
    assert (tmp_path / "cifar_00050.lmdb").exists()
    assert (tmp_path / "cifar_init_net.pb").exists()


RESNET = ["--use_cpu", "--num_layers", "18", "--image_size", "32", "--num_labels", "4",
          "--batch_size", "8", "--epoch_size", "16", "--base_learning_rate", "0.01"]


def test_resnet_takes_nccl_for_gpus_alone(tmp_path):
    log = run("resnet50_trainer", *RESNET, "--train_data", "null", "--use_nccl", cwd=tmp_path,
              fails=True)
    assert "ValueError: --use_nccl and --use_cpu cannot be used together" in log


def test_resnet_trains_tests_saves_and_resumes(tmp_path):
    data = write_db(tmp_path / "db", datums(36, 4, 32))
    flags = [*RESNET, "--train_data", data, "--test_data", data, "--test_epoch_size", "16",
             "--num_gpus", "2", "--file_store_path", str(tmp_path)]
    log = run("resnet50_trainer", *flags, "--num_epochs", "1", cwd=tmp_path)
    assert "Finished iteration 2/2 of epoch 0" in log and "Training loss" in log
    model = tmp_path / "resnet50_model_1.mdl"
    assert model.exists()
    log = run("resnet50_trainer", *flags, "--num_epochs", "3", "--load_model_path", str(model),
              cwd=tmp_path)
    assert "Reset epoch to 1" in log and "Starting epoch 1/3" in log
    # A run removes its own earlier models alone.
    models = sorted(path.name for path in tmp_path.glob("*.mdl"))
    assert models == ["resnet50_model_1.mdl", "resnet50_model_3.mdl"]
    (csv, *_) = sorted(tmp_path.glob("resnet18_gpu2_b8_L4_*.log"))
    header = csv.read_text().splitlines()[1]
    assert header.endswith("top1_test_accuracy,top5_test_accuracy")


def test_resnext_shards_meet_through_files(tmp_path):
    flags = [*RESNET, "--train_data", "null", "--resnext_num_groups", "2",
             "--resnext_width_per_group", "32", "--num_epochs", "1", "--num_shards", "2",
             "--run_id", "test", "--distributed_interfaces", "lo"]
    environment = dict(os.environ, PYTHONPATH=_PACKAGE)
    processes = []
    for shard in range(2):
        folder = tmp_path / f"shard_{shard}"
        folder.mkdir()
        processes.append(subprocess.Popen(
            [sys.executable, "-m", "caffe2.python.examples.resnet50_trainer", *flags, "--shard_id",
             str(shard), "--file_store_path", str(tmp_path), "--save_model_name",
             f"model_{shard}"], cwd=folder, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True))
    for process in processes:
        log, _ = process.communicate(timeout=300)
        assert process.returncode == 0, log
        assert "Finished iteration 1/1 of epoch 0" in log


def test_wrong_flags_are_named(tmp_path):
    with pytest.raises(AssertionError, match="run_id is needed"):
        run("resnet50_trainer", *RESNET, "--train_data", "null", "--num_shards", "2",
            cwd=tmp_path)
    with pytest.raises(AssertionError, match="not divisible"):
        run("resnet50_trainer", *RESNET, "--train_data", "null", "--num_gpus", "3",
            cwd=tmp_path)
