#include <algorithm>
#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"

namespace caffe2 {
namespace {

template <class Context>
class UniqueOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(UniqueOp);
  bool RunOnDevice() override { return IntegerTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 1, "the input must be one-dimensional, found shape ",
                  ShapeString(X.sizes()));
    CAFFE_ENFORCE(X.numel() <= std::numeric_limits<int32_t>::max(), "the input has ", X.numel(),
                  " elements, more than ", std::numeric_limits<int32_t>::max());
    const T* x = X.data<T>();
    const int n = static_cast<int>(X.numel());
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [x](int a, int b) { return x[a] < x[b]; });
    int32_t* remapping = nullptr;
    if (OutputSize() > 1) {
      Output(1)->ResizeLike(X);
      remapping = Output(1)->template mutable_data<int32_t>();
    }
    std::vector<T> unique;
    for (const int i : order) {
      if (unique.empty() || unique.back() != x[i]) unique.push_back(x[i]);
      if (remapping != nullptr) remapping[i] = static_cast<int32_t>(unique.size() - 1);
    }
    Tensor* Y = Output(0);
    Y->Resize(static_cast<int64_t>(unique.size()));
    std::copy(unique.begin(), unique.end(), Y->template mutable_data<T>());
    return true;
  }
};

// A list of at most one element has no duplicates, so its output shape is known.
std::vector<TensorShape> InferUnique(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const bool known = !in[0].unknown_shape() && in[0].dims_size() == 1;
  std::vector<TensorShape> out(def.output_size(), UnknownTensorShape());
  if (known && in[0].dims(0) <= 1) out[0] = in[0];
  if (known && out.size() > 1) out[1] = CreateTensorShape({in[0].dims(0)}, TensorProto::INT32);
  return out;
}

}  // namespace

REGISTER_CPU_OPERATOR(Unique, UniqueOp<CPUContext>);
OPERATOR_SCHEMA(Unique)
    .NumInputs(1)
    .NumOutputs(1, 2)
    .TensorInferenceFunction(InferUnique)
    .SetDoc(
        "The different values of a list, in ascending order. Their number is known at "
        "run time only.")
    .Input(0, "indices", "int32 or int64, one-dimensional.")
    .Output(0, "unique_indices", "The values, each once.")
    .Output(1, "remapping", "Optional int32: for each input its position in unique_indices.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(Unique);

}  // namespace caffe2
