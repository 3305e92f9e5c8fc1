#!/usr/bin/env python3
"""Times what the Python binding adds: feeding, fetching, starting a net, building one.

    PYTHONPATH=build/release/python benchmarks/python_binding.py

Copies alternate with their peers, so that what else the machine does meets all of them: numpy's own
copy into memory of the same kind (new or used before), and a bare memmove between used buffers.
Printed are medians, and the ratio to the best of the peers.
"""
import argparse
import ctypes
import statistics
import time

import numpy as np

from caffe2.python import brew, core, model_helper, optimizer, workspace
from caffe2.python.models import resnet


def milliseconds(function):
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def medians(functions, rounds):
    """{name: median milliseconds} of functions that take turns, after one round to warm up."""
    times = {name: [] for name in functions}
    for i in range(rounds + 1):
        for name, function in functions.items():
            value = milliseconds(function)
            if i:
                times[name].append(value)
    return {name: statistics.median(values) for name, values in times.items()}


def report(title, ours, peers, result):
    best = min(result[peer] for peer in peers)
    figures = ", ".join(f"{name} {result[name]:.2f} ms" for name in (ours, *peers))
    print(f"{title}: {figures}; {result[ours] / best:.2f} of the best peer")


def copies(megabytes, rounds):
    """Feeding and fetching beside plain copies."""
    source = np.random.rand(megabytes * 1000 * 1000 // 4).astype(np.float32)
    used = source.copy()
    workspace.FeedBlob("used", source)

    def feed_new():
        workspace.FeedBlob("new", source)

    def copy_new():
        return source.copy()

    def move():
        ctypes.memmove(used.ctypes.data, source.ctypes.data, source.nbytes)

    result = medians({
        "FeedBlob": lambda: workspace.FeedBlob("used", source),
        "copyto": lambda: np.copyto(used, source),
        "memmove": move,
        "FetchBlob": lambda: workspace.FetchBlob("used"),
        "copy": copy_new,
    }, rounds)
    report(f"feed {megabytes} MB", "FeedBlob", ["copyto", "memmove"], result)
    report(f"fetch {megabytes} MB", "FetchBlob", ["copy"], result)
    times = {"FeedBlob": [], "copy": []}
    for _ in range(rounds):  # removing the blob is no part of it
        times["FeedBlob"].append(milliseconds(feed_new))
        workspace.RemoveBlob("new")
        times["copy"].append(milliseconds(copy_new))
    report(f"feed {megabytes} MB into a new blob", "FeedBlob", ["copy"],
           {name: statistics.median(values) for name, values in times.items()})


def empty_net(rounds, runs=20000):
    workspace.CreateNet(core.Net("empty"))

    def run():
        for _ in range(runs):
            workspace.RunNet("empty")

    value = medians({"run": run}, rounds)["run"]
    print(f"RunNet of an empty net: {value / runs * 1e3:.2f} us")


def build_resnet50():
    """A training net with gradients, weight decay and updates."""
    model = model_helper.ModelHelper("resnet50", arg_scope={"order": "NCHW"})
    pred = resnet.create_resnet50(
        model, "data", num_input_channels=3, num_labels=1000, no_loss=True)
    _, loss = model.SoftmaxWithLoss([pred, "label"], ["softmax", "loss"])
    brew.accuracy(model, ["softmax", "label"], "accuracy")
    model.AddGradientOperators([loss])
    optimizer.add_weight_decay(model, 1e-4)
    optimizer.build_multi_precision_sgd(model, 0.1, momentum=0.9, nesterov=1)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    copies(args.megabytes, args.rounds)
    empty_net(5)
    value = medians({"build": build_resnet50}, 3)["build"]
    print(f"building ResNet-50 with gradients and updates: {value:.0f} ms, "
          f"{len(build_resnet50().net.Proto().op)} operators")


if __name__ == "__main__":
    main()
