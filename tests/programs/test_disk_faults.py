"""A disk that hangs in writes, or fails to flush them: what a run does that saves on it."""

import fcntl
import os
import signal
import struct
import termios
import time
from pathlib import Path

import pytest

from conftest import last_line, run, training, wait_for_line


def saving(databases, folder, **flags):
    """Flags of a run that saves a checkpoint every other iteration, and no model."""
    return training(databases, folder, **{
        "checkpoint_path": folder / "checkpoint", "checkpoint_every": 2, "save_model_name": "",
        "test_data": None, "epoch_size": 1_000_000, "log_every": 1, "model": "mlp", **flags})


def test_a_run_whose_save_hangs_obeys_the_first_signal(slow_disk, databases, shards, tmp_path):
    slow = tmp_path / "slow"
    process = shards.start(*saving(databases, tmp_path), env={**slow_disk, "SLOW_WRITES": slow})
    wait_for_line(process, "Wrote checkpoint")
    slow.write_text("10000000")
    time.sleep(5)  # until a save hangs, and training waits for it
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 143, output[-2000:]
    assert "stopped by signal 15 while a write of a checkpoint or model hung: " in output
    resumed = run("resnet50_trainer", "--resume", *saving(databases, tmp_path, max_iterations=2))
    assert resumed.returncode == 0, resumed.output[-2000:]
    assert f"Resumed from {tmp_path}/checkpoint: iteration " in resumed.output


def test_a_shard_whose_save_hangs_tells_the_others_the_signal(
    slow_disk, databases, redis_server, shards, tmp_path
):
    flags = {"num_shards": 2, "run_id": "hangs", "redis_host": "127.0.0.1", "batch_size": 16,
             "redis_port": redis_server.port, "collective_timeout": 300}
    slow = tmp_path / "slow"
    writer, other = (
        shards.start(*saving(databases, tmp_path, shard_id=shard, **flags),
                     env={**slow_disk, "SLOW_WRITES": slow})
        for shard in range(2))
    wait_for_line(writer, "Wrote checkpoint")
    slow.write_text("10000000")
    time.sleep(5)
    writer.send_signal(signal.SIGTERM)
    output, _ = writer.communicate(timeout=100)
    assert writer.returncode == 143, output[-2000:]
    output, _ = other.communicate(timeout=60)
    assert other.returncode == 75, output[-2000:]
    assert "peer lost: shard=0 " in last_line(output)
    assert "stopped by signal 15 while a write of a checkpoint or model hung" in last_line(output)


def test_a_shard_whose_last_save_hangs_ends_though_another_one_got_the_signal(
    slow_disk, databases, redis_server, shards, tmp_path
):
    flags = {"num_shards": 2, "run_id": "hangs", "redis_host": "127.0.0.1", "batch_size": 16,
             "redis_port": redis_server.port, "collective_timeout": 300,
             "checkpoint_every": 1_000_000, "log_all_shards": True}
    slow = tmp_path / "slow"
    slow.write_text("10000000")
    writer, other = (
        shards.start(*saving(databases, tmp_path, shard_id=shard, **flags),
                     env={**slow_disk, "SLOW_WRITES": slow, "SLOW_PATHS": "checkpoint."})
        for shard in range(2))
    for process in (writer, other):
        wait_for_line(process, "Finished iteration")
    other.send_signal(signal.SIGTERM)
    output, _ = writer.communicate(timeout=100)
    assert writer.returncode == 143, output[-2000:]
    assert "stopped by signal 15 while a write of a checkpoint or model hung" in output
    output, _ = other.communicate(timeout=60)
    # It ends by its own signal, or because the writer was lost before it had left.
    assert other.returncode in (75, 143), output[-2000:]


# A full pipe hangs as a disk does.
@pytest.mark.parametrize("log", ["rows.csv", "metrics.jsonl"])
def test_a_run_whose_log_hangs_obeys_the_first_signal(log, databases, shards, tmp_path):
    os.mkfifo(tmp_path / log)
    pipe = os.open(tmp_path / log, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    flags = {"log_csv": tmp_path / log} if log == "rows.csv" else {"log_dir": tmp_path}
    process = shards.start(
        *saving(databases, tmp_path, epoch_size=64, num_epochs=100_000, log_every=1000, **flags))
    deadline, held = time.monotonic() + 120, 0
    while held < 3000 or "pipe_write" not in Path(f"/proc/{process.pid}/wchan").read_text():
        assert process.poll() is None and time.monotonic() < deadline, "the pipe is not full"
        time.sleep(0.05)
        (held,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=100)
    os.close(pipe)
    assert process.returncode == 143, output[-2000:]
    assert "stopped by signal 15 while a write of a log hung" in output


def test_training_goes_on_while_flushes_fail(slow_disk, databases, shards, tmp_path):
    failing = tmp_path / "failing"
    process = shards.start(
        *saving(databases, tmp_path), env={**slow_disk, "FAILING_FLUSHES": failing})
    wait_for_line(process, "Wrote checkpoint")
    failing.touch()
    wait_for_line(process, "The checkpoint was not written, the one before is kept: ")
    wait_for_line(process, "Finished iteration")
    assert (tmp_path / "checkpoint").exists()
    failing.unlink()
    wait_for_line(process, "Wrote checkpoint")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 143, output[-2000:]


def test_a_last_save_whose_flush_fails_is_an_error(slow_disk, databases, tmp_path):
    failing = tmp_path / "failing"
    failing.touch()
    done = run("resnet50_trainer", *saving(databases, tmp_path, max_iterations=3),
               env={**slow_disk, "FAILING_FLUSHES": failing})
    assert done.returncode == 73, done.output[-2000:]
    assert "Input/output error" in last_line(done.output)
    assert not list(tmp_path.glob("checkpoint*"))
