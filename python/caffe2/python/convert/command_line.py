"""The arguments of `doppio convert`, `inspect` and `quantize`."""

from __future__ import annotations

import argparse
import difflib
import math
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from caffe2.python.convert.errors import USAGE, ConvertError
from caffe2.python.convert.model import Model

_LARGEST = 2**31 - 1


class Parser(argparse.ArgumentParser):
    """Raises ConvertError for wrong arguments. Options have no short forms. Its help ends with
    examples, which are given without the name of the command, and notes."""

    def __init__(self, prog: str, description: str, examples: Sequence[str], notes: str) -> None:
        lines = "".join(f"  {prog} {example}\n" for example in examples)
        super().__init__(
            prog=prog, description=textwrap.fill(description),
            epilog=f"Examples:\n{lines}\n{textwrap.fill(notes, break_on_hyphens=False)}",
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raises ConvertError."""
        raise ConvertError(f"{message} (see {self.prog} --help)", USAGE)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """As parse_args, but an unknown option gets a suggestion. Raises ConvertError."""
        known = list(self._option_string_actions)
        for word in words:
            name = word.partition("=")[0]
            if not name.startswith("--") or name in (*known, "--"):
                continue
            close = difflib.get_close_matches(name, known, n=1)
            self.error(f"unknown option {name}" + (f"; do you mean {close[0]}?" if close else ""))
        return self.parse_args(words)


def positive(text: str) -> int:
    """A number from 1 to 2 ** 31 - 1; raises ArgumentTypeError."""
    if not text.isdecimal() or not text.strip("0"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    if len(text.lstrip("0")) > 10 or int(text) > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {_LARGEST}")
    return int(text)


def pixel_values(text: str) -> str:
    """A number for all colours, or three with commas between; raises ArgumentTypeError."""
    try:
        values = [float(word) for word in text.split(",")]
        count = len(values) if all(map(math.isfinite, values)) else 0
    except ValueError:
        count = 0
    if count not in (1, 3):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor blue,green,red")
    return text


def pixel_divisors(text: str) -> str:
    """The same, for numbers that must be positive."""
    if min(float(word) for word in pixel_values(text).split(",")) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not positive")
    return text


def input_shape(text: str) -> tuple[str, list[int]]:
    """(input or "", shape without the batch) of "data=3,224,224" or "3,224,224"."""
    name, _, dims = text.rpartition("=")
    return name, [positive(dim) for dim in dims.split(",")]


def set_shapes(model: Model, shapes: list[tuple[str, list[int]]]) -> None:
    """Gives inputs the shapes of input_shape. Raises ConvertError for an unknown input."""
    for name, dims in shapes:
        if not name and len(model.inputs) != 1:
            raise ConvertError(f"the model has the inputs {', '.join(model.inputs)}: write "
                               "--input_shape NAME=3,224,224", USAGE)
        name = name or model.inputs[0]
        if name not in model.inputs:
            raise ConvertError(f"the model has no input {name}, but {', '.join(model.inputs)}",
                               USAGE)
        model.shapes[name] = [0, *dims]
