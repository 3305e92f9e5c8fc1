"""One shard that trains tables of rows, for test_data_parallel; run by itself by that test.

Usage: sparse_shard_worker.py SHARD NUM_SHARDS DIRECTORY OUTPUT NET_TYPE OPTIMIZER ROWS, where
OPTIMIZER is one of OPTIMIZERS and ROWS of IDS. Each shard has two replicas; saves the tables of
both, the joined gradient of the tables that have one in common, the types of the operators, and
what comparisons of shards said.
"""

import sys

import numpy as np

from caffe2.python import core, model_helper, optimizer, workspace
from caffe2.python import data_parallel_model as dpm
from caffe2.python.modeling import initializers

# Rows that replica d of shard s reads, of all tables.
IDS = {"one replica without": [[[0, 1], [1, 4]], [[1, 1, 3, 2], []]],
       "one shard without": [[[], []], [[1, 1, 3, 2], [0, 1]]]}
# Factors of the losses. The rows of "left" and "right" are added: they have one gradient.
FACTORS = {"table": 1, "second": 2, "left": 3, "right": 3}
OPTIMIZERS = {
    "sgd": lambda model: optimizer.build_sgd(model, 0.5),
    "momentum": lambda model: optimizer.build_sgd(model, 0.5, momentum=0.9, nesterov=0),
    "adagrad": lambda model: optimizer.build_adagrad(model, 0.5, epsilon=1e-3),
    "adagrad of sums": lambda model: optimizer.build_adagrad(
        model, 0.5, epsilon=1e-3, sparse_dedup_aggregator="sum"),
}


def slopes(ids):
    """The gradients, before factors and scaling, of the rows that a replica reads: [n, 2]."""
    return np.float32([[i + 1, row - 3.5] for i, row in enumerate(ids)]).reshape(-1, 2)


def add_forward(model, loss_scale):
    """Losses that are linear in the tables; in a bias, too."""
    net, rows = model.net, {}
    for name in FACTORS:
        table = model.create_param(name, [5, 2], initializers.Initializer("ConstantFill"))
        rows[name] = net.Gather([table, "ids"], f"{name}_rows")
    rows["left"] = net.Sum([rows["left"], rows.pop("right")], "both_rows")
    losses = []
    for name, read in rows.items():
        total = net.SumElements(net.Mul([read, "slopes"], f"{name}_products"), f"{name}_sum")
        losses.append(net.Scale(total, scale=FACTORS[name] * loss_scale))
    bias = model.create_param("bias", [2], initializers.Initializer("ConstantFill"))
    losses.append(net.Scale(net.SumElements(bias, "bias_sum"), scale=loss_scale))
    return losses


def main():
    shard, num_shards = map(int, sys.argv[1:3])
    store, output, net_type, update, rows = sys.argv[3:8]
    workspace.RunOperatorOnce(core.CreateOperator(
        "FileStoreHandlerCreate", [], ["store_handler"], path=store, prefix="sparse_run"))
    rendezvous = {"kv_handler": "store_handler", "shard_id": shard, "num_shards": num_shards,
                  "engine": "GLOO"}
    model = model_helper.ModelHelper("sparse")
    dpm.Parallelize_CPU(
        model, lambda model: None, add_forward, devices=[0, 1], rendezvous=rendezvous,
        net_type=net_type, optimizer_builder_fun=OPTIMIZERS[update],
        dynamic_memory_management=update != "sgd")
    for device, ids in enumerate(IDS[rows][shard]):
        workspace.FeedBlob(f"cpu_{device}/ids", np.array(ids, np.int64))
        workspace.FeedBlob(f"cpu_{device}/slopes", slopes(ids))
    dpm.RunInitNet(model)
    dpm.RunNet(model, 2)
    tables = [[workspace.FetchBlob(f"cpu_{device}/{name}") for device in (0, 1)]
              for name in FACTORS]
    biases = [workspace.FetchBlob(f"cpu_{device}/bias") for device in (0, 1)]
    joined = {part: [workspace.FetchBlob(f"cpu_{device}/left_grad_{part}_joined")
                     for device in (0, 1)] for part in ("indices", "values")}
    equal = dpm._RunComparison(model, "cpu_0/table")
    if shard == 1:
        workspace.FeedBlob("cpu_0/table", np.ones((5, 2), np.float32))
    np.savez(output, tables=tables, biases=biases, **joined,
             types=[op.type for op in model.net.Proto().op],
             equal=[equal, dpm._RunComparison(model, "cpu_0/table")])


if __name__ == "__main__":
    main()
