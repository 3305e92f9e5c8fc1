// BBoxTransform: boxes moved by what a network predicts for them.
#include <cmath>

#include "operators/boxes.h"

namespace caffe2 {
namespace {

constexpr int64_t kCoordinates = 4;

struct ImageInfo {
  float scale = 1;
  int64_t height = 0, width = 0;  // before it was scaled
};

class BBoxTransformOp final : public Operator<CPUContext> {
 public:
  BBoxTransformOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        transform_(*this, HasArgument("weights") ? GetRepeatedArgument<float>("weights")
                                                 : std::vector<float>{1, 1, 1, 1}),
        apply_scale_(GetSingleArgument<bool>("apply_scale", true)) {}

  bool RunOnDevice() override {
    const Tensor &rois = Input(0), &deltas = Input(1);
    CAFFE_ENFORCE(rois.dim() == 2 && (rois.size(1) == kCoordinates || rois.size(1) == 5), "rois ",
                  ShapeString(rois.sizes()), " must be M x 4 or M x 5");
    CAFFE_ENFORCE(
        deltas.dim() == 2 && deltas.size(0) == rois.size(0) && deltas.size(1) % kCoordinates == 0,
        "deltas ", ShapeString(deltas.sizes()), " for rois ", ShapeString(rois.sizes()),
        " must be M x 4K");
    const std::vector<ImageInfo> images = ReadImages(Input(2));
    CAFFE_ENFORCE(rois.size(1) == 5 || images.size() == 1, "rois without image index are of one ",
                  "image, not of ", images.size());
    const float *roi = rois.data<float>(), *delta = deltas.data<float>();
    Tensor* Y = Output(0);
    Y->ResizeLike(deltas);
    float* y = Y->mutable_data<float>();
    std::vector<float> counts(images.size(), 0.f);
    const int64_t classes = deltas.size(1) / kCoordinates;
    for (int64_t i = 0; i < rois.size(0); ++i, roi += rois.size(1)) {
      const int64_t image = rois.size(1) == 5 ? ImageOf(roi[0], images.size()) : 0;
      counts[image] += 1;
      const float* corners = roi + rois.size(1) - kCoordinates;
      for (int64_t k = 0; k < classes; ++k, delta += kCoordinates, y += kCoordinates) {
        Write(images[image], corners, delta, y);
      }
    }
    if (OutputSize() > 1) {
      Output(1)->Resize(static_cast<int64_t>(counts.size()));
      std::copy(counts.begin(), counts.end(), Output(1)->mutable_data<float>());
    }
    return true;
  }

 private:
  static std::vector<ImageInfo> ReadImages(const Tensor& info) {
    CAFFE_ENFORCE(info.dim() == 2 && info.size(1) == 3, "im_info ", ShapeString(info.sizes()),
                  " must be N x 3");
    std::vector<ImageInfo> images;
    const float* row = info.data<float>();
    for (int64_t i = 0; i < info.size(0); ++i, row += 3) {
      CAFFE_ENFORCE(row[2] > 0 && std::isfinite(row[2]), "the scale of image ", i, " is ", row[2]);
      const float height = row[0] / row[2] + 0.5f, width = row[1] / row[2] + 0.5f;
      CAFFE_ENFORCE(height >= 0 && height < 1e9f && width >= 0 && width < 1e9f, "image ", i, " is ",
                    row[0], " x ", row[1]);
      images.push_back({row[2], static_cast<int64_t>(height), static_cast<int64_t>(width)});
    }
    return images;
  }
  static int64_t ImageOf(float index, size_t images) {
    CAFFE_ENFORCE(index >= 0 && index < static_cast<float>(images), "a box of image ", index,
                  " of ", images);
    return static_cast<int64_t>(index);
  }
  void Write(const ImageInfo& image, const float* corners, const float* delta, float* y) const {
    const float scale = image.scale, out = apply_scale_ ? image.scale : 1;
    const Box box{corners[0] / scale, corners[1] / scale, corners[2] / scale, corners[3] / scale};
    const Box moved =
        transform_.measure().clip(transform_.Apply(box, delta), image.height, image.width);
    y[0] = moved.x1 * out;
    y[1] = moved.y1 * out;
    y[2] = moved.x2 * out;
    y[3] = moved.y2 * out;
  }

  BoxTransform transform_;
  bool apply_scale_;
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
    .Arg("weights", "(4 floats, default 1, 1, 1, 1) Divide dx, dy, dw and dh.")
    .Arg("apply_scale",
         "(bool, default 1) 1: the result is in pixels of the scaled image, as the rois are; 0: of "
         "the image before it was scaled.")
    .Input(0, "rois",
           "Float M x 4: x1, y1, x2, y2; or M x 5 with the image index first. In pixels of the "
           "scaled image.")
    .Input(1, "deltas", "Float M x 4K: dx, dy, dw, dh for each of K classes.")
    .Input(2, "im_info", "Float N x 3: height and width of each scaled image, and its scale.")
    .Output(0, "box_out", "Float M x 4K: x1, y1, x2, y2 for each class.")
    .Output(1, "roi_batch_splits", "Float N: how many boxes each image has.");
SHOULD_NOT_DO_GRADIENT(BBoxTransform);

}  // namespace caffe2
