// BlobProto and TensorProto, as in databases and stores.
#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/tensor.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {

FUZZ_TARGET(Blob, "blob", 2000) {
  Blob blob;
  DeserializeBlob(std::string(bytes), &blob);
  // What was read can be written, and read again.
  const std::string again = SerializeBlob(blob, "again");
  Blob copy;
  DeserializeBlob(again, &copy);
  CHECK(SerializeBlob(copy, "again") == again);
}

}  // namespace caffe2::testing
