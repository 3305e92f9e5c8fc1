#!/usr/bin/env python3
"""Times nets here, in PyTorch and in OpenVINO in one run, in turns, and prints the ratios.

    compare_with_torch.py --bin build/release/bin --torch_bench path/to/torch_bench.py

The peer is a program that takes --model --mode --batch --dtype --layout --threads --min-seconds and
prints one JSON object with "median", images a second (TORCH_BENCH names it too). Nets train in it
eagerly and, with --compile, compiled. Its modes for inference are infer_frozen, infer_compiled and
infer_openvino. But for OpenVINO it runs with tcmalloc in place of glibc's allocator and an OpenMP
BLAS, where these libraries are found; with --untuned also without them. Each figure is the median
over the rounds.
"ours/best" divides ours by the best of all peers. The last two columns are the largest resident
memory of a process, ours and the least of the peers'. On a machine that does other work, more
rounds help, and so does a scheduling prefix: --prefix "chrt -f 50" (root only).
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

# The peers: the columns, and the flags that ask for them.
TRAIN = {"eager": ["--mode", "train"], "compiled": ["--mode", "train", "--compile"]}
INFER = {
    "frozen": ["--mode", "infer_frozen"],
    "compiled": ["--mode", "infer_compiled"],
    "openvino": ["--mode", "infer_openvino"],
}
PEERS = ["eager", "frozen", "compiled", "openvino"]
# Name: our program, the network and our flags, the peers, batch and type.
SMALL = ["--image_size", "28", "--channels", "1", "--labels", "10"]
CIFAR = ["--image_size", "32", "--labels", "10"]
CASES = {
    "resnet50 training float32": ("net_training", "resnet50", [], TRAIN, 16, "float"),
    "resnet50 training bfloat16": ("net_training", "resnet50", [], TRAIN, 16, "bfloat16"),
    "resnet50 inference float32": ("net_inference", "resnet50", [], INFER, 32, "float"),
    "resnet50 inference bfloat16": (
        "net_inference",
        "resnet50",
        [],
        INFER,
        32,
        "bfloat16",
    ),
    "resnet18 32x32 training float32": ("net_training", "resnet18", CIFAR, TRAIN, 128, "float"),
    "resnet18 32x32 training bfloat16": (
        "net_training",
        "resnet18",
        CIFAR,
        TRAIN,
        128,
        "bfloat16",
    ),
    "lenet training float32": ("net_training", "lenet", SMALL, TRAIN, 64, "float"),
    "mlp training float32": ("net_training", "mlp", SMALL, TRAIN, 64, "float"),
}


def parse_args():
    parser = parser_of(__doc__, min_seconds=5)
    parser.add_argument("--torch_bench", default=os.environ.get("TORCH_BENCH"))
    parser.add_argument("--python", default="/usr/bin/python3", help="Python that has torch")
    parser.add_argument("--layouts", default="nhwc,nchw", help="the peer's, the best counts")
    parser.add_argument("--untuned", action="store_true", help="also without tcmalloc")
    args = parser.parse_args()
    if not args.torch_bench:
        parser.error("name the peer by --torch_bench or TORCH_BENCH")
    return args


def tuned_environment():
    """What makes PyTorch faster on few cores, as far as it is installed. What is not is named."""
    libraries = "/usr/lib/*"
    environment = {}
    tcmalloc = sorted(glob.glob(libraries + "/libtcmalloc_minimal.so.4"))
    if tcmalloc:
        environment["LD_PRELOAD"] = tcmalloc[0]
    else:
        print("warning: the peers run without tcmalloc (libtcmalloc-minimal4)", file=sys.stderr)
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


def peer_command(case, peer_flags, layout, args):
    _, model, flags, _, batch, dtype = case
    name = "resnet18_cifar" if flags is CIFAR else model
    return [
        args.python,
        args.torch_bench,
        "--model",
        name,
        *peer_flags,
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


def layouts_of(case, peer, args):
    """OpenVINO chooses its own layout; images of one channel have only one."""
    if "resnet" not in case[1] or peer == "openvino":
        return ["nchw"]
    return args.layouts.split(",")


def variants_of(case, args):
    """(peer, layout, environment's number): command and environment, and "ours"."""
    environments = [tuned_environment()] + ([{}] if args.untuned else [])
    variants = {("ours",): (case_command(case, args), {"OMP_NUM_THREADS": str(args.threads)})}
    for peer, flags in case[3].items():
        for layout in layouts_of(case, peer, args):
            # OpenVINO 2026.4 ends with "double free" under another allocator.
            for i, environment in enumerate([{}] if peer == "openvino" else environments):
                variants[peer, layout, i] = (peer_command(case, flags, layout, args), environment)
    return variants


def compare(case, args):
    """Medians over the rounds, images a second and MiB: {"ours" or a peer: (speed, memory)}, the
    best speed and the least memory of a peer's variants. Peers that failed are missing."""
    variants = variants_of(case, args)
    samples = {name: [] for name in variants}
    for _ in range(args.rounds):
        for name, (command, environment) in variants.items():
            value = measure(command, args, environment)
            if value is not None:
                samples[name].append(value)
    found = {}
    for (peer, *_), values in samples.items():
        if not values:
            continue
        speed, memory = (statistics.median(column) for column in zip(*values))
        best, least = found.get(peer, (speed, memory))
        found[peer] = max(best, speed), min(least, memory)
    return found


def text(value, digits=1):
    return f"{'-':>11}" if value is None else f"{value:11.{digits}f}"


def row(name, found):
    ours = found.get("ours", (None, None))
    peers = [found[peer] for peer in PEERS if peer in found]
    best = max((speed for speed, _ in peers), default=None)
    least = min((memory for _, memory in peers), default=None)
    ratio = ours[0] / best if ours[0] is not None and best is not None else None
    speeds = [text(found.get(peer, (None,))[0]) for peer in PEERS]
    return f"{name:34}{text(ours[0])}{''.join(speeds)}{text(ratio, 2)}{text(ours[1])}{text(least)}"


def main():
    args = parse_args()
    columns = ["ours", *PEERS, "ours/best", "MiB", "peers MiB"]
    print(f"{'images/s':34}" + "".join(f"{column:>11}" for column in columns))
    for name, case in CASES.items():
        if args.only in name:
            print(row(name, compare(case, args)), flush=True)


if __name__ == "__main__":
    main()
