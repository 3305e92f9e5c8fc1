// Convolutions fused with the operations around them, in one pass over memory, where cuDNN has an
// engine for this.
//
// If cuDNN has no engine, a function does nothing and returns false; that is logged once for each
// problem. Plans are chosen and kept as for Convolve (convolution.h). Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "caffe2/core/half.h"
#include "caffe2/cuda/convolution.h"

namespace caffe2::cuda {

// y = act(convolution of x + z + bias), rounded once. z may be null. act is Relu if `relu`, else
// the identity. `bias` holds one value of the problem's type for each channel of y. z and y must
// not overlap.
bool ConvolveWithBias(const ConvProblem& problem, const void* x, const void* filter,
                      const void* bias, const void* z, bool relu, void* y, int device,
                      Stream stream);

// Batch normalization in training. cuDNN 9 has engines for it on Hopper for float16, channels last,
// one group; with z only for 1x1 filters with stride 1. For bfloat16 it has only ConvolveWithStats
// without `norm`, which takes longer than a convolution and a pass for the sums (on an H100 19 ms
// for the 53 layers of ResNet-50; convolutions alone take 7). False if no engine is worth trying.
inline bool MayFuseNorm(const ConvProblem& problem) {
  return problem.channels_last && problem.type.Match<float16>();
}

// How batch normalization maps the values of each channel: value * factor + shift. Each array holds
// one value for each channel.
struct BatchNormFactors {
  const void *factor = nullptr, *shift = nullptr;  // in the problem's type
  // Where they come from: factor = scale * inverse_std, shift = bias - mean * factor.
  const float *mean = nullptr, *inverse_std = nullptr, *scale = nullptr, *bias = nullptr;
};

// A convolution's input that is computed while x is read: relu(x * factor + shift + z). Without z
// it is never in memory.
struct NormedInput {
  BatchNormFactors factors;
  const void* z = nullptr;                    // shaped like x, or null
  std::optional<BatchNormFactors> z_factors;  // if set, z is normalized with these
  void* normed = nullptr;                     // with z: ConvolveWithStats writes the input here
};

// Computes y and, for each of its channels, the sum and the sum of squares. If `norm` is null the
// convolution reads x itself.
bool ConvolveWithStats(const ConvProblem& problem, const NormedInput* norm, const void* x,
                       const void* filter, void* y, float* sums, float* square_sums, int device,
                       Stream stream);

// The filter gradient of a convolution of the normalized input. `norm` must be without z.
bool ConvolveNormedBackwardFilter(const ConvProblem& problem, const NormedInput& norm,
                                  const void* x, const void* dy, void* dfilter, int device,
                                  Stream stream);

// Per-channel sums of the gradient g of a normalized array: dscale = sum of g * (value - mean) *
// inverse_std, dbias = sum of g. `scratch` holds 3 floats for each channel.
struct NormSums {
  float *dscale = nullptr, *dbias = nullptr, *scratch = nullptr;
};

// The results of ConvolveNormedBackwardData. g is the gradient of the Relu's input: the
// convolution's input gradient where the Relu's input is above zero, else 0. `sums` are the sums of
// g for x, and `z_sums` for z if z is normalized. `also` is another gradient of the convolution's
// input, which is added to the convolution's; it must be set if and only if z is set.
struct NormedInputGradient {
  const void* also = nullptr;
  void* g = nullptr;
  NormSums sums, z_sums;
};
bool ConvolveNormedBackwardData(const ConvProblem& problem, const NormedInput& norm, const void* x,
                                const void* filter, const void* dy, const NormedInputGradient& to,
                                int device, Stream stream);

// The variants of the functions above.
enum class FusedConvolution {
  kBias,
  kBiasRelu,
  kSumBias,
  kSumBiasRelu,
  kStats,
  kNormedStats,
  kNormedBackwardFilter,
  kNormedBackwardData,
  kNormedSumStats,
  kNormedSumBackwardData,
  // Of the sum of two normalized arrays:
  kNormedPairStats,
  kNormedPairBackwardData,
};
// Like PlanConvolution, for one of the variants. Throws Error if there is no engine.
ConvPlanDescription PlanFusedConvolution(FusedConvolution variant, const ConvProblem& problem,
                                         const std::string& device_json, int max_plans = 1);

}  // namespace caffe2::cuda
