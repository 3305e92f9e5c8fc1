"""The names of the parts of an exported predictor."""

from caffe2.proto import predictor_consts_pb2

predictor_constants = predictor_consts_pb2.PredictorConsts()
