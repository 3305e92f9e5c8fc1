"""Messages of caffe2/proto/caffe_datum.proto."""

from caffe2.proto._messages import export

export("caffe2/proto/caffe_datum.proto", globals())
