#include "caffe2/utils/onednn_conv_matmul.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_matmul.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"
#include "caffe2/utils/tiled_filter_gradient.h"

namespace caffe2::onednn {
namespace {

// The patches of images that are handled at a time stay in the cache of a core or two.
constexpr int64_t kMaxPatchBytes = int64_t{8} << 20;
constexpr int64_t kPixelGrain = 64;

// op(a) b for matrices of T.
template <typename T>
MatMulProblem Product(int64_t m, int64_t n, int64_t k, bool trans_a, bool float_result) {
  MatMulProblem product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.trans_a = trans_a;
  product.float_result = float_result;
  product.type = std::is_same_v<T, float> ? MatMulType::kFloat : MatMulType::kBFloat16;
  return product;
}

int64_t RoundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

bool PatchesSupport(const ConvProblem& problem) {
  return problem.stride.size() == 2 && problem.groups == 1 && problem.channels_last &&
         (problem.type.Match<float>() ||
          (problem.type.Match<bfloat16>() && MultipliesBFloat16())) &&
         problem.filter_type.Match<float>() && !problem.bias_type;
}

ImagePatches::ImagePatches(const ConvProblem& p, int64_t bytes)
    : images_(p.src.at(0)),
      height_(p.src.at(2)),
      width_in_(p.src.at(3)),
      channels_(p.src.at(1)),
      filters_(p.filter.at(0)),
      out_height_(p.dst.at(2)),
      out_width_(p.dst.at(3)),
      kernel_height_(p.filter.at(2)),
      kernel_width_(p.filter.at(3)),
      stride_y_(p.stride.at(0)),
      stride_x_(p.stride.at(1)),
      dilation_y_(p.dilation.at(0)),
      dilation_x_(p.dilation.at(1)),
      pad_y_(p.pad_begin.at(0)),
      pad_x_(p.pad_begin.at(1)) {
  CAFFE_ENFORCE(PatchesSupport(p), "not supported by patches: ", p.ToString());
  const int64_t image_bytes = std::max<int64_t>(1, rows() * width() * bytes);
  images_at_a_time_ = std::clamp<int64_t>(kMaxPatchBytes / image_bytes, 1, images_);
}

bool ImagePatches::trivial() const {
  return kernel_height_ == 1 && kernel_width_ == 1 && out_height_ == height_ &&
         out_width_ == width_in_ && stride_y_ == 1 && stride_x_ == 1 && pad_y_ == 0 && pad_x_ == 0;
}

template <typename T>
ImagePatches::Window<T> ImagePatches::WindowOf(int64_t row, const T* images) const {
  const int64_t place = row % rows();
  return {images + row / rows() * image_size(), place / out_width_ * stride_y_ - pad_y_,
          place % out_width_ * stride_x_ - pad_x_};
}

template <typename T>
const T* ImagePatches::PixelUnder(const Window<T>& window, int64_t i, int64_t j) const {
  const int64_t y = window.y + i * dilation_y_, x = window.x + j * dilation_x_;
  if (y < 0 || y >= height_ || x < 0 || x >= width_in_) return nullptr;
  return window.image + (y * width_in_ + x) * channels_;
}

template <typename T>
void ImagePatches::Gather(int64_t count, const T* images, T* patches) const {
  const size_t pixel_bytes = channels_ * sizeof(T);
  ParallelFor(count * rows(), kPixelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto window = WindowOf(row, images);
      T* to = patches + row * width();
      for (int64_t i = 0; i < kernel_height_; ++i) {
        for (int64_t j = 0; j < kernel_width_; ++j, to += channels_) {
          if (const T* from = PixelUnder(window, i, j)) {
            std::memcpy(to, from, pixel_bytes);
          } else {
            std::memset(to, 0, pixel_bytes);
          }
        }
      }
    }
  });
}

std::vector<int64_t> ImagePatches::TapsOfStride() const {
  std::vector<int64_t> taps;
  for (int64_t i = 0; i < std::min(stride_y_, kernel_height_); ++i) {
    for (int64_t j = 0; j < std::min(stride_x_, kernel_width_); ++j) {
      taps.push_back(i * kernel_width_ + j);
    }
  }
  return taps;
}

template <typename T>
void ImagePatches::PixelsUnder(int64_t tap, int64_t first, int64_t count, const T* images,
                               const T* outside, const T** pixels) const {
  if (trivial()) {
    const int64_t wanted = std::min(count, images_ * rows() - first);
    for (int64_t n = 0; n < wanted; ++n) pixels[n] = images + (first + n) * channels_;
    std::fill(pixels + wanted, pixels + count, outside);
    return;
  }
  const int64_t down = tap / kernel_width_ * dilation_y_ - pad_y_;
  const int64_t across = tap % kernel_width_ * dilation_x_ - pad_x_;
  int64_t image = first / rows(), row = first % rows() / out_width_, column = first % out_width_;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t y = row * stride_y_ + down, x = column * stride_x_ + across;
    const bool inside = image < images_ && y >= 0 && y < height_ && x >= 0 && x < width_in_;
    pixels[n] = inside ? images + image * image_size() + (y * width_in_ + x) * channels_ : outside;
    if (++column < out_width_) continue;
    column = 0;
    if (++row < out_height_) continue;
    row = 0;
    ++image;
  }
}
template void ImagePatches::PixelsUnder(int64_t, int64_t, int64_t, const float*, const float*,
                                        const float**) const;
template void ImagePatches::PixelsUnder(int64_t, int64_t, int64_t, const bfloat16*, const bfloat16*,
                                        const bfloat16**) const;

template <typename T>
void ImagePatches::Scatter(int64_t count, const float* patches, T* images) const {
  constexpr int64_t kBlock = 256;  // channels
  // The place of the patch whose kernel element `k` lies on the pixel, or -1.
  const auto patch = [](int64_t pixel, int64_t k, int64_t dilation, int64_t pad, int64_t stride,
                        int64_t size) -> int64_t {
    const int64_t scaled = pixel + pad - k * dilation;
    return scaled >= 0 && scaled % stride == 0 && scaled / stride < size ? scaled / stride : -1;
  };
  const int64_t pixels = height_ * width_in_;
  ParallelFor(count * pixels, kPixelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t pixel = begin; pixel < end; ++pixel) {
      const int64_t y = pixel % pixels / width_in_, x = pixel % width_in_;
      const float* of_image = patches + pixel / pixels * rows() * width();
      for (int64_t c = 0; c < channels_; c += kBlock) {
        const int64_t block = std::min(kBlock, channels_ - c);
        float sum[kBlock] = {};
        for (int64_t i = 0; i < kernel_height_; ++i) {
          const int64_t oy = patch(y, i, dilation_y_, pad_y_, stride_y_, out_height_);
          for (int64_t j = 0; oy >= 0 && j < kernel_width_; ++j) {
            const int64_t ox = patch(x, j, dilation_x_, pad_x_, stride_x_, out_width_);
            if (ox < 0) continue;
            const float* part = of_image + (oy * out_width_ + ox) * width() +
                                (i * kernel_width_ + j) * channels_ + c;
            for (int64_t k = 0; k < block; ++k) sum[k] += part[k];
          }
        }
        T* to = images + pixel * channels_ + c;
        for (int64_t k = 0; k < block; ++k) Store(sum[k], to + k);
      }
    }
  });
}

PatchFilterGradient::PatchFilterGradient(const ConvProblem& problem)
    : in_float_(problem.type.Match<float>()),
      patches_(problem, in_float_ ? sizeof(float) : sizeof(bfloat16)) {}

void PatchFilterGradient::Run(const void* src, const void* d_dst, void* d_filter) const {
  if (in_float_ && HasAvx512()) {
    TiledFilterGradient(patches_, static_cast<const float*>(src), static_cast<const float*>(d_dst),
                        static_cast<float*>(d_filter));
  } else if (in_float_) {
    RunWithType(static_cast<const float*>(src), static_cast<const float*>(d_dst), d_filter);
  } else if (HasPairInstruction() && !HasAmx()) {
    TiledFilterGradient(patches_, static_cast<const bfloat16*>(src),
                        static_cast<const bfloat16*>(d_dst), static_cast<float*>(d_filter));
  } else {
    RunWithType(static_cast<const bfloat16*>(src), static_cast<const bfloat16*>(d_dst), d_filter);
  }
}

template <typename T>
void PatchFilterGradient::RunWithType(const T* images, const T* gradients, void* d_filter) const {
  const ImagePatches& p = patches_;
  if (p.trivial()) {
    const auto product = Product<T>(p.filters(), p.width(), p.images() * p.rows(), true, true);
    return OneDnnMatMul(product, gradients, images, nullptr, d_filter);
  }
  const int64_t step = p.images_at_a_time();
  auto* patches = reinterpret_cast<T*>(ThreadScratch(step * p.rows() * p.width() * sizeof(T)));
  for (int64_t first = 0; first < p.images(); first += step) {
    const int64_t count = std::min(step, p.images() - first);
    p.Gather(count, images + first * p.image_size(), patches);
    auto product = Product<T>(p.filters(), p.width(), count * p.rows(), true, true);
    product.accumulate = first > 0;
    OneDnnMatMul(product, gradients + first * p.rows() * p.filters(), patches, nullptr, d_filter);
  }
}

PatchDataGradient::PatchDataGradient(const ConvProblem& problem)
    : in_float_(problem.type.Match<float>()),
      accumulate_(problem.add_to_dst),
      patches_(problem, sizeof(float)) {
  CAFFE_ENFORCE(!accumulate_ || patches_.trivial(), "cannot add patches: ", problem.ToString());
}

bool PatchDataGradient::Adds(const ConvProblem& problem) {
  return ImagePatches(problem, sizeof(float)).trivial();
}

void PatchDataGradient::Run(const void* d_dst, const void* filter, void* d_src) const {
  const auto* wide = static_cast<const float*>(filter);
  if (in_float_) {
    RunWithType(static_cast<const float*>(d_dst), wide, static_cast<float*>(d_src));
  } else {
    RunWithType(static_cast<const bfloat16*>(d_dst), wide, static_cast<bfloat16*>(d_src));
  }
}

template <typename T>
void PatchDataGradient::RunWithType(const T* gradients, const float* filter, T* images) const {
  const ImagePatches& p = patches_;
  const int64_t filter_size = p.filters() * p.width(), step = p.images_at_a_time();
  const int64_t filter_bytes =
      std::is_same_v<T, float> ? 0 : RoundUp(filter_size * static_cast<int64_t>(sizeof(T)));
  const int64_t patch_bytes = p.trivial() ? 0 : step * p.rows() * p.width() * sizeof(float);
  char* scratch = ThreadScratch(filter_bytes + patch_bytes);
  const void* factor = filter;
  if constexpr (!std::is_same_v<T, float>) {
    auto* narrow = reinterpret_cast<T*>(scratch);
    ParallelFor(filter_size, 8192, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Store(filter[i], narrow + i);
    });
    factor = narrow;
  }
  if (p.trivial()) {
    auto product = Product<T>(p.images() * p.rows(), p.width(), p.filters(), false, false);
    product.accumulate = accumulate_;
    return OneDnnMatMul(product, gradients, factor, nullptr, images);
  }
  auto* patches = reinterpret_cast<float*>(scratch + filter_bytes);
  for (int64_t first = 0; first < p.images(); first += step) {
    const int64_t count = std::min(step, p.images() - first);
    const auto product = Product<T>(count * p.rows(), p.width(), p.filters(), false, true);
    OneDnnMatMul(product, gradients + first * p.rows() * p.filters(), factor, nullptr, patches);
    p.Scatter(count, patches, images + first * p.image_size());
  }
}

}  // namespace caffe2::onednn
