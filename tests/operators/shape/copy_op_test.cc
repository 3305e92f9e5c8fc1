// Copies, StopGradient and its kin, Cast, Reshape, Flatten, Concat and Split.
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(CopyOpTest, CopiesAnyType) {
  for (const char* type :
       {"Copy", "CopyFromCPUInput", "EnsureCPUOutput", "StopGradient", "NegateGradient", "Alias"}) {
    Workspace ws;
    Feed<std::string>(&ws, "text", {2}, {"a", "b"});
    Feed<float>(&ws, "X", {1, 2}, {1, 2});
    RunOp(&ws, Op(type, {"text"}, {"Y"}));
    EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{"a", "b"})) << type;
    RunOp(&ws, Op(type, {"X"}, {"Z"}));
    ExpectTensor(ws, "Z", {1, 2}, {1, 2});
    EXPECT_EQ(Fetch(ws, "Z").shares_storage_with(Fetch(ws, "X")), std::string(type) == "Alias");
    BlobGetMutableTensor(ws.CreateBlob("empty"), Device{})->Resize(3);
    ExpectThrows(&ws, Op(type, {"empty"}, {"Y"}), "no data");
  }
}

TEST(CopyOpTest, Gradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 2}, 1);
  FeedRandom(&ws, "like", {1}, 1);
  for (const char* type : {"Copy", "CopyFromCPUInput", "EnsureCPUOutput", "Alias"}) {
    CheckGradient(&ws, Op(type, {"X"}, {"Y"}), {0});
  }
  CheckGradient(&ws, Op("CopyOnDeviceLike", {"X", "like"}, {"Y"}), {0});
}

}  // namespace
}  // namespace caffe2::testing
