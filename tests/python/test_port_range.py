"""Shards of Python programs listen on the ports of the rendezvous's port_range only."""

import os
import pathlib
import socket
import subprocess
import sys

from caffe2.python import data_parallel_model as dpm

WORKER = """
import sys
import data_parallel_worker as worker
from caffe2.python import model_helper, workspace

shard, store, ports = int(sys.argv[1]), sys.argv[2], sys.argv[3]
model = model_helper.ModelHelper("worker")
worker.build(model, [0], {
    "kv_handler": worker.make_store(store), "shard_id": shard, "num_shards": 2, "engine": "GLOO",
    "transport": "tcp", "interface": "127.0.0.1", "port_range": ports, "exit_nets": None})
workspace.RunNetOnce(model.param_init_net)
"""


def start_two(store, ports):
    """(exit status, output) of two shards that connect."""
    folder = pathlib.Path(__file__).parent
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(shard), f"file:{store}", ports],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for shard in range(2)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    return [(process.returncode, output) for process, output in zip(processes, outputs)]


def test_the_rendezvous_has_the_range():
    place = dpm.RendezvousFromEnvironment(num_shards=1, shard_id=0, port_range="4000-4010")
    assert place["port_range"] == "4000-4010"


def test_ports_of_the_range_only(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for name in ("busy", "free"):
            (tmp_path / name).mkdir()
        for status, output in start_two(tmp_path / "busy", f"{port}-{port}"):
            assert status != 0
            assert f"all ports of --port_range {port}-{port} are in use" in output, output[-2000:]
        for status, output in start_two(tmp_path / "free", f"{port}-{min(port + 9, 65535)}"):
            assert status == 0, output[-2000:]
