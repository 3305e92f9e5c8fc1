// FC_Prune: a fully connected layer that sets weights to zero while it trains (after Han et al.,
// "Learning both weights and connections for efficient neural networks", 2015). host_device_op.h or
// host_device_cuda.h runs the functors.
#pragma once

#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/utils/math.h"
#include "operators/matmul/fully_connected_functions.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

// The sizes of the layer. Of() throws EnforceNotMet if the shapes of X and W do not match.
struct PrunedShape {
  int64_t m, n, k;  // X is m x k, W n x k

  static PrunedShape Of(const std::vector<int64_t>& x, const std::vector<int64_t>& w) {
    CAFFE_ENFORCE(!x.empty() && w.size() >= 2 && w[0] > 0,
                  "X must have at least one axis and W at least two and a row: X has shape ",
                  ShapeString(x), ", W ", ShapeString(w));
    const int64_t m = x.size() > 1 ? x[0] : 1, k = CheckedNumel(w) / w[0];
    CAFFE_ENFORCE(CheckedNumel(x) == m * k, "the columns of X and W must match: X has shape ",
                  ShapeString(x), ", W ", ShapeString(w));
    return {m, w[0], k};
  }
};

// Throws unless `state` has the shape of the weight.
inline void CheckLikeWeight(const Tensor& w, const Tensor& state, const char* name) {
  CAFFE_ENFORCE(state.sizes() == w.sizes(), name, " must have the shape of W: ", name,
                " has shape ", ShapeString(state.sizes()), ", W ", ShapeString(w.sizes()));
}

// share[0] = the share of weights that are not pruned.
template <class Context>
void WriteShareLeft(const Tensor& mask, Tensor* share, Context* context) {
  CAFFE_ENFORCE(mask.numel() > 0, "the mask must not be empty, found shape ",
                ShapeString(mask.sizes()));
  const float* data = mask.data<float>();
  ForEachRow(1, mask.numel(), ShareLeft{mask.numel(), data, share->mutable_data<float>()}, context);
}

// Inputs X, W, Mask, b, ...; outputs Y, [compress_rate].
template <class Context>
class FCPruneOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(FCPruneOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &W = Input(1), &mask = Input(2), &b = Input(3);
    const PrunedShape s = PrunedShape::Of(X.sizes(), W.sizes());
    CheckLikeWeight(W, mask, "Mask");
    CAFFE_ENFORCE(b.numel() == s.n, "the bias must have one value for each of the ", s.n,
                  " rows of W, found ", b.numel());
    Tensor* Y = Output(0);
    Y->Resize(X.dim() > 1 ? std::vector<int64_t>{s.m, s.n} : std::vector<int64_t>{s.n});
    math::GemmBias<float>(false, true, s.m, s.n, s.k, X.data<float>(), W.data<float>(),
                          b.data<float>(), Y->template mutable_data<float>(), &context_);
    if (OutputSize() > 1) {
      Output(1)->Resize(std::vector<int64_t>{});
      WriteShareLeft(mask, Output(1), &context_);
    }
    return true;
  }
};

// Inputs X, W, Mask, dY, Ag_dW, Mask_seq, thres, comp_lb; outputs dW, db, and in place W, Mask,
// Ag_dW, Mask_seq, then [dX]. The host reads the share of weights that are not pruned and, when
// weights are pruned, the sums of gradients.
template <class Context>
class FCPruneGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(FCPruneGradientOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(3);
    Tensor *W = Output(2), *mask = Output(3);
    const PrunedShape s = PrunedShape::Of(X.sizes(), W->sizes());
    CheckLikeWeight(*W, *mask, "Mask");
    CheckLikeWeight(*W, *Output(4), "Ag_dW");
    CAFFE_ENFORCE(dY.numel() == s.m * s.n, "dY must have ", s.m * s.n, " elements, found shape ",
                  ShapeString(dY.sizes()));
    const float threshold = ReadNumber(6), min_share = ReadNumber(7);
    const auto *x = X.data<float>(), *dy = dY.data<float>();
    Tensor *dW = Output(0), *db = Output(1);
    dW->ResizeLike(*W);
    auto* dw = dW->template mutable_data<float>();
    math::Gemm<float>(true, false, s.n, s.k, s.m, 1, dy, x, 0, dw, &context_);
    ForEach(dW->numel(), MaskGradient{mask->template data<float>(), dw}, &context_);
    if (ShareOf(*mask) > min_share) AddOrPrune(threshold, dw);
    db->Resize(s.n);
    math::ColumnSums<float>(s.m, s.n, dy, db->template mutable_data<float>(), &context_);
    if (OutputSize() > 6) {
      Output(6)->ResizeLike(X);
      math::Gemm<float>(false, false, s.m, s.k, s.n, 1, dy, W->template data<float>(), 0,
                        Output(6)->template mutable_data<float>(), &context_);
    }
    return true;
  }

 private:
  static constexpr int64_t kWindow = 100;  // runs between two prunings, as in Caffe2

  float ReadNumber(int i) const {
    Tensor copy(CPU);
    const Tensor& number = OnHost(this->template Input<Tensor>(i), &copy);
    CAFFE_ENFORCE(number.numel() == 1, "thres and comp_lb must have one element each, found ",
                  number.numel());
    return *number.data<float>();
  }
  float ShareOf(const Tensor& mask) {
    Tensor share(context_.device()), copy(CPU);
    share.Resize(1);
    WriteShareLeft(mask, &share, &context_);
    return *OnHost(share, &copy).template data<float>();
  }
  void AddOrPrune(float threshold, float* dw) {
    Tensor* sums = Output(4);
    auto* sum = UpdatedData<float>(sums);
    if (++runs_ % kWindow != 0) {
      ForEach(sums->numel(), AddGradient{dw, sum}, &context_);
      return;
    }
    ListPruned(*sums, threshold);
    ForEach(sums->numel(),
            PruneWeights{threshold, dw, UpdatedData<float>(Output(2)),
                         UpdatedData<float>(Output(3)), sum},
            &context_);
  }
  // Fills Mask_seq: the positions of the pruned weights, then 0.
  void ListPruned(const Tensor& sums, float threshold) {
    Tensor copy(CPU);
    const float* sum = OnHost(sums, &copy).template data<float>();
    std::vector<float> places;
    for (int64_t i = 0; i < sums.numel(); ++i) {
      if (IsPruned(sum[i], threshold)) places.push_back(static_cast<float>(i));
    }
    places.resize(sums.numel());
    Output(5)->ResizeLike(sums);
    context_.Copy(places.size(), places.data(), Output(5)->template mutable_data<float>());
  }

  int64_t runs_ = 0;
};

}  // namespace caffe2
