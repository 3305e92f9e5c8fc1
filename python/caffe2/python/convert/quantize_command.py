"""The command `doppio quantize`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from caffe2.python.convert import formats
from caffe2.python.convert.calibration import (
    count_images,
    image_batches,
    image_info,
    images_that_do_not_fit,
    preparation_of,
)
from caffe2.python.convert.command_line import (
    Parser,
    pixel_divisors,
    pixel_values,
    positive,
)
from caffe2.python.convert.errors import USAGE, ConvertError, run_command
from caffe2.python.convert.progress import with_progress
from caffe2.python.quantize import RANGES, quantize_model


def _parser(name):
    parser = Parser(
        prog=name,
        description="Turns the floats of a trained model into levels of 8 bits, which "
        "compute faster. Their ranges follow from example images.",
        examples=(
            "model.mdl --calibration_data photos",
            "model.mdl --calibration_data train_db --num_images 500 --output small.mdl",
        ),
        notes=f"Formats by name: {formats.KNOWN}. The result is a .mdl, or two nets. Give images "
        "as the program predict does; what the model says about them is the default.",
    )
    parser.add_argument("model", help="the model to read")
    parser.add_argument(
        "--calibration_data",
        required=True,
        metavar="DB|FOLDER",
        help="images like those that the model is for: a database, a data set as "
        "it is published, or a folder of image files; of one with training and test images the "
        "training images",
    )
    parser.add_argument(
        "--num_images",
        type=positive,
        default=100,
        metavar="N",
        help="how many of them to run, chosen at random but always the same; default: 100",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="the model to write; a file that is there "
        "is replaced. Default: MODEL with _int8 before the end of its name",
    )
    parser.add_argument(
        "--ranges",
        choices=RANGES,
        default="mse",
        help="the range of an activation: with the least squared error, or of all "
        "values; default: mse",
    )
    parser.add_argument(
        "--per_tensor",
        action="store_true",
        help="one scale for all filters of a layer, as other programs that read "
        "Caffe2's Int8 operators need it",
    )
    for flag, text in (
        ("image_size", "side of the crop that the net sees"),
        ("image_scale", "shorter side of an image before the crop"),
        ("num_channels", "3, or 1 for grey"),
    ):
        parser.add_argument(f"--{flag}", type=positive, metavar="N", help=text)
    parser.add_argument("--order", choices=("NCHW", "NHWC"), help="order of the net's input")
    for flag, text, values in (
        ("mean", "subtracted from pixels", pixel_values),
        ("std", "by which pixels are divided", pixel_divisors),
    ):
        parser.add_argument(
            f"--{flag}",
            type=values,
            metavar="B,G,R",
            help=f"number {text}, or one for each colour",
        )
    return parser


def _output_of(model):
    if "," in model:
        raise ConvertError("name the model to write by --output", USAGE)
    stem, end = os.path.splitext(model.rstrip("/"))
    return f"{stem}_int8{end if formats.format_of(model) == 'predictor' else ''}"


def _note(text):
    print(f"note: {text}", file=sys.stderr)


def _quantized(model, options, how, count):
    """The quantized model; a ConvertError says if the size of the images was only guessed."""
    batches = image_batches(options.calibration_data, count, how, model.inputs[0])
    try:
        with contextlib.closing(with_progress("calibrating", batches, count)) as examples:
            return quantize_model(model, examples, options.ranges, not options.per_tensor)
    except ConvertError as error:
        if options.image_size or "image_size" in {**model.info, **image_info(model)}:
            raise
        raise ConvertError(
            f"{error}; the model does not say the size of its images, so {how.image_size} was "
            "taken: give --image_size", error.status) from error


def _quantize(options):
    output = options.output or _output_of(options.model)
    if formats.check_target(output) not in ("predictor", "pair"):
        raise ConvertError(f"{output}: a quantized model is written as .mdl, or as two nets", USAGE)
    model = formats.read(options.model)
    if not model.values:
        raise ConvertError(f"{options.model} has no parameters", USAGE)
    how = preparation_of(model, vars(options))
    count = count_images(options.calibration_data, options.num_images)
    quantized = _quantized(model, options, how, count)
    formats.write(quantized, output)
    quick = sum(op.type.startswith("Int8") for op in quantized.net.op)
    print(f"wrote {output}: {quick} of {len(quantized.net.op)} operators work on 8 bits")
    if count < options.num_images:
        _note(f"{options.calibration_data} has {count:,} images, fewer than --num_images "
              f"{options.num_images:,}: all of them are taken")
    if misfits := images_that_do_not_fit(options.calibration_data, count, how):
        _note(misfits)
    return 0


def main(
    words: Sequence[str], name: str = "python -m caffe2.python.convert.quantize_command"
) -> int:
    """Runs the command; returns its exit status."""
    return run_command(name, lambda: _quantize(_parser(name).parse(words)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
