// What the tests of segment reductions share: inputs, and a reference by a loop over the entries.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/utils/narrow_float.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

inline const std::vector<int> kSortedIds{0, 0, 1, 2, 2, 2}, kAnyIds{2, 0, 2, 4, 0, 2};
inline const std::vector<int> kSegmentLengths{2, 0, 1, 3}, kSegmentIndices{4, 1, 4, 0, 3, 3};
constexpr int kSegmentWidth = 4;

// Feeds everything a segment operator may read: 6 rows X, 5 rows T that the indices read, weights.
inline void FeedSegments(Workspace* ws) {
  FeedRandom(ws, "X", {6, 2, 2}, 1);
  FeedRandom(ws, "T", {5, 2, 2}, 2);
  FeedRandom(ws, "W", {6}, 3);
  Feed<int>(ws, "sorted", {6}, kSortedIds);
  Feed<int>(ws, "any", {6}, kAnyIds);
  Feed<int>(ws, "lengths", {4}, kSegmentLengths);
  Feed<int>(ws, "index", {6}, kSegmentIndices);
}

// A reduction of the segments that `groups` gives: ids ("sorted", "any") or "lengths".
struct SegmentCase {
  std::string type, groups, reducer;
  bool sparse;

  std::vector<std::string> Inputs() const {
    std::vector<std::string> inputs{sparse ? "T" : "X"};
    if (reducer == "WeightedSum") inputs.emplace_back("W");
    if (sparse) inputs.emplace_back("index");
    inputs.push_back(groups);
    return inputs;
  }
};

// The segment of each entry, and how many segments there are.
inline std::pair<std::vector<int>, int> SegmentsOf(const std::string& groups) {
  if (groups == "sorted") return {kSortedIds, 3};
  if (groups == "any") return {kAnyIds, 5};
  return {{0, 0, 2, 3, 3, 3}, 4};
}

inline std::vector<float> SegmentReference(const Workspace& ws, const SegmentCase& test) {
  const auto [ids, count] = SegmentsOf(test.groups);
  const auto data = FetchValues<float>(ws, test.sparse ? "T" : "X");
  const auto weights = FetchValues<float>(ws, "W");
  std::vector<double> sums(count * kSegmentWidth, 0), sizes(count, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int row = test.sparse ? kSegmentIndices[i] : static_cast<int>(i);
    for (int j = 0; j < kSegmentWidth; ++j) {
      const double x = data[row * kSegmentWidth + j];
      double& y = sums[ids[i] * kSegmentWidth + j];
      if (test.reducer == "Max") {
        y = sizes[ids[i]] == 0 ? x : std::max(y, x);
      } else {
        y += test.reducer == "WeightedSum" ? weights[i] * x : x;
      }
    }
    ++sizes[ids[i]];
  }
  std::vector<float> result;
  for (int i = 0; i < count * kSegmentWidth; ++i) {
    const bool divide = test.reducer == "Mean" && sizes[i / kSegmentWidth] > 0;
    result.push_back(static_cast<float>(divide ? sums[i] / sizes[i / kSegmentWidth] : sums[i]));
  }
  return result;
}

// The cases of operators "FORMSum", "FORMMean" and "FORMWeightedSum".
inline std::vector<SegmentCase> SegmentCases(const std::string& form, const std::string& groups,
                                             bool sparse) {
  std::vector<SegmentCase> cases;
  for (const char* reducer : {"Sum", "Mean", "WeightedSum"}) {
    cases.push_back({form + reducer, groups, reducer, sparse});
  }
  return cases;
}

inline void ExpectSegmentReference(const SegmentCase& test) {
  Workspace ws;
  FeedSegments(&ws);
  const OperatorDef op = Op(test.type, test.Inputs(), {"Y"});
  const int count = SegmentsOf(test.groups).second;
  RunOp(&ws, op, true);  // most shapes depend on the ids
  ExpectTensor(ws, "Y", {count, 2, 2}, SegmentReference(ws, test));
}

// Rows of 16 bits give the bits of the same rows as float.
template <typename T>
void ExpectSegmentsOf(const SegmentCase& test, T (*narrow)(float)) {
  Workspace ws;
  FeedSegments(&ws);
  const OperatorDef op = Op(test.type, test.Inputs(), {"Y"}),
                    narrow_op = Op(test.type, test.Inputs(), {"Z"});
  std::map<std::string, std::vector<T>> narrowed;
  for (const char* name : {"X", "T"}) {
    for (const float value : FetchValues<float>(ws, name)) narrowed[name].push_back(narrow(value));
    Floats widened;
    for (const T value : narrowed[name]) widened.push_back(ToFloat(value));
    Feed(&ws, name, Fetch(ws, name).sizes(), widened);
  }
  RunOp(&ws, op, true);
  for (const auto& [name, values] : narrowed) Feed(&ws, name, Fetch(ws, name).sizes(), values);
  RunOp(&ws, narrow_op, true);
  EXPECT_EQ(FetchValues<float>(ws, "Z"), FetchValues<float>(ws, "Y"));
}
inline void ExpectSixteenBitSegments(const SegmentCase& test) {
  ExpectSegmentsOf<float16>(test, ToFloat16);
  ExpectSegmentsOf<bfloat16>(test, ToBFloat16);
}

inline void CheckSegmentGradient(const SegmentCase& test) {
  Workspace ws;
  FeedSegments(&ws);
  CheckGradient(&ws, Op(test.type, test.Inputs(), {"Y"}), {0});
}

inline void ExpectNoSegments(const SegmentCase& test) {
  Workspace ws;
  Feed<float>(&ws, "X", {0, 3}, {});
  Feed<float>(&ws, "T", {2, 3}, std::vector<float>(6));
  Feed<float>(&ws, "W", {0}, {});
  for (const char* name : {"sorted", "any", "lengths", "index"}) Feed<int>(&ws, name, {0}, {});
  RunOp(&ws, Op(test.type, test.Inputs(), {"Y"}), true);
  ExpectTensor(ws, "Y", {0, 3}, {});
}

inline void ExpectBadSegmentsRefused(const SegmentCase& test) {
  Workspace ws;
  FeedSegments(&ws);
  const OperatorDef op = Op(test.type, test.Inputs(), {"Y"});
  if (test.sparse) {
    Feed<int>(&ws, "index", {6}, {0, 1, 2, 5, 0, 0});
    ExpectThrows(&ws, op, "index 5 at position 3");
    Feed<int>(&ws, "index", {6}, kSegmentIndices);
  }
  if (test.reducer == "WeightedSum") {
    FeedRandom(&ws, "W", {5}, 3);
    ExpectThrows(&ws, op, "there must be one weight for each of the 6 entries, found shape [5]");
    FeedRandom(&ws, "W", {6}, 3);
  }
  Feed<int>(&ws, "sorted", {6}, {0, 0, 2, 2, 3, 3});
  Feed<int>(&ws, "any", {6}, {0, -1, 2, 2, 3, 3});
  Feed<int>(&ws, "lengths", {2}, {7, -1});
  ExpectThrows(&ws, op,
               test.groups == "sorted" ? "no gaps"
               : test.groups == "any"  ? "index -1"
                                       : "length 1 must not be negative");
  for (const char* name : {"sorted", "any", "lengths"}) Feed<int>(&ws, name, {2}, {0, 1});
  ExpectThrows(&ws, op, "entries");
  for (const char* name : {"sorted", "any", "lengths"}) FeedRandom(&ws, name, {6}, 1);
  ExpectThrows(&ws, op, "must be int32 or int64");
}

// Sums, means and maxima of wide rows have the bits of a loop over the entries of a segment.
struct WideSegmentCase {
  std::string type, groups, reducer;  // as in SegmentCase; also "PositionalWeightedSum"
  bool sparse;
};

template <typename T>
void ExpectWideSegments(const WideSegmentCase& test, int64_t width, T (*narrow)(float)) {
  constexpr int64_t kRows = 50, kEntries = 50;
  Workspace ws;
  const std::vector<float> values = RandomValues(kRows * width, 1), w = RandomValues(kEntries, 2);
  std::vector<T> data;
  for (const float value : values) data.push_back(narrow(value));
  std::vector<int> index, ids, lengths{3, 0, 1, 17, 29};
  for (int i = 0; i < kEntries; ++i) index.push_back(i * 37 % kRows), ids.push_back(i * 7 % 5);
  if (test.groups != "any") {
    ids.clear();
    for (int s = 0; s < 5; ++s)
      ids.insert(ids.end(), lengths[s], s - (test.groups == "sorted" && s > 1));
  }
  const int count = test.groups == "sorted" ? 4 : 5;
  Feed(&ws, "X", {kRows, width}, data);
  Feed(&ws, "W", {kEntries}, w);
  Feed(&ws, "index", {kEntries}, index);
  Feed(&ws, "groups", {test.groups == "lengths" ? 5 : kEntries},
       test.groups == "lengths" ? lengths : ids);
  const bool weighted = test.reducer.find("WeightedSum") != std::string::npos;
  std::vector<std::string> inputs{"X"};
  if (weighted) inputs.emplace_back("W");
  if (test.sparse) inputs.emplace_back("index");
  inputs.emplace_back("groups");
  RunOp(&ws, Op(test.type, inputs, {"Y"}), true);
  std::vector<float> expected(count * width, 0);
  std::vector<int> sizes(count, 0);
  for (int i = 0; i < kEntries; ++i) {
    const int position = sizes[ids[i]]++;
    const float weight = !weighted ? 1 : w[test.reducer == "WeightedSum" ? i : position];
    for (int64_t j = 0; j < width; ++j) {
      const float x = Widen(narrow(values[(test.sparse ? index[i] : i) * width + j]));
      float& y = expected[ids[i] * width + j];
      y = test.reducer != "Max" ? y + weight * x : position == 0 ? x : std::max(y, x);
    }
  }
  for (int64_t i = 0; i < count * width; ++i) {
    if (test.reducer == "Mean" && sizes[i / width] > 0)
      expected[i] *= 1.f / static_cast<float>(sizes[i / width]);
  }
  ExpectTensor(ws, "Y", {count, width}, expected, 0, weighted ? 2e-6f : 0.f);
}

// Widths around the sizes of blocks of columns.
inline void ExpectWideSegments(const WideSegmentCase& test) {
  for (const int64_t width : {1, 2, 3, 5, 8, 13, 16, 31, 48, 63, 64, 65, 96, 100, 130, 257}) {
    SCOPED_TRACE(width);
    ExpectWideSegments<float>(test, width, [](float x) { return x; });
    ExpectWideSegments<float16>(test, width, ToFloat16);
    ExpectWideSegments<bfloat16>(test, width, ToBFloat16);
  }
}

}  // namespace caffe2::testing
