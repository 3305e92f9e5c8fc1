"""Images and filters shown with matplotlib.

The functions of NHWC, such as `NHWC.ShowMultiple(images)`, draw arrays with the channels last, the
functions of NCHW arrays with the channels before height and width. All return the axes' image.
"""

import numpy as np


def ChannelFirst(arr):
    """[..., height, width, channels] -> [..., channels, height, width], for 3 or 4 dimensions."""
    if arr.ndim not in (3, 4):
        raise ValueError(f"an image or several have 3 or 4 dimensions, not {arr.ndim}")
    return np.moveaxis(arr, -1, -3)


def ChannelLast(arr):
    """[..., channels, height, width] -> [..., height, width, channels], for 3 or 4 dimensions."""
    if arr.ndim not in (3, 4):
        raise ValueError(f"an image or several have 3 or 4 dimensions, not {arr.ndim}")
    return np.moveaxis(arr, -3, -1)


class PatchVisualizer:
    """Draws patches in a grid.

    `gap`: pixels between them.
    """

    def __init__(self, gap=1):
        self.gap = gap

    def ShowSingle(self, patch, cmap=None):
        """One patch: [height, width], [height, width, 3] or flat, any range of values."""
        patch = np.asarray(patch)
        if patch.ndim == 1:
            patch = patch.reshape(self.get_patch_shape(patch))
        return self._show(np.squeeze(_normalized(patch)), cmap)

    def ShowMultiple(self, patches, ncols=None, cmap=None, bg_func=np.mean):
        """Patches [count, height, width(, 3)] in a grid of `ncols` columns (default: a square).

        `bg_func(patches)` is the value of the gaps.
        """
        return self._show(self.grid(patches, ncols, bg_func), cmap)

    def ShowImages(self, patches, *args, **kwargs):
        """ShowMultiple of images whose values are 0 to 255."""
        return self.ShowMultiple(np.asarray(patches).astype(np.float32) / 255, *args, **kwargs)

    def ShowChannels(self, patch, cmap=None, bg_func=np.mean):
        """The channels of one patch [height, width, channels], each on its own."""
        return self.ShowMultiple(np.moveaxis(np.asarray(patch), -1, 0), cmap=cmap, bg_func=bg_func)

    def grid(self, patches, ncols=None, bg_func=np.mean):
        """The picture that ShowMultiple draws: [rows, columns(, 3)], values in 0 to 1.

        A patch of one dimension gets the shape that get_patch_shape gives. Raises ValueError for a
        patch of more than 3 dimensions.
        """
        patches = _normalized(patches)
        if patches.ndim == 2:
            patches = patches.reshape(len(patches), *self.get_patch_shape(patches[0]))
        if patches.ndim not in (3, 4):
            raise ValueError(f"patches have 3 or 4 dimensions, not {patches.ndim}")
        count = patches.shape[0]
        ncols = int(np.ceil(np.sqrt(count))) if ncols is None else ncols
        nrows = -(-count // ncols)
        height, width = (size + self.gap for size in patches.shape[1:3])
        picture = np.full(
            (height * nrows - self.gap, width * ncols - self.gap, *patches.shape[3:]),
            bg_func(patches), dtype=patches.dtype)
        for i, patch in enumerate(patches):
            top, left = height * (i // ncols), width * (i % ncols)
            picture[top:top + patch.shape[0], left:left + patch.shape[1]] = patch
        return np.squeeze(picture[..., 0] if picture.shape[2:] == (1,) else picture)

    def get_patch_shape(self, patch):
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


def _normalized(patches):
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
    def ShowSingle(patch, *args, **kwargs):
        """Shows one picture, C x H x W."""
        return _default_visualizer.ShowSingle(ChannelLast(patch), *args, **kwargs)

    @staticmethod
    def ShowMultiple(patches, *args, **kwargs):
        """Shows pictures of one channel or three, N x C x H x W."""
        return _default_visualizer.ShowMultiple(ChannelLast(patches), *args, **kwargs)

    @staticmethod
    def ShowImages(patches, *args, **kwargs):
        """Shows color pictures, N x C x H x W."""
        return _default_visualizer.ShowImages(ChannelLast(patches), *args, **kwargs)

    @staticmethod
    def ShowChannels(patch, *args, **kwargs):
        """Shows the channels of a picture, C x H x W, as grey pictures."""
        return _default_visualizer.ShowChannels(ChannelLast(patch), *args, **kwargs)
