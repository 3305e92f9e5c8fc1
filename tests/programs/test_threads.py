"""How many threads compute, and how long they wait for work before they sleep."""

import os
import pathlib
import subprocess
import time

import pytest

from conftest import BIN, LIMIT, training


def without_openmp(**variables):
    """This environment without the variables of OpenMP, and with `variables`."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("OMP_", "GOMP_"))}
    return {**clean, **variables}


def train(args, env):
    return subprocess.Popen([str(BIN / "resnet50_trainer"), *map(str, args)], env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def environment_of_running(args, env):
    """The environment of a trainer that waits for another shard."""
    process = train([*args, "--num_shards", 2, "--shard_id", 0, "--run_id", "alone"], env)
    try:
        while "waiting for" not in process.stdout.readline():  # it joins only after its start
            assert process.poll() is None
        text = pathlib.Path(f"/proc/{process.pid}/environ").read_text()
    finally:
        process.kill()
        process.communicate()
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


@pytest.mark.parametrize("given, spins", [
    ({}, "5000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)])
def test_idle_threads_sleep_soon_unless_the_user_says_otherwise(given, spins, databases, tmp_path):
    found = environment_of_running(training(databases, tmp_path), without_openmp(**given))
    assert found.get("GOMP_SPINCOUNT") == spins


@pytest.mark.parametrize("given, flags, shared", [
    ({}, [], True), ({"OMP_NUM_THREADS": "2"}, [], False), ({}, ["--num_threads", 2], False)])
def test_shards_of_a_machine_share_its_cores(given, flags, shared, databases, tmp_path):
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("one core cannot be shared")
    shards = [
        train([*training(databases, tmp_path, max_iterations=2), *flags, "--num_shards", 2,
               "--shard_id", shard, "--run_id", "cores"], without_openmp(**given))
        for shard in range(2)
    ]
    for shard in shards:
        output, _ = shard.communicate(timeout=LIMIT)
        assert shard.returncode == 0, output
        assert (f"computes on {cores // 2} of {cores} cores" in output) == shared, output


def test_shards_with_cores_of_their_own_keep_them(databases, tmp_path):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("two shards need two cores")
    shards = []
    for shard in range(2):
        args = training(databases, tmp_path, max_iterations=2)
        shards.append(subprocess.Popen(
            ["taskset", "--cpu-list", str(cores[shard]), str(BIN / "resnet50_trainer"),
             *map(str, args), "--num_shards", "2", "--shard_id", str(shard), "--run_id", "bound"],
            env=without_openmp(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    deadline = time.monotonic() + LIMIT
    for shard in shards:
        output, _ = shard.communicate(timeout=deadline - time.monotonic())
        assert shard.returncode == 0, output
        assert "computes on" not in output
