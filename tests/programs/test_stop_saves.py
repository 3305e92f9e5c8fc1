"""A signal ends a run, and the run is saved where there is a place for it."""

import re
import signal

import pytest

from conftest import run, training, wait_for_line

LONG = {"epoch_size": 640, "num_epochs": 100_000, "test_data": None}


def stopped(process, number):
    """Sends the signal once the process has trained for some iterations; returns its output."""
    wait_for_line(process, "Finished iteration 10/")
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number, output
    return output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_is_saved_and_goes_on(number, databases, shards, tmp_path):
    output = stopped(shards.start(*training(databases, tmp_path, **LONG)), number)
    iterations = int(re.search(
        rf"Stopped by signal {int(number)} \(\w+\) after (\d+) iterations: the run is saved in "
        rf"{tmp_path}/model.checkpoint, --resume goes on with it", output).group(1))
    resumed = run("resnet50_trainer", *training(
        databases, tmp_path, **LONG, resume=True, max_iterations=iterations + 7))
    assert resumed.returncode == 0, resumed.output
    assert f"Resumed from {tmp_path}/model.checkpoint: iteration {iterations}, " in resumed.output
    assert not list(tmp_path.glob("*.lock")), "a lock stays behind"


def test_a_stop_of_one_shard_saves_the_run_of_all(databases, shards, tmp_path):
    flags = {"num_shards": 2, "run_id": "stopped", "batch_size": 16, "log_all_shards": True,
             **LONG}
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    stopped(shards.processes[1], signal.SIGTERM)
    output, _ = shards.processes[0].communicate(timeout=60)
    assert f"the run is saved in {tmp_path}/model.checkpoint" in output
    assert (tmp_path / "model.checkpoint").exists()


def test_the_checkpoint_path_is_a_place_for_runs_without_models(databases, shards, tmp_path):
    path = tmp_path / "here"
    flags = {**LONG, "save_model_name": "", "checkpoint_path": path}
    output = stopped(shards.start(*training(databases, tmp_path, **flags)), signal.SIGTERM)
    assert f"the run is saved in {path}" in output
    assert path.exists()


def test_work_that_is_lost_is_said_in_one_line(databases, shards, tmp_path):
    flags = {**LONG, "save_model_name": ""}
    output = stopped(shards.start(*training(databases, tmp_path, **flags)), signal.SIGTERM)
    assert re.search(r"Stopped by signal 15 \(Terminated\) after \d+ iterations: the work since "
                     r"the last saved model is lost, because neither --checkpoint_path nor a name "
                     r"for models says where to save the run", output), output
    assert list(tmp_path.iterdir()) == []


def test_mnist_runs_are_saved_likewise(databases, shards, tmp_path):
    process = shards.start(
        "--use_cpu", "--train_data", databases / "train_lmdb", "--num_examples", "640",
        "--num_epochs", "100000", "--disp_batches", "1", "--model_prefix", tmp_path / "m",
        "--keep_models", "1", program="mnist_trainer")
    wait_for_line(process, "Epoch[0] Batch [5]")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    assert f"the run is saved in {tmp_path}/m.checkpoint" in output
