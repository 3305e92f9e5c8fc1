"""SIGTERM, SIGINT and SIGHUP end a shard soon, also while it waits for others in a collective."""

import signal
import socket
import time

import pytest

from conftest import compiled, last_line, training, wait_for_line

HOURS = 10_000  # seconds that no test waits: a shard that ends before obeyed the signal


def waiting_for_a_frozen_shard(databases, redis, shards, folder, number):
    """Starts `number` shards, freezes the last one, and waits until the others wait for it."""
    flags = {"num_shards": number, "run_id": "stop", "redis_host": "127.0.0.1",
             "redis_port": redis.port, "epoch_size": 1_000_000, "test_data": None,
             "log_every": 1, "save_model_name": "", "collective_timeout": HOURS,
             "log_all_shards": True}
    started = [shards.start(*training(databases, folder, shard_id=shard, **flags))
               for shard in range(number)]
    for process in started:
        wait_for_line(process, "Finished iteration")
    started[-1].send_signal(signal.SIGSTOP)
    time.sleep(1)  # more than an iteration
    return started


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_shard_that_waits_for_a_frozen_one_obeys_the_first_signal(
    number, databases, redis_server, shards, tmp_path
):
    waits, frozen = waiting_for_a_frozen_shard(databases, redis_server, shards, tmp_path, 2)
    waits.send_signal(number)
    output, _ = waits.communicate(timeout=60)
    assert waits.returncode == 128 + number, output[-2000:]
    assert f"stopped by signal {int(number)} while it waited for shard 1 (host " in output
    assert f"pid {frozen.pid}), whose process is stopped" in output
    frozen.send_signal(signal.SIGCONT)
    output, _ = frozen.communicate(timeout=60)
    assert "peer lost: shard=0" in last_line(output), output[-2000:]
    assert "stopped by signal" in last_line(output)
    assert redis_server.keys() == []


def test_shards_that_all_get_the_signal_all_obey(databases, redis_server, shards, tmp_path):
    started = waiting_for_a_frozen_shard(databases, redis_server, shards, tmp_path, 3)
    for process in started:
        process.send_signal(signal.SIGTERM)
    for process in started[:2]:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGTERM, output[-2000:]
    started[2].send_signal(signal.SIGCONT)
    started[2].communicate(timeout=60)
    assert started[2].returncode > 0
    assert redis_server.keys() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("accepts", [False, True])
def test_a_shard_whose_store_does_not_answer_obeys(number, accepts, databases, shards, tmp_path):
    """A port where nobody listens, and a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if not accepts:
            server.close()
        process = shards.start(*training(
            databases, tmp_path, num_shards=2, shard_id=0, run_id="stop", redis_host="127.0.0.1",
            redis_port=port, rendezvous_timeout=HOURS))
        if accepts:
            connection, _ = server.accept()
            connection.recv(1)
        else:
            wait_for_line(process, "trying again")
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number, output[-2000:]
    assert f"topped by signal {int(number)} while it " in last_line(output)
    assert "Its threads" not in output


# Threads of the shard that calls the function stand still; its heartbeat goes on.
HANGS = """
#include <unistd.h>
int FUNCTION(int fd, ...) { for (;;) pause(); }
"""


def connecting(databases, folder, **flags):
    """Flags of one of two shards that wait for each other for hours."""
    return training(databases, folder, num_shards=2, run_id="stop", file_store_path=folder,
                    distributed_transport="tcp", rendezvous_timeout=HOURS,
                    collective_timeout=HOURS, **flags)


def wait_until_joined(process, folder):
    end = time.monotonic() + 60
    while not list((folder / "stop").glob("*ready")):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.005)


def check_obeyed(process, awaited):
    """A shard was asked to stop, and gave up its wait for another one by itself."""
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, output[-2000:]
    assert f"stopped by signal 15 while it waited for {awaited}" in last_line(output)
    assert "Its threads" not in output


def test_a_shard_whose_peer_is_frozen_before_it_connects_obeys(databases, shards, tmp_path):
    waits, frozen = (shards.start(*connecting(databases, tmp_path, shard_id=shard))
                     for shard in range(2))
    wait_until_joined(frozen, tmp_path)
    frozen.send_signal(signal.SIGSTOP)
    time.sleep(1)
    waits.send_signal(signal.SIGTERM)
    check_obeyed(waits, "shard 1 (host ")


@pytest.mark.parametrize("hangs, function, awaited", [
    (1, "listen", "control_0_cw_op/1 in the store"),  # it tells no address
    (0, "accept4", "rank 0 (host "),
])
def test_a_shard_whose_peer_never_connects_obeys(
    hangs, function, awaited, databases, shards, tmp_path
):
    """The peer's heartbeat goes on."""
    library = compiled(tmp_path, "hangs", HANGS.replace("FUNCTION", function))
    started = [
        shards.start(*connecting(databases, tmp_path, shard_id=shard),
                     env={"LD_PRELOAD": str(library)} if shard == hangs else {})
        for shard in range(2)]
    wait_until_joined(started[0], tmp_path)
    time.sleep(1)
    started[1 - hangs].send_signal(signal.SIGTERM)
    check_obeyed(started[1 - hangs], awaited)
