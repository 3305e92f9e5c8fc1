"""Images and clips, by the name of Caffe2's module; see caffe2.python.helpers.train."""

from caffe2.python.helpers.train import image_input, video_input

__all__ = ["image_input", "video_input"]
