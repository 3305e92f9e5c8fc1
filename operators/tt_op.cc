// TT: a fully connected layer whose matrix is a product of small tensors, a tensor train (Novikov
// et al., NIPS 2015).
#include "caffe2/core/operator.h"
#include "caffe2/utils/math.h"

namespace caffe2 {
namespace {

using Sizes = std::vector<int64_t>;

// The matrix takes inputs i_1 ... i_d (row-major, of inputs_) to outputs o_1 ... o_d:
//   sum over r_1 ... r_(d-1) of the product over k of G_k[i_k, r_k, r_(k-1), o_k]
// with r_0 and r_d always 0.
class TtOp final : public Operator<CPUContext> {
 public:
  TtOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        inputs_(GetRepeatedArgument<int64_t>("inp_sizes")),
        outputs_(GetRepeatedArgument<int64_t>("out_sizes")),
        ranks_(GetRepeatedArgument<int64_t>("tt_ranks")) {
    CAFFE_ENFORCE(!inputs_.empty() && outputs_.size() == inputs_.size() &&
                      ranks_.size() == inputs_.size() + 1,
                  "inp_sizes, out_sizes and tt_ranks have ", inputs_.size(), ", ", outputs_.size(),
                  " and ", ranks_.size(), " values; tt_ranks needs one more than the others");
    for (const Sizes* sizes : {&inputs_, &outputs_, &ranks_}) {
      for (const int64_t size : *sizes) CAFFE_ENFORCE_GE(size, 1, "a size or rank");
    }
    CAFFE_ENFORCE(ranks_.front() == 1 && ranks_.back() == 1, "the first and last rank are ",
                  ranks_.front(), " and ", ranks_.back(), ", not 1");
  }

  bool RunOnDevice() override {
    const Tensor &X = Input(0), &b = Input(1), &cores = Input(2);
    CAFFE_ENFORCE_GE(X.dim(), 1, "axes of X");
    const int64_t in = CheckedNumel(inputs_), out = CheckedNumel(outputs_);
    const int64_t rows = X.size(0);
    CAFFE_ENFORCE_EQ(X.size_from_dim(1), in, "X ", ShapeString(X.sizes()), " for inp_sizes ",
                     ShapeString(inputs_));
    CAFFE_ENFORCE_EQ(b.numel(), out, "b for out_sizes ", ShapeString(outputs_));
    CAFFE_ENFORCE_EQ(cores.numel(), CoreElements(), "cores for these sizes and ranks");
    Output(0)->Resize(rows, out);
    float* y = Output(0)->mutable_data<float>();
    const float *z = Multiply(rows, X.data<float>(), cores.data<float>()), *bias = b.data<float>();
    for (int64_t i = 0; i < rows * out; ++i) y[i] = z[i] + bias[i % out];
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
  // X times the matrix; valid until the next run. One core after the other, the last (which comes
  // first in memory) at first: Z[a, i_k r_k, b] -> Z'[a, r_(k-1) o_k, b], where a counts the rows
  // and the inputs before k, b the outputs behind it.
  const float* Multiply(int64_t rows, const float* x, const float* core) {
    int64_t before = rows * CheckedNumel(inputs_), behind = 1;
    for (size_t k = inputs_.size(); k-- > 0;) {
      const int64_t m = ranks_[k] * outputs_[k], depth = inputs_[k] * ranks_[k + 1];
      before /= inputs_[k];
      Tensor& to = buffers_[k % 2];
      to.Resize(before, m, behind);
      float* z = to.mutable_data<float>();
      math::GemmBatched(true, false, before, m, behind, depth, core, true, x, false, z, &context_);
      core += CoreSize(k);
      behind *= outputs_[k];
      x = z;
    }
    return x;
  }

  Sizes inputs_, outputs_, ranks_;
  Tensor buffers_[2] = {Tensor(CPU), Tensor(CPU)};
};

}  // namespace

REGISTER_CPU_OPERATOR(TT, TtOp);
OPERATOR_SCHEMA(TT)
    .NumInputs(3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE_GE(in[0].dims_size(), 1);
      const int64_t out =
          CheckedNumel(ArgumentHelper(def).GetRepeatedArgument<int64_t>("out_sizes"));
      return std::vector<TensorShape>{CreateTensorShape({in[0].dims(0), out}, in[0].data_type())};
    })
    .SetDoc(
        "A fully connected layer Y = X M + b whose matrix M is a tensor train (Novikov et al., "
        "\"Tensorizing neural networks\", 2015): with inputs i_1 ... i_d and outputs o_1 ... o_d, "
        "M "
        "is the sum over r_1 ... r_(d-1) of the product over k of G_k[i_k, r_k, r_(k-1), o_k]. As "
        "in "
        "Caffe2 there is no gradient.")
    .Arg("inp_sizes", "(ints) The sizes of i_1 ... i_d; their product is the size of a row of X.",
         true)
    .Arg("out_sizes", "(ints) The sizes of o_1 ... o_d.", true)
    .Arg("tt_ranks", "(ints) 1, the sizes of r_1 ... r_(d-1), and 1.", true)
    .Input(0, "X", "Float, N x the product of inp_sizes.")
    .Input(1, "b", "Float, the product of out_sizes elements.")
    .Input(2, "cores", "Float: all elements of G_d, then those of G_(d-1), and so on to G_1.")
    .Output(0, "Y", "Float, N x the product of out_sizes.");
SHOULD_NOT_DO_GRADIENT(TT);

}  // namespace caffe2
