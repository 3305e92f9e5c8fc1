// Operation graphs of cuDNN about one convolution, built step by step. Only for what is built on
// cuDNN.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "caffe2/cuda/convolution.h"
#include "caffe2/cuda/cudnn_graph.h"

namespace caffe2::cuda {

// Owns the descriptors of a graph; what its functions return belongs to it. All arithmetic is in
// float. Each function throws Error with cuDNN's own text if the library refuses.
class CudnnOperations {
 public:
  using Tensor = const CudnnDescriptor*;

  // Tensors of the problem's type and storage begin at multiples of `alignment` bytes.
  CudnnOperations(const ConvProblem& problem, int64_t alignment)
      : problem_(problem), alignment_(alignment) {}

  // One of the three arrays of the problem, which runs name by `id`.
  Tensor Array(int64_t id, const std::vector<int64_t>& dims);
  // A result of that type and these dimensions that stays inside of the graph.
  Tensor Inside(const std::vector<int64_t>& dims);
  // One value for each of `channels`.
  Tensor Channels(int64_t id, int64_t channels, cudnnDataType_t type);

  // The direction says which of the three is written, or with `add` added to.
  void Convolve(ConvDirection direction, Tensor x, Tensor filter, Tensor y, bool add = false);
  // y = mode(x, b); b may be null.
  void Pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b, Tensor y);
  // dx = dy where x is above zero, else 0.
  void ReluGradient(Tensor dy, Tensor x, Tensor dx);
  // Sums and sums of squares of the channels of x.
  void ChannelSums(Tensor x, Tensor sums, Tensor square_sums);
  // The reductions of batch normalization's gradient.
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
  int64_t next_inside_ = int64_t{1} << 20;  // ids that no array has
  std::deque<CudnnDescriptor> owned_;
  std::vector<const CudnnDescriptor*> operations_;
};

// What messages call the work of a direction.
const char* NameOf(ConvDirection direction);

// The widest alignment, of those cuDNN is told of, that all arrays share: 16 bytes, or the size of
// an element.
int64_t AlignmentOf(const std::vector<void*>& arrays, TypeMeta type);
constexpr int64_t kFullAlignment = 16;  // of arrays that are no views

}  // namespace caffe2::cuda
