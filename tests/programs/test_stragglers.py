"""Runs with one slow shard: shard 0 names it, and why, within 30 s."""

import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import run, training
from redis_server import redis_cli

# Delays every read of a file in the process that loads it.
SLOW_READS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>
typedef ssize_t (*Read)(int, void*, size_t, off_t);
ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  usleep(30000);
  return ((Read)dlsym(RTLD_NEXT, "pread"))(fd, data, size, offset);
}
ssize_t pread64(int fd, void* data, size_t size, off_t offset) {
  return pread(fd, data, size, offset);
}
"""


@pytest.fixture(scope="module")
def slow_reads(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("slow_reads")
    (folder / "slow.c").write_text(SLOW_READS)
    command = ["cc", "-shared", "-fPIC", "-o", "slow.so", "slow.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "slow.so"


def straggler_of(shards, port, seconds=30, named=""):
    """What the status of shard 0 says about a straggler within this time, with `named` in it: on a
    busy machine another shard may be the slow one for a while."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        text = "".join(redis_cli(port, "hget", "slow/status/0", "straggler"))
        if text not in ("", "none") and named in text:
            return text
        assert all(process.poll() is None for process in shards.processes)
        time.sleep(0.2)
    pytest.fail(f"nobody is named within {seconds} s")


def flags_of(port, **flags):
    return {
        "num_shards": 2, "run_id": "slow", "redis_host": "127.0.0.1", "redis_port": port,
        "batch_size": 16, "test_data": None, "epoch_size": 100_000_000, "log_every": 1000,
        "num_threads": 1, **flags,
    }


def log_of(shards):
    for process in shards.processes:
        process.terminate()
    return shards.wait()[0][1]


def test_a_shard_that_waits_for_its_input_is_named(
    databases, redis_server, shards, slow_reads, tmp_path
):
    made = run("convert_db", "--input_db", databases / "train_lmdb", "--input_db_type", "lmdb",
               "--output_db", tmp_path / "train.minidb", "--output_db_type", "minidb")
    assert made.returncode == 0, made.output
    for shard in range(2):
        flags = flags_of(redis_server.port, train_data=tmp_path / "train.minidb",
                         db_type="minidb", shuffle=True, shard_id=shard)
        env = {"LD_PRELOAD": str(slow_reads)} if shard == 1 else {}
        shards.start(*training(databases, tmp_path, **flags), env=env)
    text = straggler_of(shards, redis_server.port, 60)
    assert re.match(r"shard 1 \(host .*, pid \d+\) holds the others back: they wait for it \d+ %",
                    text)
    assert "cause: input" in text
    assert text in log_of(shards)


def test_a_shard_that_computes_slowly_is_named(databases, redis_server, shards, tmp_path):
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags_of(redis_server.port)))
    stop = threading.Event()

    def slow_down():
        while not stop.is_set():
            shards.processes[1].send_signal(signal.SIGSTOP)
            time.sleep(0.4)
            shards.processes[1].send_signal(signal.SIGCONT)
            time.sleep(0.05)

    while not redis_cli(redis_server.port, "hget", "slow/status/0", "iteration"):
        time.sleep(0.1)
    thread = threading.Thread(target=slow_down)
    thread.start()
    try:
        text = straggler_of(shards, redis_server.port)
    finally:
        stop.set()
        thread.join()
    assert text.startswith("shard 1 (")
    assert "cause: computing" in text
    assert "holds the others back" in log_of(shards)


def test_a_shard_that_saves_slowly_is_named(
    databases, redis_server, shards, slow_disk, tmp_path
):
    """Shard 0 waits for the checkpoint before, and the others wait for shard 0."""
    slow = tmp_path / "slow"
    slow.write_text("1000")
    for shard in range(2):
        flags = flags_of(redis_server.port, checkpoint_path=tmp_path / "checkpoint",
                         checkpoint_every=1, save_model_name="", model="mlp", shard_id=shard)
        env = {**slow_disk, "SLOW_WRITES": slow, "SLOW_PATHS": "checkpoint"} if shard == 0 else {}
        shards.start(*training(databases, tmp_path, **flags), env=env)
    text = straggler_of(shards, redis_server.port, 90, "cause: saving")
    slow.unlink()
    assert text.startswith("shard 0 (")
    assert text in log_of(shards)
