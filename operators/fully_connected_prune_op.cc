// FC_Prune: a fully connected layer that sets weights to zero while it trains (after Han et al.,
// "Learning both weights and connections for efficient neural networks", 2015).
#include <algorithm>
#include <cmath>

#include "caffe2/core/operator.h"
#include "caffe2/utils/math.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

// Gradient runs between two prunings, as in Caffe2.
constexpr int64_t kWindow = 100;

struct FCShape {
  int64_t m, n, k;  // X is m x k, W n x k
};

FCShape ShapeOf(const std::vector<int64_t>& x, const std::vector<int64_t>& w) {
  CAFFE_ENFORCE(!x.empty() && w.size() >= 2 && w[0] > 0, "X ", ShapeString(x), " and W ",
                ShapeString(w), " must be matrices");
  const int64_t m = x.size() > 1 ? x[0] : 1, k = CheckedNumel(w) / w[0];
  CAFFE_ENFORCE_EQ(CheckedNumel(x), m * k, "X ", ShapeString(x), " and W ", ShapeString(w),
                   " do not go together");
  return {m, w[0], k};
}

// The mean of the mask: the share of weights that is left.
float ShareLeft(const Tensor& mask) {
  CAFFE_ENFORCE_GT(mask.numel(), 0, "elements of the mask");
  double sum = 0;
  for (int64_t i = 0; i < mask.numel(); ++i) sum += mask.data<float>()[i];
  return static_cast<float>(sum / static_cast<double>(mask.numel()));
}

void CheckLike(const Tensor& w, const Tensor& state, const char* name) {
  CAFFE_ENFORCE(state.sizes() == w.sizes(), name, " ", ShapeString(state.sizes()), " for W ",
                ShapeString(w.sizes()));
}

class FCPruneOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &W = Input(1), &mask = Input(2), &b = Input(3);
    const FCShape s = ShapeOf(X.sizes(), W.sizes());
    CheckLike(W, mask, "Mask");
    CAFFE_ENFORCE_EQ(b.numel(), s.n, "values of bias and outputs of W");
    Tensor* Y = Output(0);
    Y->Resize(X.dim() > 1 ? std::vector<int64_t>{s.m, s.n} : std::vector<int64_t>{s.n});
    math::GemmBias<float>(false, true, s.m, s.n, s.k, X.data<float>(), W.data<float>(),
                          b.data<float>(), Y->mutable_data<float>(), &context_);
    if (OutputSize() > 1) {
      Output(1)->Resize(std::vector<int64_t>{});
      *Output(1)->mutable_data<float>() = ShareLeft(mask);
    }
    return true;
  }
};

// Inputs X, W, Mask, dY, Ag_dW, Mask_seq, thres, comp_lb; outputs dW, db, and in place W, Mask,
// Ag_dW, Mask_seq, then [dX].
class FCPruneGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(3);
    Tensor *W = Output(2), *mask = Output(3);
    const FCShape s = ShapeOf(X.sizes(), W->sizes());
    CheckLike(*W, *mask, "Mask");
    CheckLike(*W, *Output(4), "Ag_dW");
    CAFFE_ENFORCE_EQ(dY.numel(), s.m * s.n, "elements of dY ", ShapeString(dY.sizes()));
    CAFFE_ENFORCE(Input(6).numel() == 1 && Input(7).numel() == 1,
                  "thres and comp_lb must be scalars");
    const auto* dy = dY.data<float>();
    Tensor *dW = Output(0), *db = Output(1);
    dW->ResizeLike(*W);
    auto* dw = dW->mutable_data<float>();
    math::Gemm<float>(true, false, s.n, s.k, s.m, 1, dy, X.data<float>(), 0, dw, &context_);
    for (int64_t i = 0; i < dW->numel(); ++i) {
      if (mask->data<float>()[i] == 0) dw[i] = 0;
    }
    if (ShareLeft(*mask) > *Input(7).data<float>()) Prune(dw);
    db->Resize(s.n);
    math::ColumnSums<float>(s.m, s.n, dy, db->mutable_data<float>(), &context_);
    if (OutputSize() > 6) {
      Output(6)->ResizeLike(X);
      math::Gemm<float>(false, false, s.m, s.k, s.n, 1, dy, W->data<float>(), 0,
                        Output(6)->mutable_data<float>(), &context_);
    }
    return true;
  }

 private:
  // Gradients are summed up over a window; weights whose sums are small at its end go. The first
  // elements of Mask_seq are their places, the others 0.
  void Prune(float* dw) {
    Tensor* sums = Output(4);
    auto* sum = UpdatedData<float>(sums);
    if (++runs_ % kWindow != 0) {
      for (int64_t i = 0; i < sums->numel(); ++i) sum[i] += dw[i];
      return;
    }
    const float threshold = *Input(6).data<float>();
    auto *w = UpdatedData<float>(Output(2)), *mask = UpdatedData<float>(Output(3));
    Output(5)->ResizeLike(*sums);
    auto* places = Output(5)->mutable_data<float>();
    std::fill_n(places, sums->numel(), 0.f);
    for (int64_t i = 0; i < sums->numel(); ++i) {
      if (sum[i] != 0 && std::fabs(sum[i]) < threshold) {
        *places++ = static_cast<float>(i);
        dw[i] = w[i] = mask[i] = 0;
      }
      sum[i] = 0;
    }
  }

  int64_t runs_ = 0;
};

class GetFCPruneGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(
        "FCGradient_Prune", "",
        std::vector<std::string>{I(0), I(1), I(2), GO(0), I(4), I(5), I(6), I(7)},
        std::vector<std::string>{GI(1), GI(3), I(1), I(2), I(4), I(5), GI(0)});
  }
};

void DescribeState(OpSchema& schema) {
  schema.NumInputs(8)
      .Input(0, "X", "Float M x K; further axes are columns.")
      .Input(1, "W", "Float N x K.")
      .Input(2, "Mask", "Float, as W: 0 where a weight was pruned, else 1.")
      .Input(4, "Ag_dW", "Float, as W: the gradients since weights were pruned last.")
      .Input(5, "Mask_seq", "Float, as W: which weights these were.")
      .Input(6, "thres", "Float scalar: summed gradients nearer to 0 than this prune.")
      .Input(7, "comp_lb", "Float scalar: no more weights are pruned if fewer than this are left.");
}

std::vector<TensorShape> InferPrune(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const FCShape s = ShapeOf(GetDimsVector(in[0]), GetDimsVector(in[1]));
  std::vector<TensorShape> out{in[0].dims_size() > 1
                                   ? CreateTensorShape({s.m, s.n}, TensorProto::FLOAT)
                                   : CreateTensorShape({s.n}, TensorProto::FLOAT)};
  if (def.output_size() > 1) out.push_back(CreateTensorShape({}, TensorProto::FLOAT));
  return out;
}

REGISTER_CPU_OPERATOR(FC_Prune, FCPruneOp);
OPERATOR_SCHEMA(FC_Prune)
    .NumOutputs(1, 2)
    .FillUsing(DescribeState)
    .TensorInferenceFunction(InferPrune)
    .SetDoc(
        "FC, Y = X W^T + b, whose gradient prunes: every 100 runs it sets to zero, for good, the "
        "weights whose gradients nearly cancelled out since.")
    .Input(3, "b", "Float, N: the bias.")
    .Output(0, "Y", "Float M x N.")
    .Output(1, "compress_rate", "Optional float scalar: the share of weights that is left.");
REGISTER_GRADIENT(FC_Prune, GetFCPruneGradient);

REGISTER_CPU_OPERATOR(FCGradient_Prune, FCPruneGradientOp);
OPERATOR_SCHEMA(FCGradient_Prune)
    .NumOutputs(6, 7)
    .EnforceInplace({{1, 2}, {2, 3}, {4, 4}, {5, 5}})
    .FillUsing(DescribeState)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE_GT(in[1].dims_size(), 0, "axes of W");
      std::vector<TensorShape> out{in[1], CreateTensorShape({in[1].dims(0)}, TensorProto::FLOAT),
                                   in[1], in[2],
                                   in[4], in[5]};
      if (def.output_size() > 6) out.push_back(in[0]);
      return out;
    })
    .SetDoc("The gradient of FC_Prune, which prunes W.")
    .Input(3, "dY", "Gradient of Y.")
    .Output(0, "dW", "Gradient of W; 0 where it was pruned.")
    .Output(1, "db", "Gradient of b.")
    .Output(2, "W_out", "W, in place.")
    .Output(3, "Mask_out", "Mask, in place.")
    .Output(4, "Ag_dW_out", "Ag_dW, in place.")
    .Output(5, "Mask_seq_out", "Mask_seq, in place.")
    .Output(6, "dX", "Gradient of X; may be left out.");
NO_GRADIENT(FCGradient_Prune);

}  // namespace
}  // namespace caffe2
