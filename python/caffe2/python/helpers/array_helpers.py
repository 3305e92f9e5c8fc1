"""Joining blobs, by the name of Caffe2's module; see caffe2.python.helpers.algebra."""

from caffe2.python.helpers.algebra import concat, depth_concat

__all__ = ["concat", "depth_concat"]
