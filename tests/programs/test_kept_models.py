"""Which models a run keeps, and when it ends without a better one."""

import re

import pytest

from conftest import last_line, run, training


def test_the_best_model_and_the_last_ones_are_kept(databases, tmp_path):
    done = run("resnet50_trainer", *training(
        databases, tmp_path, num_epochs=4, keep_models=2, keep_best=True))
    assert done.returncode == 0, done.output
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["model_3.mdl", "model_4.mdl", "model_best.mdl"]
    accuracies = re.findall(r"Test accuracy after epoch \d: ([\d.]+)", done.output)
    tested = run("resnet50_trainer", *training(
        databases, tmp_path, evaluate=True, load_model_path=tmp_path / "model_best.mdl"))
    best = max(accuracies, key=float)
    assert f"model_best.mdl: accuracy {best}, " in last_line(tested.output), tested.output


def test_all_shards_end_when_no_test_is_better(databases, shards, tmp_path):
    flags = {"num_shards": 2, "run_id": "patient", "batch_size": 16, "num_epochs": 50,
             "base_learning_rate": 1e-9, "patience": 2, "log_all_shards": True}
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    for status, output in shards.wait():
        assert status == 0, output
        assert re.search(r"Ending early: --patience 2 epochs without a better test accuracy than "
                         r"[\d.]+ after epoch 0", output), output
        assert len(re.findall("Finished epoch", output)) == 3


def test_mnist_models_are_kept_likewise(databases, tmp_path):
    done = run("mnist_trainer", "--use_cpu", "--train_data", databases / "train_lmdb",
               "--test_data", databases / "test_lmdb", "--num_examples", "640", "--num_epochs", "3",
               "--model_prefix", tmp_path / "m", "--keep_models", "1", "--keep_best")
    assert done.returncode == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m-0003.mdl", "m-best.mdl"]


@pytest.mark.parametrize("flags, expected", [
    ({"keep_best": True, "test_data": None}, "--keep_best needs --test_data"),
    ({"keep_best": True, "save_model_name": ""}, "--keep_best needs a name for models"),
    ({"patience": 1, "test_data": None}, "--patience needs --test_data"),
    ({"patience": -1}, "--patience is -1"),
    ({"keep_models": -1}, "--keep_models is -1"),
])
def test_bad_wishes_are_one_clear_line(flags, expected, databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags))
    assert done.returncode == 64, done.output
    assert expected in last_line(done.output)
