#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef Dropout(const std::string& output, float ratio, bool is_test, uint32_t seed = 7) {
  OperatorDef op =
      Op("Dropout", {"X"},
         is_test ? std::vector<std::string>{output} : std::vector<std::string>{output, "mask"},
         {MakeArgument<float>("ratio", ratio), MakeArgument<int>("is_test", is_test)});
  op.mutable_device_option()->set_random_seed(seed);
  return op;
}

TEST(DropoutTest, DropsTheShareAndScalesTheRest) {
  Workspace ws;
  const int64_t n = 100000;
  Feed(&ws, "X", {n}, std::vector<float>(n, 3));
  RunOp(&ws, Dropout("Y", 0.25f, false));
  const auto y = FetchValues<float>(ws, "Y");
  int64_t kept = 0;
  ExpectEach<bool>(ws, "mask", [&](bool keep, int64_t i) {
    kept += keep;
    return keep == (y[i] != 0);
  });
  ExpectEach<float>(ws, "Y", [](float value, int64_t) { return value == 4.f || value == 0.f; });
  EXPECT_NEAR(static_cast<double>(kept) / n, 0.75, 0.01);
}

TEST(DropoutTest, IsGivenByItsSeed) {
  Workspace ws;
  Feed(&ws, "X", {64}, std::vector<float>(64, 1));
  RunOp(&ws, Dropout("A", 0.5f, false));
  RunOp(&ws, Dropout("B", 0.5f, false));
  RunOp(&ws, Dropout("C", 0.5f, false, 8));
  EXPECT_EQ(FetchValues<float>(ws, "A"), FetchValues<float>(ws, "B"));
  EXPECT_NE(FetchValues<float>(ws, "A"), FetchValues<float>(ws, "C"));
}

TEST(DropoutTest, CopiesInTest) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {1, 2, 3});
  RunOp(&ws, Dropout("Y", 0.5f, true));
  ExpectTensor(ws, "Y", {3}, {1, 2, 3});
  RunOp(&ws, Dropout("X", 0.5f, true));
  ExpectTensor(ws, "X", {3}, {1, 2, 3});
}

TEST(DropoutTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {5, 6}, 1);
  CheckGradient(&ws, Dropout("Y", 0.4f, false), {0});
  CheckGradient(&ws, Dropout("Y", 0.4f, true), {0});
  CheckGradient(&ws, Dropout("X", 0.4f, false), {0});
}

TEST(DropoutTest, RejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, Dropout("Y", 1, false), "ratio");
  ExpectThrows(&ws, Dropout("Y", -0.1f, true), "ratio");
  ExpectThrows(&ws, Op("Dropout", {"X"}, {"Y"}), "mask");
}

}  // namespace
}  // namespace caffe2::testing
