#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(GetAllBlobNamesOpTest, NamesOwnBlobsAndThoseOfParents) {
  Workspace parent;
  parent.CreateBlob("of_parent");
  Workspace ws(&parent);
  ws.CreateBlob("own");
  RunOp(&ws, Op("GetAllBlobNames", {}, {"names"}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "names"),
            (std::vector<std::string>{"names", "of_parent", "own"}));
  RunOp(&ws, Op("GetAllBlobNames", {}, {"names"}, {MakeArgument("include_shared", 0)}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "names"), (std::vector<std::string>{"names", "own"}));
}

}  // namespace
}  // namespace caffe2::testing
