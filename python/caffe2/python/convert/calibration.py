"""Reads images of a database or a folder in the form that a model takes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tarfile
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core
from caffe2.python.convert.errors import NO_INPUT, USAGE, ConvertError, one_line
from caffe2.python.convert.model import Model

_BATCH = 10
# As in db/data_set.cc.
_ENDS = (
    ".jpg",
    ".jpeg",
    ".jpe",
    ".jfif",
    ".png",
    ".bmp",
    ".webp",
    ".tif",
    ".tiff",
    ".ppm",
    ".pgm",
)


@dataclasses.dataclass
class Preparation:
    """How images become the input of a net; the same as for the program predict."""

    image_size: int
    image_scale: int
    num_channels: int
    order: str
    mean: list[float]
    std: list[float]

    def arguments(self) -> dict[str, Any]:
        """Arguments of the operator ImageInput."""
        return {
            "crop": self.image_size,
            "scale": self.image_scale,
            "color": int(self.num_channels == 3),
            "order": self.order,
            "is_test": 1,
            "mean_per_channel": self._per_channel(self.mean),
            "std_per_channel": self._per_channel(self.std),
        }

    def _per_channel(self, values):
        return values * self.num_channels if len(values) == 1 else values


def _numbers(name, text, number):
    try:
        return [number(word) for word in text.split(",")]
    except ValueError as error:
        raise ConvertError(
            f"--{name}, or what the model says about {name}, is {text!r}, which is no number", USAGE
        ) from error


def image_info(model: Model) -> dict[str, str]:
    """The properties of the images that follow from the shape of the first input, by the keys of
    Model.info. The scale is the one that the trainers choose for this size. {} if the input takes
    no square images."""
    shape = model.shapes.get(model.inputs[0], [])
    if len(shape) != 4:
        return {}
    last = model.info.get("order") == "NHWC" or (shape[1] not in (1, 3) and shape[3] in (1, 3))
    channels, height, width = (shape[3], *shape[1:3]) if last else shape[1:]
    if channels not in (1, 3) or height != width:
        return {}
    return {
        "image_size": str(height),
        "image_scale": str(C.default_image_scale(height)),
        "num_channels": str(channels),
        "order": "NHWC" if last else "NCHW",
    }


def describe_images(model: Model, mean: str | None, std: str | None) -> None:
    """Records in model.info how images become the input of the net, for programs that run it on
    images.

    Existing entries stay, unless the shape of the input has another size. `mean` and `std` are
    lists of numbers as for the program predict; None: not known.
    """
    by_shape = image_info(model)
    same = by_shape.get("image_size") == model.info.get("image_size")
    model.info = {**by_shape, **model.info} if same else {**model.info, **by_shape}
    model.info.update({k: v for k, v in (("mean", mean), ("std", std)) if v is not None})


def preparation_of(model: Model, given: dict[str, str | int | None]) -> Preparation:
    """The Preparation with the given values, else the model's, else the program predict's defaults.

    Args:
      given: {field of Preparation: value or None}.

    Raises ConvertError for values that contradict each other.
    """
    defaults = {
        "image_size": "227",
        "image_scale": str(C.default_image_scale(227)),
        "num_channels": "3",
        "order": "NCHW",
        "mean": "128",
        "std": "128",
        **image_info(model),
    }
    words = {
        name: str(model.info.get(name, default) if given.get(name) is None else given[name])
        for name, default in defaults.items()
    }
    sizes = {
        name: _numbers(name, words[name], int)[0]
        for name in ("image_size", "image_scale", "num_channels")
    }
    colours = {name: _numbers(name, words[name], float) for name in ("mean", "std")}
    if sizes["num_channels"] not in (1, 3):
        raise ConvertError(
            f"the images of a net have 1 or 3 channels, not {sizes['num_channels']}", USAGE
        )
    for name, values in colours.items():
        if len(values) not in (1, sizes["num_channels"]):
            raise ConvertError(
                f"--{name} has {len(values)} numbers for {sizes['num_channels']} channels", USAGE
            )
    return Preparation(**sizes, **colours, order=words["order"])


def _is_data_set(path):
    try:
        C.create_db("auto", path, C.Mode.read)
    except RuntimeError:
        return False
    return True


def _training_part(path):
    """The part of a folder or tar archive that the trainers train on, or None if it has no parts
    in folders. Published data sets have theirs in files, of which the library takes the right
    ones."""
    if os.path.isdir(path):
        train = os.path.join(path, "train")
        return train if os.path.isdir(train) and _is_data_set(train) else None
    if not tarfile.is_tarfile(path):
        return None
    with tarfile.open(path) as archive:
        first = archive.next()
    top = first.name.partition("/")[0] if first is not None else ""
    for parent in (path, os.path.join(path, top)):
        parts = [os.path.join(parent, name) for name in ("train", "test", "val")]
        if _is_data_set(parts[0]) and any(map(_is_data_set, parts[1:])):
            return parts[0]
    return None


@contextlib.contextmanager
def _as_data_set(path) -> Iterator[str]:
    """The path, its training part, or for a folder with images right in it a folder with a
    sub-folder of them, as the library finds images in sub-folders only."""
    train = _training_part(path)
    if train is not None:
        yield train
        return
    try:
        names = os.listdir(path) if os.path.isdir(path) else []
    except OSError as error:
        raise ConvertError(f"cannot read {path}: {error.strerror}", NO_INPUT) from error
    images = [name for name in names if name.lower().endswith(_ENDS)]
    if not images:
        yield path
        return
    with tempfile.TemporaryDirectory() as outer:
        os.mkdir(os.path.join(outer, "images"))
        for name in images:
            source = os.path.abspath(os.path.join(path, name))
            os.symlink(source, os.path.join(outer, "images", name))
        yield outer


def _is_datum(source):
    cursor = C.create_db("auto", source, C.Mode.read).new_cursor()
    if not cursor.valid():
        raise ConvertError(f"{source} has no records")
    # TensorProtos begin with a message and a Datum with a number, so a Datum has no protos.
    return not caffe2_pb2.TensorProtos.FromString(cursor.value()).protos


@contextlib.contextmanager
def _opened(path) -> Iterator[str]:
    """A data set as the library reads it; errors of the library become ConvertError."""
    if not os.path.exists(path):
        raise ConvertError(f"cannot read {path}: there is no such file or folder", NO_INPUT)
    with _as_data_set(path) as source:
        try:
            yield source
        except RuntimeError as error:
            raise ConvertError(f"{path}: {one_line(error)}", NO_INPUT) from error


def count_images(path: str, limit: int) -> int:
    """The number of images of a data set as image_batches takes it, at most `limit`. Raises
    ConvertError."""
    with _opened(path) as source:
        cursor = C.create_db("auto", source, C.Mode.read).new_cursor()
        count = 0
        while count < limit and cursor.valid():
            count += 1
            cursor.next()
        return count


def _changes(shape, how):
    """What ImageInput does to an image to make it fit, beside scaling it down and cropping it."""
    height, width, channels = shape
    changes = ["enlarged"] if min(height, width) < how.image_size else []
    if channels != how.num_channels:
        changes.append("turned grey" if how.num_channels == 1 else "given three equal channels")
    return " and ".join(changes)


def images_that_do_not_fit(path: str, limit: int, how: Preparation) -> str:
    """A line about the first `limit` images of a data set that the net can only take when they are
    enlarged, or their channels are changed; "" if there are none. Raises ConvertError."""
    with _opened(path) as source:
        cursor = C.create_db("auto", source, C.Mode.read).new_cursor()
        count, first = 0, ""
        for _ in range(limit):
            if not cursor.valid():
                break
            # A damaged record is an error where it is used.
            with contextlib.suppress(RuntimeError):
                shape = C.image_shape(cursor.value(), color=how.num_channels == 3)
                if changes := _changes(shape, how):
                    count += 1
                    first = first or (
                        f"{cursor.key().decode(errors='replace')} has height, width and channels "
                        f"{shape}, the model takes ({how.image_size}, {how.image_size}, "
                        f"{how.num_channels}), so it is {changes}")
            cursor.next()
    return first and f"{count:,} of {path}'s images do not fit the model: record {first}"


def image_batches(
    path: str,
    num_images: int,
    how: Preparation,
    blob: str,
) -> Iterator[dict[str, np.ndarray]]:
    """Yields batches, {blob: array}, of images in a random order that is always the same. If there
    are fewer than num_images, they are repeated.

    Args:
      path: a database, a published data set, a tar archive, or a folder of image files, also in
        sub-folders. Of one with a part for training and one for tests, the former.

    Raises ConvertError.
    """
    with _opened(path) as source:
        ws = C.Workspace()
        ws.run(
            core.CreateOperator("CreateDB", [], ["reader"], db=source, db_type="auto", shuffle=1)
        )
        datum = _is_datum(source)
        left = num_images
        nets = {}
        while left > 0:
            size = min(left, _BATCH)
            if size not in nets:
                nets[size] = core.CreateOperator(
                    "ImageInput",
                    ["reader"],
                    ["data", "label"],
                    batch_size=size,
                    use_caffe_datum=int(datum),
                    decode_threads=1,
                    **how.arguments(),
                )
            ws.run(nets[size])
            yield {blob: np.asarray(ws.fetch_blob("data"))}
            left -= size
