"""Trainers as launchers start them: the place of a shard by environment variables and addresses."""

import re
import socket
import time

import pytest

from conftest import last_line, run, training, wait_for_line
from launcher_dialects import DIALECTS, free_port, listening_port, mxnet
from redis_server import RedisServer, redis_keys


def mnist_training(databases, models):
    """Flags of a short run of mnist_trainer."""
    return ["--use_cpu", "--train_data", databases / "train_lmdb", "--test_data",
            databases / "test_lmdb", "--num_epochs", 1, "--num_examples", 640, "--batch_size", 16,
            "--model_prefix", models / "mlp", "--file_store_path", models]


def start_all(shards, places, args, program="resnet50_trainer"):
    """Starts a process at each place, which all have the same command line."""
    return [shards.start(*args, program=program, env=place)
            for place in places]


def check_run(results, models, ranks=(0, 1)):
    """Two shards of one run have trained together and left one model, and no key or server."""
    for rank, (status, output) in zip(ranks, results):
        assert status == 0, output
        assert f"shard {rank} of 2" in output, output
        assert "all 2 shards joined" in output, output
    assert [path.suffix for path in models.iterdir()] == [".mdl"]
    for address in re.findall(r"its store is at (\S+),", results[0][1]):
        host, _, port = address.rpartition(":")
        with socket.socket() as client:
            assert client.connect_ex((host, int(port))) != 0, f"a server still listens at {address}"


@pytest.mark.parametrize("name", DIALECTS)
def test_shards_of_a_launcher_train_together(name, databases, shards, tmp_path):
    environments, says = DIALECTS[name]
    args = training(databases, tmp_path, batch_size=16, run_id="hydra" if name == "hydra" else None)
    with environments() as places:
        start_all(shards, places, args)
        results = shards.wait()
    check_run(results, tmp_path)
    assert all(says in output for _, output in results)


@pytest.mark.parametrize("name", ["env", "open_mpi_one_host", "tf_workers"])
def test_mnist_trainer_reads_them_too(name, databases, shards, tmp_path):
    with DIALECTS[name][0]() as places:
        start_all(shards, places, mnist_training(databases, tmp_path), "mnist_trainer")
        check_run(shards.wait(), tmp_path)


@pytest.mark.parametrize("worker_ids", [True, False])
def test_mxnet_scheduler_keeps_the_store_and_servers_end(worker_ids, databases, shards, tmp_path):
    args = training(databases, tmp_path, batch_size=16)
    start_all(shards, mxnet(free_port(), worker_ids), args)
    scheduler, server, *workers = shards.wait()
    assert [status for status, _ in (scheduler, server)] == [0, 0], scheduler[1] + server[1]
    assert "has ended" in scheduler[1] and "nothing to do" in server[1]
    assert "Finished iteration" not in scheduler[1] + server[1]
    workers.sort(key=lambda result: "shard 1 of 2" in result[1])
    check_run(workers, tmp_path)


def test_mxnet_scheduler_tells_why_the_run_failed(databases, shards, tmp_path):
    args = training(databases, tmp_path, batch_size=16, epoch_size=10**6)
    scheduler, _, *workers = start_all(shards, mxnet(free_port(), True), args)
    wait_for_line(workers[1], "Finished iteration")
    workers[1].kill()
    (status, output), _, (worker_status, worker_output), _ = shards.wait()
    assert 0 < worker_status < 128 and "shard=1" in last_line(worker_output), worker_output
    assert 0 < status < 128 and "shard=1" in last_line(output), output


# What --init_method is for two shards whose place flags tell.
def tcp(folder, redis):
    return f"tcp://127.0.0.1:{free_port()}"


def file(folder, redis):
    (folder / "meeting").mkdir()
    return f"file://{folder}/meeting"


def redis_url(folder, redis):
    return f"redis://127.0.0.1:{redis}/1"


@pytest.mark.parametrize("method", [tcp, file, redis_url])
def test_init_method(method, databases, redis, shards, tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    url = method(tmp_path, redis)
    for shard in range(2):
        args = training(databases, models, batch_size=16, num_shards=2, shard_id=shard,
                        init_method=url, run_id="url" if method is redis_url else None)
        shards.start(*args)
    results = shards.wait()
    for status, output in results:
        assert status == 0, output
        assert "all 2 shards joined" in output
    assert [path.suffix for path in models.iterdir()] == [".mdl"]
    assert redis_keys(redis) == []
    if method is file:
        assert list((tmp_path / "meeting").iterdir()) == []


def test_init_method_with_a_password_hides_it(databases, shards, tmp_path):
    server = RedisServer(password="secret7")
    try:
        for shard in range(2):
            args = training(databases, tmp_path, batch_size=16, num_shards=2, shard_id=shard,
                            run_id="r", init_method=f"redis://:secret7@127.0.0.1:{server.port}")
            shards.start(*args)
        for status, output in shards.wait():
            assert status == 0, output
            assert "secret7" not in output
            assert "--redis_password_file" in output  # says how to hide it from `ps`, too
        assert server.keys() == []
    finally:
        server.kill()


def test_env_method_needs_a_launcher(databases, shards, tmp_path):
    args = training(databases, tmp_path, batch_size=16, init_method="env://")
    with DIALECTS["env"][0]() as places:
        start_all(shards, places, args)
        check_run(shards.wait(), tmp_path)
    done = run("resnet50_trainer", *args)
    assert 0 < done.returncode < 128
    assert "set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT" in last_line(done.output)


def test_both_flags_of_the_place_count_more(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, num_shards=1, shard_id=0),
               env={"RANK": "1", "WORLD_SIZE": "2", "TF_CONFIG": "nonsense"})
    assert done.returncode == 0, done.output


TWO = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}
WRONG = {
    "rank alone": ({"RANK": "1"}, {}, ["WORLD_SIZE is not set", "to train alone"]),
    "size alone": ({"WORLD_SIZE": "2"}, {}, ["RANK is not set"]),
    "rank no number": ({**TWO, "RANK": "one"}, {}, ['RANK="one"', "a number"]),
    "rank too large": ({**TWO, "RANK": "2"}, {}, ['RANK="2"', "smaller than WORLD_SIZE"]),
    "no host": ({"RANK": "1", "WORLD_SIZE": "2"}, {}, ["MASTER_ADDR", "--init_method"]),
    "bad port": ({**TWO, "MASTER_PORT": "http"}, {}, ["MASTER_PORT", "from 1 to 65535"]),
    "flag against launcher": (TWO, {"num_shards": 3}, ["--num_shards is 3", "torchrun says 2"]),
    "store named twice": (TWO, {"redis_host": "a", "init_method": "tcp://b:1"}, ["--redis_host"]),
    "batch script": ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}, {},
                     ["SLURM_NTASKS", "srun"]),
    "no nodes": (SLURM, {}, ["SLURM_JOB_NODELIST"]),
    "bad nodes": ({**SLURM, "SLURM_STEP_NODELIST": "n[1"}, {}, ["SLURM_STEP_NODELIST", "n[1"]),
    "leftover": ({**SLURM, "SLURM_STEP_NODELIST": "a", "WORLD_SIZE": "8"}, {},
                 ["WORLD_SIZE", "Slurm", "unset it"]),
    "size of mpirun": ({"OMPI_COMM_WORLD_RANK": "0"}, {}, ["OMPI_COMM_WORLD_SIZE is not set"]),
    "rank of Hydra": ({"PMI_SIZE": "2"}, {}, ["PMI_RANK is not set"]),
    "size of Horovod": ({"HOROVOD_RANK": "0"}, {}, ["HOROVOD_SIZE is not set"]),
    "no JSON": ({"TF_CONFIG": "worker"}, {}, ["TF_CONFIG", "JSON"]),
    "parameter server": (
        {"TF_CONFIG": '{"cluster": {"ps": ["a:1"], "worker": ["b:1"]}, '
                      '"task": {"type": "ps", "index": 0}}'}, {}, ["TF_CONFIG", "ps"]),
    "role": ({"DMLC_ROLE": "chief", "DMLC_NUM_WORKER": "2"}, {}, ["DMLC_ROLE", "scheduler"]),
    "size of a Job": ({"JOB_COMPLETION_INDEX": "1"}, {}, ["WORLD_SIZE", "--num_shards"]),
    "no URL": ({}, {"num_shards": 2, "shard_id": 0, "init_method": "10.0.0.5:1"},
               ["--init_method", "tcp://host:port"]),
    "host of others": ({}, {"num_shards": 2, "shard_id": 0, "init_method": "tcp://192.0.2.77:1"},
                       ["192.0.2.77", "shard 0"]),
    "no port": ({}, {"num_shards": 2, "shard_id": 0, "init_method": "tcp://localhost"},
                ["--init_method", "the port is missing"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_launches_are_one_line_and_nothing_trains(case, databases, tmp_path):
    variables, flags, expected = WRONG[case]
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), env=variables)
    assert 0 < done.returncode < 128, done.output
    (line,) = (line for line in done.output.splitlines() if line.startswith("resnet50_trainer:"))
    assert line == last_line(done.output)
    for word in expected:
        assert word in line
    assert "Finished iteration" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_shards_that_count_differently_are_told_so(databases, shards, tmp_path):
    args = training(databases, tmp_path, batch_size=16, rendezvous_timeout=30)
    port = free_port()
    places = [{"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
              for rank, size in ((0, 2), (2, 3))]
    start_all(shards, places, args)
    lines = set()
    for status, output in shards.wait():
        assert 0 < status < 128, output
        assert "Finished iteration" not in output
        lines.add(last_line(output))
    assert len(lines) == 1 and "num_shards differs" in lines.pop()


@pytest.mark.parametrize("victim", [0, 1])
def test_killed_shard_of_a_private_store_is_named(victim, databases, shards, tmp_path):
    args = training(databases, tmp_path, batch_size=16, epoch_size=10**6)
    with DIALECTS["env"][0]() as places:
        processes = start_all(shards, places, args)
        wait_for_line(processes[0], "Finished iteration")
        processes[victim].kill()
        status, output = shards.wait()[1 - victim]
    assert 0 < status < 128, output
    assert f"shard={victim}" in last_line(output), output[-1000:]
    # A killed writer leaves the file of its lock, which nobody holds any more.
    assert [path.suffix for path in tmp_path.iterdir()] == ([] if victim else [".lock"])


def test_missing_server_program_is_named(databases, tmp_path):
    flags = {"num_shards": 2, "shard_id": 0, "init_method": f"tcp://127.0.0.1:{free_port()}"}
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags),
               env={"PATH": str(tmp_path)})
    assert 0 < done.returncode < 128
    assert "apt-get install redis-server" in last_line(done.output)


def test_busy_port_of_tcp_is_named(databases, tmp_path):
    with listening_port() as port:
        flags = {"num_shards": 2, "shard_id": 0, "init_method": f"tcp://127.0.0.1:{port}"}
        done = run("resnet50_trainer", *training(databases, tmp_path, **flags))
    assert 0 < done.returncode < 128
    assert f"tcp://127.0.0.1:{port}: in use by other programs" in last_line(done.output)


def test_interrupt_ends_the_wait_for_other_shards(databases, redis, shards, tmp_path):
    process = shards.start(
        *training(databases, tmp_path, num_shards=2, shard_id=0, run_id="waits",
                  redis_host="127.0.0.1", redis_port=redis))
    while not any(key.startswith("waits/1/member") for key in redis_keys(redis)):
        time.sleep(0.05)
    process.terminate()
    begin = time.monotonic()
    ((status, output),) = shards.wait()
    assert time.monotonic() - begin < 10
    assert status == 128 + 15, output
    assert not [key for key in redis_keys(redis) if key.startswith("waits/")]
