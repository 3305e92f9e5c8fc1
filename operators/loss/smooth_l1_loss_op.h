// SmoothL1Loss of all predictions, and SelectSmoothL1Loss of chosen ones.
#pragma once

#include "operators/common/checked_indices.h"
#include "operators/common/copy_elements.h"
#include "operators/loss/detection_loss.h"

namespace caffe2 {

template <class Context>
class SmoothL1Base : public DetectionLoss<Context> {
 public:
  SmoothL1Base(const OperatorDef& def, Workspace* ws)
      : DetectionLoss<Context>(def, ws),
        rule_{this->template GetSingleArgument<float>("beta", 1.f)} {
    CAFFE_ENFORCE(rule_.beta > 0, "argument beta must be positive, found ", rule_.beta);
  }

 protected:
  const SmoothL1 rule_;
};

// Predictions, targets, inside weights, outside weights [, d_loss] -> loss or, if kGradient, the
// gradient of the predictions.
template <class Context, bool kGradient>
class SmoothL1LossOp final : public SmoothL1Base<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SmoothL1Base<Context>::SmoothL1Base;
  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    CAFFE_ENFORCE(x.dim() >= 1, "the predictions must have at least one axis, found a scalar");
    CAFFE_ENFORCE(Input(1).dim() >= 1 && Input(1).size(0) == x.size(0),
                  "predictions and targets must have as many rows: predictions have shape ",
                  ShapeString(x.sizes()), ", targets ", ShapeString(Input(1).sizes()));
    for (int i = 1; i < 4; ++i) {
      CAFFE_ENFORCE(Input(i).numel() == x.numel(),
                    "targets and weights must have as many elements as the predictions, of shape ",
                    ShapeString(x.sizes()), "; input ", i, " has shape ",
                    ShapeString(Input(i).sizes()));
    }
    const SmoothL1Terms terms{this->rule_, x.data<float>(), Input(1).template data<float>(),
                              Input(2).template data<float>(), Input(3).template data<float>()};
    const LossFactor factor{this->scale_, {nullptr, static_cast<float>(x.size(0))}, 1.f};
    if constexpr (kGradient) {
      return this->WriteGradient(x, terms, factor);
    } else {
      return this->WriteLoss(x.numel(), terms, factor);
    }
  }
};

// Predictions, targets, locations, normalizer [, d_loss], as above.
template <class Context, bool kGradient>
class SelectSmoothL1LossOp final : public SmoothL1Base<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SmoothL1Base<Context>::SmoothL1Base;
  bool RunOnDevice() override {
    const Tensor &x = Input(0), &targets = Input(1), &locations = Input(2);
    CAFFE_ENFORCE(x.dim() == 4, "the predictions must be N x C x H x W, found shape ",
                  ShapeString(x.sizes()));
    CAFFE_ENFORCE(targets.numel() == 0 || (targets.dim() == 2 && targets.size(1) == 4 &&
                                           locations.sizes() == targets.sizes()),
                  "targets and locations must be M x 4: targets has shape ",
                  ShapeString(targets.sizes()), ", locations ", ShapeString(locations.sizes()));
    Tensor places(context_.device());
    const SelectedSmoothL1Terms terms{this->rule_, x.size_from_dim(2),
                                      PlacesFor(x, targets.numel() / 4, locations, &places),
                                      x.data<float>(), targets.data<float>()};
    const LossFactor factor = this->DividedBy(3);
    if constexpr (kGradient) {
      Tensor* dx = Output(0);
      dx->ResizeLike(x);
      auto* to = dx->template mutable_data<float>();
      ClearBytes(dx->nbytes(), to, &context_);
      ForEach(targets.numel(), SelectedSmoothL1Gradient{terms, factor, this->DLoss(), to},
              &context_);
      return true;
    } else {
      return this->WriteLoss(targets.numel(), terms, factor);
    }
  }

 private:
  // The first elements of x that `count` locations name, in `places`.
  const int64_t* PlacesFor(const Tensor& x, int64_t count, const Tensor& locations,
                           Tensor* places) {
    places->Resize(count);
    auto* to = places->template mutable_data<int64_t>();
    const float* from = count > 0 ? locations.data<float>() : nullptr;
    ForEach(count, PlaceLocations{{x.size(0), x.size(1), x.size(2), x.size(3)}, from, to},
            &context_);
    CheckedIndices(*places, x.numel(), &context_);
    return to;
  }
};

}  // namespace caffe2
