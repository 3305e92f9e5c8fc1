#include "caffe2/core/operator.h"
#include "operators/element_type.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

template <class Context>
class ScatterWeightedSumOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ScatterWeightedSumOp);
  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(2).dtype()); }

  template <typename Index>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &indices = Input(2);
    CAFFE_ENFORCE_GE(X.dim(), 1, "X_0 must have rows");
    const int64_t rows = X.size(0), n = indices.numel(), width = X.size_from_dim(1);
    const Index* index = indices.data<Index>();
    CheckIndices(n, index, rows);
    float* x = Output(0)->template mutable_data<float>();
    const float first = Weight(1);
    if (first != 1.f) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < width; ++j) x[index[i] * width + j] *= first;
      }
    }
    for (int k = 3; k < InputSize(); k += 2) {
      const Tensor& update = Input(k);
      CAFFE_ENFORCE_EQ(update.numel(), n * width, "input ", k, " of shape ",
                       ShapeString(update.sizes()), " must hold ", n, " rows of ", width);
      const float* u = update.data<float>();
      const float weight = Weight(k + 1);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < width; ++j) {
          x[index[i] * width + j] += weight * u[i * width + j];
        }
      }
    }
    return true;
  }

 private:
  float Weight(int i) const {
    CAFFE_ENFORCE_EQ(Input(i).numel(), 1, "weight input ", i, " must have one element");
    return *Input(i).template data<float>();
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(ScatterWeightedSum, ScatterWeightedSumOp<CPUContext>);
OPERATOR_SCHEMA(ScatterWeightedSum)
    .NumInputs([](int n) { return n > 3 && n % 2 == 1; })
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Updates rows of a tensor in place: for each i, row INDICES[i] of X_0 is multiplied "
        "by Weight_0, and then row i of each X_k times Weight_k is added to it. An index that "
        "occurs twice is multiplied twice.")
    .Input(0, "X_0", "Float tensor of at least one dimension; updated.")
    .Input(1, "Weight_0", "Float tensor of one element.")
    .Input(2, "INDICES", "int32 or int64 row numbers.")
    .Input(3, "X_1", "Float tensor of one row for each index; further pairs follow.")
    .Input(4, "Weight_1", "Float tensor of one element.")
    .Output(0, "X_0", "The updated tensor: input 0.");
SHOULD_NOT_DO_GRADIENT(ScatterWeightedSum);

}  // namespace caffe2
