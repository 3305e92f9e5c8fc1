"""Messages of caffe2/proto/hsm.proto."""

from caffe2.proto._messages import export

export("caffe2/proto/hsm.proto", globals())
