"""Layers that can be trained on a sample of their outputs; see SamplingTrain."""

import abc


class SamplingTrainableMixin(metaclass=abc.ABCMeta):
    """Base, before ModelLayer, of layers that define `param_blobs` and _add_ops(net, param_blobs):
    SamplingTrain gives them other blobs, with some rows of the parameters, for training."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._train_param_blobs = None

    @property
    @abc.abstractmethod
    def param_blobs(self):
        """The parameters' blobs, as prediction reads them."""

    @property
    def train_param_blobs(self):
        """The blobs that training reads instead; by default the same. Set at most once, before use.
        """
        if self._train_param_blobs is None:
            self.train_param_blobs = self.param_blobs
        return self._train_param_blobs

    @train_param_blobs.setter
    def train_param_blobs(self, blobs):
        assert blobs is not None, "the blobs of training are a list"
        assert self._train_param_blobs is None, "the blobs of training are set or were used"
        self._train_param_blobs = blobs

    @abc.abstractmethod
    def _add_ops(self, net, param_blobs):
        """Adds the operators, reading these blobs."""

    def add_ops(self, net):
        """Adds the operators of prediction."""
        self._add_ops(net, self.param_blobs)

    def add_train_ops(self, net):
        """Adds the operators of training."""
        self._add_ops(net, self.train_param_blobs)
