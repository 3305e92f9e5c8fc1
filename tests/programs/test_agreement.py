"""Runs of two shards that check each other: coverage, data, ports, TLS to the store."""

import re
import shutil
import socket
import subprocess
import time

import pytest

from conftest import last_line, run, training, write_idx


def two_shards(databases, folder, shards, **flags):
    """The (exit status, output) of both shards of a run."""
    for shard in range(2):
        shards.start(*training(databases, folder, num_shards=2, shard_id=shard, run_id="agree",
                               rendezvous_timeout=40, test_data=None, **flags))
    return shards.wait()


def test_each_pass_over_the_data_is_shown_to_be_whole(databases, shards, tmp_path):
    results = two_shards(databases, tmp_path, shards, check_coverage=True, shuffle=True,
                         batch_size=32, epoch_size=640, num_epochs=2,
                         check_parameters_every=1)
    assert [status for status, _ in results] == [0, 0], results[0][1][-2000:]
    lines = re.findall(r"Coverage of --train_data, pass (\d+): (.*)", results[0][1])
    assert lines == [(str(i), "each of 640 records was read once") for i in (1, 2)]
    assert "Coverage" not in results[1][1]


def test_synthetic_data_has_no_coverage(databases, tmp_path):
    done = run("resnet50_trainer", *training(databases, tmp_path, train_data="null",
                                             check_coverage=True))
    assert done.returncode == 64
    assert "--check_coverage needs a database" in last_line(done.output)


def test_one_changed_record_on_one_shard_is_noticed(databases, shards, tmp_path):
    write_idx(tmp_path, "train", 640, seed=640)  # as in the fixture `databases`
    images = tmp_path / "train-images"
    content = bytearray(images.read_bytes())
    content[16 + 123 * 28 * 28 + 400] ^= 1
    images.write_bytes(content)
    made = run("make_mnist_db", "--image_file", images, "--label_file", tmp_path / "train-labels",
               "--db", "lmdb", "--output_file", tmp_path / "train_lmdb")
    assert made.returncode == 0, made.output
    for shard, folder in enumerate([databases, tmp_path]):
        shards.start(*training(folder, tmp_path, num_shards=2, shard_id=shard, run_id="agree",
                               rendezvous_timeout=40, test_data=None))
    summary = r"640 records \(all: 513920 bytes, CRC-32 (\w+)\)"
    for status, output in shards.wait():
        assert status == 76, output[-2000:]
        found = re.search(rf"--train_data differs: {summary} on shard \d, {summary} on shard \d",
                          last_line(output))
        assert found and found.group(1) != found.group(2), last_line(output)


def test_shards_listen_on_ports_of_the_range_only(databases, shards, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        flags = {"distributed_interfaces": "127.0.0.1", "max_iterations": 3}
        results = two_shards(databases, tmp_path, shards, port_range=f"{port}-{port}", **flags)
        for status, output in results:
            assert status in (71, 75), output[-2000:]
            assert f"all ports of --port_range {port}-{port} are in use" in last_line(output)
    shards.processes.clear()
    ports = f"{port}-{min(port + 9, 65535)}"  # others may take some of them
    results = two_shards(databases, tmp_path, shards, port_range=ports, **flags)
    assert [status for status, _ in results] == [0, 0], results[0][1][-2000:]
    done = run("resnet50_trainer", *training(databases, tmp_path, port_range="9-8"))
    assert done.returncode == 64
    assert "--port_range is \"9-8\"" in last_line(done.output)


@pytest.fixture
def tls_redis(tmp_path):
    """(URL, file of the authority) of a Redis server that speaks only TLS."""
    if shutil.which("openssl") is None or shutil.which("redis-server") is None:
        pytest.skip("openssl or redis-server is not installed")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out",
         "cert.pem"],
        cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        ["redis-server", "--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1",
         "--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem", "--tls-ca-cert-file",
         "cert.pem", "--tls-auth-clients", "no", "--save", ""],
        cwd=tmp_path, stdout=subprocess.DEVNULL)
    while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
        assert process.poll() is None
        time.sleep(0.05)
    yield f"rediss://127.0.0.1:{port}", tmp_path / "cert.pem"
    process.kill()
    process.wait()


def test_shards_meet_through_tls(databases, shards, tls_redis, tmp_path):
    url, authority = tls_redis
    results = two_shards(databases, tmp_path, shards, init_method=url, redis_ca_file=authority,
                         max_iterations=3, file_store_path=None)
    assert [status for status, _ in results] == [0, 0], results[0][1][-2000:]
    shards.processes.clear()
    for status, output in two_shards(databases, tmp_path, shards, init_method=url,
                                     file_store_path=None):
        assert status == 77, output[-2000:]
        assert "the server's certificate is refused" in last_line(output)
    done = run("doppio", "runs", "--store", url, "--redis_ca_file", authority)
    assert done.returncode == 0, done.output
    done = run("resnet50_trainer", *training(databases, tmp_path, redis_ca_file=authority))
    assert done.returncode == 64
    assert "need --redis_tls" in last_line(done.output)
