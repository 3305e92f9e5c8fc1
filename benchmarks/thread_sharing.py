#!/usr/bin/env python3
"""Images a second of LeNet where cores are shared, under several settings of OpenMP, in turns.

    benchmarks/thread_sharing.py --train_data mnist_train_lmdb

Prints a table for one shard alone, one shard beside processes that never wait (one, and one for
each core), and two shards on this machine. "default" sets nothing. `make_mnist_db --format
tensorprotos` makes the database.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

SETTINGS = {
    "default": {},
    "libgomp's spinning": {"GOMP_SPINCOUNT": "300000"},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}


def start_shard(args, settings, store, shard, num_shards):
    command = [
        f"{args.bin}/mnist_trainer", "--use_cpu", "--network", "lenet", "--model_prefix=",
        "--train_data", args.train_data, "--max_iterations", str(args.iterations),
        "--disp_batches", "100", "--num_shards", str(num_shards), "--shard_id", str(shard),
        "--run_id", "threads", "--file_store_path", store,
    ]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
    return subprocess.Popen(command, env={**clean, **settings}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def images_per_second(args, settings, num_shards):
    """Of all shards: the median of the log lines of the first, times their number."""
    with tempfile.TemporaryDirectory() as store:
        shards = [start_shard(args, settings, store, s, num_shards) for s in range(num_shards)]
        outputs = [shard.communicate()[0] for shard in shards]
    if any(shard.returncode != 0 for shard in shards):
        sys.exit(outputs[0])
    rates = [float(rate) for rate in re.findall(r"([0-9.]+) samples/sec", outputs[0])]
    return num_shards * statistics.median(rates)


def measure(args, num_shards, num_busy):
    """A list of rates for each setting, measured in turns beside busy processes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(num_busy)]
    rates = {name: [] for name in SETTINGS}
    try:
        for _ in range(args.rounds):
            for name, settings in SETTINGS.items():
                rates[name].append(images_per_second(args, settings, num_shards))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train_data", required=True)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    cases = [("one shard", 1, 0), ("beside a busy process", 1, 1),
             (f"beside {cores} busy processes", 1, cores), ("two shards", 2, 0)]
    print("images/s, median of", args.rounds)
    for case, num_shards, num_busy in cases:
        rates = measure(args, num_shards, num_busy)
        print(f"{case}:", ", ".join(f"{name} {statistics.median(values):.0f}"
                                    for name, values in rates.items()), flush=True)


if __name__ == "__main__":
    main()
