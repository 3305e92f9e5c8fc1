// PairWiseLoss and LambdaRankNdcg with their gradients: losses of ranked lists. Lengths are read on
// the host. portable_op.h or portable_cuda.h runs the functors.
#pragma once

#include <cmath>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/host_list.h"
#include "operators/ranking_loss_functions.h"
#include "operators/segments.h"

namespace caffe2 {

// Where the lists begin that the lengths say, and the end of the last; without lengths all `n`
// elements are one.
inline std::vector<int64_t> ListOffsets(const Tensor* lengths, int64_t n) {
  if (lengths == nullptr) return {0, n};
  Tensor copy(CPU);
  return Segments::FromLengths(OnHost(*lengths, &copy), n).Offsets();
}

template <class Context>
class ListLossBase : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ListLossBase);

 protected:
  // Elements of a list, which steer how threads are used.
  static int64_t WidthOf(const std::vector<int64_t>& offsets) {
    return offsets.back() / std::max<int64_t>(1, static_cast<int64_t>(offsets.size()) - 1);
  }
  // Lengths are input i, if there is one.
  std::vector<int64_t> ReadLists(int i, int64_t n) const {
    return ListOffsets(i >= 0 && InputSize() > i ? &this->template Input<Tensor>(i) : nullptr, n);
  }
};

// Throws unless there is a label for each score.
inline void CheckLabels(const Tensor& X, const Tensor& label) {
  CAFFE_ENFORCE((X.dim() == 1 || (X.dim() == 2 && X.size(1) == 1)) && label.numel() == X.numel(),
                "scores ", ShapeString(X.sizes()), " and labels ", ShapeString(label.sizes()),
                " must be lists of one length");
}

template <class Context>
class PairWiseLossOp final : public ListLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ListLossBase<Context>::ListLossBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &labels = Input(1);
    CheckLabels(X, labels);
    const std::vector<int64_t> offsets = this->ReadLists(2, X.numel());
    const int64_t count = static_cast<int64_t>(offsets.size()) - 1;
    const float *x = X.data<float>(), *label = labels.data<float>();
    Output(0)->Resize(count);
    Tensor list(CPU);
    ForEachRow(count, this->WidthOf(offsets),
               PairLossRows{{ListFor(offsets, &list, &context_), x, label},
                            Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

template <class Context>
class PairWiseLossGradientOp final : public ListLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ListLossBase<Context>::ListLossBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &labels = Input(1), &d_loss = Input(2);
    CheckLabels(X, labels);
    const std::vector<int64_t> offsets = this->ReadLists(3, X.numel());
    const int64_t count = static_cast<int64_t>(offsets.size()) - 1;
    CAFFE_ENFORCE_EQ(d_loss.numel(), count, "gradients, one for each list");
    const float *x = X.data<float>(), *label = labels.data<float>(), *g = d_loss.data<float>();
    Output(0)->ResizeLike(X);
    Tensor list(CPU);
    ForEachRow(count, this->WidthOf(offsets),
               PairLossGradientRows{{ListFor(offsets, &list, &context_), x, label},
                                    g,
                                    Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

template <class Context>
class LambdaRankNdcgOp final : public ListLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  // Team::Number, which room is made for.
  using Number = std::conditional_t<Context::kDeviceType == CPU, double, float>;
  LambdaRankNdcgOp(const OperatorDef& def, Workspace* ws)
      : ListLossBase<Context>(def, ws),
        ndcg_loss_(this->template GetSingleArgument<bool>("use_ndcg_as_loss", false)),
        normalize_(this->template GetSingleArgument<bool>("use_idcg_normalization", true)),
        exponential_(this->template GetSingleArgument<bool>("use_exp_gain", true)) {}

  bool RunOnDevice() override {
    const Tensor &Y = Input(0), &R = Input(1);
    CAFFE_ENFORCE(Y.dim() == 1, "y ", ShapeString(Y.sizes()), " must be one-dimensional");
    CAFFE_ENFORCE_EQ(R.numel(), Y.numel(), "relevances, one for each score");
    const std::vector<int64_t> offsets = this->ReadLists(2, Y.numel());
    const int64_t count = static_cast<int64_t>(offsets.size()) - 1;
    const float *y = Y.data<float>(), *r = R.data<float>();
    CheckFinite(Y.numel(), y, r);
    Output(0)->Resize(count);
    Output(1)->ResizeLike(Y);
    Tensor list(CPU), room(context_.device());
    room.Resize(2 * Y.numel());
    Number* gains = room.template mutable_data<Number>();
    ForEachRow(count, this->WidthOf(offsets),
               LambdaRankRows<Number>{ndcg_loss_, normalize_, exponential_,
                                      ListFor(offsets, &list, &context_), y, r, gains,
                                      gains + Y.numel(), Output(0)->template mutable_data<float>(),
                                      Output(1)->template mutable_data<float>()},
               &context_);
    return true;
  }

 private:
  // On devices, which would have to be waited for, what is not finite becomes the loss instead.
  static void CheckFinite(int64_t n, const float* y, const float* r) {
    if constexpr (Context::kDeviceType == CPU) {
      for (int64_t i = 0; i < n; ++i) {
        CAFFE_ENFORCE(std::isfinite(y[i]) && std::isfinite(r[i]), "score ", i, " is ", y[i],
                      ", its relevance ", r[i]);
      }
    }
  }

  bool ndcg_loss_, normalize_, exponential_;
};

// Inputs y, [lengths], dy_cache, dloss.
template <class Context>
class LambdaRankNdcgGradientOp final : public ListLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ListLossBase<Context>::ListLossBase;
  bool RunOnDevice() override {
    const int after = InputSize() - 2;
    const Tensor &Y = Input(0), &cached = Input(after), &d_loss = Input(after + 1);
    CAFFE_ENFORCE(Y.dim() == 1, "y ", ShapeString(Y.sizes()), " must be one-dimensional");
    const std::vector<int64_t> offsets = this->ReadLists(InputSize() > 3 ? 1 : -1, Y.numel());
    const int64_t count = static_cast<int64_t>(offsets.size()) - 1;
    CAFFE_ENFORCE(cached.numel() == Y.numel() && d_loss.numel() == count, "gradients ",
                  ShapeString(cached.sizes()), " and ", ShapeString(d_loss.sizes()), " for ", count,
                  " lists of ", Y.numel(), " scores");
    const float *slope = cached.data<float>(), *g = d_loss.data<float>();
    Output(0)->ResizeLike(cached);
    Tensor list(CPU);
    ForEachRow(count, this->WidthOf(offsets),
               ScaleLists{ListFor(offsets, &list, &context_), g, slope,
                          Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

}  // namespace caffe2
