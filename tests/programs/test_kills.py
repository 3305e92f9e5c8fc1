"""`kill -9` of a shard in its first iteration, and at the end of a run.

Shard 0 is held where the others must wait for it, so no moment depends on the machine's speed.
"""

import fcntl
import os
import time

import pytest
from network_hosts import wait_until

from conftest import last_line, training
from redis_server import redis_cli, redis_keys


def start(shards, count, databases, folder, port, env=None, **flags):
    flags = {"num_shards": count, "run_id": "kills", "redis_host": "127.0.0.1",
             "redis_port": port, "batch_size": 16, "test_data": None, "log_every": 1,
             "log_all_shards": True, **flags}
    return [shards.start(*training(databases, folder, shard_id=shard, **flags), env=env)
            for shard in range(count)]


def heartbeat(port, shard):
    """The words of a shard's heartbeat."""
    words = " ".join(redis_cli(port, "get", f"kills/1/heartbeat/{shard}")).split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def ends(processes):
    """(exit status, last line) of each."""
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    return [(process.returncode, last_line(output))
            for process, output in zip(processes, outputs)]


def check_blame(processes, lost, phase):
    """All survivors end with 75 and the same line, which names the lost shard."""
    results = ends(processes)
    assert [status for status, _ in results] == [75] * len(processes), results
    lines = {line.partition("peer lost: ")[2] for _, line in results}
    assert len(lines) == 1, lines
    line = lines.pop()
    assert f"pid={lost.pid} " in line and f" phase={phase} " in line, line
    return line


class FullPipe:
    """A named pipe that is full: whoever writes to it waits until drain()."""

    def __init__(self, path):
        os.mkfifo(path)
        self.end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self.end, fcntl.F_SETPIPE_SZ, 4096)
        while True:
            try:
                os.write(self.end, b"-" * 4096)
            except BlockingIOError:
                return

    def drain(self):
        fcntl.fcntl(self.end, fcntl.F_SETPIPE_SZ, 1 << 20)
        try:
            while os.read(self.end, 1 << 16):
                pass
        except BlockingIOError:
            return


def test_a_shard_killed_in_its_first_iteration_is_named(
    databases, redis_server, shards, tmp_path
):
    """Shard 0 waits before its first iteration, to write a record of the run. So the others cannot
    end theirs."""
    (tmp_path / "log").mkdir()
    pipe = FullPipe(tmp_path / "log" / "metrics.jsonl")
    port = redis_server.port
    started = start(shards, 3, databases, tmp_path, port, log_dir=tmp_path / "log",
                    save_model_name="")
    for shard in (1, 2):
        wait_until(lambda shard=shard: heartbeat(port, shard).get("phase") == "training",
                   f"shard {shard} trains")
    started[1].kill()
    wait_until(lambda: "kills/1/failure" in redis_keys(port), "a survivor sees it")
    pipe.drain()
    line = check_blame([started[0], started[2]], started[1], "training")
    assert line.startswith("shard=1 ") and " iteration=0 " in line, line
    assert "Finished iteration" not in started[1].communicate()[0]


@pytest.fixture
def leaving(slow_disk, databases, redis_server, shards, tmp_path):
    """Three shards that have trained. Shard 0 is held inside the save of the last model, and the
    others wait for it before they leave. Returns them, and the file that holds shard 0."""
    hold = tmp_path / "hold"
    hold.write_text("10000000")
    models = tmp_path / "models"
    models.mkdir()
    started = start(shards, 3, databases, models, redis_server.port, epoch_size=240,
                    env={**slow_disk, "SLOW_WRITES": hold, "SLOW_PATHS": "model_1.mdl.tmp."})
    wait_until(lambda: list(models.glob("model_1.mdl.tmp.*")), "shard 0 saves")
    wait_until(lambda: heartbeat(redis_server.port, 0).get("phase") == "saving", "it says so")
    for shard in (1, 2):
        wait_until(lambda shard=shard: f"kills/1/left/{shard}" in redis_keys(redis_server.port),
                   f"shard {shard} leaves")
    return started, hold


def test_a_shard_killed_inside_of_the_last_save_is_named(leaving, tmp_path):
    """The run has not done its work: no model is there."""
    started, _ = leaving
    started[0].kill()
    line = check_blame(started[1:], started[0], "saving")
    assert line.startswith("shard=0 "), line
    assert not (tmp_path / "models" / "model_1.mdl").exists()


def test_a_shard_killed_after_its_last_part_costs_nothing(
    leaving, databases, redis_server, shards, tmp_path
):
    """Shard 1 has nothing left to do, so the run goes on to its end."""
    started, hold = leaving
    started[1].kill()
    time.sleep(3)  # so long that the others notice it before the end
    hold.unlink()
    for process in (started[0], started[2]):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output[-2000:]
        assert "peer lost" not in output
    model = (tmp_path / "models" / "model_1.mdl").read_bytes()
    # The run_id is free. Runs without a fault make the same model, but for the generation in it.
    for run_id in ("kills", "control"):
        folder = tmp_path / run_id
        folder.mkdir()
        shards.processes.clear()
        start(shards, 3, databases, folder, redis_server.port, epoch_size=240, run_id=run_id)
        for status, output in shards.wait():
            assert status == 0, output[-2000:]
    assert (tmp_path / "control" / "model_1.mdl").read_bytes() == model


def test_shards_that_leave_while_the_store_is_away_are_not_lost(leaving, redis_server, tmp_path):
    """Shard 0 sees that their processes are gone, and cannot ask the store if they have left."""
    started, hold = leaving
    redis_server.kill()
    for process in started[1:]:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output[-2000:]
    time.sleep(8)  # several looks, each of which waits for the store
    hold.unlink()
    output, _ = started[0].communicate(timeout=120)
    assert started[0].returncode == 0, output[-2000:]
    assert "goes on without its store" in output
    assert "peer lost" not in output
    assert (tmp_path / "models" / "model_1.mdl").exists()
