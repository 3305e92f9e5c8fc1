"""Runs whose Redis server stops, dies, comes back or wants a password."""

import signal
import time

import pytest

from conftest import last_line, run, training, wait_for_line
from redis_server import RedisServer, redis_cli, redis_keys


def flags_of(port, **flags):
    """Flags of one of two shards that meet through the server at the port."""
    return {
        "num_shards": 2, "run_id": "faults", "redis_host": "127.0.0.1", "redis_port": port,
        "batch_size": 16, "test_data": None, "collective_timeout": 20, **flags,
    }


def model_bytes(folder):
    """The exported model of a run, the same for the same parameters."""
    (path,) = folder.glob("*.mdl")
    return path.read_bytes()


@pytest.mark.parametrize("fault", ["killed", "stopped", "restarted", "flushed"])
def test_training_goes_on_without_redis(fault, databases, redis_server, shards, tmp_path):
    folders = {name: tmp_path / name for name in ("control", "run")}
    for folder in folders.values():
        folder.mkdir()
    flags = flags_of(redis_server.port, epoch_size=640, num_epochs=3)
    for name, folder in folders.items():
        for shard in range(2):
            shards.start(*training(databases, folder, shard_id=shard, **flags))
        if name == "run":
            wait_for_line(shards.processes[0], "Finished iteration")
            if fault == "flushed":
                redis_cli(redis_server.port, "flushall")
            elif fault == "stopped":
                redis_server.process.send_signal(signal.SIGSTOP)
            else:
                redis_server.kill()
            if fault == "restarted":
                redis_server.start()
        for status, output in shards.wait():
            assert status == 0, output
        shards.processes.clear()
    assert model_bytes(folders["run"]) == model_bytes(folders["control"])
    if fault in ("restarted", "flushed"):
        assert redis_keys(redis_server.port) == []


def test_redis_may_be_away_for_long_while_shards_train(
    databases, slow_disk, shards, tmp_path
):
    """One run whose Redis is away for 15 s, one whose Redis is paused for 60 s, and one without a
    fault make the same model. Slow reads stretch the training meanwhile."""
    data = tmp_path / "train.minidb"  # which is read by pread
    made = run("convert_db", "--input_db", databases / "train_lmdb", "--input_db_type", "lmdb",
               "--output_db", data, "--output_db_type", "minidb")
    assert made.returncode == 0, made.output
    servers = {fault: RedisServer() for fault in ("away", "paused", "none")}
    slow = {fault: tmp_path / f"slow_{fault}" for fault in servers}
    try:
        for fault, server in servers.items():
            (tmp_path / fault).mkdir()
            flags = flags_of(server.port, train_data=data, db_type="minidb", shuffle=True,
                             epoch_size=3200, collective_timeout=60, log_every=1)
            for shard in range(2):
                command = training(databases, tmp_path / fault, shard_id=shard, **flags)
                shards.start(*command, env={**slow_disk, "SLOW_READS": slow[fault]})
            if fault != "none":
                wait_for_line(shards.processes[-2], "Finished iteration")
                slow[fault].write_text("200")  # from now on the other 99 take longer than a minute
        servers["away"].kill()
        servers["paused"].process.send_signal(signal.SIGSTOP)
        time.sleep(15)
        servers["away"].start()
        time.sleep(45)
        assert all(process.poll() is None for process in shards.processes[:4])
        servers["paused"].process.send_signal(signal.SIGCONT)
        time.sleep(3)  # a few heartbeats
        for fault in ("away", "paused"):
            slow[fault].unlink()
        for status, output in shards.wait():
            assert status == 0, output[-3000:]
            assert "peer lost" not in output
        models = {fault: model_bytes(tmp_path / fault) for fault in servers}
        assert models["away"] == models["none"]
        assert models["paused"] == models["none"]
        assert all(redis_keys(server.port) == [] for server in servers.values())
    finally:
        for server in servers.values():
            server.kill()


def test_shards_meet_a_redis_that_starts_12_s_after_them(
    databases, redis_server, shards, tmp_path
):
    redis_server.kill()
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard,
                               **flags_of(redis_server.port, rendezvous_timeout=90)))
    time.sleep(12)
    assert all(process.poll() is None for process in shards.processes)
    redis_server.start()
    for status, output in shards.wait():
        assert status == 0, output
    assert redis_keys(redis_server.port) == []


def test_shards_meet_although_redis_pauses(databases, redis_server, shards, tmp_path):
    flags = flags_of(redis_server.port, rendezvous_timeout=60)
    shards.start(*training(databases, tmp_path, shard_id=0, **flags))
    while not any(key.endswith("/member/0") for key in redis_keys(redis_server.port)):
        time.sleep(0.05)
    redis_server.process.send_signal(signal.SIGSTOP)
    time.sleep(12)  # longer than one command may take
    shards.start(*training(databases, tmp_path, shard_id=1, **flags))
    time.sleep(1)
    redis_server.process.send_signal(signal.SIGCONT)
    for status, output in shards.wait():
        assert status == 0, output
    assert redis_keys(redis_server.port) == []


def test_redis_that_dies_while_shards_meet_is_named_at_the_deadline(
    databases, redis_server, shards, tmp_path
):
    flags = flags_of(redis_server.port, rendezvous_timeout=8)
    begin = time.monotonic()
    shards.start(*training(databases, tmp_path, shard_id=0, **flags))
    while not any(key.endswith("/member/0") for key in redis_keys(redis_server.port)):
        time.sleep(0.05)
    redis_server.kill()
    ((status, output),) = shards.wait()
    assert 0 < status < 128
    assert f"redis 127.0.0.1:{redis_server.port}" in last_line(output)
    assert "refused" in last_line(output)
    assert 6 < time.monotonic() - begin < 40


def test_a_shard_that_dies_after_redis_is_named(databases, redis_server, shards, tmp_path):
    flags = flags_of(redis_server.port, epoch_size=1_000_000)
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    wait_for_line(shards.processes[0], "Finished iteration")
    redis_server.kill()
    time.sleep(1)
    shards.processes[1].kill()
    begin = time.monotonic()
    status, output = shards.wait()[0]
    assert time.monotonic() - begin < 40
    assert 0 < status < 128, output
    assert "shard=1" in last_line(output), output[-500:]
    assert "store is unreachable" in last_line(output) or "store:" in last_line(output)


@pytest.mark.parametrize("mode, refused", [(0o604, True), (0o602, True), (0o640, False)])
def test_a_password_file_that_everybody_can_read_is_refused(mode, refused, databases, tmp_path):
    server = RedisServer(password="right")
    try:
        (tmp_path / "password").write_text("right\n")
        (tmp_path / "password").chmod(mode)
        flags = flags_of(server.port, rendezvous_timeout=2)
        done = run("resnet50_trainer", *training(
            databases, tmp_path, shard_id=0, redis_password_file=tmp_path / "password", **flags))
        assert done.returncode == (77 if refused else 75)
        assert ("chmod 600" in last_line(done.output)) == refused, done.output[-500:]
        assert ("missing: shard 1" in last_line(done.output)) != refused, done.output[-500:]
    finally:
        server.kill()


@pytest.mark.parametrize(
    "password, expected", [(None, "NOAUTH"), ("wrong", "WRONGPASS"), ("right", "")]
)
def test_passwords(password, expected, databases, shards, tmp_path):
    server = RedisServer(password="right")
    try:
        flags = flags_of(server.port, rendezvous_timeout=10)
        if password is not None:
            (tmp_path / "password").write_text(password + "\n")
            (tmp_path / "password").chmod(0o600)
            flags["redis_password_file"] = tmp_path / "password"
        if not expected:
            for shard in range(2):
                shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
            assert [status for status, _ in shards.wait()] == [0, 0]
            return
        done = run("resnet50_trainer", *training(databases, tmp_path, shard_id=0, **flags))
        assert 0 < done.returncode < 128
        assert expected in last_line(done.output)
        assert "wrong " not in done.output.replace("is wrong", "")
    finally:
        server.kill()
