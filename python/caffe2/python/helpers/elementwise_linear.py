"""A linear function of each column, by the name of Caffe2's module; see
caffe2.python.helpers.fc_variants.
"""

from caffe2.python.helpers.fc_variants import elementwise_linear

__all__ = ["elementwise_linear"]
