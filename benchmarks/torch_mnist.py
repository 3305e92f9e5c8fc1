#!/usr/bin/env python3
"""PyTorch trains LeNet on MNIST on the CPU, as a peer of mnist_trainer. time_to_accuracy.py runs
it.

usage: torch_mnist.py --data DIRECTORY [--compile MODE]

Momentum SGD, whose rate falls to zero at the end of the last epoch. Prints after each epoch the
seconds since the first iteration and the share of test images that are right. All images are in
memory by then, and the model is compiled.
"""
from __future__ import annotations

import argparse
import gzip
import time

import numpy as np
import torch
from torch import nn


def parse_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of the four files, gzipped")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.03)
    parser.add_argument("--decay", type=float, default=1e-4)
    parser.add_argument("--smoothing", type=float, default=0)
    parser.add_argument("--pad", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", default="", metavar="MODE", help="of torch.compile")
    return parser.parse_args()


def read(folder, name, offset):
    """The bytes of a file after its header, as a tensor."""
    with gzip.open(f"{folder}/{name}.gz") as file:
        return torch.from_numpy(np.frombuffer(file.read(), np.uint8, offset=offset).copy())


def read_part(folder, part):
    """Images from 0 to 1, N,1,28,28, and labels."""
    images = read(folder, f"{part}-images-idx3-ubyte", 16).view(-1, 1, 28, 28)
    return images.float() / 255, read(folder, f"{part}-labels-idx1-ubyte", 8).long()


def lenet():
    """The net, with the parameters of Caffe2's XavierFill."""
    model = nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.MaxPool2d(2, 2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    for layer in model:
        if hasattr(layer, "weight"):
            bound = (3 / layer.weight[0].numel()) ** 0.5
            nn.init.uniform_(layer.weight, -bound, bound)
            nn.init.zeros_(layer.bias)
    return model


def crop(padded, chosen, pad):
    """Random parts of 28x28 of the chosen images."""
    top, left = torch.randint(0, 2 * pad + 1, (2, len(chosen)))
    rows = (top[:, None] + torch.arange(28))[:, None, :, None]
    columns = (left[:, None] + torch.arange(28))[:, None, None, :]
    return padded[chosen[:, None, None, None], 0, rows, columns]


def test(model, images, labels):
    """The share of images that the model labels right."""
    model.eval()
    with torch.inference_mode():
        right = sum((model(a).argmax(1) == b).sum().item()
                    for a, b in zip(images.split(1000), labels.split(1000)))
    model.train()
    return right / len(labels)


def main():
    """Trains, and prints a line for each epoch."""
    args = parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    images, labels = read_part(args.data, "train")
    test_images, test_labels = read_part(args.data, "t10k")
    padded = nn.functional.pad(images, [args.pad] * 4)
    model = lenet()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.rate, momentum=0.9, weight_decay=args.decay)
    steps = args.epochs * (len(images) // args.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    forward = torch.compile(model, mode=args.compile) if args.compile else model

    def loss_of(images, labels):
        return nn.functional.cross_entropy(
            forward(images), labels, label_smoothing=args.smoothing)

    if args.compile:
        loss_of(images[:args.batch], labels[:args.batch]).backward()
        optimizer.zero_grad(set_to_none=True)
    start = time.perf_counter()
    for _ in range(args.epochs):
        order = torch.randperm(len(images))
        for at in range(0, len(images) - args.batch + 1, args.batch):
            chosen = order[at:at + args.batch]
            data = crop(padded, chosen, args.pad) if args.pad else images[chosen]
            optimizer.zero_grad(set_to_none=True)
            loss_of(data, labels[chosen]).backward()
            optimizer.step()
            schedule.step()
        accuracy = test(model, test_images, test_labels)
        print(f"{time.perf_counter() - start:.2f} {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
