"""Messages of caffe2/proto/caffe2.proto."""

from caffe2.proto._messages import export

export("caffe2/proto/caffe2.proto", globals())
