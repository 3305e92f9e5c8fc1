#include "operators/sparse/find_op.h"

#include <unordered_map>

namespace caffe2 {

template <typename T>
void FindLast(int64_t n, const T* values, int64_t queries, const T* query, T missing, T* y,
              CPUContext* /*context*/) {
  std::unordered_map<T, T> positions;
  for (int64_t i = 0; i < n; ++i) positions[values[i]] = static_cast<T>(i);
  for (int64_t i = 0; i < queries; ++i) {
    const auto found = positions.find(query[i]);
    y[i] = found == positions.end() ? missing : found->second;
  }
}

REGISTER_CPU_OPERATOR(Find, FindOp<CPUContext>);
OPERATOR_SCHEMA(Find)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("For each query its position in the index; the last one if it is there twice.")
    .Arg<int>("missing_value", "(default -1) What stands for a query that is not there.")
    .Input(0, "index", "int32 or int64 values.")
    .Input(1, "query", "Values looked for, of the index's type.")
    .Output(0, "query_indices", "Their positions, of the same type and shape.");
SHOULD_NOT_DO_GRADIENT(Find);

}  // namespace caffe2
