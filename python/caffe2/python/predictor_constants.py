"""The names in files of models; another path of caffe2.python.predictor.predictor_constants."""

from caffe2.python.predictor.predictor_constants import predictor_constants

__all__ = ["predictor_constants"]
