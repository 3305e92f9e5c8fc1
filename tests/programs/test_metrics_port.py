"""`--metrics_port`: the metrics of a run for Prometheus."""

import random
import re
import socket
import time
import urllib.error
import urllib.request

import pytest

from conftest import last_line, run, training


def free_ports(count):
    """The first of `count` ports in a row that nobody uses now."""
    starts = list(range(21000, 31000, count))
    random.shuffle(starts)  # another run of the tests on this machine may look, too
    for first in starts:
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.create_server(("127.0.0.1", port)))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    pytest.fail("no ports are free")


def metrics(port):
    """Every sample of a shard's metrics, by name and labels; empty if nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            text = answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return {}
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines)


def wait_for_iterations(port, labels, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        samples = metrics(port)
        if float(samples.get("doppio_iterations_total" + labels, 0)) > 0:
            return samples
        time.sleep(0.05)
    pytest.fail(f"no iterations at port {port}")


def test_each_shard_serves_its_own_metrics(databases, shards, tmp_path):
    first = free_ports(2)
    for shard in range(2):
        shards.start(*training(
            databases, tmp_path, num_shards=2, shard_id=shard, run_id="m", batch_size=16,
            metrics_port=first, log_every=1, num_epochs=100000, save_model_name=""))
    for shard, process in enumerate(shards.processes):
        labels = f'{{run="m",shard="{shard}"}}'
        samples = wait_for_iterations(first + shard, labels, process)
        assert 0 < float(samples["doppio_loss" + labels]) < 40
        assert float(samples["doppio_images_per_second" + labels]) > 0
        assert samples["doppio_shards" + labels] == "2"
        done = float(samples["doppio_iterations_total" + labels])
        assert float(samples["doppio_images_total" + labels]) == done * 32
        assert samples["doppio_strangers_dropped_total" + labels] == "0"
        (state,) = (re.search(r'state="(\w+)"', name)[1] for name, value in samples.items()
                    if name.startswith("doppio_state") and value == "1")
        assert state in ("training", "testing")
    shards.processes[0].terminate()
    for status, output in shards.wait():
        assert status == 143, output
    assert metrics(first) == {}
    assert f"Metrics: http://127.0.0.1:{first + 1}/metrics" in output


def test_connections_that_say_nothing_hold_no_run_up(databases, shards, tmp_path):
    port = free_ports(1)
    process = shards.start(*training(
        databases, tmp_path, metrics_port=port, log_every=1, num_epochs=100000,
        save_model_name=""))
    before = wait_for_iterations(port, '{run="",shard="0"}', process)
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
    while metrics(port) == before:
        assert process.poll() is None
    process.terminate()
    ((status, output),) = shards.wait()
    assert status == 143, output
    for each in idle:
        each.close()


@pytest.mark.parametrize("flags, status, text", [
    ({"metrics_port": 65536}, 64, "--metrics_port is 65536"),
    ({"metrics_port": -1}, 64, "--metrics_port is -1"),
    ({"metrics_address": "0.0.0.0"}, 64, "--metrics_address needs --metrics_port"),
    ({"metrics_port": 65535, "num_shards": 2, "shard_id": 1, "run_id": "r"}, 64,
     "shard 1 would serve port 65536"),
    ({"metrics_port": 9400, "metrics_address": "192.0.2.1"}, 71, "192.0.2.1:9400"),
])
def test_bad_values(flags, status, text, databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, **flags))
    assert done.returncode == status, done.output
    assert text in last_line(done.output)


def test_a_port_in_use_is_named_before_training(databases, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("resnet50_trainer", *training(databases, tmp_path, metrics_port=port))
    assert done.returncode == 71
    assert f"127.0.0.1:{port}: another program uses this port" in last_line(done.output)
    assert "Starting epoch" not in done.output
