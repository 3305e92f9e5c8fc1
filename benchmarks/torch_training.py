#!/usr/bin/env python3
"""Images per second of PyTorch training torchvision's ResNet-50 on synthetic input on one GPU.

usage: torch_training.py --batch 256 --dtype float|bfloat16|float16

Eager, channels_last, autocast for the 16-bit types, momentum SGD with fused=True; TF32 off for
float. Prints one JSON line with "median", images a second.
"""
import argparse
import json
import statistics
import time

import torch
import torchvision


def step(model, images, labels, optimizer, scaler, dtype):
    """One training step; returns nothing and does not wait for the GPU."""
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def main():
    """Measures ten rounds of ten steps after a warm-up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--dtype", choices=["float", "bfloat16", "float16"], default="bfloat16")
    args = parser.parse_args()
    dtype = {"float": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[
        args.dtype
    ]
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last).train()
    images = torch.randn(args.batch, 3, 224, 224, device="cuda")
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (args.batch,), device="cuda")
    optimizer = torch.optim.SGD(
        model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4, fused=True
    )
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
    for _ in range(5):
        step(model, images, labels, optimizer, scaler, dtype)
    rates = []
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(10):
            step(model, images, labels, optimizer, scaler, dtype)
        torch.cuda.synchronize()
        rates.append(10 * args.batch / (time.perf_counter() - start))
    print(json.dumps({"name": f"torch/resnet50/b{args.batch}/{args.dtype}",
                      "median": round(statistics.median(rates), 1)}))


if __name__ == "__main__":
    main()
