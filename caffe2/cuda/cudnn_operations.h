// Builds, step by step, an operation graph of cuDNN that contains one convolution. Included only by
// files that use cuDNN.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "caffe2/cuda/convolution.h"
#include "caffe2/cuda/cudnn_graph.h"

namespace caffe2::cuda {

// Owns the descriptors of a graph, including the tensors that its functions return. All arithmetic
// is in float. Each function throws Error with cuDNN's own text if the library refuses.
class CudnnOperations {
 public:
  using Tensor = const CudnnDescriptor*;

  // Arrays have the problem's type and storage order and begin at multiples of `alignment` bytes.
  CudnnOperations(const ConvProblem& problem, int64_t alignment)
      : problem_(problem), alignment_(alignment) {}

  // An array of the problem's type, in memory. A run passes its address by `id`.
  Tensor Array(int64_t id, const std::vector<int64_t>& dims);
  // An intermediate result, in float, that is never in memory.
  Tensor Inside(const std::vector<int64_t>& dims);
  // An array of one value for each channel.
  Tensor Channels(int64_t id, int64_t channels, cudnnDataType_t type);

  // The direction says which of the three tensors is written or, with `add`, added to.
  void Convolve(ConvDirection direction, Tensor x, Tensor filter, Tensor y, bool add = false);
  // y = mode(x, b); b may be null.
  void Pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b, Tensor y);
  // dx = dy where x is above zero, else 0.
  void ReluGradient(Tensor dy, Tensor x, Tensor dx);
  // For each channel of x, its sum and its sum of squares.
  void ChannelSums(Tensor x, Tensor sums, Tensor square_sums);
  // The reductions of batch normalization's gradient: dscale, dbias, and the factors of dx.
  struct NormGradient {
    Tensor x, mean, inverse_std, scale, dy;
    Tensor dscale, dbias;
    Tensor factor_dy, factor_x, constant;  // dx = factor_dy * dy + factor_x * x + constant
  };
  void NormGradientSums(const NormGradient& norm);

  CudnnDescriptor Graph(const CudnnTarget& target) const;

 private:
  CudnnDescriptor* Own(CudnnDescriptor descriptor);
  CudnnDescriptor* Operation(cudnnBackendDescriptorType_t type, const char* name);
  CudnnDescriptor* PointwiseOperation(cudnnPointwiseMode_t mode);

  const ConvProblem problem_;
  const int64_t alignment_;
  int64_t next_inside_ = int64_t{1} << 20;  // ids that no array uses
  std::deque<CudnnDescriptor> owned_;
  std::vector<const CudnnDescriptor*> operations_;
};

// The name of the direction in messages: "the input gradient of the convolution".
const char* NameOf(ConvDirection direction);

// 16 bytes if all arrays begin at multiples of 16 bytes, else the size of an element.
int64_t AlignmentOf(const std::vector<void*>& arrays, TypeMeta type);
constexpr int64_t kFullAlignment = 16;  // every tensor's, unless it is a view

}  // namespace caffe2::cuda
