// FindDuplicateElements: finds the repeated elements of a list.
#include <unordered_set>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

class FindDuplicateElementsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t, std::string>::Dispatch(this,
                                                                               Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 1, "data must be one-dimensional, found shape ",
                  ShapeString(X.sizes()));
    const T* x = X.data<T>();
    std::unordered_set<T> seen;
    std::vector<int64_t> repeated;
    for (int64_t i = 0; i < X.numel(); ++i) {
      if (!seen.insert(x[i]).second) repeated.push_back(i);
    }
    Output(0)->Resize(static_cast<int64_t>(repeated.size()));
    std::copy(repeated.begin(), repeated.end(), Output(0)->mutable_data<int64_t>());
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(FindDuplicateElements, FindDuplicateElementsOp);
OPERATOR_SCHEMA(FindDuplicateElements)
    .NumInputs(1)
    .NumOutputs(1)
    .SetDoc("The indices of elements that are equal to an earlier one.")
    .Input(0, "data", "float, double, int32, int64 or strings, one-dimensional.")
    .Output(0, "indices", "int64, ascending; their number is known at run time only.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(FindDuplicateElements);

}  // namespace caffe2
