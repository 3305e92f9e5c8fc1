"""Distributed training of NetDef graphs."""

from caffe2._version import __version__

__all__ = ["__version__"]
