#include "operators/loss/spatial_softmax_with_loss_op.h"

#include <cmath>

#include "caffe2/utils/parallel.h"
#include "operators/loss/label_check.h"
#include "operators/loss/softmax_with_loss_op.h"

namespace caffe2 {
namespace {

double TotalWeight(const PixelLabels& pixels) {
  double sum = 0;
  for (int64_t i = 0; i < pixels.count(); ++i) sum += pixels.Weight(i);
  return sum;
}
// Position in X of the label's class at pixel i.
int64_t LabelAt(const PixelLabels& pixels, int64_t i) {
  return pixels.First(i) + CheckLabel(pixels.labels[i], i, pixels.classes) * pixels.area;
}

// Softmax over the classes of one image, of `area` pixels each.
void SoftmaxOfChannels(int64_t classes, int64_t area, const float* x, float* p) {
  for (int64_t i = 0; i < area; ++i) {
    float max = x[i];
    for (int64_t c = 1; c < classes; ++c) max = std::max(max, x[c * area + i]);
    float sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      p[c * area + i] = std::exp(x[c * area + i] - max);
      sum += p[c * area + i];
    }
    for (int64_t c = 0; c < classes; ++c) p[c * area + i] /= sum;
  }
}

}  // namespace

static void SpatialSoftmaxLoss(const PixelLabels& pixels, const float* x, float scale, float* p,
                               float* loss, CPUContext* /*context*/) {
  const int64_t image = pixels.classes * pixels.area;
  ParallelFor(pixels.batch, 1, [=](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      SoftmaxOfChannels(pixels.classes, pixels.area, x + n * image, p + n * image);
    }
  });
  double sum = 0;
  for (int64_t i = 0; i < pixels.count(); ++i) {
    if (pixels.labels[i] == kIgnoredLabel) continue;
    sum -= double{pixels.Weight(i)} * std::log(std::max(p[LabelAt(pixels, i)], kMinProbability));
  }
  const double total = TotalWeight(pixels);
  *loss = total > 0 ? static_cast<float>(scale * sum / total) : 0.f;
}

static void SpatialSoftmaxLossGradient(const PixelLabels& pixels, const float* p,
                                       const Rate& d_loss, float scale, float* dx,
                                       CPUContext* /*context*/) {
  const double total = TotalWeight(pixels);
  const double factor = total > 0 ? scale / total * d_loss() : 0;
  for (int64_t i = 0; i < pixels.count(); ++i) {
    const auto f = static_cast<float>(factor * pixels.Weight(i));
    const int64_t first = pixels.First(i);
    for (int64_t c = 0; c < pixels.classes; ++c) {
      dx[first + c * pixels.area] = p[first + c * pixels.area] * f;
    }
    if (pixels.labels[i] != kIgnoredLabel) dx[LabelAt(pixels, i)] -= f;
  }
}

namespace {

void SpatialSoftmaxWithLossArguments(OpSchema& schema) {
  schema.Arg<float>("scale", "(>= 0, default 1) Multiplies the loss.")
      .ArgOneOf("order", {"NCHW"}, "(default NCHW) The storage order.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SpatialSoftmaxWithLoss, SpatialSoftmaxWithLossOp<CPUContext>);
REGISTER_CPU_OPERATOR(SpatialSoftmaxWithLossGradient, SpatialSoftmaxWithLossGradientOp<CPUContext>);

OPERATOR_SCHEMA(SpatialSoftmaxWithLoss)
    .FillUsing(SpatialSoftmaxWithLossArguments)
    .FillUsing(DescribeSoftmaxLoss)
    .SetDoc(
        "For each pixel the softmax P over the channels of the logits, and the cross entropy with "
        "its label: loss = scale * (sum over pixels of weight * -log P[label]) / (sum of "
        "weights), or 0 if the weights add up to 0. Pixels with label -1 have weight 0.")
    .Input(0, "logits", "A float tensor, on CUDA devices also float16 or bfloat16, N x C x H x W.")
    .Input(1, "labels", "int32 or int64 N x H x W: the class of each pixel, or -1.")
    .Input(2, "weight_tensor", "Optional: a float weight for each pixel, N x H x W.");
OPERATOR_SCHEMA(SpatialSoftmaxWithLossGradient)
    .FillUsing(SpatialSoftmaxWithLossArguments)
    .FillUsing(DescribeSoftmaxLossGradient)
    .SetDoc(
        "The gradient of SpatialSoftmaxWithLoss for the logits. With weights they are input 2, "
        "and the last two inputs follow them.");
REGISTER_GRADIENT(SpatialSoftmaxWithLoss, SoftmaxLossGradientMaker);

}  // namespace caffe2
