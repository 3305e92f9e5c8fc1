"""Trainers that average their parameters after some iterations (--sync_every)."""

from conftest import last_line, run, training, wait_for_line


def test_shards_average_and_learn(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(databases, tmp_path, batch_size=16, num_shards=2, shard_id=shard,
                               run_id="local", num_epochs=2, sync_every=5, block_momentum=0.5,
                               log_all_shards=True))
    for status, output in shards.wait():
        assert status == 0, output
        assert "Finished iteration 20" in output
    assert [path.suffix for path in tmp_path.iterdir()] == [".mdl"]


def test_a_lost_shard_is_noticed_between_averages(databases, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(databases, tmp_path, batch_size=16, epoch_size=10**8, num_shards=2,
                               shard_id=shard, run_id="local", sync_every=10**6))
    wait_for_line(shards.processes[0], "all 2 shards joined")
    wait_for_line(shards.processes[1], "Using epoch size")
    shards.processes[1].kill()
    status, output = shards.wait()[0]
    assert status == 75, output
    assert "shard=1" in last_line(output)


def test_flags_that_need_each_other(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, block_momentum=0.5))
    assert done.returncode == 64 and "need --sync_every" in last_line(done.output)
    done = run("resnet50_trainer", *training(databases, tmp_path, sync_every=4, checkpoint_every=6))
    assert done.returncode == 64 and "not a multiple of --sync_every 4" in last_line(done.output)
