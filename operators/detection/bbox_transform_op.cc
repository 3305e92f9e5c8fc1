// BBoxTransform: moves boxes by the offsets that a network predicts.
#include <cmath>

#include "operators/common/cpu_only.h"
#include "operators/detection/boxes.h"

namespace caffe2 {
namespace {

struct ImageInfo {
  float scale = 1;
  int64_t height = 0, width = 0;  // before scaling
};

class BBoxTransformOp final : public Operator<CPUContext> {
 public:
  BBoxTransformOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        rotated_(GetSingleArgument<bool>("rotated", false)),
        apply_scale_(GetSingleArgument<bool>("apply_scale", true)),
        weights_(HasArgument("weights") ? GetRepeatedArgument<float>("weights")
                                        : std::vector<float>{1, 1, 1, 1}) {}

  bool RunOnDevice() override {
    return rotated_ ? Run(RotatedBoxTransform(*this, weights_))
                    : Run(BoxTransform(*this, weights_));
  }

 private:
  template <class Transform>
  bool Run(const Transform& transform) {
    constexpr int64_t kSize = Transform::kSize;
    const Tensor &rois = Input(0), &deltas = Input(1);
    const bool with_image = rois.dim() == 2 && rois.size(1) == kSize + 1;
    CAFFE_ENFORCE(rois.dim() == 2 && (rois.size(1) == kSize || with_image), "rois must be M x ",
                  kSize, " or M x ", kSize + 1, ", found shape ", ShapeString(rois.sizes()));
    CAFFE_ENFORCE(
        deltas.dim() == 2 && deltas.size(0) == rois.size(0) && deltas.size(1) % kSize == 0,
        "deltas must be M x ", kSize, "K for M rois: deltas has shape ",
        ShapeString(deltas.sizes()), ", rois ", ShapeString(rois.sizes()));
    const std::vector<ImageInfo> images = ReadImages(Input(2));
    CAFFE_ENFORCE(with_image || images.size() == 1,
                  "rois without an image index need one image, found ", images.size(),
                  " in im_info");
    const float *roi = rois.data<float>(), *delta = deltas.data<float>();
    Tensor* Y = Output(0);
    Y->ResizeLike(deltas);
    float* y = Y->mutable_data<float>();
    std::vector<float> counts(images.size(), 0.f);
    for (int64_t i = 0; i < rois.size(0); ++i, roi += rois.size(1)) {
      const int64_t index = with_image ? ImageOf(roi[0], images.size()) : 0;
      const ImageInfo& image = images[index];
      counts[index] += 1;
      const auto box =
          Transform::Scale(Transform::Read(roi + (with_image ? 1 : 0)), 1 / image.scale);
      for (int64_t k = 0; k < deltas.size(1) / kSize; ++k, delta += kSize, y += kSize) {
        const auto moved = transform.Clip(transform.Apply(box, delta), image.height, image.width);
        Transform::Write(Transform::Scale(moved, apply_scale_ ? image.scale : 1), y);
      }
    }
    if (OutputSize() > 1) {
      Output(1)->Resize(static_cast<int64_t>(counts.size()));
      std::copy(counts.begin(), counts.end(), Output(1)->mutable_data<float>());
    }
    return true;
  }

  static std::vector<ImageInfo> ReadImages(const Tensor& info) {
    CAFFE_ENFORCE(info.dim() == 2 && info.size(1) == 3, "im_info must be N x 3, found shape ",
                  ShapeString(info.sizes()));
    std::vector<ImageInfo> images;
    const float* row = info.data<float>();
    for (int64_t i = 0; i < info.size(0); ++i, row += 3) {
      CAFFE_ENFORCE(row[2] > 0 && std::isfinite(row[2]), "the scale of image ", i,
                    " must be positive and finite, found ", row[2]);
      const float height = row[0] / row[2] + 0.5f, width = row[1] / row[2] + 0.5f;
      CAFFE_ENFORCE(height >= 0 && height < 1e9f && width >= 0 && width < 1e9f,
                    "the size of image ", i, " must be from 0 to 1e9, found ", row[0], " x ",
                    row[1]);
      images.push_back({row[2], static_cast<int64_t>(height), static_cast<int64_t>(width)});
    }
    return images;
  }
  static int64_t ImageOf(float index, size_t images) {
    CAFFE_ENFORCE(index >= 0 && index < static_cast<float>(images), "image index ", index,
                  " of a box is out of range for ", images, " images");
    return static_cast<int64_t>(index);
  }

  bool rotated_, apply_scale_;
  std::vector<float> weights_;
};

}  // namespace

REGISTER_CPU_OPERATOR(BBoxTransform, BBoxTransformOp);
OPERATOR_SCHEMA(BBoxTransform)
    .NumInputs(3)
    .NumOutputs(1, 2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[1]};
      if (def.output_size() > 1) {
        out.push_back(in[2].dims_size() > 0 ? CreateTensorShape({in[2].dims(0)}, TensorProto::FLOAT)
                                            : UnknownTensorShape());
      }
      return out;
    })
    .FillUsing(BoxTransform::Describe)
    .SetDoc(
        "Moves and scales each box, for each class, by predicted (dx, dy, dw, dh): the centre by "
        "(dx width, dy height), the sides by (e^dw, e^dh). The result is clipped to the image.")
    .ArgList<float>("weights", "(4 numbers, default 1, 1, 1, 1) Divide dx, dy, dw and dh.")
    .Arg<bool>("apply_scale",
               "(default 1) 1: the result is in pixels of the scaled image, like the rois; 0: in "
               "pixels of the image before scaling.")
    .Input(0, "rois",
           "Float M x 4: x1, y1, x2, y2; or M x 5 with the image index first. In pixels of the "
           "scaled image. Rotated boxes: M x 5 or M x 6.")
    .Input(1, "deltas",
           "Float M x 4K: dx, dy, dw, dh for each of K classes. Rotated: M x 5K, with da.")
    .Input(2, "im_info", "Float N x 3: height and width of each scaled image, and its scale.")
    .Output(0, "box_out", "Float M x 4K: x1, y1, x2, y2 for each class. Rotated: M x 5K.")
    .Output(1, "roi_batch_splits", "Float N: the number of boxes of each image.")
    .CpuOnly(cpu_only::kBoxes);
SHOULD_NOT_DO_GRADIENT(BBoxTransform);

}  // namespace caffe2
