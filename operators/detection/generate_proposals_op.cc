// GenerateProposals: regions of interest from the scores and box offsets of a region proposal
// network (Ren et al., NIPS 2015).
#include <cmath>

#include "operators/common/cpu_only.h"
#include "operators/detection/boxes.h"

namespace caffe2 {
namespace {

class GenerateProposalsOp final : public Operator<CPUContext> {
 public:
  GenerateProposalsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        rotated_(GetSingleArgument<bool>("rotated", false)),
        scale_(GetSingleArgument<float>("spatial_scale", 1.f / 16)),
        max_before_nms_(GetSingleArgument<int>("pre_nms_topN", 6000)),
        max_after_nms_(GetSingleArgument<int>("post_nms_topN", 300)),
        threshold_(GetSingleArgument<float>("nms_thresh", 0.7f)),
        min_size_(GetSingleArgument<float>("min_size", 16.f)) {
    CAFFE_ENFORCE(scale_ > 0, "argument spatial_scale must be positive, found ", scale_);
  }

  bool RunOnDevice() override {
    return rotated_ ? Run(RotatedBoxTransform(*this)) : Run(BoxTransform(*this));
  }

 private:
  template <class Transform>
  bool Run(const Transform& transform) {
    const Tensor &scores = Input(0), &deltas = Input(1);
    CheckShapes(Transform::kSize, scores, deltas, Input(2), Input(3));
    const float *score = scores.data<float>(), *delta = deltas.data<float>();
    rois_.clear();
    probabilities_.clear();
    for (int64_t i = 0; i < scores.size(0); ++i) {
      Propose(transform, i, score + i * scores.size_from_dim(1),
              delta + i * deltas.size_from_dim(1));
    }
    const auto n = static_cast<int64_t>(probabilities_.size());
    Output(0)->Resize(n, Transform::kSize + 1);
    Output(1)->Resize(n);
    std::copy(rois_.begin(), rois_.end(), Output(0)->mutable_data<float>());
    std::copy(probabilities_.begin(), probabilities_.end(), Output(1)->mutable_data<float>());
    return true;
  }

  // `size` is the number of values of a box.
  static void CheckShapes(int64_t size, const Tensor& scores, const Tensor& deltas,
                          const Tensor& info, const Tensor& anchors) {
    CAFFE_ENFORCE(scores.dim() == 4, "scores must be N x A x H x W, found shape ",
                  ShapeString(scores.sizes()));
    std::vector<int64_t> expected = scores.sizes();
    expected[1] *= size;
    CAFFE_ENFORCE(deltas.sizes() == expected, "bbox_deltas must be N x ", size,
                  "A x H x W for scores N x A x H x W: bbox_deltas has shape ",
                  ShapeString(deltas.sizes()), ", scores ", ShapeString(scores.sizes()));
    expected = {scores.size(0), 3};
    CAFFE_ENFORCE(info.sizes() == expected,
                  "im_info must be N x 3 for scores N x A x H x W: im_info has shape ",
                  ShapeString(info.sizes()), ", scores ", ShapeString(scores.sizes()));
    expected = {scores.size(1), size};
    CAFFE_ENFORCE(anchors.sizes() == expected, "anchors must be A x ", size,
                  " for scores N x A x H x W: anchors has shape ", ShapeString(anchors.sizes()),
                  ", scores ", ShapeString(scores.sizes()));
  }

  // Appends the proposals of one image, whose scores are A x H x W and deltas kSize A x H x W.
  template <class Transform>
  void Propose(const Transform& transform, int64_t image, const float* scores,
               const float* deltas) {
    constexpr int64_t kSize = Transform::kSize;
    const int64_t anchors = Input(0).size(1), width = Input(0).size(3);
    const int64_t area = Input(0).size(2) * width;
    const float *info = Input(2).data<float>() + 3 * image, *anchor = Input(3).data<float>();
    CAFFE_ENFORCE(info[0] >= 0 && info[0] < 1e9f && info[1] >= 0 && info[1] < 1e9f,
                  "the size of image ", image, " must be from 0 to 1e9, found ", info[0], " x ",
                  info[1]);
    // Candidates are ordered by pixel, then by anchor. Equal scores keep this order.
    std::vector<float> by_pixel;
    by_pixel.reserve(anchors * area);
    for (int64_t i = 0; i < area; ++i) {
      for (int64_t a = 0; a < anchors; ++a) by_pixel.push_back(scores[a * area + i]);
    }
    const std::vector<int64_t> order =
        SortByScore(anchors * area, by_pixel.data(), max_before_nms_);
    std::vector<typename Transform::BoxType> boxes;
    std::vector<int64_t> large;
    for (const int64_t candidate : order) {
      const int64_t pixel = candidate / anchors, a = candidate % anchors;
      const int64_t x = pixel % width, y = pixel / width;
      float delta[kSize];
      for (int64_t k = 0; k < kSize; ++k) delta[k] = deltas[(a * kSize + k) * area + pixel];
      const auto place =
          Transform::Shift(Transform::Read(anchor + a * kSize), static_cast<float>(x) / scale_,
                           static_cast<float>(y) / scale_);
      boxes.push_back(transform.Clip(transform.Apply(place, delta), static_cast<int64_t>(info[0]),
                                     static_cast<int64_t>(info[1])));
      // min_size is in pixels of the image before scaling.
      if (transform.IsLarge(boxes.back(), min_size_ * info[2], info[0], info[1])) {
        large.push_back(static_cast<int64_t>(boxes.size()) - 1);
      }
    }
    const auto overlap = [&](int64_t i, int64_t k) {
      return transform.Overlap(boxes[i], boxes[k]);
    };
    for (const int64_t i : SuppressOverlaps(large, threshold_, max_after_nms_, overlap)) {
      rois_.push_back(static_cast<float>(image));
      rois_.resize(rois_.size() + kSize);
      Transform::Write(boxes[i], &rois_[rois_.size() - kSize]);
      probabilities_.push_back(by_pixel[order[i]]);
    }
  }

  bool rotated_;
  float scale_;
  int max_before_nms_, max_after_nms_;
  float threshold_, min_size_;
  std::vector<float> rois_, probabilities_;
};

void Describe(OpSchema& schema) {
  schema.NumInputs(4)
      .NumOutputs(2)
      .FillUsing(BoxTransform::Describe)
      .SetDoc(
          "Computes regions of interest from the results of a region proposal network: moves the "
          "anchors at all positions by the predicted offsets, clips them to the image, and drops "
          "small ones and ones that overlap with better ones. The number of regions is known at "
          "run time only.")
      .Arg<float>("spatial_scale", "(> 0, default 1/16) Positions for one pixel of the image.")
      .Arg<int>("pre_nms_topN", "(default 6000) Only so many of the best are considered; 0: all.")
      .Arg<int>("post_nms_topN", "(default 300) The most proposals of an image; 0: all.")
      .Arg<float>("nms_thresh",
                  "(default 0.7) Two regions overlap if intersection over union is above it.")
      .Arg<float>("min_size", "(default 16) The shortest side, in pixels before scaling.")
      .Input(0, "scores", "Float N x A x H x W, one for each anchor at each position.")
      .Input(1, "bbox_deltas",
             "Float N x 4A x H x W: dx, dy, dw, dh for each. Rotated: N x 5A, with da.")
      .Input(2, "im_info", "Float N x 3: height and width of each scaled image, and its scale.")
      .Input(3, "anchors",
             "Float A x 4: x1, y1, x2, y2 of each anchor at position 0, in pixels. Rotated: A x 5.")
      .Output(0, "rois",
              "Float n x 5: image index, x1, y1, x2, y2; best first in each image. Rotated: n x 6.")
      .Output(1, "rois_probs", "Float n: their scores.");
}

}  // namespace

REGISTER_CPU_OPERATOR(GenerateProposals, GenerateProposalsOp);
REGISTER_CPU_OPERATOR(GenerateProposalsCPP, GenerateProposalsOp);  // an older name
OPERATOR_SCHEMA(GenerateProposals).FillUsing(Describe).CpuOnly(cpu_only::kBoxes);
OPERATOR_SCHEMA(GenerateProposalsCPP).FillUsing(Describe).CpuOnly(cpu_only::kBoxes);
SHOULD_NOT_DO_GRADIENT(GenerateProposals);
SHOULD_NOT_DO_GRADIENT(GenerateProposalsCPP);

}  // namespace caffe2
