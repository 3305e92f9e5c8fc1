#!/usr/bin/env python3
"""PyTorch trains a small residual net on CIFAR-10, as a peer of resnet50_trainer's resnet9_cifar.
time_to_accuracy.py runs it.

usage: torch_cifar10.py --data DIRECTORY [--compile reduce-overhead] [--device cpu --limit 2000]

On a GPU: channels_last, autocast to float16 with a GradScaler, cuDNN's benchmark mode, a fused
optimizer. On the CPU: float, or autocast to bfloat16 with --dtype. The device holds all images as
bytes, and augments an epoch of them at once. Prints after each epoch the seconds since the first
iteration, the share of test images that are right, and the loss of the last batch. All images are
in memory by then, the model is compiled, and a warm-up has run, whose effects are undone.
"""
from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

SIZE = 32  # of an image
MEAN, STD = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)  # red, green, blue
TEST_BATCH = 1000


def parse_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with train/CLASS and test/CLASS")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--dtype", choices=["float", "float16", "bfloat16"],
                        help="default: float16 on a GPU, float on the CPU")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=0.4)
    parser.add_argument("--warmup", type=float, default=2, help="epochs")
    parser.add_argument("--decay", type=float, default=5e-4)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--pad", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2,
                        help="threads that decode, and that compute on the CPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", default="", metavar="MODE", help="of torch.compile")
    parser.add_argument("--limit", type=int, default=0, help="training images to use; 0: all")
    args = parser.parse_args()
    args.dtype = args.dtype or ("float16" if args.device == "cuda" else "float")
    return args


def decode(path):
    """The pixels of an image: rows, columns, colours."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def read_part(folder, threads, limit=0):
    """Bytes N,32,32,3 and labels, the numbers of the sorted folders. With a limit, so many images
    of all classes."""
    classes = sorted(path for path in Path(folder).iterdir() if path.is_dir())
    files = [(path, label) for label, folder in enumerate(classes)
             for path in sorted(folder.glob("*.jpg"))]
    if limit:
        limit = min(limit, len(files))
        files = [files[k * len(files) // limit] for k in range(limit)]
    with multiprocessing.Pool(threads) as pool:
        pixels = pool.map(decode, [path for path, _ in files], chunksize=250)
    return torch.from_numpy(np.stack(pixels)), torch.tensor([label for _, label in files])


def conv(filters_in, filters, *more):
    """A 3x3 convolution, batch normalization, and what follows."""
    return nn.Sequential(nn.Conv2d(filters_in, filters, 3, padding=1, bias=False),
                         nn.BatchNorm2d(filters, eps=1e-3, momentum=0.1), *more)


class Residual(nn.Module):
    """Two convolutions beside the identity."""

    def __init__(self, filters):
        super().__init__()
        self.body = nn.Sequential(conv(filters, filters, nn.ReLU(inplace=True)),
                                  conv(filters, filters))

    def forward(self, x):
        """The sum, after ReLU."""
        return torch.relu(x + self.body(x))


class ResNet9(nn.Sequential):
    """The net. Its last pool sees 4x4 pixels: all."""

    def __init__(self):
        def pooled(filters_in, filters):
            return conv(filters_in, filters, nn.ReLU(inplace=True), nn.MaxPool2d(2))

        super().__init__(
            conv(3, 64, nn.ReLU(inplace=True)), pooled(64, 128), Residual(128), pooled(128, 256),
            pooled(256, 512), Residual(512), nn.MaxPool2d(SIZE // 8), nn.Flatten(),
            nn.Linear(512, 10))
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):  # Caffe2's MSRAFill
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(layer, nn.Linear):  # Caffe2's XavierFill
                bound = (3 / layer.in_features) ** 0.5
                nn.init.uniform_(layer.weight, -bound, bound)
                nn.init.zeros_(layer.bias)

    def forward(self, x):
        """The scores."""
        return super().forward(x) * 0.125


def normalize(pixels, dtype):
    """Pixels in rows, columns, colours as the input of the net, N,3,H,W in channels_last."""
    mean, std = (torch.tensor(values, device=pixels.device) for values in (MEAN, STD))
    return ((pixels - mean) / std).to(dtype).permute(0, 3, 1, 2)


def augment(padded, chosen, corners, mirrored, dtype):
    """The chosen images, cut at the corners and some mirrored, as the input of the net."""
    steps = torch.arange(SIZE, device=padded.device)
    rows = corners[0][:, None] + steps
    columns = corners[1][:, None] + torch.where(mirrored[:, None], SIZE - 1 - steps, steps)
    return normalize(padded[chosen[:, None, None], rows[:, :, None], columns[:, None, :]], dtype)


def make_optimizer(model, decay):
    """As Caffe2, it decays filters and the scales of batch normalization, but no biases."""
    weights = [value for name, value in model.named_parameters() if name.endswith("weight")]
    biases = [value for name, value in model.named_parameters() if name.endswith("bias")]
    groups = [{"params": weights, "weight_decay": decay}, {"params": biases, "weight_decay": 0}]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True, fused=True)


class Trainer:
    """Trains a model on images in the memory of the device."""

    def __init__(self, args, train, test):
        self.args = args
        self.dtype = getattr(torch, args.dtype)
        self.narrow = self.dtype != torch.float32
        pixels, self.labels = (part.to(args.device) for part in train)
        self.padded = nn.functional.pad(pixels, [0, 0] + [args.pad] * 4)  # black
        self.test_images = normalize(test[0].to(args.device), self.dtype)
        self.test_labels = test[1].to(args.device)
        self.steps = len(self.labels) // args.batch  # in an epoch
        self.model = ResNet9().to(args.device, memory_format=torch.channels_last)
        self.optimizer = make_optimizer(self.model, args.decay)
        self.scaler = torch.amp.GradScaler(args.device, enabled=self.dtype == torch.float16)
        self.augment = augment
        if args.compile:
            self.augment = torch.compile(augment)
            self.loss_of = torch.compile(self.loss_of, mode=args.compile)
            self.scores_of = torch.compile(self.scores_of, mode=args.compile)

    def autocast(self):
        """Within it, products are in the narrow type, if there is one."""
        return torch.autocast(self.args.device, dtype=self.dtype, enabled=self.narrow)

    def scores_of(self, images):
        """The scores of the labels."""
        with self.autocast():
            return self.model(images)

    def loss_of(self, images, labels):
        """The mean loss of a batch."""
        with self.autocast():
            return nn.functional.cross_entropy(
                self.model(images), labels, label_smoothing=self.args.smoothing)

    def rate(self, step):
        """The learning rate. As in Caffe2, steps count from 1, and the last one has rate 0."""
        step += 1
        warmup = int(self.args.warmup * self.steps)
        if step <= warmup:
            return self.args.rate * (0.1 + 0.9 * step / warmup)
        return self.args.rate * (1 - step / (self.args.epochs * self.steps))

    def batches(self):
        """Images and labels of an epoch, in batches. A last, smaller one is left out."""
        device, count = self.args.device, self.steps * self.args.batch
        chosen = torch.randperm(len(self.labels), device=device)[:count]
        corners = torch.randint(2 * self.args.pad + 1, (2, count), device=device)
        mirrored = torch.rand(count, device=device) < 0.5
        images = self.augment(self.padded, chosen, corners, mirrored, self.dtype)
        return zip(images.split(self.args.batch), self.labels[chosen].split(self.args.batch))

    def step(self, images, labels, rate):
        """Trains on a batch, and returns its loss without waiting for the GPU."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(images, labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def test(self):
        """The share of test images that the model labels right."""
        self.model.eval()
        parts = zip(self.test_images.split(TEST_BATCH), self.test_labels.split(TEST_BATCH))
        with torch.inference_mode():
            right = sum((self.scores_of(a).argmax(1) == b).sum() for a, b in parts)
        self.model.train()
        return right.item() / len(self.test_labels)

    def warm_up(self):
        """Compiles all, lets cuDNN measure and CUDA graphs be recorded, and undoes the training."""
        before = {name: value.clone() for name, value in self.model.state_dict().items()}
        scale = self.scaler.state_dict()
        for _ in range(2):
            for _, (images, labels) in zip(range(4), self.batches()):
                self.step(images, labels, 0)
            self.test()
        self.model.load_state_dict(before)
        self.scaler.load_state_dict(scale)
        for state in self.optimizer.state.values():
            state["momentum_buffer"].zero_()

    def run(self):
        """Trains, and prints a line for each epoch."""
        start = time.perf_counter()
        for epoch in range(self.args.epochs):
            for n, (images, labels) in enumerate(self.batches()):
                loss = self.step(images, labels, self.rate(epoch * self.steps + n))
            last = loss.item()  # before the graph of the test takes the memory
            accuracy = self.test()
            print(f"{time.perf_counter() - start:.3f} {accuracy:.4f} {last:.4f}", flush=True)


def main():
    """Reads the images, and trains."""
    args = parse_args()
    torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True
    train = read_part(f"{args.data}/train", args.threads, args.limit)
    test = read_part(f"{args.data}/test", args.threads)
    torch.manual_seed(args.seed)
    trainer = Trainer(args, train, test)
    trainer.warm_up()
    if args.device == "cuda":
        torch.cuda.synchronize()
    trainer.run()


if __name__ == "__main__":
    main()
