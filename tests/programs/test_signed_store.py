"""Runs whose store holds signed values only."""

import time

import pytest

from conftest import last_line, run, training
from redis_server import redis_cli, redis_keys


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text("a secret of this run only\n")
    path.chmod(0o600)
    return path


def flags_of(port, **flags):
    return {
        "num_shards": 2, "run_id": "signed", "redis_host": "127.0.0.1", "redis_port": port,
        "batch_size": 16, "test_data": None, "rendezvous_timeout": 20, **flags,
    }


@pytest.mark.parametrize("kind", ["redis", "file"])
def test_a_run_with_a_secret_signs_what_it_stores(
    kind, databases, redis_server, shards, secret, tmp_path
):
    flags = flags_of(redis_server.port, max_iterations=5)
    if kind == "file":
        flags.update(redis_host=None, redis_port=None)
    env = {"CAFFE2_SECRET_FILE": str(secret)}
    shards.start(*training(databases, tmp_path, shard_id=0, secret_file=secret, **flags))
    if kind == "redis":
        while "signed/1/config" not in redis_keys(redis_server.port):
            time.sleep(0.05)
        assert redis_cli(redis_server.port, "get", "signed/1/config")[0].startswith("hmac-sha256 ")
    shards.start(*training(databases, tmp_path, shard_id=1, **flags), env=env)
    for status, output in shards.wait():
        assert status == 0, output[-2000:]
    assert redis_keys(redis_server.port) == []


@pytest.mark.parametrize("key, value", [
    ("signed/generation", "7"),
    ("signed/1/member/1", "host=a pid=1"),
    ("signed/1/failure", "hmac-sha256 " + "0" * 64 + " vkind=lost line=x"),
])
def test_a_forged_value_ends_the_program_with_its_key(
    key, value, databases, redis_server, secret, tmp_path
):
    redis_cli(redis_server.port, "set", key, value)
    done = run("resnet50_trainer", *training(databases, tmp_path, shard_id=0, secret_file=secret,
                                             **flags_of(redis_server.port)))
    assert done.returncode == 77, done.output[-2000:]
    assert f"the value of key {key} " in last_line(done.output)
    assert f"redis 127.0.0.1:{redis_server.port}" in last_line(done.output)


def test_a_secret_file_that_everybody_can_read_is_refused(
    databases, redis_server, secret, tmp_path
):
    secret.chmod(0o644)
    done = run("resnet50_trainer", *training(databases, tmp_path, shard_id=0, secret_file=secret,
                                             **flags_of(redis_server.port)))
    assert done.returncode == 77
    assert "chmod 600" in last_line(done.output)
