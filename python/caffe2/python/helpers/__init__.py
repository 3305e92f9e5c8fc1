"""The functions of caffe2.python.brew, by subject."""
