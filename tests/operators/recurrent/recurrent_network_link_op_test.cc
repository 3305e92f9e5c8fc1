#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

TEST(RecurrentNetworkLinkTest, ApplyLink) {
  Workspace ws;
  Feed<float>(&ws, "outer", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  Feed<int32_t>(&ws, "t", {1}, {0});
  const OperatorDef op = Op("rnn_internal_apply_link", {"t", "outer"}, {"inner", "outer"},
                            {MakeArgument("offset", 1), MakeArgument("window", 2)});
  RunOp(&ws, op);
  ExpectTensor(ws, "inner", {2, 2}, {2, 3, 4, 5});
  Feed<int32_t>(&ws, "t", {1}, {1});
  RunOp(&ws, op);
  ExpectTensor(ws, "inner", {2, 2}, {4, 5, 6, 7});
  if (!TestsCuda()) {  // there, blobs here are copies
    BlobGetMutableTensor(ws.GetBlob("inner"), Device{})->mutable_data<float>()[0] = 9;
    ExpectTensor(ws, "outer", {4, 2}, {0, 1, 2, 3, 9, 5, 6, 7});
  }
  Feed<int32_t>(&ws, "t", {1}, {2});
  ExpectThrows(&ws, op, "rows 3 to 4 are not in a tensor of shape [4, 2]");
  Feed<int32_t>(&ws, "t", {1}, {-2});
  ExpectThrows(&ws, op, "rows -1 to 0");
}

TEST(RecurrentNetworkLinkTest, AccumulateGradientInput) {
  Workspace ws;
  Feed<float>(&ws, "outer", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "gradient", {3, 2}, {10, 10, 10, 10, 10, 10});
  Feed<int32_t>(&ws, "t", {1}, {1});
  const OperatorDef op = Op("rnn_internal_accumulate_gradient_input", {"t", "outer", "gradient"},
                            {"gradient"}, {MakeArgument("offset", 1)});
  RunOp(&ws, op);
  ExpectTensor(ws, "gradient", {3, 2}, {10, 10, 10, 10, 13, 14});
  Feed<int32_t>(&ws, "t", {1}, {2});
  ExpectThrows(&ws, op, "row 2 of shape [2, 2]");
  Feed<float>(&ws, "outer", {2, 1}, {1, 2});
  ExpectThrows(&ws, op, "a row must have the same size in both tensors");
}

}  // namespace
}  // namespace caffe2::testing
