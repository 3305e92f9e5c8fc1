// MatMul: the product of two tensors seen as matrices, which the arguments axis_a and axis_b split
// into rows and columns. A, B, [shape_like] -> Y [M, N], or the shape of shape_like.
#pragma once

#include "caffe2/utils/math.h"
#include "operators/activation/activation_types.h"

namespace caffe2 {

template <class Context>
class MatMulOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MatMulOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        axis_a_(this->template GetSingleArgument<int>("axis_a", 1)),
        axis_b_(this->template GetSingleArgument<int>("axis_b", 1)),
        trans_a_(this->template GetSingleArgument<int>("trans_a", 0) != 0),
        trans_b_(this->template GetSingleArgument<int>("trans_b", 0) != 0) {}

  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(A).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &a = Input(A), &b = Input(B);
    const int axis_a = a.canonical_axis_index(axis_a_), axis_b = b.canonical_axis_index(axis_b_);
    int64_t m = a.size_to_dim(axis_a), k = a.size_from_dim(axis_a);
    int64_t b_rows = b.size_to_dim(axis_b), n = b.size_from_dim(axis_b);
    if (trans_a_) std::swap(m, k);
    if (trans_b_) std::swap(b_rows, n);
    CAFFE_ENFORCE(k == b_rows, "the columns of A and the rows of B must match: A has shape ",
                  ShapeString(a.sizes()), (trans_a_ ? " (transposed)" : ""), " split before axis ",
                  axis_a, ", B ", ShapeString(b.sizes()), (trans_b_ ? " (transposed)" : ""),
                  " split before axis ", axis_b);
    Tensor* y = Output(0);
    if (InputSize() > SHAPE) {
      CAFFE_ENFORCE(Input(SHAPE).numel() == m * n, "the product is ", m, " x ", n,
                    ", which does not fit input 2 of shape ", ShapeString(Input(SHAPE).sizes()));
      y->ResizeLike(Input(SHAPE));
    } else {
      y->Resize(m, n);
    }
    math::Gemm<T>(trans_a_, trans_b_, m, n, k, 1, a.data<T>(), b.data<T>(), 0, y->mutable_data<T>(),
                  &context_);
    return true;
  }

 private:
  enum { A, B, SHAPE };
  int axis_a_, axis_b_;
  bool trans_a_, trans_b_;
};

}  // namespace caffe2
