"""How tests start `doppio run` and find its processes."""

import os
import pathlib
import subprocess
import time

import pytest

from conftest import BIN, run
from launcher_dialects import clean_environment


def doppio(*args, **options):
    return run("doppio", *args, **options)


def shell(script):
    """The command of a shard that runs a script."""
    return ["--", "bash", "-c", script]


def start(*args, env=None, **options):
    return subprocess.Popen(
        [str(BIN / "doppio"), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=clean_environment(**(env or {})), **options)


def alive(marker):
    """The pids of processes whose command line has the marker, launchers excepted."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(int(pid))
    return found


def wait_until(condition, limit=30):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"not so within {limit} s"
        time.sleep(0.05)


def mnist(databases, models, **flags):
    values = {"train_data": databases / "train_lmdb", "num_epochs": 1, "num_examples": 640,
              "batch_size": 16, "model_prefix": models / "mlp", "disp_batches": 2, **flags}
    return ["--", BIN / "mnist_trainer", "--use_cpu",
            *(f"--{name}={value}" for name, value in values.items())]


def trainers(models):
    """The pids of the trainers of mnist(databases, models), of their launcher and supervisors."""
    return alive(f"--model_prefix={models / 'mlp'}")


def trainer_of(rank, models):
    """The pid of the trainer that is shard `rank` of mnist(databases, models)."""
    for pid in trainers(models):
        program = pathlib.Path(f"/proc/{pid}/exe").resolve()
        with open(f"/proc/{pid}/environ") as environment:
            is_it = f"\0RANK={rank}\0" in "\0" + environment.read()
        if is_it and program == (BIN / "mnist_trainer").resolve():
            return pid
    pytest.fail(f"there is no shard {rank}")
