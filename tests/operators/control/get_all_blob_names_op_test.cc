#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<std::string> Names(const Workspace& ws) {
  const auto& tensor = ws.GetBlob("names")->Get<Tensor>();
  const auto* data = tensor.data<std::string>();
  return {data, data + tensor.numel()};
}

TEST(GetAllBlobNamesOpTest, NamesOwnBlobsAndThoseOfParents) {
  Workspace parent;
  parent.CreateBlob("of_parent");
  Workspace ws(&parent);
  ws.CreateBlob("own");
  RunOp(&ws, Op("GetAllBlobNames", {}, {"names"}), true);
  EXPECT_EQ(Names(ws), (std::vector<std::string>{"names", "of_parent", "own"}));
  RunOp(&ws, Op("GetAllBlobNames", {}, {"names"}, {MakeArgument("include_shared", 0)}), true);
  EXPECT_EQ(Names(ws), (std::vector<std::string>{"names", "own"}));
}

}  // namespace
}  // namespace caffe2::testing
