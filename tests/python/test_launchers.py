"""Python scripts as launchers start them: the place of a shard from environment variables."""

import json
import re
import subprocess
import sys
import time

import launcher_worker
import pytest

from launcher_dialects import DIALECTS, clean_environment, free_port, mxnet
from redis_server import RedisServer

_LIMIT = 60  # seconds after which a shard counts as hung


class _Shards:
    def __init__(self):
        self._processes = []

    def start(self, variables=None, **arguments):
        process = subprocess.Popen(
            [sys.executable, launcher_worker.__file__, json.dumps(arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=clean_environment(OMP_NUM_THREADS=1, **(variables or {})))
        self._processes.append(process)
        return process

    def wait(self):
        """(exit status, output) of each."""
        deadline = time.monotonic() + _LIMIT
        return [(process.returncode, output) for process, (output, _) in [
            (process, process.communicate(timeout=max(1, deadline - time.monotonic())))
            for process in self._processes]]

    def kill(self):
        for process in self._processes:
            process.kill()
            process.communicate()


@pytest.fixture
def shards():
    group = _Shards()
    yield group
    group.kill()


def check_trained_together(results):
    """Both shards have the same weights after training, and say which of two they are."""
    weights = set()
    for rank, (status, output) in enumerate(results):
        assert status == 0, output
        (line,) = re.findall(r"^shard .*$", output, re.MULTILINE)
        assert line.startswith(f"shard {rank} of 2 has w="), output
        weights.add(line.partition("w=")[2])
    assert len(weights) == 1


@pytest.mark.parametrize("name", DIALECTS)
def test_shards_of_a_launcher_train_together(name, shards, tmp_path):
    environments, says = DIALECTS[name]
    arguments = {"file_store_path": str(tmp_path)}
    if name == "hydra":
        arguments["run_id"] = "hydra"  # which mpiexec has none for
    with environments() as places:
        for place in places:
            shards.start(place, **arguments)
        results = shards.wait()
    check_trained_together(results)
    assert all(says in output for _, output in results)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("worker_ids", [True, False])
def test_mxnet_scheduler_and_servers_serve_and_end(worker_ids, shards):
    for place in mxnet(free_port(), worker_ids):
        shards.start(place)
    (status, scheduler), (server_status, server), *workers = shards.wait()
    assert (status, server_status) == (0, 0), scheduler + server
    assert "has w=" not in scheduler + server
    check_trained_together(sorted(workers, key=lambda result: "shard 1 of 2" in result[1]))


def test_arguments_count_more_than_a_launcher(shards):
    server = RedisServer()
    try:
        for shard in range(2):
            shards.start({"RANK": 5, "WORLD_SIZE": 9}, num_shards=2, shard_id=shard, run_id="args",
                         init_method=f"redis://127.0.0.1:{server.port}")
        check_trained_together(shards.wait())
        assert server.keys() == []
    finally:
        server.kill()


def test_trainers_of_caffe2_meet_under_mpirun(shards):
    with DIALECTS["open_mpi_one_host"][0]() as places:
        for rank, place in enumerate(places):
            shards.start(place, mpi=[2, rank])
        check_trained_together(shards.wait())


@pytest.mark.parametrize("arguments", [{}, {"num_shards": 1, "shard_id": 0}, {"alone": True}])
def test_a_process_without_a_launcher_trains_alone(arguments, shards):
    variables = {"RANK": 1, "WORLD_SIZE": 2} if "num_shards" in arguments else {}
    shards.start(variables, **arguments)
    ((status, output),) = shards.wait()
    assert status == 0, output
    assert "shard 0 of 1 has w=" in output


WRONG = {
    "no rendezvous": ({"RANK": 1, "WORLD_SIZE": 2, "MASTER_ADDR": "a"}, {"alone": True},
                      "torchrun: shard 1 of 2.* RendezvousFromEnvironment"),
    "part of a set": ({"RANK": 1}, {"alone": True}, "WORLD_SIZE is not set; to train alone"),
    "no store to meet at": ({"RANK": 1, "WORLD_SIZE": 2}, {},
                         "set MASTER_ADDR and MASTER_PORT, or give init_method"),
    "mpirun says otherwise": ({}, {"mpi": [2, 0]}, "num_shards 2, but the environment says 1"),
    "no number": ({"SLURM_PROCID": "x", "SLURM_NTASKS": 2}, {}, 'SLURM_PROCID="x" must be a numb'),
    "no name": ({}, {"num_shards": 2, "shard_id": 0, "redis_host": "a"}, "run_id is needed"),
    "no URL": ({}, {"num_shards": 2, "shard_id": 0, "init_method": "x"}, "must be tcp://host:port"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_launches_are_errors_that_name_the_fix(case, shards):
    variables, arguments, expected = WRONG[case]
    shards.start(variables, **arguments)
    ((status, output),) = shards.wait()
    assert status == 1
    line = output.strip().splitlines()[-1]
    assert line.startswith("ValueError: ") and re.search(expected, line), output
    assert "--" not in line and "has w=" not in output
