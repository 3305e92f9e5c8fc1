// PairWiseLoss and LambdaRankNdcg with their gradients: losses of ranked lists, one for each list.
// host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <cmath>
#include <vector>

#include "operators/common/host_list.h"
#include "operators/loss/ranking_loss_functions.h"
#include "operators/segment/segments.h"

namespace caffe2 {

// Reads the lists over which the losses are computed.
template <class Context>
class ListLossBase : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ListLossBase);

 protected:
  struct Lists {
    int64_t count = 0, width = 0;      // width: mean number of elements (ForEachRow)
    const int64_t* offsets = nullptr;  // for functors; one more than lists
  };
  // The offsets of the lists, for `n` elements in all. Input i, if given, holds the lengths of the
  // lists; otherwise all elements are one list. Lengths on a device stay there. `host` or `device`
  // holds the offsets.
  Lists ReadLists(int i, int64_t n, std::vector<int64_t>* host, Tensor* device) {
    const Tensor* lengths = i >= 0 && InputSize() > i ? &this->template Input<Tensor>(i) : nullptr;
    Lists lists;
    if constexpr (Context::kDeviceType == CUDA) {
      if (lengths != nullptr && lengths->GetDeviceType() == CUDA) {
        lists.count = lengths->numel();
        lists.offsets = ScanLengths(*lengths, n, device, &context_);
      }
    }
    if (lists.offsets == nullptr) {
      host->assign({0, n});
      if (lengths != nullptr) *host = Segments::FromLengths(*lengths, n).Offsets();
      lists.count = static_cast<int64_t>(host->size()) - 1;
      lists.offsets = ListFor(*host, device, &context_);
    }
    lists.width = n / std::max<int64_t>(1, lists.count);
    return lists;
  }
};

// Throws unless there is a label for each score.
inline void CheckLabels(const Tensor& X, const Tensor& label) {
  CAFFE_ENFORCE((X.dim() == 1 || (X.dim() == 2 && X.size(1) == 1)) && label.numel() == X.numel(),
                "there must be one label for each score: the scores have shape ",
                ShapeString(X.sizes()), ", the labels ", ShapeString(label.sizes()));
}

template <class Context>
class PairWiseLossOp final : public ListLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using ListLossBase<Context>::ListLossBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &labels = Input(1);
    CheckLabels(X, labels);
    std::vector<int64_t> storage;
    Tensor list(CPU);
    const auto lists = this->ReadLists(2, X.numel(), &storage, &list);
    const float *x = X.data<float>(), *label = labels.data<float>();
    Output(0)->Resize(lists.count);
    ForEachRow(lists.count, lists.width,
               PairLossRows{{lists.offsets, x, label}, Output(0)->template mutable_data<float>()},
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
    std::vector<int64_t> storage;
    Tensor list(CPU);
    const auto lists = this->ReadLists(3, X.numel(), &storage, &list);
    CAFFE_ENFORCE(d_loss.numel() == lists.count, "there must be one gradient for each of the ",
                  lists.count, " lists, found ", d_loss.numel());
    const float *x = X.data<float>(), *label = labels.data<float>(), *g = d_loss.data<float>();
    Output(0)->ResizeLike(X);
    ForEachRow(lists.count, lists.width,
               PairLossGradientRows{
                   {lists.offsets, x, label}, g, Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

template <class Context>
class LambdaRankNdcgOp final : public ListLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  // Team::Number, the type of scratch.
  using Number = std::conditional_t<Context::kDeviceType == CPU, double, float>;
  LambdaRankNdcgOp(const OperatorDef& def, Workspace* ws)
      : ListLossBase<Context>(def, ws),
        ndcg_loss_(this->template GetSingleArgument<bool>("use_ndcg_as_loss", false)),
        normalize_(this->template GetSingleArgument<bool>("use_idcg_normalization", true)),
        exponential_(this->template GetSingleArgument<bool>("use_exp_gain", true)) {}

  bool RunOnDevice() override {
    const Tensor &Y = Input(0), &R = Input(1);
    CAFFE_ENFORCE(Y.dim() == 1, "y must be one-dimensional, found shape ", ShapeString(Y.sizes()));
    CAFFE_ENFORCE(R.numel() == Y.numel(), "there must be one relevance for each of the ", Y.numel(),
                  " scores, found ", R.numel());
    std::vector<int64_t> storage;
    Tensor list(CPU);
    const auto lists = this->ReadLists(2, Y.numel(), &storage, &list);
    const float *y = Y.data<float>(), *r = R.data<float>();
    CheckFinite(Y.numel(), y, r);
    Output(0)->Resize(lists.count);
    Output(1)->ResizeLike(Y);
    Tensor room(context_.device());
    room.Resize(2 * Y.numel());
    Number* gains = room.template mutable_data<Number>();
    ForEachRow(
        lists.count, lists.width,
        LambdaRankRows<Number>{ndcg_loss_, normalize_, exponential_, lists.offsets, y, r, gains,
                               gains + Y.numel(), Output(0)->template mutable_data<float>(),
                               Output(1)->template mutable_data<float>()},
        &context_);
    return true;
  }

 private:
  // Only on the host: a check on a device would have to wait for it. There the loss of values that
  // are not finite is not finite.
  static void CheckFinite(int64_t n, const float* y, const float* r) {
    if constexpr (Context::kDeviceType == CPU) {
      for (int64_t i = 0; i < n; ++i) {
        CAFFE_ENFORCE(std::isfinite(y[i]) && std::isfinite(r[i]), "score ", i, " is ", y[i],
                      " and its relevance ", r[i], ": both must be finite");
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
    CAFFE_ENFORCE(Y.dim() == 1, "y must be one-dimensional, found shape ", ShapeString(Y.sizes()));
    std::vector<int64_t> storage;
    Tensor list(CPU);
    const auto lists = this->ReadLists(InputSize() > 3 ? 1 : -1, Y.numel(), &storage, &list);
    CAFFE_ENFORCE(cached.numel() == Y.numel() && d_loss.numel() == lists.count, "gradients ",
                  ShapeString(cached.sizes()), " and ", ShapeString(d_loss.sizes()), " for ",
                  lists.count, " lists of ", Y.numel(), " scores");
    const float *gradient = cached.data<float>(), *g = d_loss.data<float>();
    Output(0)->ResizeLike(cached);
    ForEachRow(lists.count, lists.width,
               ScaleLists{lists.offsets, g, gradient, Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

}  // namespace caffe2
