// Operators on quantized tensors but for products; those are in int8_conv_op_test.cc.
#include "caffe2/core/blob_serialization.h"
#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(Int8Test, IsWrittenAndReadAgain) {
  FeedInt8<int32_t>(&ws_, "B", {2, 1}, {-70000, 3}, 0.5f, 0);
  for (const char* name : {"X", "B"}) {
    const std::string bytes = SerializeBlob(*ws_.GetBlob(name), name);
    BlobProto proto;
    ASSERT_TRUE(proto.ParseFromString(bytes));
    EXPECT_EQ(proto.type(), "Int8TensorCPU");
    EXPECT_EQ(proto.qtensor().precision(), 8);
    EXPECT_EQ(proto.qtensor().bias(), FetchInt8(ws_, name).zero_point);
    DeserializeBlob(bytes, ws_.CreateBlob("read"));
    const Int8TensorCPU &read = FetchInt8(ws_, "read"), &written = FetchInt8(ws_, name);
    EXPECT_EQ(read.scale, written.scale);
    EXPECT_EQ(read.zero_point, written.zero_point);
    EXPECT_EQ(read.t.sizes(), written.t.sizes());
    ASSERT_EQ(read.t.dtype(), written.t.dtype());
    EXPECT_EQ(std::memcmp(read.t.raw_data(), written.t.raw_data(), read.t.nbytes()), 0);
    proto.mutable_qtensor()->mutable_data()->RemoveLast();
    EXPECT_THROW(DeserializeBlob(proto, ws_.CreateBlob("read")), EnforceNotMet);
  }
}

}  // namespace
}  // namespace caffe2::testing
