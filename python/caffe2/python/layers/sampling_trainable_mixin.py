"""Layers that can be trained on a sample of their outputs; see SamplingTrain."""

from __future__ import annotations

import abc

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobReference


class SamplingTrainableMixin(abc.ABC):
    """Base, before ModelLayer, of layers that define `param_blobs` and _add_ops(net, param_blobs),
    which adds operators that read these blobs. SamplingTrain gives training other blobs, which hold
    some rows of the parameters."""

    _chosen: list[BlobReference] | None = None  # train_param_blobs, once set or read

    @property
    @abc.abstractmethod
    def param_blobs(self) -> list[BlobReference]:
        """The blobs of the parameters."""

    @abc.abstractmethod
    def _add_ops(self, net, param_blobs):
        """Adds the operators."""

    @property
    def train_param_blobs(self) -> list[BlobReference]:
        """The blobs that training reads: `param_blobs`, unless others were set before the first
        use."""
        if self._chosen is None:
            self._chosen = self.param_blobs
        return self._chosen

    @train_param_blobs.setter
    def train_param_blobs(self, blobs: list[BlobReference]) -> None:
        assert blobs is not None, "the blobs of training are a list"
        assert self._chosen is None, "the blobs of training are set or were used"
        self._chosen = blobs

    def add_ops(self, net: core.Net) -> None:
        """Adds the operators of prediction."""
        self._add_ops(net, self.param_blobs)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the operators of training."""
        self._add_ops(net, self.train_param_blobs)
