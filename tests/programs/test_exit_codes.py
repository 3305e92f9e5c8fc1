"""The exit status tells a launcher what went wrong, and so whether to try again."""

import pytest

from conftest import last_line, run, training, wait_for_line
from redis_server import RedisServer


def two_shards(**flags):
    return {"num_shards": 2, "shard_id": 0, "run_id": "codes", "rendezvous_timeout": 3, **flags}


# What is wrong -> (flags, environment, status).
CASES = {
    "unknown flag": ({"kv_store": "dist"}, {}, 64),
    "wrong type": ({"batch_size": "many"}, {}, 64),
    "out of range": ({"batch_size": 0}, {}, 64),
    "data forgotten": ({"train_data": None, "test_data": None}, {}, 64),
    "half a launch": ({}, {"RANK": "1"}, 64),
    "no database": ({"train_data": "/nowhere/train_lmdb"}, {}, 66),
    "no model to load": ({"load_model_path": "/nowhere/a.mdl"}, {}, 66),
    "no store": (two_shards(redis_host="127.0.0.1", redis_port=1), {}, 69),
    "no folder to save in": ({"save_model_name": "/nowhere/model"}, {}, 73),
    "other shards missing": (two_shards(), {}, 75),
}


@pytest.mark.parametrize("case", CASES)
def test_status(case, databases, tmp_path):
    flags, environment, status = CASES[case]
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), env=environment)
    assert done.returncode == status, done.output[-2000:]
    assert "enforce fail" not in last_line(done.output)


def test_damaged_data_is_65(databases, tmp_path):
    broken = tmp_path / "broken_lmdb"
    broken.mkdir()
    (broken / "data.mdb").write_bytes((databases / "train_lmdb" / "data.mdb").read_bytes()[:5000])
    done = run("resnet50_trainer", *training(databases, tmp_path, train_data=broken))
    assert done.returncode == 65, done.output[-2000:]


def test_a_wrong_password_is_77(databases, tmp_path):
    server = RedisServer(password="right")
    try:
        flags = two_shards(redis_host="127.0.0.1", redis_port=server.port)
        done = run("resnet50_trainer", *training(databases, tmp_path, **flags),
                   env={"REDISCLI_AUTH": "wrong"})
        assert done.returncode == 77, done.output[-2000:]
    finally:
        server.kill()


def two_on_redis(redis, **flags):
    return {"num_shards": 2, "redis_host": "127.0.0.1", "redis_port": redis, "batch_size": 16,
            "epoch_size": 10**6, **flags}


def test_shards_that_disagree_are_76(databases, shards, redis_server, tmp_path):
    for shard, size in ((0, 16), (1, 8)):
        flags = two_on_redis(redis_server.port, run_id="disagree", shard_id=shard, batch_size=size)
        shards.start(*training(databases, tmp_path, **flags))
    assert [status for status, _ in shards.wait()] == [76, 76]


def test_a_run_in_use_is_77_and_a_lost_peer_75(databases, shards, redis_server, tmp_path):
    port = redis_server.port
    flags = [training(databases, tmp_path, **two_on_redis(port, run_id="in_use", shard_id=shard))
             for shard in range(2)]
    live = [shards.start(*each) for each in flags]
    wait_for_line(live[0], "Finished iteration")
    done = run("resnet50_trainer", *flags[0])
    assert done.returncode == 77, done.output[-2000:]
    live[1].kill()
    live[0].communicate(timeout=60)
    assert live[0].returncode == 75
