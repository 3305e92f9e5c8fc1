"""A pipe on stderr that is full or closed, closed descriptors, and the hangup signal."""

import fcntl
import json
import os
import select
import signal
import subprocess
import time

import pytest

from conftest import BIN, LIMIT, compiled, training
from launcher_dialects import clean_environment

CHATTY = {"model": "mlp", "batch_size": 4, "epoch_size": 2000, "log_every": 1}


def start(args, stderr, environment=None, **options):
    return subprocess.Popen(
        [str(BIN / "resnet50_trainer"), *map(str, args)], stderr=stderr,
        stdout=subprocess.DEVNULL,
        env=clean_environment(OMP_NUM_THREADS=1, **(environment or {})), **options,
    )


def small_pipe():
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    return reading, writing


def test_a_pipe_that_nobody_reads_does_not_stop_training(databases, tmp_path):
    reading, writing = small_pipe()
    process = start(training(databases, tmp_path, **CHATTY), writing)
    os.close(writing)
    try:
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
        os.close(reading)
    assert (tmp_path / "model_1.mdl").exists()


def test_a_late_reader_learns_how_much_was_lost(databases, tmp_path):
    reading, writing = small_pipe()
    flags = {**CHATTY, "num_epochs": 1000, "save_model_name": ""}
    process = start(training(databases, tmp_path, **flags), writing)
    os.close(writing)
    while not select.select([reading], [], [], 0.1)[0]:
        assert process.poll() is None
    time.sleep(3)  # the pipe is full, and the trainer has lost its patience
    text = b""
    begin = time.monotonic()
    while b"texts were lost here" not in text and time.monotonic() - begin < LIMIT:
        text += os.read(reading, 65536)
    process.kill()
    process.wait()
    os.close(reading)
    assert b"texts were lost here" in text


def test_a_slow_reader_gets_every_line(databases, tmp_path):
    reading, writing = small_pipe()
    process = start(training(databases, tmp_path, **CHATTY), writing)
    os.close(writing)
    text = b""
    while chunk := os.read(reading, 4096):
        text += chunk
        time.sleep(0.002)
    assert process.wait(LIMIT) == 0
    os.close(reading)
    assert text.count(b"Finished iteration") == 500
    assert b"lost here" not in text


def test_a_closed_pipe_does_not_stop_training(databases, tmp_path):
    reading, writing = os.pipe()
    process = start(training(databases, tmp_path, **CHATTY), writing)
    os.close(writing)
    os.close(reading)
    assert process.wait(LIMIT) == 0
    assert (tmp_path / "model_1.mdl").exists()


CLOSED = ["2>&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"]


def run_closed(closed, program, *args):
    """The exit status of a program that starts without some of the descriptors 0, 1 and 2."""
    command = ["bash", "-c", f'exec "$0" "$@" {closed}', BIN / program, *args]
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, timeout=LIMIT,
                          env=clean_environment(OMP_NUM_THREADS=1)).returncode


# The first file that a program opens must not become the one that it logs to.
@pytest.mark.parametrize("closed", CLOSED)
def test_closed_descriptors_leave_the_files_of_a_run_alone(closed, databases, tmp_path):
    flags = {**CHATTY, "epoch_size": 40, "checkpoint_every": 5, "file_store_path": tmp_path,
             "checkpoint_path": tmp_path / "run.ckpt", "log_dir": tmp_path / "records"}
    status = run_closed(closed, "resnet50_trainer", *training(databases, tmp_path, **flags))
    records = (tmp_path / "records" / "metrics.jsonl").read_text().splitlines()
    assert all(isinstance(json.loads(record), dict) for record in records)
    assert status == 0
    assert (tmp_path / "model_1.mdl").exists()


@pytest.mark.parametrize("closed", CLOSED)
def test_closed_descriptors_leave_the_logs_of_doppio_alone(closed, tmp_path):
    assert run_closed(closed, "doppio", "run", "--num_shards", 2, "--log_dir", tmp_path,
                      "--", "sh", "-c", "echo out; echo error >&2") == 0
    for shard in range(2):
        lines = (tmp_path / f"shard-{shard}.log").read_text().splitlines()
        assert sorted(lines) == ["error", "out"]


# Catches SIGHUP when it is loaded, as UCX does, which Debian 13's Gloo needs.
CATCHES_HANGUPS = """
#include <signal.h>
static void note(int number) { (void)number; }
__attribute__((constructor)) static void catch_hangups(void) { signal(SIGHUP, note); }
"""


@pytest.mark.parametrize("caught", [False, True], ids=["", "caught-by-a-library"])
@pytest.mark.parametrize("ignored", [False, True], ids=["terminal", "nohup"])
def test_a_hangup_saves_and_ends_unless_it_is_ignored(ignored, caught, databases, tmp_path):
    flags = {**CHATTY, "checkpoint_every": 100000, "checkpoint_path": tmp_path / "run.ckpt",
             "num_epochs": 1 if ignored else 100000}
    log = tmp_path / "log"
    disposition = signal.SIG_IGN if ignored else signal.SIG_DFL
    preloaded = {}
    if caught:
        preloaded["LD_PRELOAD"] = str(compiled(tmp_path, "catches_hangups", CATCHES_HANGUPS))
    with open(log, "wb") as file:
        process = start(training(databases, tmp_path, **flags), file, preloaded,
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, disposition))
    begin = time.monotonic()
    while b"Finished iteration" not in log.read_bytes() and time.monotonic() - begin < LIMIT:
        time.sleep(0.02)
    process.send_signal(signal.SIGHUP)
    assert process.wait(LIMIT) == (0 if ignored else 128 + signal.SIGHUP)
    assert (tmp_path / "run.ckpt").exists()
