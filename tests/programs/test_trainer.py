"""The trainer as its users start it: whole runs of processes, good and bad."""

import json
import re
import signal
import time

import pytest

from conftest import last_line, run, training, wait_for_line, write_idx
from redis_server import redis_keys


def test_one_shard_trains_tests_and_exports(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, num_epochs=3))
    assert done.returncode == 0, done.output
    assert "Starting epoch 2/3" in done.output
    assert "Finished iteration" in done.output
    assert [path.name for path in tmp_path.glob("*.mdl")], done.output
    assert not list(tmp_path.glob("*tmp*")), "temporary files stay behind"


@pytest.mark.parametrize("store", ["redis", "file"])
def test_two_shards_train_together_and_leave_nothing(store, databases, redis, shards, tmp_path):
    flags = {"num_shards": 2, "run_id": f"0000-{store}", "batch_size": 16}
    if store == "redis":
        flags.update(redis_host="127.0.0.1", redis_port=redis)
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    for status, output in shards.wait():
        assert status == 0, output
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".mdl"] == []
    if store == "redis":
        assert redis_keys(redis) == []


def test_the_first_users_command_names_use_cpu_without_a_gpu(databases, tmp_path):
    done = run(
        "resnet50_trainer", "--train_data", f"{databases}/train_lmdb/", "--test_data",
        f"{databases}/test_lmdb/", "--db_type", "lmdb", "--gpus", "0", "--num_gpus", "1",
        "--num_shards", "2", "--shard_id", "0", "--run_id", "0000", "--redis_host", "127.0.0.1",
        "--redis_port", "6379", cwd=tmp_path,
    )
    if done.returncode == 0:
        pytest.skip("this machine has a GPU")
    assert "--use_cpu" in last_line(done.output)


def test_gpus_do_not_count_with_use_cpu(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, gpus="0", num_gpus=1))
    assert done.returncode == 0, done.output


def test_flags_without_effect_say_so_when_they_are_given(databases, tmp_path):
    flags = {"cudnn_workspace_limit_mb": 128, "float16_compute": True, "enable_tensor_core": True}
    given = run("resnet50_trainer", *training(databases, tmp_path, **flags))
    plain = run("resnet50_trainer", *training(databases, tmp_path))
    assert given.returncode == plain.returncode == 0, given.output
    for name in flags:
        assert given.output.count(f"--{name} has no effect: ") == 1, given.output
    assert "no effect" not in plain.output


def test_a_folder_of_files_is_training_and_test_data(databases, tmp_path):
    folder = tmp_path / "mnist"
    folder.mkdir()
    for stem, count in (("train", 320), ("t10k", 100)):
        write_idx(folder, stem, count, seed=count)
    done = run("resnet50_trainer", *training(
        databases, tmp_path, train_data=folder, test_data=folder, db_type=None, epoch_size=0))
    assert done.returncode == 0, done.output
    assert "Using epoch size: 320 (--train_data has 320 images)" in done.output
    assert re.search(r"Test accuracy after epoch 0: .* \(100 images, ", done.output), done.output


@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_only_the_class_with_a_weight_is_learned(databases, tmp_path, smoothing):
    found = run("doppio", "data", "inspect", databases / "test_lmdb", "--json")
    labels = json.loads(found.output)["labels"]
    (tmp_path / "weights").write_text("0\n" * 3 + "1\n" + "0\n" * 6)
    for weights in (tmp_path / "weights", "0,0,0,1,0,0,0,0,0,0"):
        done = run("resnet50_trainer", *training(databases, tmp_path, num_epochs=2,
                                                 label_smoothing=smoothing, class_weights=weights))
        assert done.returncode == 0, done.output
        tested = re.search(r"Test accuracy after epoch 1: ([\d.]+)", done.output)
        assert float(tested.group(1)) == pytest.approx(labels["3"] / sum(labels.values()))
    done = run("resnet50_trainer", *training(databases, tmp_path, class_weights="no_such_file"))
    assert done.returncode == 64
    assert "--class_weights is no_such_file, neither a list of numbers nor a file" in done.output


def test_classes_of_test_images_must_be_those_of_the_training(databases, tmp_path):
    for part, names in (("train", "abc"), ("val", "ab")):
        for name in names:
            path = tmp_path / part / name / "image.jpg"
            path.parent.mkdir(parents=True)
            path.write_bytes(b"not opened")
    done = run("resnet50_trainer", *training(
        databases, tmp_path, train_data=tmp_path, test_data=tmp_path, db_type=None))
    assert done.returncode == 64, done.output
    assert "has 3 classes and --test_data" in last_line(done.output)
    assert 'only one has "c"' in last_line(done.output)


BAD_FLAGS = {
    "model parallelism": ({"model_parallel": True}, "--model_parallel is not available"),
    "no training data": ({"train_data": "/nowhere/train"}, "/nowhere/train"),
    "unknown database type": ({"db_type": "filing_cabinet"}, "filing_cabinet"),
    "wrong database type": ({"db_type": "minidb"}, "train_lmdb"),
    "unknown model": ({"model": "resnet51"}, "resnet51"),
    "resumed twice": ({"resume": "true", "auto_resume": "true", "checkpoint_every": 5},
                      "--resume and --auto_resume cannot be used together"),
    "nothing to resume": ({"auto_resume": "true", "save_model_name": ""},
                          "--auto_resume needs --checkpoint_every"),
    "no checkpoint": ({"resume": "true"}, "(--resume auto starts anew if there is none)"),
    "no run_id": ({"num_shards": 2}, "run_id"),
    "bad characters in run_id": ({"num_shards": 2, "run_id": "a b"}, "run_id"),
    "shard_id too large": ({"num_shards": 2, "shard_id": 2, "run_id": "r"}, "shard_id"),
    "negative shard_id": ({"num_shards": 2, "shard_id": -1, "run_id": "r"}, "shard_id"),
    "no shards": ({"num_shards": 0}, "num_shards"),
    "batch of zero": ({"batch_size": 0}, "batch_size"),
    "epoch smaller than a batch": ({"batch_size": 64, "epoch_size": 63}, "epoch_size"),
    "labels out of range": ({"num_labels": 5}, "label"),
    "models nowhere": ({"file_store_path": "/nowhere/models"}, "/nowhere/models"),
    "float16 on the CPU": ({"dtype": "float16"}, "float16"),
    "unknown dtype": ({"dtype": "float12"}, "float12"),
    "no such model to load": ({"load_model_path": "/nowhere/model_3.mdl"}, "/nowhere/model_3.mdl"),
    "Redis absent": (
        {"num_shards": 2, "run_id": "r", "redis_host": "127.0.0.1", "redis_port": 1,
         "rendezvous_timeout": 5},
        "127.0.0.1",
    ),
    "nobody else comes": ({"num_shards": 2, "run_id": "lonely", "rendezvous_timeout": 3}, "1"),
    "exploding loss": ({"base_learning_rate": 1e6, "weight_decay": 0}, "loss"),
}


@pytest.mark.parametrize("case", BAD_FLAGS)
def test_bad_input_is_one_clear_line(case, databases, tmp_path):
    flags, expected = BAD_FLAGS[case]
    begin = time.monotonic()
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags))
    assert 0 < done.returncode < 128, f"status {done.returncode}: {done.output[-2000:]}"
    assert expected in last_line(done.output)
    assert "terminate called" not in done.output
    assert time.monotonic() - begin < 60
    assert not list(tmp_path.glob("*.mdl")), "a failed run wrote a model"


def test_the_folder_of_models_is_made(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path / "models", epoch_size=64))
    assert done.returncode == 0, done.output
    assert (tmp_path / "models" / "model_1.mdl").exists()


def test_odd_settings_are_doubted(databases, tmp_path):
    flags = training(databases, tmp_path, epoch_size=64, warmup_epochs=2, mean=0.5, std=0.25,
                     init_method="tcp://127.0.0.1:1", save_model_name="")
    done = run("resnet50_trainer", *flags, "--dry_run")
    assert "has no effect" not in done.output
    done = run("resnet50_trainer", *flags)
    assert done.returncode == 65 and "Exploded gradients" in done.output  # of pixels of 1,018
    for text in ("write --mean 127.5 --std 63.8", "--warmup_epochs 2 is more than --num_epochs 1",
                 "--init_method has no effect: one shard alone uses no",
                 "No model is saved: --save_model_name NAME saves one after each epoch"):
        assert text in done.output, done.output


@pytest.mark.parametrize("program, flag, advice", [
    ("resnet50_trainer", "--kv-store=dist_sync", "shards sum their gradients in step"),
    ("resnet50_trainer", "--data_dir=/data", "use --train_data or --test_data"),
    ("resnet50_trainer", "--distribution_strategy=mirrored", "docs/launchers.md"),
    ("resnet50_trainer", "--world-size=2", "use --num_shards"),
    ("resnet50_trainer", "--lr=0.1", "use --base_learning_rate"),
    ("mnist_trainer", "--base_learning_rate=0.1", "use --lr"),
    ("mnist_trainer", "--print-freq=10", "use --disp_batches"),
    ("mnist_trainer", "--log_csv=a.csv", "use --log_dir: metrics.jsonl there has a line for each"),
    ("mnist_trainer", "--early-stopping=3", "use --patience EPOCHS"),
    ("mnist_trainer", "--tensorboard=logs", "use --log_dir: TensorBoard reads this folder"),
    ("mnist_trainer", "--precision=bf16", "use --dtype"),
    ("resnet50_trainer", "--resume_from=a", "use --checkpoint_path FILE --resume"),
    ("resnet50_trainer", "--output_dir=a", "use --file_store_path or --save_model_name"),
    ("mnist_trainer", "--config=a.toml", "use --flagfile, a file with --name=value in each line"),
])
def test_flags_of_other_systems_get_advice(program, flag, advice):
    done = run(program, "--train_data", "null", flag)
    assert done.returncode == 64, done.output
    name = flag[2:].partition("=")[0]
    assert last_line(done.output).startswith(f"{program}: unknown flag --{name}: "), done.output
    assert advice in last_line(done.output)


def test_other_unknown_flags_are_errors_without_advice():
    done = run("resnet50_trainer", "--train_data", "null", "--no_such_thing=1")
    assert done.returncode == 64, done.output
    assert "no_such_thing" in done.output


def test_a_stray_argument_is_an_error(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path), "--shuffle", "no")
    assert done.returncode == 64
    assert 'unexpected argument "no"' in last_line(done.output)


def test_a_truncated_database_is_an_error_before_training(databases, tmp_path):
    broken = tmp_path / "broken_lmdb"
    broken.mkdir()
    whole = (databases / "train_lmdb" / "data.mdb").read_bytes()
    for share in (0.99, 0.6, 0.01, 0):
        (broken / "data.mdb").write_bytes(whole[: int(len(whole) * share)])
        done = run("resnet50_trainer", *training(databases, tmp_path, train_data=broken))
        assert 0 < done.returncode < 128, done.output
        assert "broken_lmdb" in last_line(done.output)
        assert "Finished iteration" not in done.output


def test_a_killed_shard_is_named_by_the_other(databases, redis, shards, tmp_path):
    flags = {
        "num_shards": 2, "run_id": "killed", "redis_host": "127.0.0.1", "redis_port": redis,
        "batch_size": 16, "epoch_size": 1_000_000, "test_data": None, "collective_timeout": 5,
        "log_all_shards": True,
    }
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    victim = shards.processes[1]
    wait_for_line(victim, "Finished iteration")
    begin = time.monotonic()
    victim.send_signal(signal.SIGKILL)
    status, output = shards.wait()[0]
    assert time.monotonic() - begin < 40
    assert 0 < status < 128, output
    assert "shard=1" in last_line(output) or "shard 1" in last_line(output), output[-500:]


def test_a_live_run_id_is_refused_and_names_its_holder(databases, redis, shards, tmp_path):
    flags = {
        "num_shards": 2, "run_id": "live", "redis_host": "127.0.0.1", "redis_port": redis,
        "batch_size": 16, "epoch_size": 1_000_000, "test_data": None, "log_dir": tmp_path / "logs",
    }
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    wait_for_line(shards.processes[0], "Finished iteration")
    lock = (tmp_path / "logs" / "metrics.jsonl.lock").read_text()
    intruder = run("resnet50_trainer", *training(databases, tmp_path, shard_id=0, **flags))
    assert 0 < intruder.returncode < 128
    assert str(shards.processes[0].pid) in last_line(intruder.output), intruder.output[-500:]
    # The run goes on, and has its log.
    wait_for_line(shards.processes[0], "Finished iteration")
    assert (tmp_path / "logs" / "metrics.jsonl.lock").read_text() == lock
    for process in shards.processes:
        process.send_signal(signal.SIGINT)
    for status, output in shards.wait():
        assert status == 130, output


def test_ctrl_c_ends_the_run_cleanly(databases, shards, tmp_path):
    process = shards.start(*training(databases, tmp_path, epoch_size=1_000_000))
    wait_for_line(process, "Finished iteration")
    process.send_signal(signal.SIGINT)
    status, output = shards.wait()[0]
    assert status == 130, output


def test_names_of_models_that_are_a_folder_are_refused(databases, tmp_path):
    (tmp_path / "m").mkdir()
    done = run("mnist_trainer", "--use_cpu", "--train_data", databases / "train_lmdb",
               "--model_prefix", f"{tmp_path}/m/")
    assert done.returncode == 64
    assert last_line(done.output) == (
        f"mnist_trainer: --model_prefix is {tmp_path}/m/, a folder: models would have names such "
        f"as {tmp_path}/m/-0001.mdl; add a name, such as {tmp_path}/m/model")
    done = run("resnet50_trainer", *training(databases, tmp_path, save_model_name="m/"))
    assert done.returncode == 64
    assert last_line(done.output) == (
        "resnet50_trainer: --save_model_name is m/, a folder: models would have names such as "
        f"{tmp_path}/m/_1.mdl; add a name, such as m/model")
    assert not list((tmp_path / "m").iterdir())


@pytest.mark.parametrize("flag", ["gpus", "num_gpus"])
def test_gpus_beside_use_cpu_have_no_effect(flag, databases, tmp_path):
    line = f"--{flag} has no effect: --use_cpu trains on the CPU"
    done = run("resnet50_trainer", *training(databases, tmp_path, epoch_size=64, **{flag: 1}))
    assert done.returncode == 0 and line in done.output, done.output
    done = run("resnet50_trainer", *training(databases, tmp_path, epoch_size=64))
    assert "has no effect" not in done.output


@pytest.mark.parametrize("program", ["mnist_trainer", "resnet50_trainer"])
@pytest.mark.parametrize("epochs", [0, -1])
def test_a_run_without_epochs_is_refused(program, epochs, databases, tmp_path):
    words = ["--recipe", "mnist_lenet"] if program == "mnist_trainer" else training(
        databases, tmp_path, lr_policy="poly", num_epochs=None)
    done = run(program, "--use_cpu", *words, "--train_data", databases / "train_lmdb",
               "--num_epochs", epochs, cwd=tmp_path)
    assert done.returncode == 64, done.output
    assert last_line(done.output) == (
        f"{program}: --num_epochs is {epochs}, must be positive (--evaluate tests a model without "
        "training it)")


@pytest.mark.parametrize("program", ["mnist_trainer", "resnet50_trainer"])
def test_a_refused_run_leaves_no_new_folder(program, databases, tmp_path):
    words = (["--network", "lenet", "--train_data", databases / "train_lmdb", "--use_cpu",
              "--checkpoint_path", tmp_path / "new" / "c"] if program == "mnist_trainer"
             else training(databases, tmp_path / "new"))
    done = run(program, *words, "--resume", "--file_store_path", tmp_path / "new", cwd=tmp_path)
    assert done.returncode == 66, done.output
    assert [*tmp_path.iterdir()] == []
