"""Faults of processes, of their data and of their surroundings: the run survives, or one line says
who is lost and why. docs/design/faults.md lists all faults with their tests."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from test_bad_data import GOOD, write_minidb

from conftest import BIN, ROOT, last_line, run, training, wait_for_line
from launcher_dialects import clean_environment
from redis_server import redis_cli, redis_keys

LONG = {"epoch_size": 1_000_000, "test_data": None, "save_model_name": "", "log_every": 1}


def two(port, **flags):
    """Flags of one of two shards that meet through the server at the port."""
    return {"num_shards": 2, "run_id": "faults", "redis_host": "127.0.0.1", "redis_port": port,
            "batch_size": 16, **flags}


def start_two(shards, databases, folder, *words, **flags):
    return [shards.start(*training(databases, folder, shard_id=shard, **flags), *words)
            for shard in range(2)]


def wait_until(condition, limit=90):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit} s"
        time.sleep(0.05)


def end_of(process, limit=90):
    """(exit status, last line of the output) of a process that ends."""
    output, _ = process.communicate(timeout=limit)
    return process.returncode, last_line(output)


def model_of(folder):
    (path,) = folder.glob("*.mdl")
    return path.read_bytes()


def test_competing_load_costs_no_bit(databases, redis_server, shards, tmp_path):
    """Two endless loops for each core beside a run of three shards."""
    models = {}
    for load in (0, 2 * os.cpu_count()):
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(load)]
        try:
            folder = tmp_path / f"load_{load}"
            folder.mkdir()
            for shard in range(3):
                shards.start(*training(databases, folder, shard_id=shard, **two(
                    redis_server.port, num_shards=3, test_data=None, num_epochs=2)))
            for status, output in shards.wait():
                assert status == 0, output[-2000:]
            models[load] = model_of(folder)
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        shards.processes.clear()
    assert len(models) == 2 and len(set(models.values())) == 1


def test_names_that_begin_alike_are_two_runs(databases, redis_server, shards, tmp_path):
    """Shards of one run that found keys of the other would refuse its batch size."""
    for run_id, batch in (("a", 16), ("ab", 8), ("a.b", 4)):
        (tmp_path / run_id).mkdir()
        start_two(shards, databases, tmp_path / run_id, **two(
            redis_server.port, run_id=run_id, batch_size=batch, test_data=None))
    for status, output in shards.wait():
        assert status == 0, output[-2000:]
    assert redis_keys(redis_server.port) == []


def test_proxies_of_the_environment_are_not_asked(databases, redis_server, shards, tmp_path):
    nowhere = "http://127.0.0.1:1"
    proxies = {name: nowhere for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY",
                                          "HTTPS_PROXY", "ALL_PROXY")}
    for shard in range(2):
        shards.start(*training(databases, tmp_path, shard_id=shard, **two(redis_server.port)),
                     env=proxies)
    for status, output in shards.wait():
        assert status == 0, output[-2000:]


def test_an_interface_that_is_not_there_is_named_with_those_that_are(
    databases, redis_server, shards, tmp_path
):
    start_two(shards, databases, tmp_path, **two(
        redis_server.port, distributed_interfaces="nope0", distributed_transport="tcp"))
    ends = shards.wait()
    for _, output in ends:
        assert "there is no network interface nope0" in last_line(output)
        assert " lo=127.0.0.1" in last_line(output), output[-2000:]
    # The shard that sees the failure of the other one before its own ends with 75.
    statuses = {status for status, _ in ends}
    assert 64 in statuses and statuses <= {64, 75}


def test_the_acl_of_the_documents_is_enough(databases, redis_server, shards, tmp_path):
    port = redis_server.port
    words = re.search(r"ACL SETUSER shards on >PASSWORD (.*)",
                      (ROOT / "distributed" / "README.md").read_text()).group(1)
    redis_cli(port, "acl", "setuser", "shards", "on", ">right",
              *words.replace("RUN_ID", "faults").split())

    def train(**flags):
        flags = {**two(port, test_data=None, rendezvous_timeout=60), "redis_host": None,
                 "redis_port": None, "init_method": f"redis://shards@127.0.0.1:{port}", **flags}
        for shard in range(2):
            shards.start(*training(databases, tmp_path, shard_id=shard, **flags),
                         env={"REDISCLI_AUTH": "right"})
        results = shards.wait()
        shards.processes.clear()
        return results

    for status, output in train():
        assert status == 0, output[-2000:]
    for status, output in train(run_id="another"):
        assert status == 77, output[-2000:]
        assert "NOPERM" in last_line(output) and "the ACL of this user" in last_line(output)


def test_a_store_without_memory_says_so(databases, redis_server, tmp_path):
    redis_cli(redis_server.port, "config", "set", "maxmemory", "1")
    done = run("resnet50_trainer", *training(databases, tmp_path, shard_id=0, **two(
        redis_server.port, rendezvous_timeout=5)))
    assert done.returncode == 69, done.output[-2000:]
    assert "OOM command not allowed" in last_line(done.output)
    assert "maxmemory is reached" in last_line(done.output)


def test_the_place_of_a_shard_killed_while_it_joins_is_free(
    databases, redis_server, shards, tmp_path
):
    port = redis_server.port
    flags = two(port, **LONG, num_shards=3, rendezvous_timeout=90, log_all_shards=True)

    def start(shard):
        return shards.start(*training(databases, tmp_path, shard_id=shard, **flags))

    first, victim = start(0), start(1)
    wait_until(lambda: {"faults/1/member/0", "faults/1/member/1"} <= set(redis_keys(port)))
    victim.kill()
    for process in (first, start(1), start(2)):
        wait_for_line(process, "Finished iteration")


def test_a_shard_killed_while_it_tests_is_named(databases, redis_server, shards, tmp_path):
    port = redis_server.port
    # Nearly all of the time goes into tests. The log of so many epochs would fill the pipe, which
    # nobody reads before the end, and the last line would be lost.
    flags = {**two(port, **LONG), "num_shards": 3, "epoch_size": 48, "num_epochs": 1_000_000,
             "test_data": databases / "train_lmdb", "minloglevel": 1}
    started = [shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
               for shard in range(3)]
    wait_until(lambda: redis_cli(port, "hget", "faults/status/1", "state") == ["testing"])
    started[1].kill()
    lines = {end_of(started[shard]) for shard in (0, 2)}
    assert len(lines) == 1, lines
    status, line = lines.pop()
    assert status == 75
    assert "peer lost: shard=1 " in line and f"pid={started[1].pid} " in line, line


def test_a_short_freeze_costs_no_bit(databases, redis_server, shards, tmp_path):
    for name in ("control", "frozen"):
        (tmp_path / name).mkdir()
        started = start_two(shards, databases, tmp_path / name, **two(
            redis_server.port, epoch_size=1920, test_data=None, log_every=1,
            collective_timeout=60, log_all_shards=True))
        if name == "frozen":
            wait_for_line(started[1], "Finished iteration")
            started[1].send_signal(signal.SIGSTOP)
            time.sleep(12)  # longer than the lease of a heartbeat
            started[1].send_signal(signal.SIGCONT)
        for status, output in shards.wait():
            assert status == 0, output[-2000:]
        shards.processes.clear()
    assert model_of(tmp_path / "frozen") == model_of(tmp_path / "control")


def test_a_database_that_is_cut_while_it_is_read(databases, redis_server, shards, tmp_path):
    shutil.copytree(databases / "train_lmdb", tmp_path / "cut_lmdb")
    started = [shards.start(*training(databases, tmp_path, shard_id=shard, train_data=data,
                                      shuffle=True, log_all_shards=True,
                                      **two(redis_server.port, **LONG)))
               for shard, data in enumerate([databases / "train_lmdb", tmp_path / "cut_lmdb"])]
    for process in started:
        wait_for_line(process, "Finished iteration")
    file = tmp_path / "cut_lmdb" / "data.mdb"
    os.truncate(file, file.stat().st_size // 2)
    status, line = end_of(started[1])
    assert status == 65, line
    assert str(file) in line and "truncated" in line
    status, line = end_of(started[0])
    assert status == 75, line
    assert "peer lost: shard=1 " in line and str(file) in line, line


def test_more_shards_than_records(redis_server, shards, tmp_path):
    path = tmp_path / "three.minidb"
    write_minidb(path, GOOD[:3])
    for shard in range(4):
        flags = two(redis_server.port, num_shards=4, train_data=path, db_type="minidb",
                    test_data=None)
        shards.start(*training(tmp_path, tmp_path, shard_id=shard, **flags))
    lines = {(status, last_line(output)) for status, output in shards.wait()}
    assert len(lines) == 1, lines
    status, line = lines.pop()
    assert 0 < status < 128
    assert f"database {path} has 3 records, fewer than the 4 shards" in line


def test_only_shard_0_has_the_checkpoint(databases, redis_server, shards, tmp_path):
    folders = [tmp_path / f"disk{shard}" for shard in range(2)]
    for folder in folders:
        folder.mkdir()

    def train(*words, iterations):
        for shard, folder in enumerate(folders):
            flags = two(redis_server.port, **LONG, checkpoint_path=folder / "checkpoint",
                        checkpoint_every=4, max_iterations=iterations, check_parameters_every=1)
            shards.start(*training(databases, folder, shard_id=shard, **flags), *words)
        results = shards.wait()
        shards.processes.clear()
        for status, output in results:
            assert status == 0, output[-2000:]
        return [output for _, output in results]

    train(iterations=8)
    assert (folders[0] / "checkpoint").exists() and not list(folders[1].iterdir())
    for output in train("--resume", iterations=12):
        assert re.search(r"Resumed from \S+: iteration 8, ", output), output[-2000:]


def test_an_exploding_loss_ends_all_shards_alike(databases, redis_server, shards, tmp_path):
    start_two(shards, databases, tmp_path, **two(
        redis_server.port, **LONG, base_learning_rate=1e6, weight_decay=0))
    lines = {(status, last_line(output)) for status, output in shards.wait()}
    assert len(lines) == 1, lines
    status, line = lines.pop()
    assert status == 65
    same = r"peer lost: shard=([01]) .*the loss of shard \1 \(host .*\) is .* in iteration \d+"
    assert re.search(same, line), line


def namespaces(*kinds):
    """The command that starts another one in namespaces of its own."""
    command = ["unshare", "--user", "--map-root-user", "--fork", "--kill-child", *kinds]
    if shutil.which("unshare") is None or subprocess.run(
            [*command, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine makes no namespaces")
    return command


def test_containers_with_one_host_name_meet(databases, redis_server, shards, tmp_path):
    """Both shards are the first process of their container."""
    container = namespaces("--pid", "--mount-proc")
    for shard in range(2):
        shards.processes.append(subprocess.Popen(
            [*container, str(BIN / "resnet50_trainer"),
             *training(databases, tmp_path, shard_id=shard, **two(redis_server.port))],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=clean_environment(OMP_NUM_THREADS=1)))
    for status, output in shards.wait():
        assert status == 0, output[-2000:]
    assert redis_keys(redis_server.port) == []
