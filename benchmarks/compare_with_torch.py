#!/usr/bin/env python3
"""Times nets here and in PyTorch in one run, in turns, and prints the ratios.

    compare_with_torch.py --bin build/release/bin --torch_bench path/to/torch_bench.py

The peer is a program that takes --model --mode --batch --dtype --layout --threads --min-seconds and
prints one JSON object with "median", images a second (TORCH_BENCH names it too). It runs with its
own defaults and tuned: with tcmalloc in place of glibc's allocator and an OpenMP BLAS, where those
libraries are found. Each figure is the median over the rounds; the column after the speeds divides
ours by the best of the peer's. The last two are the largest resident memory of a process, ours and
the least of the peer's. On a machine that does other work, more rounds help, and so does a
scheduling prefix: --prefix "chrt -f 50" (root only).
"""

import glob
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

from peer_flags import our_command, parser_of

# Name: our program and flags, the peer's flags, batch.
SMALL = ["--image_size", "28", "--channels", "1", "--labels", "10"]
CIFAR = ["--image_size", "32", "--labels", "10"]
CASES = {
    "resnet50 training float32": ("net_training", "resnet50", [], "train", 16, "float"),
    "resnet50 training bfloat16": ("net_training", "resnet50", [], "train", 16, "bfloat16"),
    "resnet50 inference float32": ("net_inference", "resnet50", [], "infer_frozen", 32, "float"),
    "resnet50 inference bfloat16": (
        "net_inference",
        "resnet50",
        [],
        "infer_frozen",
        32,
        "bfloat16",
    ),
    "resnet18 32x32 training float32": ("net_training", "resnet18", CIFAR, "train", 128, "float"),
    "resnet18 32x32 training bfloat16": (
        "net_training",
        "resnet18",
        CIFAR,
        "train",
        128,
        "bfloat16",
    ),
    "lenet training float32": ("net_training", "lenet", SMALL, "train", 64, "float"),
    "mlp training float32": ("net_training", "mlp", SMALL, "train", 64, "float"),
}


def parse_args():
    parser = parser_of(__doc__, min_seconds=5)
    parser.add_argument("--torch_bench", default=os.environ.get("TORCH_BENCH"))
    parser.add_argument("--python", default="/usr/bin/python3", help="Python that has torch")
    parser.add_argument("--layouts", default="nhwc,nchw", help="the peer's, the best counts")
    args = parser.parse_args()
    if not args.torch_bench:
        parser.error("name the peer by --torch_bench or TORCH_BENCH")
    return args


def tuned_environment():
    """What makes PyTorch faster on few cores, as far as it is installed."""
    libraries = "/usr/lib/*"
    environment = {}
    tcmalloc = sorted(glob.glob(libraries + "/libtcmalloc_minimal.so.4"))
    if tcmalloc:
        environment["LD_PRELOAD"] = tcmalloc[0]
    blas = sorted(glob.glob(libraries + "/openblas-openmp/libblas.so.3"))
    if blas:
        environment["LD_LIBRARY_PATH"] = os.path.dirname(blas[0])
    return environment


def measure(command, args, environment):
    """The "median" of the JSON line a program prints and its peak memory in MiB; None, with its
    error shown, if it fails."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            shlex.split(args.prefix) + command,
            stdout=out,
            stderr=err,
            env={**os.environ, **environment},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        lines = [line for line in out if line.startswith("{")]
        if status != 0 or not lines:
            print(f"{shlex.join(command)} failed: {err.read().strip()[-500:]}", file=sys.stderr)
            return None
    return json.loads(lines[-1])["median"], usage.ru_maxrss / 1024


def case_command(case, args):
    program, model, flags, _, batch, dtype = case
    return our_command(args, program, batch, dtype) + ["--model", model, *flags]


def peer_command(case, layout, args):
    _, model, flags, mode, batch, dtype = case
    name = "resnet18_cifar" if flags is CIFAR else model
    return [
        args.python,
        args.torch_bench,
        "--model",
        name,
        "--mode",
        mode,
        "--batch",
        str(batch),
        "--dtype",
        "bf16" if dtype == "bfloat16" else "fp32",
        "--layout",
        layout,
        "--threads",
        str(args.threads),
        "--min-seconds",
        str(args.min_seconds),
    ]


def compare(case, args):
    """Medians over the rounds: our speed, the peer's best layout by default and tuned; our memory
    and the least of the peer's."""
    layouts = args.layouts.split(",") if "resnet" in case[1] else ["nchw"]
    variants = {"ours": (case_command(case, args), {"OMP_NUM_THREADS": str(args.threads)})}
    for layout in layouts:
        variants["default", layout] = (peer_command(case, layout, args), {})
        variants["tuned", layout] = (peer_command(case, layout, args), tuned_environment())
    samples = {name: [] for name in variants}
    for _ in range(args.rounds):
        for name, (command, environment) in variants.items():
            value = measure(command, args, environment)
            if value is not None:
                samples[name].append(value)
    speed = {
        name: statistics.median(v[0] for v in values) for name, values in samples.items() if values
    }
    memory = {
        name: statistics.median(v[1] for v in values) for name, values in samples.items() if values
    }
    best = {
        kind: max((v for name, v in speed.items() if name[0] == kind), default=None)
        for kind in ("default", "tuned")
    }
    least = min((v for name, v in memory.items() if name != "ours"), default=None)
    return speed.get("ours"), best["default"], best["tuned"], memory.get("ours"), least


def text(value):
    return f"{value:12.1f}" if value is not None else f"{'-':>12}"


def main():
    args = parse_args()
    print(
        f"{'images/s':34}{'ours':>12}{'torch':>12}{'tuned':>12}{'ours/best':>12}"
        f"{'MiB':>12}{'torch MiB':>12}"
    )
    for name, case in CASES.items():
        if args.only not in name:
            continue
        ours, default, tuned, memory, peer_memory = compare(case, args)
        peers = [value for value in (default, tuned) if value is not None]
        ratio = f"{ours / max(peers):12.2f}" if ours is not None and peers else f"{'-':>12}"
        print(
            f"{name:34}{text(ours)}{text(default)}{text(tuned)}{ratio}"
            f"{text(memory)}{text(peer_memory)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
