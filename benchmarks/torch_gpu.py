#!/usr/bin/env python3
"""Images per second of PyTorch on synthetic input on one GPU, as a peer of net_training and
net_inference.

usage: torch_gpu.py --model resnet50|resnet18|lenet --mode train|infer --batch 256
           --dtype float|bfloat16|float16 [--compile MODE] [--tf32]

channels_last, autocast for the 16-bit types (inference in the type itself), momentum SGD with
fused=True, cuDNN's benchmark mode; TF32 for float if asked for. Eager, or with --compile through
torch.compile in that mode (reduce-overhead and max-autotune record CUDA graphs). Prints one JSON
line with "median", images a second, and "peak_mib", the most memory that tensors took.
"""
import argparse
import json
import statistics
import time

import torch
import torchvision

DTYPES = {"float": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def lenet():
    """The network of caffe2's MNIST tutorial, for 28x28."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.MaxPool2d(2, 2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def resnet18():
    """ResNet-18 for 32x32: a first layer of 3x3 without stride, and no pooling after it."""
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = torch.nn.Identity()
    return model


# The model, the shape of an image, and the number of classes.
MODELS = {
    "resnet50": (torchvision.models.resnet50, (3, 224, 224), 1000),
    "resnet18": (resnet18, (3, 32, 32), 10),
    "lenet": (lenet, (1, 28, 28), 10),
}


def make_input(args):
    """Images of the model's shape, and labels."""
    _, shape, classes = MODELS[args.model]
    images = torch.randn(args.batch, *shape, device="cuda")
    labels = torch.randint(0, classes, (args.batch,), device="cuda")
    return images.to(memory_format=torch.channels_last), labels


def make_model(args):
    """The model on the GPU, channels last."""
    return MODELS[args.model][0]().cuda().to(memory_format=torch.channels_last)


def training_step(args):
    """A function that does one training step and does not wait for the GPU."""
    dtype = DTYPES[args.dtype]
    model = make_model(args).train()
    images, labels = make_input(args)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4, fused=True)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)

    def loss_of(images, labels):
        with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
            return torch.nn.functional.cross_entropy(model(images), labels)

    if args.compile:
        loss_of = torch.compile(loss_of, mode=args.compile)

    def step():
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss_of(images, labels)).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def inference_step(args):
    """A function that runs the model once and does not wait for the GPU."""
    model = make_model(args).eval().to(DTYPES[args.dtype])
    images = make_input(args)[0].to(DTYPES[args.dtype])
    forward = torch.compile(model, mode=args.compile) if args.compile else model

    def step():
        with torch.inference_mode():
            forward(images)

    return step


def measure(step, batch):
    """Images a second of ten rounds of ten steps, after a warm-up."""
    for _ in range(5):
        step()
    rates = []
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        rates.append(10 * batch / (time.perf_counter() - start))
    return rates


def main():
    """Measures what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=sorted(MODELS), default="resnet50")
    parser.add_argument("--mode", choices=["train", "infer"], default="train")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="bfloat16")
    parser.add_argument("--compile", default="", metavar="MODE")
    parser.add_argument("--tf32", action="store_true", help="CAFFE2_CUDA_TF32=1 for ours")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = args.tf32
    step = training_step(args) if args.mode == "train" else inference_step(args)
    rates = measure(step, args.batch)
    name = "/".join(["torch", args.model, args.mode, f"b{args.batch}", args.dtype,
                     args.compile or "eager"])
    print(json.dumps({"name": name, "median": round(statistics.median(rates), 1),
                      "peak_mib": torch.cuda.max_memory_allocated() >> 20}))


if __name__ == "__main__":
    main()
