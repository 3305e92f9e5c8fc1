"""One shard of a run that test_run_membership watches; run by itself by those tests.

Trains a linear regression by data_parallel_model, as a script of Caffe2's users does: nothing here
names the run but the prefix of the store handler. Prints "step <i>" after each step.
"""

import argparse
import pathlib
import sys
import time

import data_parallel_worker
import numpy as np

from caffe2.python import checkpoint, core, model_helper, workspace
from caffe2.python import data_parallel_model as dpm
from caffe2.python.predictor import predictor_exporter
from caffe2.python.session import LocalSession
from caffe2.python.task import Task


def make_store(store, run_id):
    """The blob of the store handler. `store`: "redis:<port>" or "file:<directory>"."""
    kind, _, place = store.partition(":")
    where = {"host": "127.0.0.1", "port": int(place)} if kind == "redis" else {"path": place}
    workspace.RunOperatorOnce(core.CreateOperator(
        kind.capitalize() + "StoreHandlerCreate", [], ["store_handler"], prefix=run_id,
        join_timeout_ms=30000, **where))
    return "store_handler"


def save_model(folder):
    meta = predictor_exporter.PredictorExportMeta(
        predict_net=core.Net("predict"), parameters=["cpu_0/x"], inputs=[], outputs=[])
    predictor_exporter.save_to_db("minidb", f"{folder}/model", meta)


def save_job(folder):
    workspace.SwitchWorkspace("job", True)  # without common worlds, which cannot be saved
    with checkpoint.Job() as job, job.init_group:
        init = core.Net("init")
        init.ConstantFill([], "weights", shape=[1], value=1.0)
        Task(step=init)
    manager = checkpoint.CheckpointManager(str(folder), "node", "minidb")
    checkpoint.JobRunner(job, manager).train(LocalSession())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--num_shards", type=int, default=2)
    parser.add_argument("--store", required=True)
    parser.add_argument("--run_id", required=True)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0, help="seconds after each step")
    parser.add_argument("--raise_at", type=int, help="the step after which an exception is raised")
    parser.add_argument("--exit_with", type=int, default=0)
    parser.add_argument("--database", help="minidb that the init net opens")
    parser.add_argument("--save", help="how shard 0 saves in the end: save_model or save_job")
    parser.add_argument("--hold", type=pathlib.Path,
                        help="folder that gets what is saved; no shard ends while it has a file "
                             "with the number of the shard")
    parser.add_argument("--write_nets", help="file that gets all nets of the model")
    args = parser.parse_args()

    model = model_helper.ModelHelper("worker")
    if args.database:
        model.CreateDB("reader", db=args.database, db_type="minidb")
    data_parallel_worker.build(model, [0], {
        "kv_handler": make_store(args.store, args.run_id), "shard_id": args.shard,
        "num_shards": args.num_shards, "engine": "GLOO"})
    x, y = next(data_parallel_worker.batches())
    workspace.FeedBlob("cpu_0/x", x.astype(np.float32))
    workspace.FeedBlob("cpu_0/y", y.astype(np.float32))
    dpm.RunInitNet(model)
    if args.write_nets:
        with open(args.write_nets, "wb") as file:
            file.write(model.param_init_net.Proto().SerializeToString())
            file.write(model.net.Proto().SerializeToString())
    for step in range(1, args.steps + 1):
        dpm.RunNet(model, 1)
        print(f"step {step}", flush=True)
        if step == args.raise_at:
            raise LookupError("the labels ran out")
        time.sleep(args.pause)
    if args.save and args.shard == 0:
        globals()[args.save](args.hold)
    while args.hold and (args.hold / str(args.shard)).exists():
        time.sleep(0.05)
    sys.exit(args.exit_with)


if __name__ == "__main__":
    main()
