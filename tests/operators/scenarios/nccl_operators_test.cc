// NCCLAllreduce, NCCLBroadcast, NCCLReduce, NCCLAllGather and NCCLReduceScatter among tensors of
// one device; cuda_backend_test.cc has several.
#include <gtest/gtest.h>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

void FeedMembers(Workspace* ws) {
  Feed(ws, "a", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  Feed(ws, "b", {3, 2}, std::vector<float>{10, 20, 30, 40, 50, 60});
  Feed(ws, "c", {3, 2}, std::vector<float>{0, 0, 100, 0, 0, 0});
}

TEST(NcclOpTest, AllreduceGivesTheSumToAll) {
  Workspace ws;
  FeedMembers(&ws);
  RunOp(&ws, Op("NCCLAllreduce", {"a", "b", "c"}, {"a", "b", "c"}));
  for (const char* name : {"a", "b", "c"}) {
    ExpectTensor(ws, name, {3, 2}, {11, 22, 133, 44, 55, 66});
  }
}

TEST(NcclOpTest, AllreduceOfIntegersAndOfOneMember) {
  Workspace ws;
  Feed(&ws, "a", {2}, std::vector<int64_t>{int64_t{1} << 40, 1});
  Feed(&ws, "b", {2}, std::vector<int64_t>{int64_t{1} << 40, 2});
  RunOp(&ws, Op("NCCLAllreduce", {"a", "b"}, {"a", "b"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "b"), (std::vector<int64_t>{int64_t{2} << 40, 3}));
  Feed(&ws, "x", {2}, std::vector<float>{1, 2});
  RunOp(&ws, Op("NCCLAllreduce", {"x"}, {"x"}));
  ExpectTensor(ws, "x", {2}, {1, 2});
}

TEST(NcclOpTest, ReduceAndBroadcastHaveARoot) {
  Workspace ws;
  FeedMembers(&ws);
  RunOp(&ws, Op("NCCLReduce", {"a", "b", "c"}, {"b"}, {MakeArgument("root", 1)}));
  ExpectTensor(ws, "b", {3, 2}, {11, 22, 133, 44, 55, 66});
  ExpectTensor(ws, "a", {3, 2}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, Op("NCCLBroadcast", {"a", "b", "c"}, {"a", "b", "c"}, {MakeArgument("root", 1)}));
  for (const char* name : {"a", "b", "c"}) {
    ExpectTensor(ws, name, {3, 2}, {11, 22, 133, 44, 55, 66});
  }
  ExpectThrows(&ws, Op("NCCLBroadcast", {"a", "b"}, {"a", "b"}, {MakeArgument("root", 2)}),
               "root 2 is not an index of its 2 inputs");
}

TEST(NcclOpTest, AllGatherJoins) {
  Workspace ws;
  Feed(&ws, "a", {1, 2}, std::vector<float>{1, 2});
  Feed(&ws, "b", {1, 2}, std::vector<float>{3, 4});
  RunOp(&ws, Op("NCCLAllGather", {"a", "b"}, {"all_a", "all_b"}));
  ExpectTensor(ws, "all_a", {2, 2}, {1, 2, 3, 4});
  ExpectTensor(ws, "all_b", {2, 2}, {1, 2, 3, 4});
}

TEST(NcclOpTest, ReduceScatterGivesEachItsPart) {
  Workspace ws;
  FeedMembers(&ws);
  RunOp(&ws, Op("NCCLReduceScatter", {"a", "b", "c"}, {"a", "b", "c"}));
  ExpectTensor(ws, "a", {1, 2}, {11, 22});
  ExpectTensor(ws, "b", {1, 2}, {133, 44});
  ExpectTensor(ws, "c", {1, 2}, {55, 66});
  ExpectThrows(&ws, Op("NCCLReduceScatter", {"b", "c"}, {"y", "z"}),
               "cannot be split into 2 parts");
}

TEST(NcclOpTest, MembersThatDifferAreNamed) {
  Workspace ws;
  FeedMembers(&ws);
  Feed(&ws, "short", {2}, std::vector<float>{1, 2});
  ExpectThrows(&ws, Op("NCCLAllreduce", {"a", "short"}, {"a", "short"}), "input 1 (short)");
}

}  // namespace
}  // namespace caffe2::testing
