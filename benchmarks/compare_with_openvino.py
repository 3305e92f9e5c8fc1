#!/usr/bin/env python3
"""Times inference of ResNet-50 and SqueezeNet 1.1 here and in OpenVINO, in turns, and prints the
ratios.

    compare_with_openvino.py --bin build/release/bin [--only int8] [--prefix "chrt -f 20"]

It needs the packages openvino and numpy. Each figure is the median of the rounds, images a second;
both nets have the same layers. In int8 both compute with 8 bits what they can: our net is quantized
with one batch, OpenVINO's has FakeQuantize operators where its own tools put them. SqueezeNet needs
--squeezenet, a folder with the init and predict nets of Caffe2's model zoo. On a machine that does
other work, more rounds help, and so does a scheduling prefix (root only).
"""

import json
import os
import shlex
import statistics
import subprocess
import sys
import time

from peer_flags import our_command, parser_of

BATCHES = (1, 2, 4, 8, 32)
DTYPES = ("float", "bfloat16", "int8")


def parse_args():
    parser = parser_of(__doc__, min_seconds=2)
    parser.add_argument("--batches", default=",".join(map(str, BATCHES)))
    parser.add_argument("--squeezenet", metavar="FOLDER", help="time SqueezeNet, too")
    parser.add_argument(
        "--peer", nargs=3, metavar=("MODEL", "BATCH", "TYPE"), help="only time OpenVINO, once"
    )
    return parser.parse_args()


class Layers:
    """Makes layers of random weights; in int8 with the levels of filters and activations."""

    def __init__(self, int8):
        import numpy as np
        from openvino import opset13 as ops

        self.ops, self.np, self.int8 = ops, np, int8
        self.random = np.random.default_rng(1)

    def values(self, *shape, scale):
        return self.ops.constant(
            (self.random.standard_normal(shape) * scale).astype(self.np.float32)
        )

    def activation(self, x, least=0.0):
        """256 levels of [least, 8]."""
        if not self.int8:
            return x
        low, high = (self.ops.constant(self.np.float32(v)) for v in (least, 8 + least / 127))
        return self.ops.fake_quantize(x, low, high, low, high, 256)

    def filter(self, *shape):
        """255 levels around 0, with a scale for each output."""
        scale = (2 / self.np.prod(shape[1:])) ** 0.5
        values = self.random.standard_normal(shape) * scale
        result = self.ops.constant(values.astype(self.np.float32))
        if not self.int8:
            return result
        axes = tuple(range(1, len(shape)))
        most = self.np.abs(values).max(axis=axes, keepdims=True).astype(self.np.float32)
        low, high = self.ops.constant(-most), self.ops.constant(most)
        return self.ops.fake_quantize(result, low, high, low, high, 255)

    def conv(self, x, channels, filters, kernel, stride=1, relu=True, shortcut=None, pad=None):
        ops = self.ops
        pads = [kernel // 2 if pad is None else pad] * 2
        y = ops.convolution(
            x, self.filter(filters, channels, kernel, kernel), [stride] * 2, pads, pads, [1, 1]
        )
        y = ops.add(y, self.values(1, filters, 1, 1, scale=0.1))
        y = y if shortcut is None else ops.add(y, shortcut)
        return self.activation(ops.relu(y)) if relu else self.activation(y, least=-8.0)

    def pool(self, x, rounding="floor"):
        return self.ops.max_pool(
            x, [2, 2], [1, 1], [0, 0], [0, 0], [3, 3], rounding_type=rounding
        ).output(0)

    def means(self, x):
        return self.ops.reduce_mean(x, self.ops.constant(self.np.array([2, 3])), False)


def resnet50(batch, int8):
    """ResNet-50 with the layers of caffe2/model: the stride on the 3x3 convolutions, the pooling
    without padding."""
    from openvino import Model

    layers = Layers(int8)
    data = layers.ops.parameter([batch, 3, 224, 224], layers.np.float32)
    x = layers.pool(layers.conv(layers.activation(data, least=-8.0), 3, 64, 7, 2))
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        middle = 64 << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            shortcut = x if block else layers.conv(x, channels, 4 * middle, 1, stride, relu=False)
            y = layers.conv(layers.conv(x, channels, middle, 1), middle, middle, 3, stride)
            x = layers.conv(y, middle, 4 * middle, 1, shortcut=shortcut)
            channels = 4 * middle
    x = layers.activation(layers.means(x))
    x = layers.ops.matmul(x, layers.filter(1000, channels), False, True)
    return Model([layers.ops.softmax(x, 1)], [data])


def squeezenet(batch, int8):
    """SqueezeNet 1.1."""
    from openvino import Model

    layers = Layers(int8)
    data = layers.ops.parameter([batch, 3, 227, 227], layers.np.float32)
    x = layers.conv(layers.activation(data, least=-8.0), 3, 64, 3, 2, pad=0)
    channels = 64
    for number, (squeeze, expand) in enumerate(
        ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
    ):
        if number in (0, 2, 4):
            x = layers.pool(x, "ceil")
        y = layers.conv(x, channels, squeeze, 1)
        x = layers.ops.concat(
            [layers.conv(y, squeeze, expand, 1), layers.conv(y, squeeze, expand, 3)], 1
        )
        channels = 2 * expand
    x = layers.means(layers.conv(x, channels, 1000, 1))
    return Model([layers.ops.softmax(x, 1)], [data])


MODELS = {"ResNet-50": (resnet50, 224), "SqueezeNet": (squeezenet, 227)}


def time_peer(model, batch, dtype, threads, min_seconds):
    """Prints OpenVINO's median images a second as JSON."""
    import numpy as np
    import openvino

    build, size = MODELS[model]
    net = openvino.Core().compile_model(
        build(batch, dtype == "int8"),
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "bf16" if dtype == "bfloat16" else "f32",
        },
    )
    request = net.create_infer_request()
    image = np.random.default_rng(2).standard_normal((batch, 3, size, size)).astype(np.float32)
    rates, start = [], time.perf_counter()
    while len(rates) < 10 or time.perf_counter() - start < min_seconds:
        begin = time.perf_counter()
        request.infer({0: image}, share_inputs=True)
        rates.append(batch / (time.perf_counter() - begin))
    print(json.dumps({"median": statistics.median(rates)}))


def measure(command, args):
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
    output = subprocess.run(
        shlex.split(args.prefix) + command,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(output.splitlines()[-1])["median"]


def inference_command(model, batch, dtype, args):
    command = our_command(args, "net_inference", batch, dtype)
    if model == "SqueezeNet":
        command += [
            "--init_net",
            os.path.join(args.squeezenet, "init_net.pb"),
            "--predict_net",
            os.path.join(args.squeezenet, "predict_net.pb"),
            "--image_size",
            "227",
            "--order",
            "NCHW",
        ]
    return command


def main():
    args = parse_args()
    if args.peer:
        model, batch, dtype = args.peer
        time_peer(model, int(batch), dtype, args.threads, args.min_seconds)
        return
    print(f"{'images/s':32}{'ours':>10}{'OpenVINO':>10}{'ratio':>8}")
    cases = [
        (model, int(batch), dtype)
        for model in MODELS
        for dtype in DTYPES
        for batch in args.batches.split(",")
        if (model, dtype) != ("SqueezeNet", "bfloat16")  # files of nets are in float
    ]
    for model, batch, dtype in cases:
        name = f"{model} batch {batch} {dtype}"
        if args.only not in name or (model == "SqueezeNet" and not args.squeezenet):
            continue
        ours = inference_command(model, batch, dtype, args)
        peer = [
            sys.executable,
            __file__,
            "--threads",
            str(args.threads),
            "--min_seconds",
            str(args.min_seconds),
            "--peer",
            model,
            str(batch),
            dtype,
        ]
        rounds = [(measure(ours, args), measure(peer, args)) for _ in range(args.rounds)]
        a, b = (statistics.median(column) for column in zip(*rounds))
        print(f"{name:32}{a:10.1f}{b:10.1f}{a / b:8.2f}", flush=True)


if __name__ == "__main__":
    main()
