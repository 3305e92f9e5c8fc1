"""Faults of what surrounds a run: networks, memory, clocks, disks and limits of the system.

Tests that need root, namespaces or control groups skip where these are not at hand.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from network_hosts import BridgedHosts, Run, skip_without_namespaces

from conftest import BIN, LIMIT, compiled, last_line, run, training, wait_for_line
from launcher_dialects import clean_environment
from redis_server import RedisServer

LONG = {"epoch_size": 1_000_000, "test_data": None, "save_model_name": "", "log_every": 1}


@pytest.fixture
def make_hosts():
    skip_without_namespaces()
    made = []

    def make(count):
        try:
            made.append(BridgedHosts(count))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this machine makes no bridge between namespaces: {error.stderr}")
        return made[-1]

    yield make
    for hosts in made:
        hosts.close()


@pytest.fixture
def open_redis():
    """A Redis server that other hosts reach."""
    server = RedisServer()
    server.cli("config", "set", "protected-mode", "no")
    server.cli("config", "set", "bind", "0.0.0.0")
    yield server
    server.kill()


def run_on(hosts, redis, databases, folder, setup="true", **flags):
    """A long run with a shard on each host. The shards meet through a server on this machine."""
    flags = {**LONG, "num_shards": len(hosts.names), "run_id": "hosts", "batch_size": 16,
             "log_all_shards": True,
             "redis_host": hosts.store, "redis_port": redis.port, **flags}  # fmt: skip
    return Run(hosts, folder, lambda shard: training(databases, folder, shard_id=shard, **flags),
               setup=setup)  # fmt: skip


def test_a_link_that_is_down_for_a_moment_costs_nothing(
    make_hosts, open_redis, databases, tmp_path
):
    hosts = make_hosts(2)
    both = run_on(hosts, open_redis, databases, tmp_path, check_parameters_every=1)
    both.wait_for_iterations()
    hosts.ip("-n", hosts.names[1], "link", "set", "eth0", "down")
    time.sleep(2)
    hosts.ip("-n", hosts.names[1], "link", "set", "eth0", "up")
    both.wait_for_iterations()


def test_a_link_that_stays_down_ends_both_sides(make_hosts, open_redis, databases, tmp_path):
    hosts = make_hosts(2)
    both = run_on(hosts, open_redis, databases, tmp_path, collective_timeout=5)
    both.wait_for_iterations()
    hosts.ip("-n", hosts.names[1], "link", "set", "eth0", "down")
    time.sleep(20)
    hosts.ip("-n", hosts.names[1], "link", "set", "eth0", "up")
    for status, line in both.ends():
        assert status == 75, line
        assert "peer lost: shard=" in line


def test_a_block_in_one_direction_ends_with_one_line(make_hosts, open_redis, databases, tmp_path):
    hosts = make_hosts(2)
    both = run_on(hosts, open_redis, databases, tmp_path, collective_timeout=5)
    both.wait_for_iterations()
    hosts.ip("-n", hosts.names[0], "route", "add", "blackhole", f"{hosts.addresses[1]}/32")
    ends = both.ends()
    assert [status for status, _ in ends] == [75, 75], ends
    lines = {line.partition("peer lost: ")[2] for _, line in ends}
    assert len(lines) == 1 and re.match(r"shard=[01] host=dp", lines.pop()), ends


def test_connections_that_are_reset_end_both_sides(make_hosts, open_redis, databases, tmp_path):
    hosts = make_hosts(2)
    both = run_on(hosts, open_redis, databases, tmp_path)
    both.wait_for_iterations()
    killed = subprocess.run(
        ["ip", "netns", "exec", hosts.names[0], "ss", "-K", "dst", hosts.addresses[1]],
        capture_output=True, text=True)  # fmt: skip
    if killed.returncode or hosts.addresses[1] not in killed.stdout:
        pytest.skip("this kernel does not end sockets (ss -K)")
    for status, line in both.ends():
        assert status == 75, line
        assert "peer lost: shard=" in line


def test_resets_of_the_connections_to_the_store_cost_nothing(
    make_hosts, open_redis, databases, tmp_path
):
    hosts = make_hosts(2)
    both = run_on(hosts, open_redis, databases, tmp_path)
    both.wait_for_iterations()
    for _ in range(5):
        open_redis.cli("client", "kill", "type", "normal", "skipme", "yes")
        both.wait_for_iterations(1)
    assert "peer lost" not in both.text(0) + both.text(1)


@pytest.mark.parametrize("seconds", [0, 0.1, 1.5])
def test_survivors_on_two_hosts_name_the_same_shard_without_a_store(
    seconds, make_hosts, open_redis, databases, tmp_path
):
    hosts = make_hosts(3)
    all_three = run_on(hosts, open_redis, databases, tmp_path)
    all_three.wait_for_iterations()
    open_redis.kill()
    time.sleep(seconds)
    all_three.processes[2].kill()
    ends = all_three.ends()[:2]
    assert [status for status, _ in ends] == [75, 75], ends
    lines = {line.partition("peer lost: ")[2] for _, line in ends}
    assert len(lines) == 1, lines
    assert lines.pop().startswith(f"shard=2 host={hosts.names[2]} ")


def test_a_host_name_that_means_loopback(make_hosts, open_redis, databases, tmp_path):
    """As Debian writes it: 127.0.1.1 is the name of the host itself."""
    hosts = make_hosts(2)
    setup = (
        f'echo "127.0.0.1 localhost\n127.0.1.1 $(hostname)" >{tmp_path}/hosts_$(hostname); '
        f"mount --bind {tmp_path}/hosts_$(hostname) /etc/hosts"
    )
    both = run_on(hosts, open_redis, databases, tmp_path, setup=setup, max_iterations=3)
    for shard, (status, _) in enumerate(both.ends()):
        assert status == 0, both.text(shard)[-2000:]


def test_a_server_in_protected_mode_says_so(make_hosts, databases, tmp_path):
    hosts = make_hosts(1)
    server = RedisServer()
    try:
        server.cli("config", "set", "bind", "0.0.0.0")
        only = run_on(hosts, server, databases, tmp_path, num_shards=2, rendezvous_timeout=20)
        ((status, line),) = only.ends()
        assert status != 0
        assert "DENIED" in line and "protected mode" in line.lower(), line
    finally:
        server.kill()


@contextlib.contextmanager
def memory_group(limit):
    """The file that takes the ids of processes of a control group with so many bytes."""
    if os.geteuid() != 0:
        pytest.skip("only root makes control groups")
    first, second = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    name = f"doppio-test-{os.getpid()}"
    root, limit_file = (
        (first, "memory.limit_in_bytes") if first.is_dir() else (second, "memory.max")
    )
    group = root / name
    try:
        group.mkdir()
        (group / limit_file).write_text(str(limit))
    except OSError as error:
        pytest.skip(f"this machine has no control groups of memory: {error}")
    try:
        yield group / "cgroup.procs"
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def test_a_shard_beyond_the_memory_of_its_control_group(databases, redis_server, shards, tmp_path):
    """It joins with little memory, and is killed in its first iteration, which needs more."""
    flags = {**LONG, "num_shards": 2, "run_id": "memory", "redis_host": "127.0.0.1",
             "redis_port": redis_server.port, "batch_size": 4096}  # fmt: skip
    with memory_group(180 << 20) as group:
        survivor = shards.start(*training(databases, tmp_path, shard_id=0, **flags))
        victim = subprocess.Popen(
            ["sh", "-c", 'echo $$ >"$0"; exec "$@"', group, str(BIN / "resnet50_trainer"),
             *training(databases, tmp_path, shard_id=1, **flags)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=clean_environment(OMP_NUM_THREADS=1))  # fmt: skip
        shards.processes.append(victim)
        assert victim.wait(timeout=120) == -signal.SIGKILL
        output, _ = survivor.communicate(timeout=120)
        assert survivor.returncode == 75, output[-2000:]
        assert f"peer lost: shard=1 host={os.uname().nodename} pid={victim.pid} " in last_line(
            output
        )


@pytest.mark.parametrize("count", [16, 32])
def test_many_shards(count, databases, redis_server, shards, tmp_path):
    flags = {**LONG, "model": "mlp", "num_shards": count, "run_id": "many",
             "redis_host": "127.0.0.1", "redis_port": redis_server.port, "batch_size": 4,
             "max_iterations": 8, "collective_timeout": 300, "check_parameters_every": 1,
             "log_all_shards": True}  # fmt: skip
    for shard in range(count):
        shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
    losses = set()
    for status, output in shards.wait(limit=300):
        assert status == 0, output[-2000:]
        losses.add(tuple(re.findall(r"Training loss: \S+", output)))
    assert len(losses) == 1 and len(losses.pop()) == 8
    assert redis_server.keys() == []


SLOW_SYNCS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int fsync(int fd) {
  int (*next)(int) = dlsym(RTLD_NEXT, "fsync");
  usleep(700000);
  return next(fd);
}
"""


def test_saves_that_take_longer_than_their_interval(databases, shards, tmp_path):
    """Never two at once: training waits for the save before."""
    process = shards.start(
        *training(databases, tmp_path, test_data=None, model="mlp", save_model_name="",
                  checkpoint_path=tmp_path / "here", checkpoint_every=1, max_iterations=6),
        env={"LD_PRELOAD": str(compiled(tmp_path, "slow_syncs", SLOW_SYNCS))})  # fmt: skip
    most = 0
    while process.poll() is None:
        # A list of names may hold a file that is renamed meanwhile and the next one.
        unfinished = list(tmp_path.glob("here*tmp*"))
        most = max(most, sum(path.exists() for path in unfinished))
        time.sleep(0.02)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output[-2000:]
    assert output.count("Wrote checkpoint") == 6
    assert most == 1


def test_many_shards_with_few_file_descriptors(databases, redis_server, shards, tmp_path):
    flags = {**LONG, "model": "mlp", "num_shards": 8, "run_id": "files", "redis_host": "127.0.0.1",
             "redis_port": redis_server.port, "batch_size": 4, "max_iterations": 3,
             "distributed_transport": "tcp"}  # fmt: skip

    def train(files):
        for shard in range(8):
            shards.processes.append(
                subprocess.Popen(
                    ["bash", "-c", 'ulimit -n "$0"; exec "$@"', str(files),
                     str(BIN / "resnet50_trainer"),
                     *training(databases, tmp_path, shard_id=shard, **flags)],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    env=clean_environment(OMP_NUM_THREADS=1)))  # fmt: skip
        results = shards.wait()
        shards.processes.clear()
        return results

    needed = set()
    for status, output in train(20):
        assert status in (71, 75), output[-2000:]
        needed |= set(re.findall(r"`ulimit -n (\d+)` before the start", output))
    assert needed
    time.sleep(0.3)  # what starts within 0.1 s of a refusal may be one of the refused shards
    # Besides the connections, training opens databases and the store.
    for status, output in train(max(map(int, needed)) + 40):
        assert status == 0, output[-2000:]


def test_a_limit_of_files_is_noticed_before_the_other_shards_come(databases, tmp_path):
    flags = training(databases, tmp_path, **LONG, num_shards=32, shard_id=0, run_id="alone",
                     rendezvous_timeout=10 * LIMIT)
    shard = subprocess.run(
        ["bash", "-c", 'ulimit -n 40; exec "$0" "$@"', str(BIN / "resnet50_trainer"), *flags],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
        env=clean_environment(OMP_NUM_THREADS=1))
    assert shard.returncode == 71, shard.stdout[-2000:]
    assert "a common world needs 160 file descriptors" in last_line(shard.stdout)
    assert "`ulimit -n " in last_line(shard.stdout)


def test_shards_that_wait_for_one_with_few_file_descriptors_end_with_it(
    databases, redis_server, shards, tmp_path
):
    flags = {**LONG, "model": "mlp", "num_shards": 32, "run_id": "few", "redis_host": "127.0.0.1",
             "redis_port": redis_server.port, "rendezvous_timeout": 10 * LIMIT}  # fmt: skip
    shards.start(*training(databases, tmp_path, shard_id=0, **flags))
    deadline = time.monotonic() + LIMIT
    while not redis_server.cli("keys", "*/member/0") and time.monotonic() < deadline:
        time.sleep(0.05)
    few = subprocess.Popen(
        ["bash", "-c", 'ulimit -n 40; exec "$0" "$@"', str(BIN / "resnet50_trainer"),
         *training(databases, tmp_path, shard_id=1, **flags)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=clean_environment(OMP_NUM_THREADS=1))  # fmt: skip
    shards.processes.append(few)
    (status, output), (status_of_few, output_of_few) = shards.wait()
    assert status_of_few == 71, output_of_few[-2000:]
    assert status == 75, output[-2000:]
    for text in ("shard 1 (host ", "cannot take part: a common world needs 160 file descriptors"):
        assert text in last_line(output)


CLOCK_OF_TOMORROW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  int (*next)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
  int status = next(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += 86400;
  return status;
}
time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}
"""


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_clock_that_is_a_day_wrong(wrong, databases, redis_server, shards, tmp_path):
    tomorrow = compiled(tmp_path, "tomorrow", CLOCK_OF_TOMORROW)
    flags = {**LONG, "num_shards": 2, "run_id": "clock", "redis_host": "127.0.0.1",
             "redis_port": redis_server.port, "batch_size": 4, "max_iterations": 5}  # fmt: skip
    for attempt in range(2):
        for shard in range(2):
            shards.start(
                *training(databases, tmp_path, shard_id=shard, **flags),
                env={"LD_PRELOAD": str(tomorrow)} if shard == wrong else {},
            )
        for status, output in shards.wait():
            assert status == 0, (attempt, output[-2000:])
        shards.processes.clear()
    assert redis_server.keys() == []


def test_parameter_servers_listen_on_ports_of_the_range(databases, redis_server, shards, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        flags = {**LONG, "num_shards": 2, "run_id": "served", "redis_host": "127.0.0.1",
                 "redis_port": redis_server.port, "distributed_interfaces": "127.0.0.1",
                 "port_range": f"{port}-{port}", "param_servers": 1}  # fmt: skip
        for shard in range(2):
            shards.start(*training(databases, tmp_path, shard_id=shard, **flags))
        results = shards.wait()
    assert 0 not in [status for status, _ in results]
    assert f"all ports of --port_range {port}-{port} are in use" in results[0][1] + results[1][1]


def in_mount_namespace(*words):
    """The command of a trainer with mounts of its own."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"]).returncode:
        pytest.skip("only root makes mount namespaces")
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", *words]


def test_a_store_in_a_read_only_folder(databases, tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    done = subprocess.run(
        [*in_mount_namespace('mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"; exec "$@"',
                             str(folder)),
         str(BIN / "resnet50_trainer"),
         *training(databases, tmp_path, num_shards=2, shard_id=0, run_id="r",
                   init_method=f"file://{folder}", rendezvous_timeout=5)],
        capture_output=True, text=True, timeout=120,
        env=clean_environment(OMP_NUM_THREADS=1))  # fmt: skip
    assert 0 < done.returncode < 128, done.stderr[-2000:]
    assert str(folder) in last_line(done.stderr)
    assert "Read-only file system" in last_line(done.stderr)


def test_a_disk_that_becomes_read_only(databases, shards, tmp_path):
    """Saves fail with a warning, training goes on, and the checkpoint before is kept."""
    folder, cover = tmp_path / "models", tmp_path / "cover"
    folder.mkdir()
    cover.mkdir()
    process = subprocess.Popen(
        [*in_mount_namespace('mount --bind "$0" "$0"; exec "$@"', str(folder)),
         str(BIN / "resnet50_trainer"),
         *training(databases, folder, **{**LONG, "checkpoint_path": folder / "here",
                                         "checkpoint_every": 2, "model": "mlp"})],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=clean_environment(OMP_NUM_THREADS=1))  # fmt: skip
    shards.processes.append(process)
    wait_for_line(process, "Wrote checkpoint")

    def inside(commands):
        subprocess.run(
            ["nsenter", "--mount", "--target", str(process.pid), "sh", "-ec", commands,
             str(folder), str(cover)], check=True)  # fmt: skip

    # A mount over the folder, because files in it are open for writing.
    inside('mount --bind "$0" "$1"; mount -o remount,ro,bind "$1"; mount --move "$1" "$0"')
    wait_for_line(process, "The checkpoint was not written, the one before is kept: ")
    wait_for_line(process, "Finished iteration")
    assert (folder / "here").exists()
    inside('umount --lazy "$0"')  # a save may have files open there
    wait_for_line(process, "Wrote checkpoint")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 143, output[-2000:]
    flags = {**LONG, "checkpoint_path": folder / "here", "model": "mlp", "max_iterations": 2}
    resumed = run("resnet50_trainer", "--resume", *training(databases, folder, **flags))
    assert resumed.returncode == 0, resumed.output[-2000:]
