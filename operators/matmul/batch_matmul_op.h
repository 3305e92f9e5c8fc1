// BatchMatMul: products of matrices in the last two axes, A [..., M, K], B [..., K, N] -> Y [...,
// M, N].
#pragma once

#include <vector>

#include "caffe2/utils/math.h"
#include "operators/activation/activation_types.h"

namespace caffe2 {

// A batched product, resolved from shapes and arguments.
struct BatchMatMulPlan {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;            // products
  std::vector<int64_t> y_dims;  // the shape of the result
  // The matrices of A and B for each product; empty if they simply follow one another.
  std::vector<int64_t> a_index;
  std::vector<int64_t> b_index;
  bool one_a = false;  // A (B) is one matrix for all products
  bool one_b = false;
};

// Throws EnforceNotMet, naming both shapes, if they do not match. Without `broadcast` the leading
// axes must be equal; with it the rules of numpy.matmul hold, also for vectors.
BatchMatMulPlan PlanBatchMatMul(const std::vector<int64_t>& a_dims,
                                const std::vector<int64_t>& b_dims, bool trans_a, bool trans_b,
                                bool broadcast);

template <class Context>
class BatchMatMulOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BatchMatMulOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        trans_a_(this->template GetSingleArgument<int>("trans_a", 0) != 0),
        trans_b_(this->template GetSingleArgument<int>("trans_b", 0) != 0),
        broadcast_(this->template GetSingleArgument<int>("broadcast", 0) != 0) {}

  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &a = Input(0), &b = Input(1);
    const BatchMatMulPlan p = PlanBatchMatMul(a.sizes(), b.sizes(), trans_a_, trans_b_, broadcast_);
    const T *a_data = a.data<T>(), *b_data = b.data<T>();
    Tensor* y = Output(0);
    y->Resize(p.y_dims);
    T* y_data = y->mutable_data<T>();
    if (p.a_index.empty()) {
      math::GemmBatched(trans_a_, trans_b_, p.batch, p.m, p.n, p.k, a_data, p.one_a, b_data,
                        p.one_b, y_data, &context_);
      return true;
    }
    for (int64_t i = 0; i < p.batch; ++i) {
      math::Gemm<T>(trans_a_, trans_b_, p.m, p.n, p.k, 1, a_data + p.a_index[i] * p.m * p.k,
                    b_data + p.b_index[i] * p.k * p.n, 0, y_data + i * p.m * p.n, &context_);
    }
    return true;
  }

 private:
  bool trans_a_, trans_b_, broadcast_;
};

}  // namespace caffe2
