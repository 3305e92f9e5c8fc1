#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BisectPercentileTest, StepsAtPoints) {
  Workspace ws;
  const std::vector<Argument> args{
      MakeArgument("percentile_raw", Floats{1, 2, 4, 5}),
      MakeArgument("percentile_mapping", Floats{0.1f, 0.4f, 0.9f, 0.5f}),
      MakeArgument("percentile_lower", Floats{0, 0.3f, 0.8f, 0.2f}),
      MakeArgument("percentile_upper", Floats{0.2f, 0.5f, 1, 0.7f}),
      MakeArgument("lengths", std::vector<int64_t>{3, 1})};
  const OperatorDef op = Op("BisectPercentile", {"X"}, {"Y"}, args);
  Feed<float>(&ws, "X", {6, 2}, {0, 4, 1, 5, 1.5f, 6, 2, 5, 3, 5, 4.5f, 5});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {6, 2}, {0, 0, 0.1f, 0.5f, 0.25f, 1, 0.4f, 0.5f, 0.65f, 0.5f, 1, 0.5f});
  Feed<float>(&ws, "X", {2, 3}, {0, 0, 0, 0, 0, 0});
  ExpectThrows(&ws, op, "must be N x 2, found shape");
  const auto with = [&args](const std::string& name, const auto& value) {
    std::vector<Argument> changed = args;
    for (Argument& arg : changed) {
      if (arg.name() == name) arg = MakeArgument(name, value);
    }
    return Op("BisectPercentile", {"X"}, {"Y"}, changed);
  };
  ExpectThrows(&ws, with("lengths", std::vector<int64_t>{3, 2}), "length 2 of feature 1");
  ExpectThrows(&ws, with("lengths", std::vector<int64_t>{3}), "the lengths must add up to the");
  ExpectThrows(&ws, with("percentile_raw", Floats{1, 1, 4, 5}), "must increase");
  ExpectThrows(&ws, with("percentile_lower", Floats{1}), "have 4, 4, 1 and 4 points");
}

}  // namespace
}  // namespace caffe2::testing
