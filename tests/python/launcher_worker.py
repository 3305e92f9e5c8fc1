"""A script as launchers start it, one process for each shard; run by itself by test_launchers.

Its argument is JSON: the arguments of RendezvousFromEnvironment; {"alone": true} to train without a
rendezvous; {"mpi": [size, rank]} to ask for mpi_rendezvous, as Caffe2's trainers do. Prints
"shard <i> of <n> has w=<weights>" after training.
"""

import json
import logging
import sys

import data_parallel_worker
import numpy as np

from caffe2.python import data_parallel_model as dpm
from caffe2.python import model_helper, workspace

logging.basicConfig(level=logging.INFO)


def make_rendezvous(arguments):
    if arguments.get("alone"):
        return None
    if "mpi" in arguments:
        size, rank = arguments["mpi"]
        return {"kv_handler": None, "num_shards": size, "shard_id": rank, "engine": "GLOO",
                "transport": "tcp", "interface": "", "mpi_rendezvous": True, "exit_nets": None}
    return dpm.RendezvousFromEnvironment(**arguments)


def main():
    rendezvous = make_rendezvous(json.loads(sys.argv[1]))
    model = model_helper.ModelHelper("worker")
    data_parallel_worker.build(model, [0], rendezvous)
    size = (model._rendezvous or {"num_shards": 1})["num_shards"]
    shard = (model._rendezvous or {"shard_id": 0})["shard_id"]
    x, y = next(data_parallel_worker.batches())
    rows = slice(shard, None, size)
    workspace.FeedBlob("cpu_0/x", x[rows].astype(np.float32))
    workspace.FeedBlob("cpu_0/y", y[rows].astype(np.float32))
    dpm.RunInitNet(model)
    dpm.RunNet(model, 3)
    weights = workspace.FetchBlob("cpu_0/w").ravel().tolist()
    print(f"shard {shard} of {size} has w={weights}", flush=True)


if __name__ == "__main__":
    main()
