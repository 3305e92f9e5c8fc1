// PackRNNSequence and UnpackRNNSequence: sequences as [steps, batch, ...], and back.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

using PackedTypes = TensorTypes<int32_t, int64_t, float, double>;

class PackRNNSequenceOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return PackedTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE_GE(X.dim(), 1, "values must have rows");
    const Segments sequences = Segments::FromLengths(Input(1), X.size(0));
    const int64_t batch = sequences.count(), width = X.size_from_dim(1);
    int64_t steps = 0;
    for (int64_t b = 0; b < batch; ++b) steps = std::max(steps, sequences.length(b));
    std::vector<int64_t> dims{steps, batch};
    dims.insert(dims.end(), X.sizes().begin() + 1, X.sizes().end());
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->Resize(dims);
    T* y = Y->mutable_data<T>();
    std::fill_n(y, Y->numel(), T(0));
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < sequences.length(b); ++t, x += width) {
        std::copy_n(x, width, y + (t * batch + b) * width);
      }
    }
    return true;
  }
};

class UnpackRNNSequenceOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return PackedTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const Segments sequences = Segments::FromLengths(Input(1));
    const int64_t batch = sequences.count();
    CAFFE_ENFORCE(X.dim() >= 2 && X.size(1) == batch, "there are ", batch,
                  " lengths for the sequences ", ShapeString(X.sizes()));
    const int64_t width = X.size_from_dim(2);
    for (int64_t b = 0; b < batch; ++b) {
      CAFFE_ENFORCE_LE(sequences.length(b), X.size(0), "length of sequence ", b);
    }
    std::vector<int64_t> dims(X.sizes().begin() + 1, X.sizes().end());
    dims[0] = sequences.size();
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->Resize(dims);
    T* y = Y->mutable_data<T>();
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < sequences.length(b); ++t) {
        y = std::copy_n(x + (t * batch + b) * width, width, y);
      }
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(PackRNNSequence, PackRNNSequenceOp);
REGISTER_CPU_OPERATOR(UnpackRNNSequence, UnpackRNNSequenceOp);
OPERATOR_SCHEMA(PackRNNSequence)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("Sequences that lie one after another as the columns of one tensor, padded with 0.")
    .Input(0, "values", "The steps of all sequences: float, double, int32 or int64 rows.")
    .Input(1, "lengths", "int32 or int64: how many steps each sequence has.")
    .Output(0, "output", "[longest, number of sequences, shape of a row].");
OPERATOR_SCHEMA(UnpackRNNSequence)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("The inverse of PackRNNSequence.")
    .Input(0, "values", "[steps, number of sequences, ...].")
    .Input(1, "lengths", "int32 or int64: how many steps each sequence has.")
    .Output(0, "output", "The steps of all sequences; how many is known at run time only.");
REGISTER_GRADIENT(PackRNNSequence, GradientRule<"UnpackRNNSequence: GO0 I1 -> GI0">);
REGISTER_GRADIENT(UnpackRNNSequence, GradientRule<"PackRNNSequence: GO0 I1 -> GI0">);

}  // namespace caffe2
