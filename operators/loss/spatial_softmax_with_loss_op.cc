#include "operators/loss/spatial_softmax_with_loss_op.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "caffe2/utils/vector_math.h"
#include "operators/common/host_device_op.h"
#include "operators/loss/label_check.h"
#include "operators/loss/softmax_with_loss_op.h"

namespace caffe2 {
namespace {

// Pixels whose values of all classes are handled together: the loops run along pixels, which are
// neighbours in memory.
constexpr int64_t kPixelBlock = 256;

double TotalWeight(const PixelLabels& pixels, CPUContext* context) {
  return SumTerms(
      pixels.count(), [pixels](int64_t i) { return pixels.Weight(i); }, context);
}

// A run of `size` pixels of one image.
struct PixelRun {
  int64_t pixel;  // the first, counted over all images
  int64_t first;  // position in N x C x H x W of its first class
  int64_t size;
};
// Calls visit(block, run) for runs of up to kPixelBlock pixels, in parallel. The runs depend on the
// shape alone.
template <class Visit>
void ForEachPixelRun(const PixelLabels& pixels, const Visit& visit) {
  const int64_t blocks = (pixels.area + kPixelBlock - 1) / kPixelBlock;
  const int64_t grain = RowGrain(kPixelBlock * pixels.classes, kElementGrain);
  ParallelFor(pixels.batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b % blocks * kPixelBlock, pixel = b / blocks * pixels.area + at;
      visit(b, PixelRun{pixel, pixels.First(pixel), std::min(kPixelBlock, pixels.area - at)});
    }
  });
}
// Position of the label's class at pixel k of the run.
int64_t LabelAt(const PixelLabels& pixels, const PixelRun& run, int64_t k) {
  const int64_t i = run.pixel + k;
  return run.first + k + CheckLabel(pixels.labels[i], i, pixels.classes) * pixels.area;
}

// Softmax over the classes of n pixels, at most kPixelBlock. Classes are `area` apart.
CAFFE2_SIMD_CLONES void SoftmaxOfPixels(int64_t n, int64_t classes, int64_t area, const float* x,
                                        float* p) {
  float largest[kPixelBlock], sum[kPixelBlock];
  std::fill_n(largest, n, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, n, 0.f);
  for (int64_t c = 0; c < classes; ++c) {
    const float* from = x + c * area;
    for (int64_t i = 0; i < n; ++i) largest[i] = largest[i] < from[i] ? from[i] : largest[i];
  }
  for (int64_t c = 0; c < classes; ++c) {
    const float* from = x + c * area;
    float* to = p + c * area;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      to[i] = Exp(from[i] - largest[i]);
      sum[i] += to[i];
    }
  }
  for (int64_t c = 0; c < classes; ++c) {
    float* to = p + c * area;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] /= sum[i];
  }
}

// The sum over the run of -weight log p[label].
double LossOfRun(const PixelLabels& pixels, const PixelRun& run, const float* p) {
  float chosen[kPixelBlock], weight[kPixelBlock];
  for (int64_t k = 0; k < run.size; ++k) {
    weight[k] = pixels.Weight(run.pixel + k);
    const bool counts = pixels.labels[run.pixel + k] != kIgnoredLabel;
    chosen[k] = counts ? std::max(p[LabelAt(pixels, run, k)], kMinProbability) : 1.f;
  }
  const float *probabilities = chosen, *weights = weight;
  return -host_device::SumOver(host_device::SoloTeam(), run.size, [=](int64_t k) {
    return double{weights[k]} * Log(probabilities[k]);
  });
}

// dx = p * factor for the classes of n pixels.
CAFFE2_SIMD_CLONES void ScalePixels(int64_t n, int64_t classes, int64_t area, const float* p,
                                    const float* factor, float* dx) {
  for (int64_t c = 0; c < classes; ++c) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[c * area + i] = p[c * area + i] * factor[i];
  }
}

}  // namespace

static void SpatialSoftmaxLoss(const PixelLabels& pixels, const float* x, float scale, float* p,
                               float* loss, CPUContext* context) {
  std::vector<double> losses(pixels.batch * ((pixels.area + kPixelBlock - 1) / kPixelBlock));
  ForEachPixelRun(pixels, [&](int64_t block, const PixelRun& run) {
    SoftmaxOfPixels(run.size, pixels.classes, pixels.area, x + run.first, p + run.first);
    losses[block] = LossOfRun(pixels, run, p);
  });
  double sum = 0;
  for (const double value : losses) sum += value;
  const double total = TotalWeight(pixels, context);
  *loss = total > 0 ? static_cast<float>(scale * sum / total) : 0.f;
}

static void SpatialSoftmaxLossGradient(const PixelLabels& pixels, const float* p,
                                       const Rate& d_loss, float scale, float* dx,
                                       CPUContext* context) {
  const double total = TotalWeight(pixels, context);
  const double factor = total > 0 ? scale / total * d_loss() : 0;
  ForEachPixelRun(pixels, [&](int64_t, const PixelRun& run) {
    float factors[kPixelBlock];
    for (int64_t k = 0; k < run.size; ++k) {
      factors[k] = static_cast<float>(factor * pixels.Weight(run.pixel + k));
    }
    ScalePixels(run.size, pixels.classes, pixels.area, p + run.first, factors, dx + run.first);
    for (int64_t k = 0; k < run.size; ++k) {
      if (pixels.labels[run.pixel + k] != kIgnoredLabel) dx[LabelAt(pixels, run, k)] -= factors[k];
    }
  });
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
