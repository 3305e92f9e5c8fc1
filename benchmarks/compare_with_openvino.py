#!/usr/bin/env python3
"""Times ResNet-50 inference here and in OpenVINO, in turns, and prints the ratios.

    compare_with_openvino.py --bin build/release/bin [--only bfloat16] [--prefix "chrt -f 20"]

It needs the packages openvino and numpy. Each figure is the median of the rounds, images a second;
both nets have the same layers and random weights. On a machine that does other work, more rounds
help, and so does a scheduling prefix (root only).
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import time

BATCHES = (1, 2, 4, 8)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin", help="our programs")
    parser.add_argument("--only", default="", help="types whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--min_seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prefix", default="", help="put before every command")
    parser.add_argument("--peer", nargs=2, metavar=("BATCH", "TYPE"),
                        help="only time OpenVINO, once")
    return parser.parse_args()


def resnet50(batch):
    """ResNet-50 with the layers of caffe2/model: the stride on the 3x3 convolutions, the pooling
    without padding."""
    import numpy as np
    from openvino import Model
    from openvino import opset13 as ops
    random = np.random.default_rng(1)

    def values(*shape, scale):
        return ops.constant((random.standard_normal(shape) * scale).astype(np.float32))

    def conv(x, channels, filters, kernel, stride, relu=True, shortcut=None):
        filter_ = values(filters, channels, kernel, kernel,
                         scale=(2 / (channels * kernel * kernel)) ** 0.5)
        pad = [kernel // 2] * 2
        y = ops.convolution(x, filter_, [stride] * 2, pad, pad, [1, 1])
        y = ops.add(y, values(1, filters, 1, 1, scale=0.1))
        y = y if shortcut is None else ops.add(y, shortcut)
        return ops.relu(y) if relu else y

    data = ops.parameter([batch, 3, 224, 224], np.float32)
    x = conv(data, 3, 64, 7, 2)
    x = ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [3, 3]).output(0)
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        middle = 64 << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            shortcut = x if block else conv(x, channels, 4 * middle, 1, stride, relu=False)
            y = conv(conv(x, channels, middle, 1, 1), middle, middle, 3, stride)
            x = conv(y, middle, 4 * middle, 1, 1, shortcut=shortcut)
            channels = 4 * middle
    x = ops.reduce_mean(x, ops.constant(np.array([2, 3])), False)
    x = ops.matmul(x, values(channels, 1000, scale=0.02), False, False)
    return Model([ops.softmax(x, 1)], [data])


def time_peer(batch, dtype, threads, min_seconds):
    """Prints OpenVINO's median images a second as JSON."""
    import numpy as np
    import openvino
    net = openvino.Core().compile_model(resnet50(batch), "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "bf16" if dtype == "bfloat16" else "f32"})
    request = net.create_infer_request()
    image = np.random.default_rng(2).standard_normal((batch, 3, 224, 224)).astype(np.float32)
    rates, start = [], time.perf_counter()
    while len(rates) < 10 or time.perf_counter() - start < min_seconds:
        begin = time.perf_counter()
        request.infer({0: image}, share_inputs=True)
        rates.append(batch / (time.perf_counter() - begin))
    print(json.dumps({"median": statistics.median(rates)}))


def measure(command, args):
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
    output = subprocess.run(shlex.split(args.prefix) + command, env=environment, check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])["median"]


def main():
    args = parse_args()
    if args.peer:
        time_peer(int(args.peer[0]), args.peer[1], args.threads, args.min_seconds)
        return
    timing = ["--min_seconds", str(args.min_seconds)]
    print(f"{'ResNet-50, images/s':24}{'ours':>10}{'OpenVINO':>10}{'ratio':>8}")
    for dtype in ("float", "bfloat16"):
        for batch in BATCHES if args.only in dtype else ():
            ours = [os.path.join(args.bin, "net_inference"), "--batch", str(batch),
                    "--dtype", dtype, *timing]
            peer = [sys.executable, __file__, "--threads", str(args.threads), *timing,
                    "--peer", str(batch), dtype]
            rounds = [(measure(ours, args), measure(peer, args)) for _ in range(args.rounds)]
            a, b = (statistics.median(column) for column in zip(*rounds))
            print(f"{f'batch {batch} {dtype}':24}{a:10.1f}{b:10.1f}{a / b:8.2f}", flush=True)


if __name__ == "__main__":
    main()
