"""Dropout, by the name of Caffe2's module; see caffe2.python.helpers.nonlinearity."""

from caffe2.python.helpers.nonlinearity import dropout

__all__ = ["dropout"]
