"""The command `doppio inspect`."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence

from caffe2.python.convert import formats
from caffe2.python.convert.command_line import Parser, input_shape, positive, set_shapes
from caffe2.python.convert.errors import plain, run_command
from caffe2.python.convert.files import whole_file
from caffe2.python.convert.layers import draw, layers_of


def _parser(name):
    parser = Parser(
        prog=name, description="Shows the layers of a model.",
        examples=("model.mdl", "model.onnx --input_shape 3,224,224 --svg net.svg",
                  "model.mdl --json"),
        notes=f"Formats by name: {formats.KNOWN}, or predict_net.pb alone.")
    parser.add_argument("model", help="the model to read")
    parser.add_argument("--like", metavar="MODEL", help="a model whose net belongs to the "
                        "parameters of MODEL; torchvision's ResNets need none")
    parser.add_argument("--input_shape", action="append", default=[], type=input_shape,
                        metavar="[NAME=]3,224,224", help="the shape of an input without the batch")
    parser.add_argument("--batch_size", type=positive, default=1, metavar="N",
                        help="images in a batch; default: 1")
    parser.add_argument("--svg", metavar="FILE", help="also draw the net")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _dims(shape):
    return "?" if shape is None else "x".join(map(str, shape)) or "1"


def _rows(layers):
    yield "operator", "output", "shape", "parameters", "FLOPs"
    for layer in layers:
        yield (plain(layer.type), plain(layer.output), _dims(layer.shape), f"{layer.parameters:,}",
               "?" if layer.flops is None else f"{layer.flops:,}")


def _totals(layers):
    unknown = sum(layer.flops is None for layer in layers)
    return {"parameters": sum(layer.parameters for layer in layers),
            "running_statistics": sum(layer.running_statistics for layer in layers),
            "flops": sum(layer.flops or 0 for layer in layers), "unknown_flops": unknown}


def _print_table(model, layers, without_parameters):
    rows = list(_rows(layers))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for name in model.inputs:
        shape = model.shapes.get(name)
        print(f"input {plain(name)}: {'?' if shape is None else _dims(['N', *shape[1:]])}")
    for row in rows:
        words = [word.rjust(width) if i > 2 else word.ljust(width)
                 for i, (word, width) in enumerate(zip(row, widths))]
        print("  ".join(words))
    totals = _totals(layers)
    others, running = totals["unknown_flops"], totals["running_statistics"]
    print(f"{len(layers)} operators, {totals['parameters']:,} parameters, "
          + (f"{running:,} running statistics, " if running else "")
          + f"{totals['flops']:,} FLOPs" + (f", not counting {others} operators" if others else ""))
    shape = "" if model.shapes else " --input_shape 3,224,224"
    if without_parameters and any(layer.shape is None for layer in layers):
        print("the shapes of filters are unknown without the init net: give both nets, "
              f"init_net.pb,predict_net.pb{shape}")
    elif shape:
        print(f"give the shape of the input for shapes and FLOPs:{shape}")
    for key, value in sorted(model.info.items()):
        print(plain(f"{key}: {', '.join(value.splitlines())}"))


def _inspect(options):
    like = formats.read(options.like) if options.like else None
    model = formats.read(options.model, like)
    set_shapes(model, options.input_shape)
    layers = layers_of(model, options.batch_size)
    if options.svg:
        picture = draw(model, layers)
        with whole_file(options.svg) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(picture)
    if options.json:
        print(json.dumps({
            "inputs": {name: model.shapes.get(name) for name in model.inputs},
            "outputs": model.outputs, "info": model.info,
            "layers": [dataclasses.asdict(layer) for layer in layers], **_totals(layers)}))
    else:
        _print_table(model, layers, formats.format_of(options.model) == "net")
    return 0


def main(words: Sequence[str],
         name: str = "python -m caffe2.python.convert.inspect_command") -> int:
    """Runs the command; returns its exit status."""
    return run_command(name, lambda: _inspect(_parser(name).parse(words)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
