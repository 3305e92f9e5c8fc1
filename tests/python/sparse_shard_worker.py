"""One shard that trains two tables of rows, for test_data_parallel; run by itself by that test.

Usage: sparse_shard_worker.py SHARD NUM_SHARDS DIRECTORY OUTPUT NET_TYPE. Each shard has two
replicas; saves the tables of both, the types of the operators, and what comparisons of shards said.
"""

import sys

import numpy as np

from caffe2.python import core, model_helper, optimizer, workspace
from caffe2.python import data_parallel_model as dpm
from caffe2.python.modeling import initializers

# Rows that replica d of shard s reads, of both tables. One replica reads none.
IDS = [[[0, 1], [1, 4]], [[1, 1, 3, 2], []]]


def main():
    shard, num_shards, store, output, net_type = *map(int, sys.argv[1:3]), *sys.argv[3:6]
    workspace.RunOperatorOnce(core.CreateOperator(
        "FileStoreHandlerCreate", [], ["store_handler"], path=store, prefix="sparse_run"))
    rendezvous = {"kv_handler": "store_handler", "shard_id": shard, "num_shards": num_shards,
                  "engine": "GLOO"}
    model = model_helper.ModelHelper("sparse")

    def add_forward(model, loss_scale):
        losses = []
        for name, factor in (("table", 1), ("second", 2)):
            table = model.create_param(name, [5, 2], initializers.Initializer("ConstantFill"))
            rows = model.net.Gather([table, "ids"], f"{name}_rows")
            total = model.net.SumElements(rows, f"{name}_sum")
            losses.append(model.net.Scale(total, scale=factor * loss_scale))
        bias = model.create_param("bias", [2], initializers.Initializer("ConstantFill"))
        losses.append(model.net.Scale(model.net.SumElements(bias, "bias_sum"), scale=loss_scale))
        return losses

    dpm.Parallelize_CPU(
        model, lambda model: None, add_forward, devices=[0, 1], rendezvous=rendezvous,
        net_type=net_type, optimizer_builder_fun=lambda model: optimizer.build_sgd(model, 0.5))
    for device in (0, 1):
        workspace.FeedBlob(f"cpu_{device}/ids", np.array(IDS[shard][device], np.int64))
    dpm.RunInitNet(model)
    dpm.RunNet(model, 2)
    tables = [[workspace.FetchBlob(f"cpu_{device}/{name}") for device in (0, 1)]
              for name in ("table", "second")]
    biases = [workspace.FetchBlob(f"cpu_{device}/bias") for device in (0, 1)]
    equal = dpm._RunComparison(model, "cpu_0/table")
    if shard == 1:
        workspace.FeedBlob("cpu_0/table", np.ones((5, 2), np.float32))
    np.savez(output, tables=tables, biases=biases,
             types=[op.type for op in model.net.Proto().op],
             equal=[equal, dpm._RunComparison(model, "cpu_0/table")])


if __name__ == "__main__":
    main()
