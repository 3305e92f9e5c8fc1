// TT: a fully connected layer whose matrix is a product of small tensors, a tensor train (Novikov
// et al., NIPS 2015).
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/utils/math.h"
#include "operators/matmul/fully_connected_functions.h"

namespace caffe2 {

// Maps inputs with the index i_1 ... i_d to outputs with the index o_1 ... o_d, both row-major. The
// matrix element is
//   sum over r_1 ... r_(d-1) of the product over k of G_k[i_k, r_k, r_(k-1), o_k]
// with r_0 and r_d always 0. X [N, ...] has rows of prod inp_sizes elements, b has prod out_sizes
// elements, and cores holds the G_k one after another, the last one first; Y is [N, prod
// out_sizes]. All are float. Throws EnforceNotMet for arguments and shapes that do not match.
template <class Context>
class TtOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Sizes = std::vector<int64_t>;
  TtOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        inputs_(this->template GetRepeatedArgument<int64_t>("inp_sizes")),
        outputs_(this->template GetRepeatedArgument<int64_t>("out_sizes")),
        ranks_(this->template GetRepeatedArgument<int64_t>("tt_ranks")) {
    CAFFE_ENFORCE(!inputs_.empty() && outputs_.size() == inputs_.size() &&
                      ranks_.size() == inputs_.size() + 1,
                  "inp_sizes, out_sizes and tt_ranks have ", inputs_.size(), ", ", outputs_.size(),
                  " and ", ranks_.size(), " values; tt_ranks needs one more than the others");
    for (const Sizes* sizes : {&inputs_, &outputs_, &ranks_}) {
      for (const int64_t size : *sizes)
        CAFFE_ENFORCE(size >= 1, "the sizes and ranks must be at least 1, found ", size);
    }
    CAFFE_ENFORCE(ranks_.front() == 1 && ranks_.back() == 1,
                  "the first and last of tt_ranks must be 1, found ", ranks_.front(), " and ",
                  ranks_.back());
  }

  bool RunOnDevice() override {
    const Tensor &X = Input(0), &b = Input(1), &cores = Input(2);
    CAFFE_ENFORCE(X.dim() >= 1, "X must have at least one axis, found a scalar");
    const int64_t in = CheckedNumel(inputs_), out = CheckedNumel(outputs_);
    const int64_t rows = X.size(0);
    CAFFE_ENFORCE(X.size_from_dim(1) == in, "a row of X must have ", in, " elements for inp_sizes ",
                  ShapeString(inputs_), ", found shape ", ShapeString(X.sizes()));
    CAFFE_ENFORCE(b.numel() == out, "b must have ", out, " elements for out_sizes ",
                  ShapeString(outputs_), ", found ", b.numel());
    CAFFE_ENFORCE(cores.numel() == CoreElements(), "cores must have ", CoreElements(),
                  " elements for these sizes and ranks, found ", cores.numel());
    Output(0)->Resize(rows, out);
    const float* bias = b.data<float>();
    Tensor buffers[2] = {Tensor(context_.device()), Tensor(context_.device())};
    const float* z = Multiply(rows, X.data<float>(), cores.data<float>(), buffers);
    ForEach(rows * out, AddBias{out, z, bias, Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }

 private:
  int64_t CoreSize(size_t k) const {
    return CheckedNumel({inputs_[k], ranks_[k + 1], ranks_[k], outputs_[k]});
  }
  int64_t CoreElements() const {
    int64_t total = 0;
    for (size_t k = 0; k < inputs_.size(); ++k) total += CoreSize(k);
    return total;
  }
  // X times the matrix, in one of the buffers. Multiplies by one core after another, from the last
  // one, which is first in memory: Z[a, i_k r_k, b] -> Z'[a, r_(k-1) o_k, b], where a counts the
  // rows and the inputs before k, and b counts the outputs after k.
  const float* Multiply(int64_t rows, const float* x, const float* core, Tensor* buffers) {
    int64_t before = rows * CheckedNumel(inputs_), after = 1;
    for (size_t k = inputs_.size(); k-- > 0;) {
      const int64_t m = ranks_[k] * outputs_[k], depth = inputs_[k] * ranks_[k + 1];
      before /= inputs_[k];
      Tensor& to = buffers[k % 2];
      to.Resize(before, m, after);
      float* z = to.template mutable_data<float>();
      math::GemmBatched(true, false, before, m, after, depth, core, true, x, false, z, &context_);
      core += CoreSize(k);
      after *= outputs_[k];
      x = z;
    }
    return x;
  }

  Sizes inputs_, outputs_, ranks_;
};

}  // namespace caffe2
