"""One shard that trains a table of rows, for test_data_parallel; run by itself by that test.

Usage: sparse_shard_worker.py SHARD NUM_SHARDS DIRECTORY OUTPUT. Each shard has two replicas; saves
the tables of both, and what comparisons of shards said.
"""

import sys

import numpy as np

from caffe2.python import core, model_helper, optimizer, workspace
from caffe2.python import data_parallel_model as dpm
from caffe2.python.modeling import initializers

# Rows that replica d of shard s reads.
IDS = [[[0, 1], [1, 4]], [[1, 1, 3], [2]]]


def main():
    shard, num_shards, store, output = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5]
    workspace.RunOperatorOnce(core.CreateOperator(
        "FileStoreHandlerCreate", [], ["store_handler"], path=store, prefix="sparse_run"))
    rendezvous = {"kv_handler": "store_handler", "shard_id": shard, "num_shards": num_shards,
                  "engine": "GLOO"}
    model = model_helper.ModelHelper("sparse")

    def add_forward(model, loss_scale):
        table = model.create_param("table", [5, 2], initializers.Initializer("ConstantFill"))
        rows = model.net.Gather([table, "ids"], "rows")
        return [model.net.Scale(model.net.SumElements(rows, "sum"), scale=loss_scale)]

    dpm.Parallelize_CPU(
        model, lambda model: None, add_forward, devices=[0, 1], rendezvous=rendezvous,
        optimizer_builder_fun=lambda model: optimizer.build_sgd(model, 0.5, momentum=0.5))
    for device in (0, 1):
        workspace.FeedBlob(f"cpu_{device}/ids", np.array(IDS[shard][device]))
    dpm.RunInitNet(model)
    dpm.RunNet(model, 2)
    tables = [workspace.FetchBlob(f"cpu_{device}/table") for device in (0, 1)]
    equal = dpm._RunComparison(model, "cpu_0/table")
    if shard == 1:
        workspace.FeedBlob("cpu_0/table", np.ones((5, 2), np.float32))
    np.savez(output, tables=np.stack(tables),
             equal=[equal, dpm._RunComparison(model, "cpu_0/table")])


if __name__ == "__main__":
    main()
