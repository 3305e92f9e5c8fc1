"""Input of a database, by the name of Caffe2's module; see caffe2.python.helpers.train."""

from caffe2.python.helpers.train import db_input

__all__ = ["db_input"]
