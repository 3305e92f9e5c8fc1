"""Trainers as launchers start them: the place of a shard by environment variables and addresses."""

import json
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
    args = training(databases, tmp_path, batch_size=16, epoch_size=10**6, log_all_shards=True)
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
MXNET = {"DMLC_ROLE": "worker", "DMLC_NUM_WORKER": "2", "DMLC_WORKER_ID": "0",
         "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "1"}


def tf_config(task, workers=("a:1", "b:1")):
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task})}


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
    "evaluator": (
        {"TF_CONFIG": '{"cluster": {"worker": ["b:1"]}, '
                      '"task": {"type": "evaluator", "index": 0}}'}, {},
        ["TF_CONFIG", "evaluator"]),
    "role": ({"DMLC_ROLE": "chief", "DMLC_NUM_WORKER": "2"}, {}, ["DMLC_ROLE", "scheduler"]),
    "size of a Job": ({"JOB_COMPLETION_INDEX": "1"}, {}, ["WORLD_SIZE", "--num_shards"]),
    "no URL": ({}, {"num_shards": 2, "shard_id": 0, "init_method": "10.0.0.5:1"},
               ["--init_method", "tcp://host:port"]),
    "host of others": ({}, {"num_shards": 2, "shard_id": 0, "init_method": "tcp://192.0.2.77:1"},
                       ["192.0.2.77", "shard 0"]),
    "no port": ({}, {"num_shards": 2, "shard_id": 0, "init_method": "tcp://localhost"},
                ["--init_method", "the port is missing"]),
    "empty": ({**TWO, "RANK": ""}, {}, ["RANK is set but empty"]),
    "negative": ({**TWO, "RANK": "-1"}, {}, ['RANK="-1"', "from 0 to 65536"]),
    "no shards": ({**TWO, "WORLD_SIZE": "0"}, {}, ['WORLD_SIZE="0"', "at least 1"]),
    "number too long": ({**TWO, "WORLD_SIZE": "9" * 30}, {}, ["WORLD_SIZE", "from 0 to 65536"]),
    "local rank": ({**TWO, "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "2"}, {},
                   ['LOCAL_RANK="3"', 'LOCAL_WORLD_SIZE="2"']),
    "local size": ({**TWO, "LOCAL_WORLD_SIZE": "4"}, {}, ['LOCAL_WORLD_SIZE="4"', "2 processes"]),
    "local rank alone": ({"LOCAL_RANK": "0"}, {}, ["RANK and WORLD_SIZE are not set"]),
    "local size alone": ({"LOCAL_WORLD_SIZE": "2"}, {}, ["RANK and WORLD_SIZE are not set"]),
    "host alone": ({"MASTER_ADDR": "a"}, {}, ["RANK and WORLD_SIZE are not set"]),
    "blank in a host": ({**TWO, "MASTER_ADDR": "my host"}, {}, ["MASTER_ADDR", '"my host"']),
    "URL as a host": ({**TWO, "MASTER_ADDR": "tcp://a"}, {}, ["MASTER_ADDR", '"tcp://a"']),
    "unknown host": ({**TWO, "RANK": "0", "MASTER_ADDR": "nowhere.invalid"}, {},
                     ["nowhere.invalid cannot be resolved", "shard 0"]),
    "store of doppio": ({**TWO, "DOPPIO_STORE": "10.0.0.1"}, {}, ['DOPPIO_STORE is "10.0.0.1"']),
    "rank of Slurm": ({**SLURM, "SLURM_PROCID": "2"}, {}, ['SLURM_PROCID="2"', "SLURM_NTASKS"]),
    "Slurm twice": ({**SLURM, "SLURM_STEP_NUM_TASKS": "3"}, {},
                    ['SLURM_NTASKS="2"', 'SLURM_STEP_NUM_TASKS="3"', "srun"]),
    "tasks of a node": ({**SLURM, "SLURM_NODEID": "3", "SLURM_STEP_TASKS_PER_NODE": "2"}, {},
                        ["SLURM_STEP_TASKS_PER_NODE", 'SLURM_NODEID="3"']),
    "too many nodes": ({**SLURM, "SLURM_STEP_NODELIST": "n[1-999999999]"}, {},
                       ["SLURM_STEP_NODELIST", "more than 65536 hosts"]),
    "job": ({**SLURM, "SLURM_JOB_ID": "abc"}, {}, ['SLURM_JOB_ID="abc"', "number"]),
    "mpirun on hosts": ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
                         "OMPI_COMM_WORLD_LOCAL_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
                        {"file_store_path": None}, ["no store to meet at", "MASTER_ADDR"]),
    "mpirun and WORLD_SIZE": ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
                               "WORLD_SIZE": "4"}, {}, ['WORLD_SIZE="4"', "mpirun", "unset it"]),
    "Hydra's name": ({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}, {},
                     ["--run_id is needed"]),
    "Horovod's host": ({"HOROVOD_RANK": "0", "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_SIZE": "1"},
                       {"file_store_path": None}, ["HOROVOD_GLOO_RENDEZVOUS_ADDR"]),
    "Horovod's port": ({"HOROVOD_RANK": "0", "HOROVOD_SIZE": "2",
                        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "a", "HOROVOD_GLOO_RENDEZVOUS_PORT": "x"},
                       {}, ["HOROVOD_GLOO_RENDEZVOUS_PORT", '"x"', "from 1 to 65535"]),
    "no cluster": ({"TF_CONFIG": "{}"}, {}, ["TF_CONFIG", '"cluster" is not an object']),
    "index": (tf_config({"type": "worker", "index": 2}), {}, ["TF_CONFIG", "worker 2", "has 2"]),
    "fraction": (tf_config({"type": "worker", "index": 1.5}), {}, ["TF_CONFIG", "index"]),
    "type of a task": (tf_config({"type": "wroker", "index": 0}), {}, ["TF_CONFIG", "wroker"]),
    "no chief": (tf_config({"type": "chief", "index": 0}), {}, ["TF_CONFIG", "chief 0", "has 0"]),
    "same address": (tf_config({"type": "worker", "index": 0}, ["a:1", "a:1"]), {},
                     ["TF_CONFIG", "two tasks have the address a:1"]),
    "port of a task": (tf_config({"type": "worker", "index": 0}, ["a", "b:1"]), {},
                       ["TF_CONFIG", "the port is missing"]),
    "deep JSON": ({"TF_CONFIG": "[" * 10**5}, {}, ["TF_CONFIG", "JSON"]),
    "worker of MXNet": ({**MXNET, "DMLC_WORKER_ID": "2"}, {}, ['DMLC_WORKER_ID="2"']),
    "root of MXNet": ({"DMLC_ROLE": "worker", "DMLC_NUM_WORKER": "2", "DMLC_WORKER_ID": "0"},
                      {"file_store_path": None}, ["DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT"]),
    "port of MXNet": ({**MXNET, "DMLC_PS_ROOT_PORT": "x"}, {}, ["DMLC_PS_ROOT_PORT", '"x"']),
    "index of a Job": ({"JOB_COMPLETION_INDEX": "2", "WORLD_SIZE": "2"}, {},
                       ['JOB_COMPLETION_INDEX="2"', "2 processes"]),
    "host of a Job": ({"JOB_COMPLETION_INDEX": "0", "WORLD_SIZE": "2", "HOSTNAME": "a"},
                      {"file_store_path": None}, ["Kubernetes", "MASTER_ADDR"]),
    "flag alone": ({}, {"shard_id": 1}, ["--shard_id is 1", "0 to 0"]),
    "scheme": ({}, {"init_method": "ftp://a:1"}, ['"ftp://a:1"', "tcp://host:port"]),
    "relative": ({}, {"init_method": "file://here"}, ["absolute"]),
    "database": ({}, {"init_method": "redis://a/x"}, ['"x"', "number of a Redis database"]),
    "name": (TWO, {"run_id": "a b"}, ['run_id "a b"', "only letters"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_launches_are_one_line_and_nothing_trains(case, databases, tmp_path):
    variables, flags, expected = WRONG[case]
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), env=variables)
    assert done.returncode == 64, done.output
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
    # A killed writer leaves the files of its locks, which nobody holds any more.
    assert [path.suffix for path in tmp_path.iterdir()] == ([] if victim else [".lock"] * 2)


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
    assert time.monotonic() - begin < 20
    assert status == 128 + 15, output
    assert not [key for key in redis_keys(redis) if key.startswith("waits/")]
