"""The command `doppio convert`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from caffe2.python.convert import formats
from caffe2.python.convert.calibration import describe_images
from caffe2.python.convert.channels import swap_channels
from caffe2.python.convert.command_line import (
    Parser,
    input_shape,
    pixel_divisors,
    pixel_values,
    positive,
    set_shapes,
)
from caffe2.python.convert.errors import USAGE, ConvertError, plain, run_command


def _parser(name):
    parser = Parser(
        prog=name, description="Turns a model into another format.",
        examples=("model.mdl model.onnx",
                  "model.onnx model.mdl --mean 104,117,123 --std 58,57,57",
                  "resnet18.pth resnet18.mdl"),
        notes=f"Formats by name: {formats.KNOWN}.")
    parser.add_argument("source", help="the model to read")
    parser.add_argument("target", help="the model to write; a file that is there is replaced")
    parser.add_argument("--like", metavar="MODEL", help="a model whose net belongs to the "
                        "parameters of SOURCE; torchvision's ResNets need none")
    parser.add_argument("--names", choices=("torchvision", "caffe2"),
                        help="names of parameters in .safetensors and .pth; default: torchvision's "
                        "for ResNets, else the names of the blobs")
    parser.add_argument("--input_shape", action="append", default=[], type=input_shape,
                        metavar="[NAME=]3,224,224", help="the shape of an input without the batch, "
                        "if the file does not have it; of images, predict takes its size")
    parser.add_argument("--mean", type=pixel_values, metavar="B,G,R",
                        help="number that is subtracted from pixels (0 to 255), or blue,green,red: "
                        "kept in the written model for predict, but not in .pth")
    parser.add_argument("--std", type=pixel_divisors, metavar="B,G,R",
                        help="number that pixels are divided by after that, likewise")
    parser.add_argument("--batch_size", type=positive, metavar="N",
                        help="for ONNX: only batches of this many images; default: any")
    parser.add_argument("--swap_channels", action="store_true",
                        help="the net takes images blue, green, red that it took red, green, blue, "
                        "or the other way round")
    return parser


def _convert(options):
    kind = formats.check_target(options.target)
    if kind == "torch" and (options.mean or options.std):
        raise ConvertError(f"{options.target} cannot hold --mean and --std: only .mdl, .onnx and "
                           ".safetensors files and nets can; leave them out", USAGE)
    if options.batch_size is not None and kind != "onnx":
        raise ConvertError(f"{options.target} has no batch size: --batch_size is only for ONNX; "
                           "leave it out", USAGE)
    if formats.format_of(options.source) == "net":
        raise ConvertError(f"{options.source} alone has no parameters: name two nets as "
                           "init_net.pb,predict_net.pb", USAGE)
    like = formats.read(options.like) if options.like else None
    model = formats.read(options.source, like)
    set_shapes(model, options.input_shape)
    describe_images(model, options.mean, options.std)
    if options.swap_channels:
        swap_channels(model)
    formats.write(model, options.target, options.names, options.batch_size)
    for note in model.notes:
        print(plain(f"note: {note}"), file=sys.stderr)
    print(f"wrote {formats.written(options.target)}")
    return 0


def main(words: Sequence[str], name: str = "python -m caffe2.python.convert") -> int:
    """Runs the command; returns its exit status."""
    return run_command(name, lambda: _convert(_parser(name).parse(words)))

