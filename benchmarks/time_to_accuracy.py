#!/usr/bin/env python3
"""Seconds until a net knows the test images, ours and PyTorch's, with one recipe.

    benchmarks/time_to_accuracy.py --data DIRECTORY --python /path/to/python/with/torch
    benchmarks/time_to_accuracy.py --task cifar10 --data DIRECTORY --python ... --peers compile

The task mnist trains LeNet on the CPU, with momentum SGD. The task cifar10 trains a small residual
net (resnet9_cifar) on a GPU in float16, with Nesterov's momentum; --device cpu trains it on the CPU
in float, or in the type that --dtype names. The learning rate falls to zero at the end of the last
epoch. Both programs test after each epoch. With --pad the net is trained on crops of images that
have so many black pixels on each side. cifar10 also mirrors images. Programs take turns; each round
has another seed.

There are two clocks. The clock of the program begins when the program starts. Imports, reading
files and compiling count. The clock of training begins later:

- PyTorch: before the first iteration. All images are in memory, and the model is compiled. For
  cifar10 a warm-up has run too.
- Ours, mnist: before the first iteration, when the program logs the size of an epoch.
- Ours, cifar10: after the first iteration, when the program logs it. On a GPU this iteration also
  chooses kernels. So the clock lacks one iteration.

Prints a row for each run, with the epoch and the seconds at which each target was first reached.
Then it prints the medians.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
BIN = Path(os.environ.get("CAFFE2_BIN", HERE.parent / "build/release/bin"))

# The options of a task that both programs get, with their defaults.
RECIPES = {
    "mnist": {"epochs": 4, "batch": 64, "rate": 0.03, "decay": 1e-4, "smoothing": 0.0, "pad": 0,
              "threads": 2},
    "cifar10": {"epochs": 12, "batch": 512, "rate": 0.4, "warmup": 2.0, "decay": 5e-4,
                "smoothing": 0.1, "pad": 4, "threads": os.cpu_count() or 1, "device": "cuda",
                "dtype": ""},
}
# Other options whose defaults depend on the task.
DEFAULTS = {
    "mnist": {"targets": "0.99", "peers": "eager", "compile_mode": "default"},
    "cifar10": {"targets": "0.86,0.88,0.89", "peers": "compile",
                "compile_mode": "reduce-overhead"},
}
HELP = {
    "rate": "the learning rate at its highest", "warmup": "epochs in which the rate rises",
    "decay": "weight decay", "smoothing": "of labels", "pad": "black pixels around training images",
    "threads": "that compute on the CPU and decode images", "device": "cuda or cpu",
    "dtype": "float, bfloat16 or, on a GPU only, float16; empty: float16 on a GPU, else float",
    "targets": "accuracies, with commas between", "peers": "eager, compile, or both with a comma",
    "compile_mode": "the mode of torch.compile",
}
# What our programs log when the clock of training begins, and after each test.
OURS_BEGINS = {"mnist": r"Using epoch size", "cifar10": r"Finished iteration 1/\d+ of epoch 0"}
OURS_TESTED = {"mnist": r"Validation-accuracy=(?P<accuracy>\S+)",
               "cifar10": r"Test accuracy after epoch \d+: (?P<accuracy>[^,]+)"}
THEIRS_TESTED = r"^(?P<seconds>\d+\.\d+) (?P<accuracy>[01]\.\d{4})\b"


class Point(NamedTuple):
    """The state after an epoch: seconds of both clocks, and the accuracy."""
    training: float
    program: float
    accuracy: float


def mnist_command(args, seed):
    """Our program for mnist."""
    return [
        str(BIN / "mnist_trainer"), "--use_cpu", f"--train_data={args.data}",
        f"--test_data={args.data}", "--network=lenet", "--std=255", "--shuffle",
        f"--num_threads={args.threads}", f"--num_epochs={args.epochs}", "--num_examples=0",
        f"--batch_size={args.batch}", f"--lr={args.rate}", "--lr_policy=poly", f"--wd={args.decay}",
        f"--label_smoothing={args.smoothing}", f"--image_pad={args.pad}", f"--seed={seed}"]


def cifar10_command(args, seed):
    """Our program for cifar10."""
    on_device = (["--gpus=0", "--resident_data"] if args.device == "cuda"
                 else ["--use_cpu", f"--num_threads={args.threads}"])
    dtype = args.dtype or ("float16" if args.device == "cuda" else "float")
    return [
        str(BIN / "resnet50_trainer"), *on_device, f"--dtype={dtype}", "--model=resnet9_cifar",
        f"--train_data={args.data}", f"--test_data={args.data}", "--image_size=32",
        "--image_scale=32", f"--image_pad={args.pad}", "--num_labels=10",
        f"--num_epochs={args.epochs}", "--epoch_size=0", f"--batch_size={args.batch}",
        f"--lr_batch_size={args.batch}", f"--base_learning_rate={args.rate}", "--lr_policy=poly",
        f"--warmup_epochs={args.warmup}", f"--weight_decay={args.decay}",
        f"--label_smoothing={args.smoothing}", "--mean=113.9,123.0,125.3", "--std=66.7,62.1,63.0",
        "--shuffle", f"--seed={seed}", f"--decode_threads={args.threads}"]


def follow(args, command, tested, begins=None):
    """Runs the command, and returns the points of its log. `tested` matches the line of a test. The
    clock of training begins with the line that `begins` matches; without it the line tells it."""
    start = time.perf_counter()
    process = subprocess.Popen(shlex.split(args.prefix) + command, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    points, before, tail = [], None, collections.deque(maxlen=20)
    for line in process.stdout:
        now = time.perf_counter() - start
        tail.append(line)
        if begins and before is None and re.search(begins, line):
            before = now
        if found := re.search(tested, line):
            if begins and before is None:
                sys.exit(f"no line matched {begins} before {line}")
            seconds = now - before if begins else float(found["seconds"])
            points.append(Point(seconds, now, float(found["accuracy"])))
    if process.wait() != 0 or not points:
        sys.exit(f"{''.join(tail)}{shlex.join(command)}: status {process.returncode}")
    return points


def ours(args, seed):
    """The points of our program. Its saved models are removed."""
    command = {"mnist": mnist_command, "cifar10": cifar10_command}[args.task](args, seed)
    with tempfile.TemporaryDirectory() as folder:
        command += [f"--file_store_path={folder}", *shlex.split(args.flags)]
        return follow(args, command, OURS_TESTED[args.task], OURS_BEGINS[args.task])


def theirs(args, seed, peer):
    """The points of PyTorch; `peer` is eager or compile."""
    values = {name: getattr(args, name) for name in ["data", *RECIPES[args.task]]}
    values |= {"seed": seed, "compile": args.compile_mode if peer == "compile" else ""}
    given = [f"--{name}={value}" for name, value in values.items() if value != ""]
    command = [args.python, str(HERE / f"torch_{args.task}.py"), *given]
    return follow(args, command, THEIRS_TESTED)


def first(points, target):
    """The epoch and the point at which the target was first reached, or None."""
    return next(((epoch, point) for epoch, point in enumerate(points, 1)
                 if point.accuracy >= target), None)


def print_row(name, seed, points, marks):
    """Prints a run. `marks` are the targets and where each was first reached."""
    last = points[-1]
    reached = [f"{target:.3f} in epoch {mark[0]} after {mark[1].training:.2f} s "
               f"({mark[1].program:.1f} s)" if mark else f"{target:.3f} not reached"
               for target, mark in marks.items()]
    print(f"{name:15} seed {seed}: {last.accuracy:.4f} after {last.training:.2f} s of training "
          f"({last.program:.1f} s of the program);", ", ".join(reached), flush=True)


def print_median(name, target, marks):
    """Prints the medians over the runs that reached the target."""
    points = [mark[1] for mark in marks if mark]
    middle = "never"
    if points:
        training, program = (statistics.median(seconds) for seconds in list(zip(*points))[:2])
        middle = f"median {training:.2f} s of training, {program:.1f} s of the program"
    print(f"{name:15} {target:.3f}: {middle}, {len(points)} of {len(marks)} runs")


def parse_args():
    """The arguments of the command line. The task decides which ones there are."""
    first_parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first_parser.add_argument("--task", choices=sorted(RECIPES), default="mnist")
    task = first_parser.parse_known_args()[0].task
    parser = argparse.ArgumentParser(description=__doc__, parents=[first_parser],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", "--mnist", required=True, metavar="DIRECTORY",
                        help="mnist: of the four files, gzipped; cifar10: of train/CLASS/*.jpg and "
                             "test/CLASS/*.jpg")
    parser.add_argument("--python", help="an interpreter that has torch; without it only ours runs")
    for name, value in (RECIPES[task] | DEFAULTS[task]).items():
        parser.add_argument(f"--{name}", type=type(value), default=value,
                            help=f"{HELP.get(name, '')} (default: {value})")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flags", default="",
                        help="more flags for our program, as --flags='--NAME=VALUE ...'")
    parser.add_argument("--prefix", default="", help="before each command, such as 'chrt -f 50'")
    args = parser.parse_args()
    if task == "cifar10" and args.device == "cpu" and args.dtype == "float16":
        parser.error("float16 needs a GPU")
    return args


def main():
    """Runs the rounds and prints the table."""
    args = parse_args()
    programs = {"ours": ours}
    if args.python:
        for peer in args.peers.split(","):
            programs[f"torch {peer}"] = (
                lambda args, seed, peer=peer: theirs(args, seed, peer))
    targets = [float(target) for target in args.targets.split(",")]
    reached = {(name, target): [] for name in programs for target in targets}
    for seed in range(1, args.rounds + 1):
        for name, run in programs.items():
            points = run(args, seed)
            marks = {target: first(points, target) for target in targets}
            for target, mark in marks.items():
                reached[name, target].append(mark)
            print_row(name, seed, points, marks)
    for (name, target), marks in reached.items():
        print_median(name, target, marks)


if __name__ == "__main__":
    main()
