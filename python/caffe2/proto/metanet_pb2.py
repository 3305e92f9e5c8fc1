"""Messages of caffe2/proto/metanet.proto."""

from caffe2.proto._messages import export

export("caffe2/proto/metanet.proto", globals())
