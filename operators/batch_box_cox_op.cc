// BatchBoxCox: the Box-Cox transform of columns.
#include <algorithm>
#include <cmath>

#include "operators/element_type.h"

namespace caffe2 {
namespace {

class BatchBoxCoxOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    constexpr T kSmallest = T(1e-6);  // what is transformed is at least this
    const Tensor &X = Input(0), &L1 = Input(1), &L2 = Input(2);
    CAFFE_ENFORCE_GE(X.dim(), 1, "the data must have rows");
    const int64_t columns = X.size_from_dim(1);
    CAFFE_ENFORCE(L1.numel() == columns && L2.numel() == columns, "lambda1 ",
                  ShapeString(L1.sizes()), " and lambda2 ", ShapeString(L2.sizes()), " for data ",
                  ShapeString(X.sizes()));
    const T *x = X.data<T>(), *lambda1 = L1.data<T>(), *lambda2 = L2.data<T>();
    Output(0)->ResizeLike(X);
    T* y = Output(0)->mutable_data<T>();
    ParallelFor(X.size(0), std::max<int64_t>(1, 1024 / std::max<int64_t>(1, columns)),
                [=](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    for (int64_t j = 0; j < columns; ++j) {
                      const T value = std::max(x[i * columns + j] + lambda2[j], kSmallest);
                      y[i * columns + j] = lambda1[j] == 0
                                               ? std::log(value)
                                               : (std::pow(value, lambda1[j]) - 1) / lambda1[j];
                    }
                  }
                });
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(BatchBoxCox, BatchBoxCoxOp);
OPERATOR_SCHEMA(BatchBoxCox)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The Box-Cox transform of each column: (z^lambda1 - 1) / lambda1, or log(z) where lambda1 "
        "is 0, of z = max(x + lambda2, 1e-6).")
    .Arg("naive", "Of Caffe2; not read.")
    .Arg("min_block_size", "Of Caffe2; not read.")
    .Input(0, "data", "A float or double tensor, seen as an N x D matrix.")
    .Input(1, "lambda1", "D numbers of its type.")
    .Input(2, "lambda2", "D numbers of its type.")
    .Output(0, "output", "The result, shaped like the data; may overwrite it.");
SHOULD_NOT_DO_GRADIENT(BatchBoxCox);

}  // namespace caffe2
