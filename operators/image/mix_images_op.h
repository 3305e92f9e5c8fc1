// MixImages: mixes the images of a batch with each other, and their labels in proportion (mixup,
// CutMix). Images N x C x H x W or N x H x W x C, labels int32 [N] -> mixed images, probabilities
// float [N, num_labels].
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/image/mix_choice.h"

namespace caffe2 {

// Throws EnforceNotMet for labels out of range, if they are on the host.
void CheckMixedLabels(const Tensor& labels, int64_t num_labels);

template <class Context>
class MixImagesOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MixImagesOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        options_{this->template GetSingleArgument<float>("mixup_alpha", 0),
                 this->template GetSingleArgument<float>("cutmix_alpha", 0)},
        num_labels_(this->template GetSingleArgument<int64_t>("num_labels", 0)),
        smoothing_(this->template GetSingleArgument<float>("label_smoothing", 0)),
        is_nchw_(this->template GetSingleArgument<std::string>("order", "NCHW") == "NCHW") {
    CAFFE_ENFORCE(options_.mixup_alpha >= 0 && options_.cutmix_alpha >= 0,
                  "arguments mixup_alpha and cutmix_alpha must not be negative, found ",
                  options_.mixup_alpha, " and ", options_.cutmix_alpha);
    CAFFE_ENFORCE(options_.mixup_alpha > 0 || options_.cutmix_alpha > 0,
                  "one of the arguments mixup_alpha and cutmix_alpha must be positive");
    CAFFE_ENFORCE(num_labels_ > 0, "argument num_labels must be positive, found ", num_labels_);
    CAFFE_ENFORCE(smoothing_ >= 0 && smoothing_ < 1,
                  "argument label_smoothing must be at least 0 and below 1, found ", smoothing_);
  }

  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &labels = Input(1);
    Tensor *y = Output(0), *probabilities = Output(1);
    CAFFE_ENFORCE(x.dim() == 4, "the images must have four axes, found shape ",
                  ShapeString(x.sizes()));
    CAFFE_ENFORCE(labels.dim() == 1 && labels.size(0) == x.size(0),
                  "there must be one label for each of the ", x.size(0),
                  " images, found labels of shape ", ShapeString(labels.sizes()));
    CAFFE_ENFORCE(y != &x, "MixImages cannot overwrite its images: each is read twice");
    const int64_t images = x.size(0), planes = is_nchw_ ? x.size(1) : 1;
    const int64_t height = x.size(is_nchw_ ? 2 : 1), width = x.size(is_nchw_ ? 3 : 2);
    CAFFE_ENFORCE(height < 65536 && width < 65536, "the images must be smaller than 65536 pixels");
    CheckMixedLabels(labels, num_labels_);
    y->ResizeLike(x);
    probabilities->Resize(images, num_labels_);
    T* y_data = y->template mutable_data<T>();
    float* to = probabilities->template mutable_data<float>();
    if (x.numel() == 0) return true;
    const MixSource source = Draw(images, height, width);
    const int64_t lines = planes * height, values = is_nchw_ ? 1 : x.size(3);
    ForEachRow(images * lines, width * values,
               MixedRows<T>{source, images, lines, height, width, values, x.data<T>(), y_data},
               &context_);
    ForEachRow(images, num_labels_,
               MixedLabelRows{source, images, num_labels_, smoothing_, labels.data<int32_t>(), to},
               &context_);
    return true;
  }

 private:
  // The choice for the next batch.
  MixSource Draw(int64_t images, int64_t height, int64_t width);

  const MixOptions options_;
  const int64_t num_labels_;
  const float smoothing_;
  const bool is_nchw_;
  MixChoice choice_;  // where CUDA graphs take the parts of a choice from
};

}  // namespace caffe2
