"""Losses that are not finite: one line names the shard, and the layer where it began."""

import pytest

from conftest import last_line, run, training

BEGINS = ("is not finite in iteration 1 of epoch 0; the first output that is not finite, of those "
          "still in memory, is ")


@pytest.mark.parametrize("model", ["lenet", "mlp"])
def test_pixels_that_become_infinite_are_named(model, databases, redis_server, shards, tmp_path):
    flags = {"model": model, "std": "1e-38", "num_shards": 2, "run_id": "loss", "batch_size": 16,
             "redis_host": "127.0.0.1", "redis_port": redis_server.port, "test_data": None}
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    lines = {(status, last_line(output)) for status, output in shards.wait()}
    assert len(lines) == 1, lines
    status, line = lines.pop()
    assert status == 65, line
    assert "peer lost: shard=0 " in line and "the loss of shard 0 (host " in line, line
    assert BEGINS + "cpu_0/data of operator 0, ImageInput (changed in place, last by " in line, line
    assert "is not finite now" in line, line


def test_a_run_of_one_shard_names_it_too(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, std="1e-38"))
    assert done.returncode == 65, done.output[-2000:]
    assert "the loss of shard 0 " + BEGINS + "cpu_0/data" in last_line(done.output)


def test_the_flags_that_help_are_named(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, base_learning_rate=1e6))
    assert done.returncode == 65, done.output[-2000:]
    line = last_line(done.output)
    assert "Exploded gradients: the loss of shard 0 is " in line
    assert line.endswith("; try a smaller --base_learning_rate (--lr of mnist_trainer), "
                         "--warmup_epochs 5 or --clip_gradients 1")
