"""Messages of caffe2/proto/predictor_consts.proto."""

from caffe2.proto._messages import export

export("caffe2/proto/predictor_consts.proto", globals())
