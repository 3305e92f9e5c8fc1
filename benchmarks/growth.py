#!/usr/bin/env python3
"""How cost grows with batch, operators, shards, records and keys; plots for the documentation.

    benchmarks/growth.py --output docs/pictures [--only batch,shards] [--rounds 5]

Each measurement runs --rounds times, in turns with the other sizes; the least time counts. Prints a
table with the exponent of each curve: 1 is linear growth, 0 a constant cost. The exponent is taken
over the upper half of the sizes, where fixed costs matter less. Writes growth_NAME.svg and
growth.json. Needs the programs and the Python package of a build, redis-server, and matplotlib
(`pip install matplotlib`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SIZES = {
    "batch": [1, 2, 4, 8, 16, 32, 64, 128],
    "train_batch": [1, 2, 4, 8, 16, 32, 64, 128],
    "operators": [10, 100, 1000, 10000],
    "gradients": [10, 100, 1000, 10000],
    "shards": [1, 2, 3, 4, 6, 8],
    "allreduce": [2, 3, 4, 6, 8],
    "train_shards": [1, 2, 3, 4, 6, 8],
    "records": [1000, 10000, 100000, 1000000],
    "keys": [10, 1000, 100000, 1000000],
}
TITLES = {
    "batch": ("inference of LeNet", "images in a batch", "ms"),
    "train_batch": ("an iteration of LeNet", "images in a batch", "ms"),
    "operators": ("making and running a net", "operators in a net", "ms"),
    "gradients": ("building a backward pass in Python", "operators in a net", "ms"),
    "shards": ("joining a run", "shards on one machine", "ms"),
    "allreduce": ("sum of 1 MiB", "shards on one machine", "ms"),
    "train_shards": ("an iteration of LeNet, 64 images a shard", "shards on one machine", "ms"),
    "records": ("opening a database and reading 6,400 records", "records in the database", "ms"),
    "keys": ("joining a run of two shards", "other keys in the store", "ms"),
}

# Runs a net of N operators in a chain, and a backward pass through them, in the Python package.
NET_PROGRAM = """
import sys, time
from caffe2.python import core, workspace
count, part = int(sys.argv[1]), sys.argv[2]
net = core.Net("chain")
blob = net.AddExternalInput("x")
for _ in range(count):
    blob = net.Relu(blob, 1)
loss = net.AveragedLoss(blob, "loss")
workspace.FeedBlob("x", __import__("numpy").ones(1, "float32"))
begin = time.perf_counter()
if part == "gradients":
    net.AddGradientOperators([loss])
else:
    workspace.CreateNet(net)
    workspace.RunNet(net)
print(1e3 * (time.perf_counter() - begin))
"""


# Makes an LMDB of N small records of TensorProtos.
DATABASE_PROGRAM = """
import sys
from caffe2.proto import caffe2_pb2
from caffe2.python import workspace
record = caffe2_pb2.TensorProtos()
record.protos.add(data_type=caffe2_pb2.TensorProto.BYTE, dims=[8]).byte_data = bytes(8)
record.protos.add(data_type=caffe2_pb2.TensorProto.INT32, dims=[1], int32_data=[1])
value = record.SerializeToString()
db = workspace.C.create_db("lmdb", sys.argv[1], workspace.C.Mode.new)
transaction = db.new_transaction()
for i in range(int(sys.argv[2])):
    transaction.put(f"{i:08}", value)
del transaction
"""


def find_number(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    if match is None:
        sys.exit(f"error: no {pattern!r} in: {text}")
    return float(match[1])


class Programs:
    """Starts the programs of a build; each function returns milliseconds."""

    def __init__(self, build: Path, work: Path):
        self.build, self.work = build, work
        self.redis: subprocess.Popen[bytes] | None = None
        self.redis_keys = -1

    def run(self, *command: str) -> str:
        done = subprocess.run([str(c) for c in command], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": str(self.build / "python")})
        if done.returncode != 0:
            sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout + done.stderr

    def program(self, name: str, *arguments: str) -> str:
        return self.run(str(self.build / "bin" / name), *arguments)

    def images(self, program: str, batch: int) -> float:
        text = self.program(program, "--model=lenet", "--image_size=28", "--channels=1",
                            "--labels=10", f"--batch={batch}", "--min_seconds=1")
        return 1e3 * batch / find_number(r'"max": ([0-9.e+]+)', text)

    def net(self, part: str, operators: int) -> float:
        return float(self.run(sys.executable, "-c", NET_PROGRAM, str(operators), part))

    def join(self, shards: int) -> float:
        return find_number(r"joined +([0-9.]+) ms",
                           self.program("rendezvous", f"--shards={shards}", "--rounds=3"))

    def allreduce(self, shards: int) -> float:
        text = self.program("allreduce", f"--shards={shards}", "--kib=1024", "--iterations=100")
        return find_number(r"shared memory +([0-9.]+) us", text) / 1e3

    def train_shards(self, shards: int) -> float:
        batch = 64
        text = self.program("doppio", "run", "-n", str(shards), "--",
                            str(self.build / "bin/mnist_trainer"), "--use_cpu", "--network=lenet",
                            "--train_data=null", f"--batch_size={batch}", "--disp_batches=50",
                            f"--num_examples={200 * batch * shards}", "--num_epochs=1")
        last = text[text.rindex("Job:"):]
        return 1e3 * batch * shards / find_number(r"([0-9.]+) images/s", last)

    def read(self, records: int) -> float:
        path = self.work / f"records_{records}"
        if not path.exists():
            self.run(sys.executable, "-c", DATABASE_PROGRAM, str(path), str(records))
        begin = time.perf_counter()
        self.program("db_throughput", f"--input_db={path}", "--batch_size=64",
                     "--report_interval=100", "--repeat=1")
        return 1e3 * (time.perf_counter() - begin)

    def join_beside(self, keys: int) -> float:
        port = 24790
        if self.redis is None:
            self.redis = subprocess.Popen(
                ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                 "--dir", self.work], stdout=subprocess.DEVNULL)
            while subprocess.run(["redis-cli", "-p", str(port), "ping"],
                                 capture_output=True).returncode != 0:
                time.sleep(0.05)
        if keys != self.redis_keys:
            self.run("redis-cli", "-p", str(port), "flushall")
            self.run("redis-cli", "-p", str(port), "debug", "populate", str(keys))
            self.redis_keys = keys
        return find_number(r"joined +([0-9.]+) ms",
                           self.program("rendezvous", "--rounds=3", f"--redis_port={port}"))

    def close(self) -> None:
        if self.redis is not None:
            self.redis.terminate()
            self.redis.wait()


def exponent(sizes: list[int], times: list[float]) -> float:
    """Of the power law through the upper half of the points, by least squares in logarithms."""
    start = len(sizes) // 2 - 1
    x = [math.log(size) for size in sizes[start:]]
    y = [math.log(t) for t in times[start:]]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) /
            sum((a - mean_x) ** 2 for a in x))


def draw(name: str, sizes: list[int], times: list[float], path: Path) -> None:
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot, ticker

    pyplot.rcParams["svg.hashsalt"] = name  # the same picture for the same data
    pyplot.rcParams["svg.fonttype"] = "none"  # text stays text
    grey = "#808080"  # readable on a light and on a dark page
    title, label, unit = TITLES[name]
    figure, axes = pyplot.subplots(figsize=(5, 3.4))
    axes.loglog(sizes, times, "o-", color="#2a7de1", label="measured")
    linear = [times[-1] * size / sizes[-1] for size in sizes]
    axes.loglog(sizes, linear, "--", color=grey, label="linear")
    axes.set_title(title, color=grey)
    axes.set_xlabel(label, color=grey)
    axes.set_ylabel(unit, color=grey)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.minorticks_off()
    axes.set_ylim(bottom=min(min(times) / 2, max(times) / 30))  # not all of a line far below
    axes.tick_params(colors=grey)
    for spine in axes.spines.values():
        spine.set_color(grey)
    axes.legend(labelcolor=grey, frameon=False)
    figure.savefig(path, transparent=True, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--only", default=",".join(SIZES), help="names, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - set(SIZES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(SIZES)}")
    args.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as work:
        programs = Programs(args.build.resolve(), Path(work))
        measure: dict[str, Callable[[int], float]] = {
            "batch": lambda n: programs.images("net_inference", n),
            "train_batch": lambda n: programs.images("net_training", n),
            "operators": lambda n: programs.net("operators", n),
            "gradients": lambda n: programs.net("gradients", n),
            "shards": programs.join, "allreduce": programs.allreduce,
            "train_shards": programs.train_shards,
            "records": programs.read, "keys": programs.join_beside}
        try:
            for name in names:
                sizes = SIZES[name]
                times = [math.inf] * len(sizes)
                for _ in range(args.rounds):
                    times = [min(t, measure[name](size)) for t, size in zip(times, sizes)]
                growth = exponent(sizes, times)
                results[name] = {"sizes": sizes, "ms": times, "exponent": growth}
                print(f"{name:12} exponent {growth:5.2f}  " +
                      "  ".join(f"{s}: {t:.3g} ms" for s, t in zip(sizes, times)), flush=True)
                draw(name, sizes, times, args.output / f"growth_{name}.svg")
        finally:
            programs.close()
    (args.output / "growth.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
