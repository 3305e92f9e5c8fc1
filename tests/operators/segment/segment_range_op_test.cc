#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/segment/segment_test_util.h"

namespace caffe2::testing {
namespace {

TEST(SegmentRangeTest, MatchReferencesAndGradients) {
  Workspace ws;
  FeedSegments(&ws);
  const auto x = FetchValues<float>(ws, "X");
  const auto reduce = [&x](const auto& function) {
    std::vector<float> result;
    for (int s = 0; s < 3; ++s) {
      for (int j = 0; j < kSegmentWidth; ++j) {
        std::vector<double> values;
        for (size_t i = 0; i < kSortedIds.size(); ++i) {
          if (kSortedIds[i] == s) values.push_back(x[i * kSegmentWidth + j]);
        }
        result.push_back(static_cast<float>(function(values)));
      }
    }
    return result;
  };
  const auto sum = [](const std::vector<double>& v) {
    double total = 0;
    for (const double value : v) total += value;
    return total;
  };
  const auto sum_of_exp = [](const std::vector<double>& v) {
    double total = 0;
    for (const double value : v) total += std::exp(value);
    return total;
  };
  using Values = const std::vector<double>&;
  const std::vector<std::pair<std::string, std::vector<float>>> expected{
      {"Sum", reduce(sum)},
      {"Mean", reduce([&](Values v) { return sum(v) / v.size(); })},
      {"Max", reduce([](Values v) { return *std::max_element(v.begin(), v.end()); })},
      {"LogSumExp", reduce([&](Values v) { return std::log(sum_of_exp(v)); })},
      {"LogMeanExp", reduce([&](Values v) { return std::log(sum_of_exp(v) / v.size()); })}};
  for (const auto& [name, values] : expected) {
    const OperatorDef op = Op("SortedSegmentRange" + name, {"X", "sorted"}, {"Y"});
    RunOp(&ws, op, true);
    ExpectTensor(ws, "Y", {3, 2, 2}, values);
    CheckGradient(&ws, op, {0});
  }
  Feed<float>(&ws, "large", {2, 1}, {1000, 1000});
  Feed<int>(&ws, "ids", {2}, {0, 0});
  RunOp(&ws, Op("SortedSegmentRangeLogMeanExp", {"large", "ids"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {1, 1}, {1000});
  Feed<int>(&ws, "ids", {2}, {1, 1});
  ExpectThrows(&ws, Op("SortedSegmentRangeSum", {"large", "ids"}, {"Y"}), "begin with 0");
}

}  // namespace
}  // namespace caffe2::testing
