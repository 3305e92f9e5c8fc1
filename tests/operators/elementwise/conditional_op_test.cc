#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ConditionalOpTest, ChoosesRows) {
  Workspace ws;
  Tensor* condition = BlobGetMutableTensor(ws.CreateBlob("C"), Device{});
  condition->Resize(2);
  condition->mutable_data<bool>()[0] = false;
  condition->mutable_data<bool>()[1] = true;
  Feed<float>(&ws, "T", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "F", {2, 2}, {-1, -2, -3, -4});
  RunOp(&ws, Op("Conditional", {"C", "T", "F"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {-1, -2, 3, 4});
  FeedRandom(&ws, "F", {3, 2}, 1);
  ExpectThrows(&ws, Op("Conditional", {"C", "T", "F"}, {"Y"}),
               "both choices must have the same shape and type");
  ExpectThrows(&ws, Op("Conditional", {"C", "F", "F"}, {"Y"}), "each row");
}

}  // namespace
}  // namespace caffe2::testing
