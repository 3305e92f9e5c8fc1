"""Runs that resume with another number of shards, and the spelling `--resume auto`."""

import re

import pytest

from conftest import last_line, run, training

RUN = {"shuffle": True, "checkpoint_every": 1000, "num_epochs": 100, "test_data": None,
       "log_every": 1}


def losses(output):
    return [float(loss) for loss in re.findall(r"Training loss: ([\d.e-]+)", output)]


def test_the_same_images_follow_with_another_number_of_shards(databases, shards, tmp_path):
    (tmp_path / "whole").mkdir()
    whole = run("resnet50_trainer", *training(
        databases, tmp_path / "whole", **RUN, max_iterations=12))
    assert whole.returncode == 0, whole.output
    for shard in range(2):
        shards.start(*training(databases, tmp_path, **RUN, batch_size=16, max_iterations=7,
                               num_shards=2, shard_id=shard, run_id="two"))
    first = shards.wait()[0][1]
    resumed = run("resnet50_trainer", *training(
        databases, tmp_path, **RUN, max_iterations=12), "--resume", "auto")
    assert resumed.returncode == 0, resumed.output
    assert "The checkpoint is from 2 shards of 1 replicas, this run has 1 of 1. " in resumed.output
    assert "The same images follow in the same order, 32 in each iteration" in resumed.output
    together = losses(first) + losses(resumed.output)
    assert len(together) == 12
    for expected, loss in zip(losses(whole.output), together):
        assert abs(expected - loss) < 1e-3, (losses(whole.output), together)


def test_the_batch_of_each_shard_stays_with_auto(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(databases, tmp_path, **RUN, batch_size=16, max_iterations=3,
                               num_shards=2, shard_id=shard, run_id="kept"))
    assert [status for status, _ in shards.wait()] == [0, 0]
    refused = run("resnet50_trainer", *training(databases, tmp_path, **RUN, batch_size=16),
                  "--resume")
    assert 0 < refused.returncode < 128, refused.output
    assert "batch_size and num_shards (16 x 2 there, 16 x 1 now" in last_line(refused.output)
    assert "use --batch_size 32, or --resume auto to go on with 16" in last_line(refused.output)
    resumed = run("resnet50_trainer", *training(
        databases, tmp_path, **RUN, batch_size=16, max_iterations=40), "--resume=auto")
    assert resumed.returncode == 0, resumed.output
    (line,) = re.findall("The checkpoint is from .*", resumed.output)
    assert "16 in each iteration instead of 32" in line
    assert "the base learning rate stays 0.02" in line
    assert "not the same to the bit" in line
    # 640 images: three iterations of 32 and 34 of 16.
    assert "Finished iteration 37/37 of epoch 0" in resumed.output
    assert "Finished iteration 3/40 of epoch 1" in resumed.output


@pytest.mark.parametrize("policy, epochs, changes", [
    ("cosine", 3, True), ("poly", 3, True), ("cosine", 10, False), ("step", 3, False)])
def test_another_number_of_epochs_that_changes_the_rate_is_said(
        policy, epochs, changes, databases, tmp_path):
    flags = {"checkpoint_every": 5, "test_data": None, "lr_policy": policy}
    first = run("resnet50_trainer", *training(
        databases, tmp_path, **flags, num_epochs=10, max_iterations=20))
    assert first.returncode == 0, first.output
    resumed = run("resnet50_trainer", *training(
        databases, tmp_path, **flags, num_epochs=epochs, max_iterations=25), "--resume")
    assert resumed.returncode == 0, resumed.output
    line = (f"--num_epochs is {epochs}, was 10 in the run of the checkpoint: the learning rate of "
            f"--lr_policy {policy} depends on it and changes from here on")
    assert resumed.output.count(line) == changes
    assert ("--num_epochs is" in resumed.output) == changes


def test_auto_starts_anew_without_a_checkpoint(databases, tmp_path):
    done = run("resnet50_trainer", "--resume", "auto", *training(
        databases, tmp_path, checkpoint_every=10))
    assert done.returncode == 0, done.output
    assert "Starting epoch 0/1" in done.output
