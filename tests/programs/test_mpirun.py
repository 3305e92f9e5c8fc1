"""Trainers as mpirun starts them: ids from its environment."""

import os
import shutil
import subprocess

import pytest

from conftest import BIN, LIMIT, last_line, run, training

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]


def mpirun(program, *args):
    """Runs two processes of the program to their end; returns (exit status, output)."""
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    process = subprocess.run(
        [*MPIRUN, str(BIN / program), *map(str, args)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return process.returncode, process.stdout


@pytest.mark.parametrize("store", ["redis", "file"])
def test_resnet50_trainer(store, databases, redis, tmp_path):
    flags = {"redis_host": "127.0.0.1", "redis_port": redis} if store == "redis" else {}
    status, output = mpirun(
        "resnet50_trainer", *training(databases, tmp_path, batch_size=16, **flags)
    )
    assert status == 0, output
    assert "shard 0 of 2" in output and "shard 1 of 2" in output
    assert [path.suffix for path in tmp_path.iterdir()] == [".mdl"]


def test_mnist_trainer(databases, tmp_path):
    status, output = mpirun(
        "mnist_trainer", "--use_cpu", "--train_data", databases / "train_lmdb", "--test_data",
        databases / "test_lmdb", "--network", "lenet", "--num_epochs", 1, "--num_examples", 640,
        "--model_prefix", tmp_path / "lenet", "--file_store_path", tmp_path,
    )
    assert status == 0, output
    assert "shard 1 of 2" in output
    assert [path.name for path in tmp_path.iterdir()] == ["lenet-0001.mdl"]


def test_a_failure_ends_all(databases, tmp_path):
    status, output = mpirun("resnet50_trainer", *training(databases, tmp_path, db_type="leveldb"))
    assert 0 < status < 128, output
    assert "train_lmdb" in output


@pytest.mark.parametrize(
    "environment, flags, expected",
    [
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "2"}, {"run_id": "r"},
         "OMPI_COMM_WORLD_RANK"),
        ({"OMPI_COMM_WORLD_SIZE": "two", "OMPI_COMM_WORLD_RANK": "0"}, {}, "two"),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, {"num_shards": 3}, "mpirun"),
        ({"PMI_SIZE": "2", "PMI_RANK": "0"}, {}, "MASTER_ADDR"),
    ],
)
def test_what_the_environment_says_is_checked(environment, flags, expected, databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), env=environment)
    assert 0 < done.returncode < 128
    assert expected in last_line(done.output)
