#include "caffe2/core/net.h"
#include "tests/core/test_operators.h"
#include "tests/operators/control/control_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef Do(const NetDef& net, std::vector<Argument> args = {}) {
  args.push_back(MakeArgument("net", net));
  args.push_back(MakeArgument("inner_blobs", std::vector<std::string>{"in", "out"}));
  args.push_back(MakeArgument("outer_blobs_idx", std::vector<int>{0, 1}));
  return Op("Do", {"X", "scope"}, {"Y", "scope"}, args);
}

TEST(DoOpTest, InnerBlobsStayInside) {
  Workspace ws;
  Feed<float>(&ws, "X", {1}, {3});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  const NetDef net = Net("inner", {Scale("in", "local", 2), Scale("local", "out", 5)});
  RunOp(&ws, Do(net), true);
  ExpectTensor(ws, "Y", {1}, {30});
  EXPECT_FALSE(ws.HasBlob("local"));
  EXPECT_FALSE(ws.HasBlob("in"));
  RunOp(&ws, Op("HasScope", {"scope"}, {"has"}));
  EXPECT_EQ(FetchValues<bool>(ws, "has"), Flags{true});
  Feed<float>(&ws, "X", {1}, {4});
  RunOp(&ws, Do(net, {MakeArgument("reuse_workspace", 1)}), true);
  ExpectTensor(ws, "Y", {1}, {40});
  // A net that binds a name which the workspace does not know yet, and reads one that it does.
  OperatorDef more = Op(
      "Do", {"scope"}, {"Z", "scope"},
      {MakeArgument("net", Net("more", {Scale("local", "new", 3)})),
       MakeArgument("inner_blobs", std::vector<std::string>{"new"}),
       MakeArgument("outer_blobs_idx", std::vector<int>{0}), MakeArgument("reuse_workspace", 1)});
  RunOp(&ws, more, true);
  ExpectTensor(ws, "Z", {1}, {24});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  RunOp(&ws, Op("HasScope", {"scope"}, {"has"}));
  EXPECT_EQ(FetchValues<bool>(ws, "has"), Flags{false});
}

TEST(DoOpTest, Gradient) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {0.4f, -1});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  CheckGradient(
      &ws,
      Do(Net("inner", {Op("Sigmoid", {"in"}, {"local"}), Op("Mul", {"local", "in"}, {"out"})})),
      {0});
}

// Two forward runs, then two gradient runs in reverse order: each finds what its own forward run
// left behind.
TEST(DoOpTest, GradientRunsFindTheirScope) {
  Workspace ws;
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  const NetDef net = Net("inner", {Scale("in", "local", 2), Scale("local", "out", 5)});
  const auto copy = MakeArgument("copy_external_blobs", 1);
  for (const float x : {3.f, 7.f}) {
    Feed<float>(&ws, "X", {1}, {x});
    RunOp(&ws, Do(net, {copy}), true);
  }
  OperatorDef gradient =
      Op("Do", {"dY", "scope"}, {"dX", "scope"},
         {MakeArgument("net", Net("gradient", {Op("Mul", {"local", "d_out"}, {"product"}),
                                               Op("Add", {"product", "in"}, {"d_in"})})),
          MakeArgument("inner_blobs", std::vector<std::string>{"d_out", "d_in"}),
          MakeArgument("outer_blobs_idx", std::vector<int>{0, 1})});
  gradient.set_is_gradient_op(true);
  Feed<float>(&ws, "dY", {1}, {10});
  RunOp(&ws, gradient, true);
  ExpectTensor(ws, "dX", {1}, {147});  // local 14, in 7
  RunOp(&ws, gradient, true);
  ExpectTensor(ws, "dX", {1}, {63});  // local 6, in 3
  ExpectThrows(&ws, gradient, "no scope left");
}

TEST(DoOpTest, RefusesBadBindings) {
  Workspace ws;
  Feed<float>(&ws, "X", {1}, {3});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  const auto bound = [](std::vector<std::string> inner, std::vector<int> index) {
    return Op("Do", {"X", "scope"}, {"Y", "scope"},
              {MakeArgument("net", Net("inner", {})), MakeArgument("inner_blobs", inner),
               MakeArgument("outer_blobs_idx", index)});
  };
  ExpectThrows(&ws, bound({"a"}, {0, 1}),
               "inner_blobs (1) and outer_blobs_idx (2) must have the same length");
  ExpectThrows(&ws, bound({"a", "b"}, {0, 2}), "out of range");
  ExpectThrows(&ws, bound({"a", "b"}, {0, 0}), "bound twice");
  ExpectThrows(&ws, bound({"a", "a"}, {0, 1}), "bound twice");
  ExpectThrows(&ws, bound({"a"}, {0}), "must bind every outer blob: it binds 1 of 2");
  ExpectThrows(&ws, Op("Do", {"scope", "X"}, {"Y", "scope"}, {MakeArgument("net", Net("n", {}))}),
               "same scope");
}

}  // namespace
}  // namespace caffe2::testing
