"""Messages of caffe2/proto/caffe2.proto and, as in Caffe2, of serialization.proto."""

from caffe2.proto._messages import export

export("caffe2/proto/serialization.proto", globals())
export("caffe2/proto/caffe2.proto", globals())
