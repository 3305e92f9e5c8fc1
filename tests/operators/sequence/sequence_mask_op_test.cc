#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SequenceMaskTest, FillsByMode) {
  Workspace ws;
  const int rows = 3, columns = 4;
  FeedRandom(&ws, "X", {2, rows, columns}, 1);
  Feed<int32_t>(&ws, "n", {rows}, {1, 0, 3});
  Feed<int32_t>(&ws, "all", {2 * rows}, {1, 0, 3, 4, 2, 2});
  const std::vector<int> lengths = FetchValues<int32_t>(ws, "all");
  const auto x = FetchValues<float>(ws, "X");
  const auto check = [&](const std::string& mode, std::vector<std::string> inputs,
                         std::vector<Argument> args, const auto& masked) {
    std::vector<float> expected = x;
    for (int i = 0; i < 2 * rows * columns; ++i) {
      if (masked(i / columns, i % columns)) expected[i] = -5;
    }
    args.push_back(MakeArgument("mode", mode));
    args.push_back(MakeArgument("axis", 2));
    args.push_back(MakeArgument<float>("fill_val", -5.f));
    const OperatorDef op = Op("SequenceMask", inputs, {"Y"}, args);
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", {2, rows, columns}, expected, 0, 0);
    CheckGradient(&ws, op, {0});
  };
  const auto batch = MakeArgument("batch", 0);
  check("sequence", {"X", "all"}, {}, [&](int i, int j) { return j >= lengths[i]; });
  check("sequence", {"X", "n"}, {batch}, [&](int i, int j) { return j >= lengths[i % rows]; });
  check("window", {"X", "all"}, {MakeArgument("radius", 1)},
        [&](int i, int j) { return std::abs(j - lengths[i]) > 1; });
  check("window", {"X", "n"}, {MakeArgument("radius", 1), batch},
        [&](int i, int j) { return std::abs(j - lengths[i % rows]) > 1; });
  check("upper", {"X"}, {batch}, [](int i, int j) { return j > i % rows; });
  check("lower", {"X"}, {batch}, [](int i, int j) { return j < i % rows; });
  check("upperdiag", {"X"}, {}, [](int i, int j) { return j >= i; });
  check("lowerdiag", {"X"}, {batch}, [](int i, int j) { return j <= i % rows; });
  // The same mask for all of the last axis.
  RunOp(&ws, Op("SequenceMask", {"X"}, {"Y"},
                {MakeArgument<std::string>("mode", "upper"), MakeArgument("axis", 1),
                 MakeArgument("repeat_from_axis", 2), MakeArgument<float>("fill_val", 0.f)}));
  std::vector<float> expected = x;
  std::fill_n(expected.begin() + columns, 2 * columns, 0.f);
  std::fill_n(expected.begin() + 5 * columns, columns, 0.f);
  ExpectTensor(ws, "Y", {2, rows, columns}, expected, 0, 0);
}

TEST(SequenceMaskTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1);
  Feed<int32_t>(&ws, "n", {2}, {1, 0});
  const auto mode = [](const char* name) { return MakeArgument<std::string>("mode", name); };
  ExpectThrows(&ws, Op("SequenceMask", {"X"}, {"Y"}, {mode("middle")}), "middle");
  ExpectThrows(&ws, Op("SequenceMask", {"X"}, {"Y"}, {mode("sequence")}), "second input");
  ExpectThrows(&ws, Op("SequenceMask", {"X", "n"}, {"Y"}, {mode("sequence")}), "second input");
  ExpectThrows(&ws, Op("SequenceMask", {"X"}, {"Y"}, {mode("upper"), MakeArgument("batch", 1)}),
               "batch");
}

}  // namespace
}  // namespace caffe2::testing
