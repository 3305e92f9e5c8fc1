#!/usr/bin/env python3
"""Seconds until LeNet knows the test images of MNIST, ours and PyTorch's, with one recipe.

    benchmarks/time_to_accuracy.py --mnist DIRECTORY --python /path/to/python/with/torch

Both train the same net, with momentum SGD whose rate falls to zero at the end of the last epoch,
and test after each epoch. Our seconds count from the start of the program, reading files included.
PyTorch's count from the first iteration, after imports, with all images in memory, and after
compiling. With --pad the net is trained on crops of images that have so many black pixels on each
side. Programs take turns; each round has another seed. Prints a row for each run, with the epoch
and the second at which each target was first reached, and the medians.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(os.environ.get("CAFFE2_BIN", Path(__file__).parent.parent / "build/release/bin"))

TORCH_PROGRAM = '''
import gzip, sys, time
import numpy as np
import torch
from torch import nn

folder, threads, epochs, batch, rate, decay, smoothing, pad, seed, tuned = sys.argv[1:]
epochs, batch, pad = int(epochs), int(batch), int(pad)
torch.set_num_threads(int(threads))
torch.manual_seed(int(seed))

def read(name, offset):
    return np.frombuffer(gzip.open(f"{folder}/{name}.gz").read(), np.uint8, offset=offset)

def images(name):
    x = torch.from_numpy(read(name, 16).copy()).view(-1, 1, 28, 28)
    return x.float() / 255

def labels(name):
    return torch.from_numpy(read(name, 8).copy()).long()

x, y = images("train-images-idx3-ubyte"), labels("train-labels-idx1-ubyte")
test_x, test_y = images("t10k-images-idx3-ubyte"), labels("t10k-labels-idx1-ubyte")
padded = nn.functional.pad(x, [pad] * 4)
model = nn.Sequential(
    nn.Conv2d(1, 20, 5), nn.MaxPool2d(2, 2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2, 2),
    nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
for layer in model:
    if hasattr(layer, "weight"):  # XavierFill of Caffe2
        bound = (3 / layer.weight[0].numel()) ** 0.5
        nn.init.uniform_(layer.weight, -bound, bound)
        nn.init.zeros_(layer.bias)
optimizer = torch.optim.SGD(
    model.parameters(), lr=float(rate), momentum=0.9, weight_decay=float(decay))
steps = epochs * (len(x) // batch)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
forward = torch.compile(model) if tuned == "compile" else model

def loss_of(data, labels):
    return nn.functional.cross_entropy(forward(data), labels, label_smoothing=float(smoothing))

if tuned == "compile":  # not counted
    loss_of(x[:batch], y[:batch]).backward()
    optimizer.zero_grad(set_to_none=True)
start = time.perf_counter()
for epoch in range(epochs):
    model.train()
    order = torch.randperm(len(x))
    for at in range(0, len(x) - batch + 1, batch):
        chosen = order[at:at + batch]
        if pad:
            top, left = torch.randint(0, 2 * pad + 1, (2, batch))
            rows = (top[:, None] + torch.arange(28))[:, None, :, None]
            columns = (left[:, None] + torch.arange(28))[:, None, None, :]
            data = padded[chosen[:, None, None, None], 0, rows, columns]
        else:
            data = x[chosen]
        optimizer.zero_grad(set_to_none=True)
        loss_of(data, y[chosen]).backward()
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.inference_mode():
        right = sum((model(a).argmax(1) == b).sum().item()
                    for a, b in zip(test_x.split(1000), test_y.split(1000)))
    print(f"{time.perf_counter() - start:.2f} {right / len(test_y):.4f}", flush=True)
'''


def ours(args, seed):
    """(seconds, accuracy) after each epoch of mnist_trainer."""
    command = [
        str(BIN / "mnist_trainer"), "--use_cpu", f"--train_data={args.mnist}",
        f"--test_data={args.mnist}", "--network=lenet", "--std=255", "--shuffle",
        f"--num_threads={args.threads}", f"--num_epochs={args.epochs}", "--num_examples=0",
        f"--batch_size={args.batch}", f"--lr={args.rate}", "--lr_policy=poly", f"--wd={args.decay}",
        f"--label_smoothing={args.smoothing}", f"--image_pad={args.pad}", f"--seed={seed}"]
    start = time.perf_counter()
    process = subprocess.Popen(args.prefix.split() + command, stderr=subprocess.PIPE, text=True)
    curve, last = [], ""
    for line in process.stderr:
        last = line
        found = re.search(r"Validation-accuracy=([0-9.]+)", line)
        if found:
            curve.append((time.perf_counter() - start, float(found[1])))
    if process.wait() != 0:
        sys.exit(f"mnist_trainer: {last}")
    return curve


def theirs(args, seed, tuned):
    """The same of PyTorch; `tuned` is eager or compile."""
    values = [args.mnist, args.threads, args.epochs, args.batch, args.rate, args.decay,
              args.smoothing, args.pad, seed, tuned]
    output = subprocess.run(
        args.prefix.split() + [args.python, "-c", TORCH_PROGRAM, *map(str, values)],
        check=True, capture_output=True, text=True).stdout
    return [tuple(map(float, line.split())) for line in output.splitlines()]


def first(curve, target):
    """(epoch, seconds) at which the target was first reached, or None."""
    for epoch, (seconds, accuracy) in enumerate(curve, 1):
        if accuracy >= target:
            return epoch, seconds
    return None


def main():
    """Runs the rounds and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", required=True, help="folder of the four files, gzipped")
    parser.add_argument("--python", help="an interpreter that has torch; without it only ours runs")
    parser.add_argument("--targets", default="0.99", help="accuracies, with commas between")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.03, help="the first learning rate")
    parser.add_argument("--decay", type=float, default=1e-4, help="weight decay")
    parser.add_argument("--smoothing", type=float, default=0, help="of labels")
    parser.add_argument("--pad", type=int, default=0, help="black pixels around training images")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="eager", help="eager, compile, or both with a comma")
    parser.add_argument("--prefix", default="", help="before each command, such as 'chrt -f 50'")
    args = parser.parse_args()
    programs = {"ours": lambda seed: ours(args, seed)}
    if args.python:
        for peer in args.peers.split(","):
            programs[f"torch {peer}"] = lambda seed, peer=peer: theirs(args, seed, peer)
    targets = [float(target) for target in args.targets.split(",")]
    reached = {(name, target): [] for name in programs for target in targets}
    for seed in range(1, args.rounds + 1):
        for name, run in programs.items():
            curve = run(seed)
            marks = [first(curve, target) for target in targets]
            for target, mark in zip(targets, marks):
                reached[name, target].append(mark)
            print(f"{name:15} seed {seed}: {curve[-1][1]:.4f} after {curve[-1][0]:.1f} s;",
                  ", ".join(f"{target:.3f} " + (f"in epoch {mark[0]} after {mark[1]:.1f} s" if mark
                                                else "not reached")
                            for target, mark in zip(targets, marks)), flush=True)
    for (name, target), marks in reached.items():
        seconds = [mark[1] for mark in marks if mark]
        middle = f"{statistics.median(seconds):.1f} s" if seconds else "never"
        print(f"{name:15} {target:.3f}: median {middle}, {len(seconds)} of {len(marks)} runs")


if __name__ == "__main__":
    main()
