#include "operators/conv/input_gradient_cuda.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/scratch.h"

namespace caffe2 {
namespace {

using cuda::ConvProblem;
using cuda::Scratch;

bool HasUnevenStrides(const ConvProblem& problem) {
  const std::vector<int64_t>& stride = problem.stride;
  return std::adjacent_find(stride.begin(), stride.end(), std::not_equal_to<>()) != stride.end();
}

// The same gradient with strides of 1. y is so large that the array of zeros and pixels is one
// pixel and stride - 1 zeros after another.
ConvProblem WithoutStrides(const ConvProblem& problem) {
  ConvProblem result = problem;
  for (size_t a = 0; a < problem.stride.size(); ++a) {
    const int64_t kernel = problem.dilation[a] * (problem.filter[a + 2] - 1) + 1;
    result.y[a + 2] = problem.y[a + 2] * problem.stride[a];
    result.pad_end[a] = result.y[a + 2] - 1 + kernel - problem.x[a + 2] - problem.pad_begin[a];
    result.stride[a] = 1;
  }
  return result;
}

// Spreads the pixels of dy: puts stride - 1 zeros after each, axis by axis.
class SpreadGradient {
 public:
  SpreadGradient(const ConvProblem& problem, const void* dy, int device, cuda::Stream stream)
      : data_(dy), device_(device), stream_(stream) {
    std::vector<int64_t> dims = problem.y;  // in the order of storage
    if (problem.channels_last) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    const size_t first = problem.channels_last ? 1 : 2;
    for (size_t a = problem.stride.size(); a-- > 0;) {
      if (problem.stride[a] > 1) Spread(problem.stride[a], first + a, &dims);
    }
  }
  const void* data() const { return data_; }

 private:
  static size_t Product(std::vector<int64_t>::const_iterator begin,
                        std::vector<int64_t>::const_iterator end) {
    return static_cast<size_t>(std::accumulate(begin, end, int64_t{1}, std::multiplies<>()));
  }

  void Spread(int64_t stride, size_t axis, std::vector<int64_t>* dims) {
    const auto after = dims->begin() + static_cast<int64_t>(axis) + 1;
    const size_t rows = Product(dims->begin(), after);
    const size_t row = Product(after, dims->end()) * sizeof(float);
    const size_t wide_row = static_cast<size_t>(stride) * row;
    const size_t bytes = rows * wide_row;
    auto wide = std::make_unique<Scratch>(static_cast<int64_t>(bytes), device_, stream_,
                                          "a spread gradient");
    cuda::SetBytesAsync(wide->get(), 0, bytes, stream_);
    cuda::CopyRowsAsync(wide->get(), wide_row, data_, row, row, rows, stream_);
    memory_ = std::move(wide);  // frees the one before in stream order
    data_ = memory_->get();
    (*dims)[axis] *= stride;
  }

  const void* data_;
  const int device_;
  const cuda::Stream stream_;
  std::unique_ptr<Scratch> memory_;
};

}  // namespace

void ConvInputGradient(const ConvProblem& problem, const void* filter, const void* dy, void* dx,
                       int device, cuda::Stream stream, bool add) {
  constexpr auto kDirection = cuda::ConvDirection::kBackwardData;
  if (!problem.type.Match<float>() || !HasUnevenStrides(problem)) {
    cuda::Convolve(kDirection, problem, nullptr, filter, dy, dx, device, stream, add);
    return;
  }
  const SpreadGradient spread(problem, dy, device, stream);
  cuda::Convolve(kDirection, WithoutStrides(problem), nullptr, filter, spread.data(), dx, device,
                 stream, add);
}

}  // namespace caffe2
