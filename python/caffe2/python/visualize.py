"""Images and filters shown with matplotlib.

The functions of NHWC, such as `NHWC.ShowMultiple(images)`, draw arrays with the channels last, the
functions of NCHW arrays with the channels before height and width. All functions return the
matplotlib AxesImage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.image import AxesImage

# function(patches) -> the value of the gaps between them.
Background = Callable[[np.ndarray], float]


def ChannelFirst(arr: np.ndarray) -> np.ndarray:
    """[..., height, width, channels] -> [..., channels, height, width], for 3 or 4 dimensions."""
    if arr.ndim not in (3, 4):
        raise ValueError(f"an image or several have 3 or 4 dimensions, not {arr.ndim}")
    return np.moveaxis(arr, -1, -3)


def ChannelLast(arr: np.ndarray) -> np.ndarray:
    """[..., channels, height, width] -> [..., height, width, channels], for 3 or 4 dimensions."""
    if arr.ndim not in (3, 4):
        raise ValueError(f"an image or several have 3 or 4 dimensions, not {arr.ndim}")
    return np.moveaxis(arr, -3, -1)


class PatchVisualizer:
    """Draws patches in a grid.

    `gap`: pixels between them.
    """

    def __init__(self, gap: int = 1) -> None:
        self.gap = gap

    def ShowSingle(self, patch: ArrayLike, cmap: str | None = None) -> AxesImage:
        """One patch: [height, width], [height, width, 3] or flat, any range of values."""
        picture = np.asarray(patch)
        if picture.ndim == 1:
            picture = picture.reshape(self.get_patch_shape(picture))
        return self._show(np.squeeze(_normalized(picture)), cmap)

    def ShowMultiple(self, patches: ArrayLike, ncols: int | None = None, cmap: str | None = None,
                     bg_func: Background = np.mean) -> AxesImage:
        """Patches [count, height, width(, 3)] in a grid of `ncols` columns (default: a square).

        `bg_func(patches)` is the value of the gaps.
        """
        return self._show(self.grid(patches, ncols, bg_func), cmap)

    def ShowImages(self, patches: ArrayLike, *args: Any, **kwargs: Any) -> AxesImage:
        """ShowMultiple of images whose values are 0 to 255."""
        return self.ShowMultiple(np.asarray(patches).astype(np.float32) / 255, *args, **kwargs)

    def ShowChannels(self, patch: ArrayLike, cmap: str | None = None,
                     bg_func: Background = np.mean) -> AxesImage:
        """The channels of one patch [height, width, channels], each on its own."""
        return self.ShowMultiple(np.moveaxis(np.asarray(patch), -1, 0), cmap=cmap, bg_func=bg_func)

    def grid(self, patches: ArrayLike, ncols: int | None = None,
             bg_func: Background = np.mean) -> np.ndarray:
        """The picture that ShowMultiple draws: [rows, columns(, 3)], values in 0 to 1.

        A patch of one dimension gets the shape that get_patch_shape gives. Raises ValueError for a
        patch of more than 3 dimensions.
        """
        values = _normalized(patches)
        if values.ndim == 2:
            values = values.reshape(len(values), *self.get_patch_shape(values[0]))
        if values.ndim not in (3, 4):
            raise ValueError(f"patches have 3 or 4 dimensions, not {values.ndim}")
        count = values.shape[0]
        ncols = int(np.ceil(np.sqrt(count))) if ncols is None else ncols
        nrows = -(-count // ncols)
        height, width = (size + self.gap for size in values.shape[1:3])
        picture = np.full(
            (height * nrows - self.gap, width * ncols - self.gap, *values.shape[3:]),
            bg_func(values), dtype=values.dtype)
        for i, patch in enumerate(values):
            top, left = height * (i // ncols), width * (i % ncols)
            picture[top:top + patch.shape[0], left:left + patch.shape[1]] = patch
        return np.squeeze(picture[..., 0] if picture.shape[2:] == (1,) else picture)

    def get_patch_shape(self, patch: np.ndarray) -> tuple[int, ...]:
        """The shape of the square that the elements of a patch form: (size, size), or (size, size,
        3) in color. Raises ValueError if they form no square."""
        for channels in (1, 3):
            size = int(round((patch.size / channels) ** 0.5))
            if size * size * channels == patch.size:
                return (size, size) if channels == 1 else (size, size, channels)
        raise ValueError(f"{patch.size} elements form no square patch, grey or in color")

    def _show(self, picture, cmap):
        from matplotlib import pyplot  # optional package, for pictures only

        image = pyplot.imshow(
            picture, cmap=cmap or ("gray" if picture.ndim == 2 else None), interpolation="nearest")
        pyplot.axis("off")
        return image


def _normalized(patches: ArrayLike) -> np.ndarray:
    """The patches scaled to values from 0 to 1, if they have others."""
    patches = np.asarray(patches, dtype=np.float32)
    low, high = patches.min(), patches.max()
    if low >= 0 and high <= 1:
        return patches
    return (patches - low) / (high - low) if high > low else np.zeros_like(patches)


_default_visualizer = PatchVisualizer()


class NHWC:
    """Functions for arrays whose channels come last."""

    ShowSingle = staticmethod(_default_visualizer.ShowSingle)
    ShowMultiple = staticmethod(_default_visualizer.ShowMultiple)
    ShowImages = staticmethod(_default_visualizer.ShowImages)
    ShowChannels = staticmethod(_default_visualizer.ShowChannels)


class NCHW:
    """Functions for arrays whose channels come before height and width."""

    @staticmethod
    def ShowSingle(patch: np.ndarray, *args: Any, **kwargs: Any) -> AxesImage:
        """Shows one picture, C x H x W."""
        return _default_visualizer.ShowSingle(ChannelLast(patch), *args, **kwargs)

    @staticmethod
    def ShowMultiple(patches: np.ndarray, *args: Any, **kwargs: Any) -> AxesImage:
        """Shows pictures of one channel or three, N x C x H x W."""
        return _default_visualizer.ShowMultiple(ChannelLast(patches), *args, **kwargs)

    @staticmethod
    def ShowImages(patches: np.ndarray, *args: Any, **kwargs: Any) -> AxesImage:
        """Shows color pictures, N x C x H x W."""
        return _default_visualizer.ShowImages(ChannelLast(patches), *args, **kwargs)

    @staticmethod
    def ShowChannels(patch: np.ndarray, *args: Any, **kwargs: Any) -> AxesImage:
        """Shows the channels of a picture, C x H x W, as grey pictures."""
        return _default_visualizer.ShowChannels(ChannelLast(patch), *args, **kwargs)
