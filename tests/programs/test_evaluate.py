"""Tests of saved models with --evaluate, and models for other labels with --finetune."""

import re
import shutil

import pytest
from model_files import model as model_file

from conftest import last_line, run, training


@pytest.fixture(scope="module")
def trained(databases, tmp_path_factory):
    """A folder with model_2.mdl and model.checkpoint, and the accuracy of their last test."""
    folder = tmp_path_factory.mktemp("trained")
    done = run("resnet50_trainer", *training(
        databases, folder, num_epochs=2, checkpoint_every=1000))
    assert done.returncode == 0, done.output
    accuracies = re.findall(r"Test accuracy after epoch \d: ([\d.]+)", done.output)
    return folder, accuracies[-1]


def evaluating(databases, folder, **flags):
    return training(databases, folder, **{"train_data": None, "evaluate": True, **flags})


def test_a_saved_model_is_tested(databases, trained, tmp_path):
    folder, accuracy = trained
    model = folder / "model_2.mdl"
    done = run("resnet50_trainer", *evaluating(databases, tmp_path, load_model_path=model))
    assert done.returncode == 0, done.output
    assert f"Test accuracy after epoch 1: {accuracy}, " in done.output
    assert re.search(
        rf"Evaluated {model}: accuracy {accuracy}, top-5 accuracy [\d.]+, loss [\d.]+ "
        rf"\(100 images of {databases}/test_lmdb\)", last_line(done.output)), done.output
    assert "Finished iteration" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_model_says_what_it_needs(databases, trained, tmp_path):
    folder, accuracy = trained
    model = folder / "model_2.mdl"
    words = ("--use_cpu", "--evaluate", "--test_data", databases / "test_lmdb")
    done = run("resnet50_trainer", *words, "--load_model_path", model, cwd=tmp_path)
    assert done.returncode == 0, done.output
    assert f"Evaluated {model}: accuracy {accuracy}, " in last_line(done.output)
    assert (f"Flags that are not given come from {model}: --image_scale=32 --image_size=28 "
            "--mean=128 --model=lenet --num_channels=1 --num_labels=10 --std=128\n") in done.output
    done = run("resnet50_trainer", *words, "--load_model_path", model, "--num_labels", "12",
               "--image_scale", "40", cwd=tmp_path)
    assert done.returncode == 65 and "the model's number of labels" in last_line(done.output)
    assert f"{model} was trained with --image_scale 32, now it is 40" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_model_of_mnist_trainer_says_what_it_needs(databases, tmp_path):
    flags = ("--use_cpu", "--test_data", databases / "test_lmdb", "--model_prefix", tmp_path / "m")
    done = run("mnist_trainer", "--train_data", databases / "train_lmdb", "--num_examples", "640",
               "--num_epochs", "1", "--hidden", "20,30", *flags)
    assert done.returncode == 0, done.output
    accuracy = re.search(r"Validation-accuracy=([\d.]+)", done.output).group(1)
    done = run("mnist_trainer", "--evaluate", "--load_epoch", "1", *flags)
    assert done.returncode == 0, done.output
    assert f"Validation-accuracy={accuracy}" in done.output
    assert f"come from {tmp_path}/m-0001.mdl: --hidden=20,30 --mean=0 --std=256\n" in done.output


def test_a_model_with_odd_records_is_refused(databases, tmp_path):
    words = ("--use_cpu", "--evaluate", "--test_data", databases / "test_lmdb")
    for key, value in (("image_size", "large"), ("order", "N\x1b[2J")):
        path = tmp_path / "odd_1.mdl"
        path.write_bytes(model_file(info={key: value}))
        done = run("resnet50_trainer", *words, "--load_model_path", path)
        assert done.returncode == 65, done.output
        assert last_line(done.output) == (
            f"resnet50_trainer: {path} records a value for --{key} that this flag cannot have: "
            f"give --{key}")


def test_a_checkpoint_is_tested_by_other_shards(databases, trained, shards):
    folder, accuracy = trained
    for shard in range(2):
        shards.start(*evaluating(
            databases, folder, resume=True, num_shards=2, shard_id=shard, run_id="evaluate"))
    for status, output in shards.wait():
        assert status == 0, output
        assert f"Evaluated {folder}/model.checkpoint: accuracy {accuracy}, " in output


# A relative path names a file of the shard's own folder.
@pytest.mark.parametrize("other", ["no model", "another model"])
def test_shards_that_take_other_flags_from_their_models_are_refused(
        other, databases, trained, shards, tmp_path):
    folders = [tmp_path / "0", tmp_path / "1"]
    for folder in folders:
        folder.mkdir()
    shutil.copy(trained[0] / "model_2.mdl", folders[0] / "m_1.mdl")
    if other == "another model":
        (folders[1] / "m_1.mdl").write_bytes(model_file(info={"image_size": "32"}))
    flags = ["--use_cpu", "--evaluate", "--test_data", databases / "test_lmdb",
             "--load_model_path", "m_1.mdl", "--num_shards", 2, "--run_id", "models",
             "--rendezvous_timeout", 40, "--file_store_path", tmp_path]
    for shard, folder in enumerate(folders):
        shards.start(*flags, "--shard_id", shard, cwd=folder)
    for shard, (status, output) in enumerate(shards.wait()):
        assert status == 76, output
        assert re.search(r" differs: .* on shard \d, .* on shard \d", last_line(output)), output
        assert ("There is no model m_1.mdl here" in output) == (shard == 1 and other == "no model")


def test_mnist_models_are_tested_too(databases, tmp_path):
    flags = ["--use_cpu", "--test_data", databases / "test_lmdb", "--num_labels", "10"]
    done = run("mnist_trainer", "--train_data", databases / "train_lmdb", "--num_examples", "640",
               "--num_epochs", "1", "--model_prefix", tmp_path / "m", *flags)
    assert done.returncode == 0, done.output
    accuracy = re.search(r"Validation-accuracy=([\d.]+)", done.output).group(1)
    for model in (["--load_epoch", "1", "--model_prefix", tmp_path / "m"],
                  ["--load_model_path", tmp_path / "m-0001.mdl"]):
        done = run("mnist_trainer", "--evaluate", *model, *flags)
        assert done.returncode == 0, done.output
        assert f"Epoch[0] Validation-accuracy={accuracy}" in done.output
        assert f"accuracy {float(accuracy):.6g}, " in last_line(done.output)


@pytest.mark.parametrize("flags, status, expected", [
    ({"load_model_path": "MODEL", "test_data": None}, 64, "--evaluate needs --test_data"),
    ({}, 64, "--evaluate needs a model: --load_model_path, or --resume"),
    ({"auto_resume": True}, 64, "use --resume instead of --auto_resume"),
    ({"load_model_path": "MODEL", "finetune": True}, 64, "--evaluate and --finetune"),
    ({"load_model_path": "/nowhere/a_1.mdl"}, 66, "/nowhere/a_1.mdl"),
    ({"resume": True, "checkpoint_path": "/nowhere/a"}, 66, "/nowhere/a"),
    ({"load_model_path": "MODEL", "test_data": "/nowhere/test"}, 66, "/nowhere/test"),
    ({"load_model_path": "MODEL", "num_labels": 12}, 65,
     "--num_labels must be the model's number of labels"),
])
def test_bad_evaluations_are_one_clear_line(flags, status, expected, databases, trained, tmp_path):
    flags = {name: trained[0] / "model_2.mdl" if value == "MODEL" else value
             for name, value in flags.items()}
    done = run("resnet50_trainer", *evaluating(databases, tmp_path, **flags))
    assert done.returncode == status, done.output
    assert expected in last_line(done.output)


def test_finetuning_names_what_starts_fresh(databases, trained, tmp_path):
    model = trained[0] / "model_2.mdl"
    done = run("resnet50_trainer", *training(
        databases, tmp_path, load_model_path=model, finetune=True, num_labels=12))
    assert done.returncode == 0, done.output
    assert "Finetuning: fresh parameters pred_w, pred_b" in done.output
    assert "Starting epoch 0/1" in done.output
    assert (tmp_path / "model_1.mdl").exists()


def test_a_model_without_an_epoch_in_its_name_counts_from_0(databases, trained, tmp_path):
    model = tmp_path / "plain.mdl"
    model.write_bytes((trained[0] / "model_2.mdl").read_bytes())
    done = run("resnet50_trainer", *training(databases, tmp_path, load_model_path=model))
    assert done.returncode == 0, done.output
    assert f"--load_model_path {model} has no epoch in its name, as NAME_3.mdl has" in done.output
    assert "Starting epoch 0/1" in done.output


@pytest.mark.parametrize("flags, expected", [
    ({}, "--finetune needs --load_model_path"),
    ({"load_model_path": "MODEL", "model": "mlp"}, "model_2.mdl has no parameter fc"),
    ({"load_model_path": "MODEL", "order": "NCHW"},
     "the network needs [20, 1, 5, 5] (add --order NHWC)"),
    ({"load_model_path": "MODEL", "file_store_path": "FOLDER", "num_epochs": 5}, "would overwrite"),
])
def test_bad_finetuning_is_one_clear_line(flags, expected, databases, trained, tmp_path):
    names = {"MODEL": trained[0] / "model_2.mdl", "FOLDER": trained[0]}
    flags = {name: names.get(value, value) for name, value in flags.items()}
    done = run("resnet50_trainer", *training(databases, tmp_path, finetune=True, **flags))
    assert 0 < done.returncode < 128, done.output
    assert expected in last_line(done.output)
