// Transpose: permutes the dimensions of a tensor.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/shape/transpose.h"

namespace caffe2 {

// The `axes` argument for a tensor of `dims` dimensions; the default reverses them. Throws
// EnforceNotMet unless each dimension is named once.
std::vector<int> AxesFor(const std::vector<int>& given, int dims);
std::vector<int64_t> Permuted(const std::vector<int64_t>& dims, const std::vector<int>& axes);

template <class Context>
class TransposeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  TransposeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(this->template GetRepeatedArgument<int>("axes")) {}

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data() && X.dtype().copy() == nullptr, "cannot transpose ",
                  X.DebugString());
    const std::vector<int> axes = AxesFor(axes_, X.dim());
    Tensor* Y = Output(0);
    Y->Resize(Permuted(X.sizes(), axes));
    Permute(X.sizes(), axes, X.itemsize(), X.raw_data(), Y->raw_mutable_data(X.dtype()));
    return true;
  }

 private:
  // See TransposeElements (transpose.h).
  void Permute(const std::vector<int64_t>& dims, const std::vector<int>& axes, size_t itemsize,
               const void* x, void* y);

  std::vector<int> axes_;
};

}  // namespace caffe2
