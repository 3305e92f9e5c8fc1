// ExtendTensor: rows of zeros at the end.
#include <cstring>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/indices.h"

namespace caffe2 {
namespace {

// Extends a tensor so that it has all rows that the indices name.
class ExtendTensorOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data() && X.dtype().copy() == nullptr,
                  "the tensor to extend must have at least one axis and hold numbers, found ",
                  X.DebugString());
    const int64_t old_rows = X.size(0), width = X.size_from_dim(1);
    int64_t rows = old_rows;
    for (const int64_t index : ReadIntegers(Input(1), "indices")) {
      CAFFE_ENFORCE(index >= 0, "an index must not be negative, found ", index);
      rows = std::max(rows, index + 1);
    }
    if (rows == old_rows) return true;
    CheckedNumel({rows, width});
    Tensor* Y = Output(0);
    Y->ExtendTo(rows);
    const size_t row = width * Y->itemsize();
    std::memset(static_cast<char*>(Y->raw_mutable_data()) + old_rows * row, 0,
                (rows - old_rows) * row);
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(ExtendTensor, ExtendTensorOp);
OPERATOR_SCHEMA(ExtendTensor)
    .NumInputs(2)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .SetDoc("Appends rows of zeros until the tensor has the rows that the indices name.")
    .Input(0, "tensor", "A tensor of numbers with at least one dimension; grows.")
    .Input(1, "new_indices", "int32 or int64: rows.")
    .Output(0, "extended_tensor", "The tensor, in place.")
    .CpuOnly(cpu_only::kRecords);
SHOULD_NOT_DO_GRADIENT(ExtendTensor);

}  // namespace caffe2
