"""A signal ends a run whose read hangs, within seconds, and the run is saved where it can be."""

import re
import signal
import time
from pathlib import Path

import pytest

from conftest import last_line, run, training, wait_for_line

LONG = {"epoch_size": 640, "num_epochs": 100_000, "test_data": None}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_run_whose_read_hangs_is_saved_and_goes_on(
    number, slow_disk, databases, shards, tmp_path
):
    slow = tmp_path / "slow"
    flags = {**LONG, "shuffle": True, "log_every": 1}  # shuffled records are not read ahead
    process = shards.start(
        *training(databases, tmp_path, **flags), env={**slow_disk, "SLOW_READS": slow}
    )
    wait_for_line(process, "Finished iteration 10/")
    slow.write_text("10000000")
    time.sleep(5)  # until the batches that are read ahead are used up
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number, output[-2000:]
    assert f"stopped by signal {int(number)} while a read of the input hung: " in output
    iterations = int(
        re.search(
            rf"Stopped by signal {int(number)} \([\w ]+\) after (\d+) iterations: the run is saved",
            output,
        ).group(1)
    )
    assert "The process did not end within 2 s and is ended now. Its threads:" in output
    control = tmp_path / "control"
    control.mkdir()
    flags["max_iterations"] = iterations + 7
    results = {}
    for folder, words in ((tmp_path, ["--resume"]), (control, [])):
        done = run("resnet50_trainer", *words, *training(databases, folder, **flags))
        assert done.returncode == 0, done.output[-2000:]
        results[folder] = re.findall(r"Training loss: \S+", done.output)[-7:]
    assert len(results[control]) == 7
    assert results[tmp_path] == results[control]


def test_a_run_whose_first_read_hangs_ends(slow_disk, databases, tmp_path, shards):
    slow = tmp_path / "slow"
    slow.write_text("10000000")
    process = shards.start(*training(databases, tmp_path), env={**slow_disk, "SLOW_READS": slow})
    deadline = time.monotonic() + 120
    while "nanosleep" not in Path(f"/proc/{process.pid}/wchan").read_text():
        assert time.monotonic() < deadline, "it reads nothing"
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)


def test_a_shard_whose_read_hangs_tells_the_others_the_signal(
    slow_disk, databases, redis_server, shards, tmp_path
):
    flags = {
        **LONG,
        "num_shards": 2,
        "run_id": "hangs",
        "redis_host": "127.0.0.1",
        "redis_port": redis_server.port,
        "collective_timeout": 300,
        "log_every": 1,
        "log_all_shards": True,
    }
    hangs, waits = (
        shards.start(
            *training(databases, tmp_path, shard_id=shard, **flags),
            env={**slow_disk, "SLOW_READS": tmp_path / f"slow{shard}"},
        )
        for shard in range(2)
    )
    for process in (hangs, waits):
        wait_for_line(process, "Finished iteration")
    slow = tmp_path / "slow0"
    slow.write_text("10000000")
    time.sleep(5)
    hangs.send_signal(signal.SIGTERM)
    output, _ = hangs.communicate(timeout=60)
    assert hangs.returncode == 143, output[-2000:]
    output, _ = waits.communicate(timeout=60)
    assert waits.returncode == 75, output[-2000:]
    assert "peer lost: shard=0" in last_line(output)
    assert "stopped by signal 15 while a read of the input hung" in last_line(output)


def test_the_line_about_a_shard_whose_read_hangs_says_so(
    slow_disk, databases, redis_server, shards, tmp_path
):
    flags = {**LONG, "num_shards": 2, "run_id": "hangs", "redis_host": "127.0.0.1",
             "redis_port": redis_server.port, "collective_timeout": 5, "log_every": 1,
             "log_all_shards": True}
    slow = tmp_path / "slow"
    hangs, waits = (
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags),
                     env={**slow_disk, "SLOW_READS": slow} if shard == 0 else None)
        for shard in range(2))
    for process in (hangs, waits):
        wait_for_line(process, "Finished iteration")
    slow.write_text("10000000")
    output, _ = waits.communicate(timeout=90)
    assert waits.returncode == 75, output[-2000:]
    line = last_line(output)
    assert "peer lost: shard=0" in line and "it does not take part in collective" in line
    assert "; it waits for its input, for" in line, line
