// Convolutions together with what stands before and behind them, in one pass over memory: where
// cuDNN has an engine for it.
//
// Each function returns false, and has done nothing, if there is none; it is logged once for each
// problem. Plans are chosen and kept as Convolve says (convolution.h). Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "caffe2/cuda/convolution.h"

namespace caffe2::cuda {

// y = act(convolution of x + z + bias), rounded once; z may be null, act is Relu or nothing. `bias`
// holds a value of the problem's type for each channel of y. z and y must not overlap.
bool ConvolveWithBias(const ConvProblem& problem, const void* x, const void* filter,
                      const void* bias, const void* z, bool relu, void* y, int device,
                      Stream stream);

// Batch normalization in training. cuDNN 9 has engines for it on Hopper for float16, channels last,
// one group, with z for 1x1 without stride; for bfloat16 that of ConvolveWithStats without a norm
// alone. False for types and storages for which there are none anywhere.
inline bool MayFuseNorm(const ConvProblem& problem) {
  return problem.channels_last && problem.type.itemsize() == 2;
}

// How the channels of an array are normalized: value * factor + shift.
struct ChannelNorms {
  const void *factor = nullptr, *shift = nullptr;  // of the problem's type
  // What they come from: factor = scale * inverse_std, shift = bias - mean * factor.
  const float *mean = nullptr, *inverse_std = nullptr, *scale = nullptr, *bias = nullptr;
};

// relu(normed x + z): the convolution's input, normalized as it is read. Without z it is nowhere in
// memory.
struct NormedInput {
  ChannelNorms norm;
  const void* z = nullptr;             // like x, or null
  std::optional<ChannelNorms> z_norm;  // z is normalized, too
  void* normed = nullptr;              // with z: where ConvolveWithStats writes the input
};

// y, and for each of its channels the sum and the sum of squares. `norm` may be null: x is then
// taken as it is.
bool ConvolveWithStats(const ConvProblem& problem, const NormedInput* norm, const void* x,
                       const void* filter, void* y, float* sums, float* square_sums, int device,
                       Stream stream);

// The filter's gradient, of the normalized input without z.
bool ConvolveNormedBackwardFilter(const ConvProblem& problem, const NormedInput& norm,
                                  const void* x, const void* dy, void* dfilter, int device,
                                  Stream stream);

// Of the gradient g of a normalized array, for each channel: dscale = sum of g * (value - mean) *
// inverse_std, dbias = sum of g. `scratch` holds 3 floats a channel.
struct NormSums {
  float *dscale = nullptr, *dbias = nullptr, *scratch = nullptr;
};

// g: the gradient behind the normalization, that is the convolution's input gradient where the Relu
// was open; and its sums, those of z if z is normalized. `also`, there if and only if z is, is
// another gradient of the normalized input, which is added to the convolution's.
struct NormedInputGradient {
  const void* also = nullptr;
  void* g = nullptr;
  NormSums sums, z_sums;
};
bool ConvolveNormedBackwardData(const ConvProblem& problem, const NormedInput& norm, const void* x,
                                const void* filter, const void* dy, const NormedInputGradient& to,
                                int device, Stream stream);

// What these would start from on a described device, as PlanConvolution; throws Error where there
// is no engine.
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
  // Of the sum of two normalized arrays.
  kNormedPairStats,
  kNormedPairBackwardData,
};
ConvPlanDescription PlanFusedConvolution(FusedConvolution form, const ConvProblem& problem,
                                         const std::string& device_json, int most = 1);

}  // namespace caffe2::cuda
