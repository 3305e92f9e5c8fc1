// Labels of type int64, which operators with labels accept besides int32.
#pragma once

#include "tests/operators/op_test.h"

namespace caffe2::testing {

// Runs an operator with the int32 labels of its last input, and with the same labels as int64: all
// outputs of one float type must be equal. A label that int32 cannot hold must be refused.
inline void ExpectWideLabelsWork(Workspace* ws, const OperatorDef& op) {
  const std::string& label = op.input(op.input_size() - 1);
  const std::vector<int64_t> dims = Fetch(*ws, label).sizes();
  const auto narrow = FetchValues<int>(*ws, label);
  RunOp(ws, op);
  std::vector<std::vector<float>> expected;
  for (const std::string& output : op.output()) {
    expected.push_back(Fetch(*ws, output).dtype().Match<float>() ? FetchValues<float>(*ws, output)
                                                                 : std::vector<float>());
  }
  std::vector<int64_t> wide(narrow.begin(), narrow.end());
  Feed<int64_t>(ws, label, dims, wide);
  RunOp(ws, op);
  for (int i = 0; i < op.output_size(); ++i) {
    if (expected[i].empty()) continue;
    EXPECT_EQ(FetchValues<float>(*ws, op.output(i)), expected[i]);
  }
  wide[0] += int64_t{1} << 32;  // the same low bits
  Feed<int64_t>(ws, label, dims, wide);
  ExpectThrows(ws, op, "of row 0 is out of range");
}

}  // namespace caffe2::testing
