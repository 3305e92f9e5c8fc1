"""Runs of two shards over a link that is slow, or loses, damages or swallows packets.

Two hosts are two network namespaces. They meet through files, so only the traffic between the
shards crosses the link.
"""

import re
import subprocess

import pytest
from lossy_link import LinkedHosts
from network_hosts import Run, skip_without_namespaces

from conftest import BIN
from launcher_dialects import clean_environment


@pytest.fixture
def linked():
    skip_without_namespaces()
    try:
        hosts = LinkedHosts()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this machine makes no TUN devices: {error}")
    yield hosts
    hosts.close()


def words(databases, folder, shard, **flags):
    """The command line of a shard of a small network: 51 KB of gradients in each iteration."""
    values = {"train_data": databases / "train_lmdb", "network": "mlp", "hidden": 16,
              "num_examples": 320, "num_epochs": 1, "batch_size": 16, "disp_batches": 1,
              "log_style": "caffe2", "num_shards": 2, "shard_id": shard, "run_id": "link",
              "file_store_path": folder, "model_prefix": folder / "mlp",
              "log_all_shards": True, **flags}
    return ["--use_cpu", *(f"--{name}={value}" for name, value in values.items())]


def train(hosts, databases, folder, **flags):
    return Run(hosts, folder, lambda shard: words(databases, folder, shard, **flags),
               program="mnist_trainer")


@pytest.fixture(scope="module")
def model(databases, tmp_path_factory):
    """The bytes of the model that two shards of this machine make."""
    folder = tmp_path_factory.mktemp("control")
    processes = [
        subprocess.Popen([BIN / "mnist_trainer", *words(databases, folder, shard)],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env=clean_environment(OMP_NUM_THREADS=1))
        for shard in range(2)]
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output[-2000:]
    return (folder / "mlp-0001.mdl").read_bytes()


def check_model(both, folder, model):
    """Both shards have trained, with the same parameters to the bit as without a fault."""
    for shard, (status, _) in enumerate(both.ends(limit=300)):
        assert status == 0, both.text(shard)[-2000:]
    assert (folder / "mlp-0001.mdl").read_bytes() == model


def check_blame(both):
    """Both shards end with one line, which names a shard."""
    results = both.ends()
    lines = {line.partition("peer lost: ")[2] for _, line in results}
    assert len(lines) == 1, results
    line = lines.pop()
    assert re.match(r"shard=[01] host=dp\w+ pid=\d+ ", line), results
    assert {status for status, _ in results} == {75}, results
    return line


def test_a_slow_link_that_loses_packets_costs_no_bit(linked, databases, model, tmp_path):
    linked.link.delay = 0.2
    linked.link.loss = 0.01
    check_model(train(linked, databases, tmp_path), tmp_path, model)
    assert linked.link.counts["lost"] > 0, linked.link.counts


def test_damaged_packets_cost_no_bit(linked, databases, model, tmp_path):
    linked.link.damage = 0.01
    linked.link.delay = 0.005
    check_model(train(linked, databases, tmp_path), tmp_path, model)
    # A single changed byte always changes the checksum.
    refused = sum(linked.damaged_segments(host) for host in range(2))
    assert 0 < refused <= linked.link.counts["damaged"], linked.link.counts


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_opens_no_connection_is_named_at_the_deadline(
    side, linked, databases, tmp_path
):
    """Shard 1 calls shard 0. Of side 0, the answers to the call vanish."""
    linked.link.swallows_syn_of = side
    line = check_blame(train(linked, databases, tmp_path, collective_timeout=6))
    assert "connecting to rank " in line and "no answer in time" in line, line
    assert linked.link.counts["swallowed"] > 0, linked.link.counts


@pytest.mark.parametrize("when", ["from the start", "while they train"])
def test_a_link_that_swallows_large_packets_ends_at_the_deadline(
    when, linked, databases, tmp_path
):
    """As where the way is narrower than both ends believe, and nobody tells them."""
    both = None
    if when == "while they train":
        both = train(linked, databases, tmp_path, collective_timeout=6, num_epochs=100_000)
        both.wait_for_iterations()
    linked.link.max_bytes = 1400
    both = both or train(linked, databases, tmp_path, collective_timeout=6)
    line = check_blame(both)
    # The second, if the last packets of a message are the ones that vanish: its sender goes on.
    seen = ("did not answer within 6000 ms", "does not take part in collective")
    assert any(text in line for text in seen), line
    assert linked.link.counts["swallowed"] > 0, linked.link.counts
