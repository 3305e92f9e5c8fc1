"""Times convolutional nets: ``python -m caffe2.python.convnet_benchmarks --model AlexNet --cpu``.

The nets come from https://github.com/soumith/convnet-benchmarks. Inputs are random; a run is
forward, or forward, backward and a plain update of the parameters.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper
from caffe2.python.models import resnet

_XAVIER: tuple[str, dict] = ("XavierFill", {})
_ZERO: tuple[str, dict] = ("ConstantFill", {})


def _model(name, order, cudnn_ws):
    arg_scope = {"order": order, "use_cudnn": True, "cudnn_exhaustive_search": True}
    if cudnn_ws is not None:
        arg_scope["ws_nbytes_limit"] = int(cudnn_ws)
    return ModelHelper(name=name, arg_scope=arg_scope)


def _conv(model, x, name, dim_in, dim_out, kernel, **kwargs):
    y = brew.conv(model, x, name, dim_in, dim_out, kernel, weight_init=_XAVIER, bias_init=_ZERO,
                  **kwargs)
    return brew.relu(model, y, y)


def _classifier(model, x, dims):
    """Fully connected layers of these widths, from dims[0] inputs to dims[-1] classes, and loss."""
    for i, (dim_in, dim_out) in enumerate(zip(dims, dims[1:])):
        x = brew.fc(model, x, f"fc{i + 6}", dim_in, dim_out, _XAVIER, _ZERO)
        if i + 2 < len(dims):
            x = brew.relu(model, x, x)
    prediction = brew.softmax(model, x, "pred")
    xent = model.net.LabelCrossEntropy([prediction, "label"], "xent")
    model.net.AveragedLoss(xent, "loss")


def MLP(order: str, cudnn_ws: int | None) -> tuple[ModelHelper, int]:
    """Eight stacks of sixteen fully connected layers of width 1000; input [batch, 1000]."""
    model = _model("MLP", order, cudnn_ws)
    width, layers, stacks = 1000, 16, 8
    outputs = []
    for stack in range(stacks):
        x: BlobLike = "data"
        for layer in range(layers):
            x = brew.fc(model, x, f"fc_{layer}_{stack}", width, width, _XAVIER, _XAVIER)
        outputs.append(x)
    total = brew.sum(model, outputs, "stacks")
    _classifier(model, total, [width, width])
    return model, width


def AlexNet(order: str, cudnn_ws: int | None) -> tuple[ModelHelper, int]:
    """One tower; input 224 x 224."""
    model = _model("alexnet", order, cudnn_ws)
    x = _conv(model, "data", "conv1", 3, 64, 11, stride=4, pad=2)
    x = brew.max_pool(model, x, "pool1", kernel=3, stride=2)
    x = _conv(model, x, "conv2", 64, 192, 5, pad=2)
    x = brew.max_pool(model, x, "pool2", kernel=3, stride=2)
    x = _conv(model, x, "conv3", 192, 384, 3, pad=1)
    x = _conv(model, x, "conv4", 384, 256, 3, pad=1)
    x = _conv(model, x, "conv5", 256, 256, 3, pad=1)
    x = brew.max_pool(model, x, "pool5", kernel=3, stride=2)
    _classifier(model, x, [256 * 6 * 6, 4096, 4096, 1000])
    return model, 224


def OverFeat(order: str, cudnn_ws: int | None) -> tuple[ModelHelper, int]:
    """The fast variant; input 231 x 231."""
    model = _model("overfeat", order, cudnn_ws)
    x = _conv(model, "data", "conv1", 3, 96, 11, stride=4)
    x = brew.max_pool(model, x, "pool1", kernel=2, stride=2)
    x = _conv(model, x, "conv2", 96, 256, 5)
    x = brew.max_pool(model, x, "pool2", kernel=2, stride=2)
    x = _conv(model, x, "conv3", 256, 512, 3, pad=1)
    x = _conv(model, x, "conv4", 512, 1024, 3, pad=1)
    x = _conv(model, x, "conv5", 1024, 1024, 3, pad=1)
    x = brew.max_pool(model, x, "pool5", kernel=2, stride=2)
    _classifier(model, x, [1024 * 6 * 6, 3072, 4096, 1000])
    return model, 231


def VGGA(order: str, cudnn_ws: int | None) -> tuple[ModelHelper, int]:
    """Eleven layers; input 231 x 231."""
    model = _model("vgga", order, cudnn_ws)
    x: BlobLike = "data"
    dim, layer = 3, 0
    for stage, widths in enumerate(([64], [128], [256, 256], [512, 512], [512, 512])):
        for width in widths:
            layer += 1
            x = _conv(model, x, f"conv{layer}", dim, width, 3, pad=1)
            dim = width
        x = brew.max_pool(model, x, f"pool{stage + 1}", kernel=2, stride=2)
    _classifier(model, x, [512 * 7 * 7, 4096, 4096, 1000])
    return model, 231


def _inception_module(model, x, name, dim_in, conv1, conv3, conv5, pool):
    """Branches 1x1 of `conv1` channels, 3x3 and 5x5 of (reduced, output) channels, and a pooled
    one of `pool` channels, concatenated."""
    branches = [_conv(model, x, f"{name}:conv1", dim_in, conv1, 1)]
    for kernel, (reduced, dim_out) in ((3, conv3), (5, conv5)):
        y = _conv(model, x, f"{name}:conv{kernel}_reduce", dim_in, reduced, 1)
        branches.append(
            _conv(model, y, f"{name}:conv{kernel}", reduced, dim_out, kernel, pad=kernel // 2))
    y = brew.max_pool(model, x, f"{name}:pool", kernel=3, stride=1, pad=1)
    branches.append(_conv(model, y, f"{name}:pool_proj", dim_in, pool, 1))
    return brew.concat(model, branches, name)


# The modules of GoogLeNet (table 1 of Szegedy et al., "Going deeper with convolutions"); None
# stands for a pooling layer.
_INCEPTION = (
    (192, 64, (96, 128), (16, 32), 32), (256, 128, (128, 192), (32, 96), 64), None,
    (480, 192, (96, 208), (16, 48), 64), (512, 160, (112, 224), (24, 64), 64),
    (512, 128, (128, 256), (24, 64), 64), (512, 112, (144, 288), (32, 64), 64),
    (528, 256, (160, 320), (32, 128), 128), None,
    (832, 256, (160, 320), (32, 128), 128), (832, 384, (192, 384), (48, 128), 128))


def Inception(order: str, cudnn_ws: int | None) -> tuple[ModelHelper, int]:
    """GoogLeNet without its auxiliary classifiers; input 224 x 224."""
    model = _model("inception", order, cudnn_ws)
    x = _conv(model, "data", "conv1", 3, 64, 7, stride=2, pad=3)
    x = brew.max_pool(model, x, "pool1", kernel=3, stride=2, pad=1)
    x = _conv(model, x, "conv2a", 64, 64, 1)
    x = _conv(model, x, "conv2", 64, 192, 3, pad=1)
    x = brew.max_pool(model, x, "pool2", kernel=3, stride=2, pad=1)
    for i, sizes in enumerate(_INCEPTION):
        if sizes is None:
            x = brew.max_pool(model, x, f"pool_inc{i}", kernel=3, stride=2, pad=1)
        else:
            x = _inception_module(model, x, f"inc{i}", *sizes)
    x = brew.average_pool(model, x, "pool9", kernel=7, stride=1)
    _classifier(model, x, [1024, 1000])
    return model, 224


def ResNet50(order: str, cudnn_ws: int | None) -> tuple[ModelHelper, int]:
    """Input 224 x 224."""
    model = _model("resnet50", order, cudnn_ws)
    resnet.create_resnet50(model, "data", 3, 1000, label="label", no_bias=True)
    return model, 224


MODELS = {f.__name__: f for f in (MLP, AlexNet, OverFeat, VGGA, Inception, ResNet50)}


def AddParameterUpdate(model: ModelHelper) -> None:
    """Adds a plain step of gradient descent for each parameter."""
    iteration = brew.iter(model, "iter")
    rate = model.net.LearningRate(
        iteration, "LR", base_lr=-1e-8, policy="step", stepsize=10000, gamma=0.999)
    one = model.param_init_net.ConstantFill([], "ONE", shape=[1], value=1.0)
    for param in model.params:
        gradient: Any = model.param_to_grad[param]  # dense in these nets
        model.net.WeightedSum([param, one, gradient, rate], param)


def _add_input(model, order, batch_size, input_size, device):
    if model.net.Name().startswith("MLP"):
        shape = [batch_size, input_size]
    elif order == "NCHW":
        shape = [batch_size, 3, input_size, input_size]
    else:
        shape = [batch_size, input_size, input_size, 3]
    labels = np.random.RandomState(0).randint(0, 1000, batch_size).astype(np.int32)
    model.param_init_net.GaussianFill([], "data", shape=shape, mean=0.0, std=1.0)
    workspace.FeedBlob("label", labels, device)


def Benchmark(model_gen: Callable[[str, int | None], tuple[ModelHelper, int]],
              arg: argparse.Namespace) -> float:
    """Builds a net as the options say, times it, and returns milliseconds per iteration."""
    model, input_size = model_gen(arg.order, arg.cudnn_ws)
    device = core.DeviceOption(caffe2_pb2.CPU if arg.cpu else caffe2_pb2.CUDA)
    model.net.Proto().type = arg.net_type
    model.net.Proto().num_workers = arg.num_workers
    _add_input(model, arg.order, arg.batch_size, input_size, device)
    if not arg.forward_only:
        model.AddGradientOperators(["loss"])
        AddParameterUpdate(model)
    if not arg.cpu:
        model.RunAllOnGPU()
    if arg.dump_model:
        with open(f"{arg.model}_init_batch_{arg.batch_size}.pbtxt", "w") as f:
            f.write(str(model.param_init_net.Proto()))
        with open(f"{arg.model}.pbtxt", "w") as f:
            f.write(str(model.net.Proto()))
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    workspace.RunNet(model.net, arg.warmup_iterations)
    start = time.perf_counter()
    workspace.RunNet(model.net, arg.iterations)
    milliseconds = (time.perf_counter() - start) * 1000 / arg.iterations
    images = 1000 * arg.batch_size / milliseconds
    print(f"{arg.model}, batch {arg.batch_size}, {'forward' if arg.forward_only else 'training'}: "
          f"{milliseconds:.2f} ms an iteration, {images:.1f} images/s")
    if arg.layer_wise_benchmark:
        times = workspace.BenchmarkNet(model.net, 1, arg.iterations, True)[1:]
        for op, time_ms in zip(model.net.Proto().op, times):
            print(f"{time_ms:10.3f} ms  {op.type} {op.output[0] if op.output else ''}")
    return milliseconds


def GetArgumentParser() -> argparse.ArgumentParser:
    """The parser of the program's flags."""
    parser = argparse.ArgumentParser(description="Caffe2 benchmark.")
    parser.add_argument("--batch_size", type=int, default=128, help="images in a batch")
    parser.add_argument("--model", choices=sorted(MODELS), help="the net to time")
    parser.add_argument("--order", choices=["NCHW", "NHWC"], default="NCHW")
    parser.add_argument("--cudnn_ws", type=int, default=64 * 1024 * 1024,
                        help="workspace of cuDNN in bytes")
    parser.add_argument("--iterations", type=int, default=10, help="iterations to time")
    parser.add_argument("--warmup_iterations", type=int, default=10,
                        help="iterations before the timing starts")
    parser.add_argument("--forward_only", action="store_true", help="time the forward pass only")
    parser.add_argument("--layer_wise_benchmark", action="store_true",
                        help="also time each operator")
    parser.add_argument("--cpu", action="store_true", help="run on the CPU")
    parser.add_argument("--dump_model", action="store_true", help="write the nets as text")
    parser.add_argument("--net_type", default="simple", help="the executor")
    parser.add_argument("--num_workers", type=int, default=2, help="threads of a parallel executor")
    return parser


def main() -> None:
    """Times the net that the command line names."""
    parser = GetArgumentParser()
    args, flags = parser.parse_known_args()
    if args.batch_size <= 0 or args.iterations <= 0 or args.model is None:
        parser.error("--model, and positive --batch_size and --iterations are needed")
    core.GlobalInit(["caffe2", *flags])
    Benchmark(MODELS[args.model], args)


if __name__ == "__main__":
    main()
