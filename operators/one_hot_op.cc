#include "caffe2/core/operator.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

template <class Context>
class OneHotOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(OneHotOp);
  bool RunOnDevice() override {
    const Tensor &indices = Input(0), &size = Input(1);
    CAFFE_ENFORCE_EQ(indices.dim(), 1, "indices must be one-dimensional");
    CAFFE_ENFORCE_EQ(size.numel(), 1, "index_size_tensor must have one element");
    const int64_t n = indices.numel(), classes = *size.data<int64_t>();
    const int64_t* index = indices.data<int64_t>();
    CheckIndices(n, index, classes);
    Tensor* Y = Output(0);
    Y->Resize(n, classes);
    float* y = Y->template mutable_data<float>();
    std::fill_n(y, Y->numel(), 0.f);
    for (int64_t i = 0; i < n; ++i) y[i * classes + index[i]] = 1;
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(OneHot, OneHotOp<CPUContext>);
OPERATOR_SCHEMA(OneHot)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc(
        "A matrix with one row for each index, 1 in the column it names and 0 elsewhere. Its width "
        "is known at run time only.")
    .Input(0, "indices", "int64, one-dimensional; each less than the number of columns.")
    .Input(1, "index_size_tensor", "The number of columns: one int64, in host memory.")
    .Output(0, "one_hots", "[number of indices, number of columns], float.");
SHOULD_NOT_DO_GRADIENT(OneHot);

}  // namespace caffe2
