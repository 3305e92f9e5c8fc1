"""How the library was built."""

from caffe2.python import _import_c_extension as C

CAFFE2_NO_OPERATOR_SCHEMA = C.define_caffe2_no_operator_schema
