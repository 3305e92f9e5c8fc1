"""Asynchronous training: parameter servers and their workers, as real processes."""

import json
import os
import re
import signal
import struct
import time

import pytest
from doppio_runs import mnist, trainer_of, wait_until
from doppio_runs import start as start_doppio

from conftest import compiled, last_line, run, training, wait_for_line
from launcher_dialects import free_port
from redis_server import redis_keys


def args_of(databases, models, redis=None, **flags):
    if redis is not None:
        flags.update(redis_host="127.0.0.1", redis_port=redis, run_id="async")
    return training(databases, models,
                    **{"batch_size": 16, "base_learning_rate": 0.002, **flags})


def parameters(model):
    """The records of an exported model (a minidb file) that hold its tensors, by name."""
    data, records, at = model.read_bytes(), {}, 0
    while at < len(data):
        key_size, size = struct.unpack_from("<ii", data, at)
        key = data[at + 8:at + 8 + key_size].decode()
        at += 8 + key_size + size
        if not key.startswith("!!"):
            records[key] = data[at - size:at]
    assert records
    return records


def start(shards, args, processes, servers):
    return [shards.start(*args, "--num_shards", processes, "--shard_id", shard, "--param_servers",
                         servers) for shard in range(processes)]


def ends(results):
    return [status for status, _ in results]


def test_one_worker_gives_the_model_of_plain_training(databases, redis, shards, tmp_path):
    models = {}
    for name in ("plain", "served"):
        folder = tmp_path / name
        folder.mkdir()
        args = args_of(databases, folder, **({} if name == "plain" else {"redis": redis}))
        if name == "plain":
            done = run("resnet50_trainer", *args)
            assert done.returncode == 0, done.output
        else:
            start(shards, args, 2, 1)
            results = shards.wait()
            assert ends(results) == [0, 0], results
            assert "40 updates" in results[1][1], results[1][1]
        [model] = [path for path in folder.iterdir() if path.suffix == ".mdl"]
        models[name] = parameters(model)
    assert models["plain"] == models["served"]
    assert redis_keys(redis) == []


@pytest.mark.parametrize("staleness", [0, 2])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_leaves_the_others_training(staleness, victim, databases, redis, shards,
                                                    tmp_path):
    args = args_of(databases, tmp_path, redis, num_epochs=20, max_staleness=staleness)
    workers = start(shards, args, 3, 1)[:2]
    wait_for_line(workers[victim], "Finished iteration")
    workers[victim].kill()
    results = shards.wait()
    other = 1 - victim
    assert results[victim][0] == -9
    assert results[other][0] == 0 and results[2][0] == 0, results[other][1] + results[2][1]
    assert f"shard {victim}" in results[2][1] and "is lost, the others go on" in results[2][1]
    assert "Finished epoch 19" in results[other][1] or "epoch 20" in results[other][1]
    assert [path.suffix for path in tmp_path.iterdir() if path.suffix == ".mdl"]
    assert redis_keys(redis) == []


def events_of(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_the_next_worker_goes_on_with_the_files_of_worker_0(how, databases, redis, shards,
                                                            tmp_path):
    """Worker 0 dies, or is frozen and wakes after the run."""
    logs = tmp_path / "logs"
    csv = tmp_path / "epochs.csv"
    args = args_of(databases, tmp_path, redis, num_epochs=30, epoch_size=64, log_every=1,
                   collective_timeout=3, log_dir=logs, log_csv=csv)
    frozen, other, server = start(shards, args, 3, 1)
    wait_for_line(frozen, "Wrote model")
    frozen.send_signal(how)
    for process in (other, server):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output[-3000:]
        if process is other:
            assert "shard 1 (host " in output
            assert "are lost: it writes models and records from now on" in output
            assert f"The rows of the epochs go on in {csv}" in output
    comment, header, *rows = (line.split(",") for line in csv.read_text().splitlines())
    assert comment[0].startswith("# ") and header[7] == "epoch"
    epochs = [int(row[7]) for row in rows]
    assert epochs == sorted(set(epochs)) and epochs[0] == 0 and epochs[-1] == 29
    for column in (1, 3):  # cumulative seconds and images
        values = [float(row[column]) for row in rows]
        assert values == sorted(set(values))
    models = {path.name: path.read_bytes() for path in tmp_path.glob("*.mdl")}
    assert any(name.endswith("_30.mdl") for name in models), models.keys()
    events = events_of(logs)
    assert [event["epoch"] for event in events if event["event"] == "start"][0] == 0
    assert len([event for event in events if event["event"] == "start"]) == 2
    assert events[-1]["event"] == "model" and events[-1]["path"].endswith("_30.mdl")
    assert [event["epoch"] for event in events if event["event"] == "epoch"][-1] == 29
    assert any(event["event"] == "test" and event["epoch"] == 29 for event in events)
    frozen.send_signal(signal.SIGCONT)
    output, _ = frozen.communicate(timeout=120)
    assert frozen.returncode != 0, output[-2000:]
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.mdl")} == models
    assert events_of(logs) == events
    assert [line.split(",") for line in csv.read_text().splitlines()[2:]] == rows


def launched(databases, models, *options):
    return start_doppio("run", "-n", 3, *options,
                        *mnist(databases, models, param_servers=1, collective_timeout=5,
                               num_epochs=60))


@pytest.mark.parametrize("store", [[], ["--store", "file://{}"],
                                   ["--store", "tcp://127.0.0.1:{}"]])
def test_doppio_run_goes_on_without_a_worker(store, databases, tmp_path):
    options = [word.format(tmp_path if "file" in word else free_port()) for word in store]
    launcher = launched(databases, tmp_path, *options)
    wait_for_line(launcher, "[1] ")
    wait_until(lambda: list(tmp_path.glob("mlp*.mdl")))
    os.kill(trainer_of(1, tmp_path), signal.SIGKILL)
    wait_for_line(launcher, "doppio: the run goes on without shard 1 on localhost, which ended")
    output, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == 0, output[-3000:]
    assert "done without shard 1 of 3" in last_line(output)
    assert list(tmp_path.glob("mlp*60.mdl"))


@pytest.mark.parametrize("victims, status", [([2], 137), ([1, 0], 137)])
def test_doppio_run_ends_with_a_server_or_the_last_worker(victims, status, databases, tmp_path):
    launcher = launched(databases, tmp_path)
    wait_until(lambda: list(tmp_path.glob("mlp*.mdl")))
    for victim in victims:
        os.kill(trainer_of(victim, tmp_path), signal.SIGKILL)
    output, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == status, output[-3000:]
    first = "|".join(map(str, victims))
    assert re.search(rf"failed; first shard ({first}) on localhost: signal 9 \(Killed\)", output)


def test_a_worker_whose_loss_explodes_names_itself(databases, redis, shards, tmp_path):
    start(shards, args_of(databases, tmp_path, redis, std="1e-38"), 3, 1)
    results = shards.wait()
    assert ends(results) == [65, 65, 75], results
    for worker, (_, output) in enumerate(results[:2]):
        line = last_line(output)
        assert f"peer lost: shard={worker} " in line, line
        assert f"the loss of shard {worker} (host " in line, line
        assert "(the other shards go on)" in line, line
    assert redis_keys(redis) == []


def test_a_signal_says_what_is_lost(databases, redis, shards, tmp_path):
    workers = start(shards, args_of(databases, tmp_path, redis, epoch_size=10**8), 3, 1)[:2]
    for worker in workers:
        wait_for_line(worker, "Finished iteration")
    workers[1].send_signal(signal.SIGTERM)
    results = shards.wait()
    assert ends(results) == [128 + signal.SIGTERM] * 3, results
    for _, output in results[:2]:
        assert ("the work since the last saved model is lost, because runs with parameter servers "
                "have no checkpoints") in output, output[-2000:]


def test_a_killed_server_ends_the_run_with_one_line(databases, redis_server, shards, tmp_path):
    args = args_of(databases, tmp_path, redis_server.port, epoch_size=10**8)
    processes = start(shards, args, 3, 1)
    for worker in processes[:2]:
        wait_for_line(worker, "Finished iteration")
    processes[2].kill()
    results = shards.wait()
    assert ends(results) == [75, 75, -9], results
    lines = [last_line(output) for _, output in results[:2]]
    assert all("peer lost: shard=2 " in line for line in lines), lines


@pytest.mark.parametrize("frozen", [0, 2])
def test_a_process_that_freezes_after_the_store_is_gone_holds_nobody(
    frozen, databases, redis_server, shards, tmp_path
):
    """Worker 0, or the server (shard 2)."""
    args = args_of(databases, tmp_path, redis_server.port, num_epochs=30, epoch_size=64,
                   log_every=1, collective_timeout=3)
    processes = start(shards, args, 3, 1)
    wait_for_line(processes[0], "Wrote model")
    redis_server.kill()
    processes[frozen].send_signal(signal.SIGSTOP)
    for shard, process in enumerate(processes):
        if shard == frozen:
            continue
        output, _ = process.communicate(timeout=60)
        cause = (f"peer lost: shard={frozen} host=", "its process is stopped (the store is "
                 "unreachable, too)")
        if frozen == 2:
            assert process.returncode == 75, output[-3000:]
            assert all(text in last_line(output) for text in cause), output[-3000:]
        else:
            assert process.returncode == 0, output[-3000:]
            assert shard == 1 or all(text in output for text in cause), output[-3000:]
    processes[frozen].kill()


# The thread that connects stands still; the heartbeat goes on.
HANGS = """
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int listen(int fd, int backlog) {
  static int calls;
  while (calls++ >= atoi(getenv("HANGS_AFTER"))) pause();
  return syscall(SYS_listen, fd, backlog);
}
"""


def start_with_one_that_hangs(hangs, databases, folder, shards, servers=1, **flags):
    """Two workers and the servers (shard 2 and up), which wait for each other; `hangs` connects to
    all servers but the last."""
    library = compiled(folder, "hangs", HANGS)
    args = args_of(databases, folder, run_id="async", **flags)
    number = 2 + servers
    env = {"LD_PRELOAD": str(library), "HANGS_AFTER": str(servers - 1)}
    processes = [
        shards.start(*args, "--num_shards", number, "--shard_id", shard, "--param_servers", servers,
                     env=env if shard == hangs else {})
        for shard in range(number)]
    end = time.monotonic() + 60
    while not list((folder / "async").glob("*ready")):
        assert processes[0].poll() is None and time.monotonic() < end
        time.sleep(0.005)
    return processes


@pytest.mark.parametrize("hangs, waits, awaited", [
    (2, 0, "parameters_0_0_cw_op/1 in the store"),
    # A server waits in two threads; the one that sees the signal first says for what.
    (0, 2, "(parameters_0_0_cw_op/0 in the store|the first parameters, which worker 0 sends)"),
])
def test_who_waits_for_a_connection_obeys_a_signal(
    hangs, waits, awaited, databases, shards, tmp_path
):
    processes = start_with_one_that_hangs(
        hangs, databases, tmp_path, shards, rendezvous_timeout=10_000, collective_timeout=10_000)
    time.sleep(1)
    processes[waits].send_signal(signal.SIGTERM)
    output, _ = processes[waits].communicate(timeout=60)
    assert processes[waits].returncode == 128 + signal.SIGTERM, output[-2000:]
    assert re.search(f"stopped by signal 15 while it waited for {awaited}", last_line(output))
    assert "Its threads" not in output


@pytest.mark.parametrize("waits", [1, 2])
def test_who_waits_for_the_first_parameters_obeys_a_signal(waits, databases, shards, tmp_path):
    """Worker 0 never gives them: it connects to the first server alone. Worker 1 and that server
    have connected to all others."""
    processes = start_with_one_that_hangs(
        0, databases, tmp_path, shards, servers=2, rendezvous_timeout=10_000,
        collective_timeout=10_000)
    time.sleep(3)
    processes[waits].send_signal(signal.SIGTERM)
    output, _ = processes[waits].communicate(timeout=60)
    assert processes[waits].returncode == 128 + signal.SIGTERM, output[-2000:]
    assert ("stopped by signal 15 while it waited for the first parameters, which worker 0 sends"
            in last_line(output)), output[-2000:]


def test_a_server_that_never_connects_is_named(databases, shards, tmp_path):
    workers = start_with_one_that_hangs(
        2, databases, tmp_path, shards, rendezvous_timeout=20, collective_timeout=3)[:2]
    for worker in workers:
        output, _ = worker.communicate(timeout=120)
        assert worker.returncode == 75, output[-2000:]
        assert "peer lost: shard=2 " in last_line(output)


def test_tf_config_gives_the_roles(databases, shards, tmp_path):
    cluster = {kind: [f"127.0.0.1:{free_port()}"] for kind in ("chief", "worker", "ps")}
    for kind in cluster:
        shards.start(*args_of(databases, tmp_path), env={"TF_CONFIG": json.dumps(
            {"cluster": cluster, "task": {"type": kind, "index": 0}})})
    results = shards.wait()
    assert ends(results) == [0, 0, 0], results
    assert "TF_CONFIG: parameter server 0 of 1" in results[2][1]
    assert "40 updates" in results[2][1], results[2][1]


@pytest.mark.parametrize("servers", [1, 2])
def test_mxnet_servers_keep_the_parameters(servers, databases, shards, tmp_path):
    shared = {"DMLC_NUM_WORKER": 2, "DMLC_NUM_SERVER": servers, "DMLC_PS_ROOT_URI": "127.0.0.1",
              "DMLC_PS_ROOT_PORT": free_port()}
    roles = ["scheduler", *["server"] * servers, "worker", "worker"]
    for role in roles:
        shards.start(*args_of(databases, tmp_path, param_servers=servers),
                     env={**shared, "DMLC_ROLE": role})
    results = shards.wait()
    assert ends(results) == [0] * len(roles), results
    assert "has ended" in results[0][1]
    for _, output in results[1:1 + servers]:
        assert "40 updates" in output, output


WRONG = {
    "too many": ({"num_shards": 2, "shard_id": 0, "param_servers": 2, "run_id": "r"}, {},
                 "--param_servers is 2"),
    "staleness alone": ({"max_staleness": 2}, {}, "--max_staleness is for training with"),
    "negative": ({"num_shards": 2, "shard_id": 0, "param_servers": -1, "run_id": "r"}, {},
                 "--param_servers is -1"),
    "checkpoints": ({"num_shards": 2, "shard_id": 0, "param_servers": 1, "run_id": "r",
                     "checkpoint_every": 5}, {}, "leave out --checkpoint_every"),
    "local SGD": ({"num_shards": 2, "shard_id": 0, "param_servers": 1, "run_id": "r",
                   "sync_every": 5}, {}, "--sync_every cannot be used together"),
    "MXNet's number": ({"param_servers": 2}, {"DMLC_ROLE": "worker", "DMLC_NUM_WORKER": 2,
                                              "DMLC_NUM_SERVER": 1}, "DMLC_NUM_SERVER"),
    "TensorFlow's number": ({"param_servers": 2}, {"TF_CONFIG": json.dumps(
        {"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "worker", "index": 0}})},
        "1 tasks of type ps"),
    "no such server": ({}, {"TF_CONFIG": json.dumps(
        {"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 1}})},
        "this task is ps 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_roles_and_flags_get_one_line(name, databases, tmp_path):
    flags, environment, text = WRONG[name]
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags), env=environment)
    assert done.returncode == 64, done.output
    assert text in last_line(done.output)
