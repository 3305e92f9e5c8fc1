// Shared by Winograd convolutions and their filter gradients. Internal to the oneDNN wrapper: only
// onednn_winograd*.cc and winograd_*.cc include it.
#pragma once

#include <omp.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_conv.h"
#include "caffe2/utils/onednn_primitive.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/winograd_transforms.h"

namespace caffe2::onednn::winograd {

using dnnl::memory;

struct Image {
  int64_t batch, height, width, channels;
  int64_t Offset(int64_t n, int64_t y, int64_t x) const {
    return ((n * height + y) * width + x) * channels;
  }
  bool Holds(int64_t y, int64_t x) const { return y >= 0 && y < height && x >= 0 && x < width; }
};

// The tiles of a result, size x size pixels each, and the corresponding windows of the input. They
// are processed in chunks of rows, over all images.
struct Tiles {
  // Chunks have about the same size, at most about `max_per_chunk` tiles, and each thread gets the
  // same number of chunks.
  Tiles(int64_t size, const Image& result, int64_t pad_top, int64_t pad_left, int64_t max_per_chunk)
      : top(-pad_top),
        left(-pad_left),
        down((result.height + size - 1) / size),
        across((result.width + size - 1) / size),
        rows(result.batch * down) {
    const int64_t max_rows = std::clamp<int64_t>(max_per_chunk / across, 1, rows);
    const int64_t threads = omp_get_max_threads();
    chunks = (rows + max_rows - 1) / max_rows;
    chunks = std::min((chunks + threads - 1) / threads * threads, rows);
    rows_per_chunk = (rows + chunks - 1) / chunks;
    chunks = (rows + rows_per_chunk - 1) / rows_per_chunk;
  }
  int64_t per_chunk() const { return rows_per_chunk * across; }
  // Distance from one plane to the next, in tiles. Planes with `bytes` for each tile, or with
  // `more_bytes`, must not lie a multiple of 4096 bytes apart: they would compete for the same few
  // cache lines.
  int64_t PlaneTiles(int64_t bytes, int64_t more_bytes) const {
    const auto collides = [](int64_t distance) { return (distance + 255) % 4096 < 511; };
    int64_t tiles = per_chunk();
    while (tiles < per_chunk() + 8 && (collides(tiles * bytes) || collides(tiles * more_bytes))) {
      ++tiles;
    }
    return tiles;
  }

  // Calls body(n, y, x, tile) for the tiles of `count` rows of a chunk: image, row and column of
  // the tile, and its number in the chunk.
  template <typename Body>
  void ForRows(int64_t chunk, int64_t count, const Body& body) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = chunk * rows_per_chunk + i;
      for (int64_t x = 0; x < across; ++x) body(row / down, row % down, x, i * across + x);
    }
  }
  int64_t RowsOf(int64_t chunk) const {
    return std::min(rows_per_chunk, rows - chunk * rows_per_chunk);
  }

  int64_t top, left, down, across, rows, rows_per_chunk, chunks;
};

// The tiles of a result, size x size pixels each, numbered over all images.
struct NumberedTiles {
  NumberedTiles(const Image& result, int64_t pad_top, int64_t pad_left, int64_t size)
      : top(-pad_top),
        left(-pad_left),
        down((result.height + size - 1) / size),
        across((result.width + size - 1) / size),
        count(result.batch * down * across) {}

  int64_t top, left;  // of the first tile's window of the input
  int64_t down, across, count;
};

// The addresses of the kSize x kSize pixels from (top, left) on; `outside` for pixels outside the
// image.
template <int kSize, typename Pixel>
void FindPixels(const Image& image, int64_t n, int64_t top, int64_t left, Pixel* data,
                Pixel* outside, Pixel** pixels) {
  if (image.Holds(top, left) && image.Holds(top + kSize - 1, left + kSize - 1)) {
    Pixel* row = data + image.Offset(n, top, left);
    for (int y = 0; y < kSize; ++y, row += image.width * image.channels) {
      for (int x = 0; x < kSize; ++x) pixels[kSize * y + x] = row + x * image.channels;
    }
    return;
  }
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      pixels[kSize * y + x] =
          image.Holds(top + y, left + x) ? data + image.Offset(n, top + y, left + x) : outside;
    }
  }
}

// Divides one piece of memory into parts.
class Layout {
 public:
  template <typename T>
  size_t Add(int64_t elements) {
    const size_t offset = bytes_;
    bytes_ += (elements * sizeof(T) + 63) / 64 * 64;
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// A matrix product for each plane, done by the calling thread alone.
class PlaneProducts {
 public:
  // c = a b, or c += a b.
  PlaneProducts(const memory::desc& a, const memory::desc& b, const memory::desc& c,
                bool accumulate)
      : desc_(Make(a, b, c, accumulate)), product_(desc_) {}

  memory::desc b() const { return desc_.weights_desc(); }
  size_t scratch_bytes() const { return desc_.scratchpad_desc().get_size(); }

  // Runs the products in one thread.
  class Runner {
   public:
    Runner(const PlaneProducts& products, const void* a, const void* b, float* c, void* scratch)
        : product_(products.product_),
          stream_(CpuEngine()),
          arguments_{{DNNL_ARG_SRC, Memory(products.desc_.src_desc(), a)},
                     {DNNL_ARG_WEIGHTS, Memory(products.desc_.weights_desc(), b)},
                     {DNNL_ARG_DST, Memory(products.desc_.dst_desc(), c)},
                     {DNNL_ARG_SCRATCHPAD, Memory(products.desc_.scratchpad_desc(), scratch)}} {}
    void Run() { product_.execute(stream_, arguments_); }

   private:
    static memory Memory(const memory::desc& desc, const void* data) {
      return memory(desc, CpuEngine(), const_cast<void*>(data));
    }
    const dnnl::matmul& product_;
    dnnl::stream stream_;
    const std::unordered_map<int, memory> arguments_;
  };

 private:
  static dnnl::matmul::primitive_desc Make(const memory::desc& a, const memory::desc& b,
                                           const memory::desc& c, bool accumulate) {
    dnnl::primitive_attr attr = UserScratchpad();
    dnnl::post_ops ops;
    if (accumulate) ops.append_sum(1.f);
    attr.set_post_ops(ops);
    // oneDNN divides the work among threads when it makes a primitive: here, one thread.
    const OneThread one_thread;
#if DNNL_VERSION_MAJOR >= 3
    return {CpuEngine(), a, b, c, attr};
#else
    return {{a, b, c}, attr, CpuEngine()};
#endif
  }

  class OneThread {
   public:
    OneThread() { omp_set_num_threads(1); }
    ~OneThread() { omp_set_num_threads(before_); }

   private:
    const int before_ = omp_get_max_threads();
  };

  const dnnl::matmul::primitive_desc desc_;
  const dnnl::matmul product_;
};

// A matrix for each plane.
inline memory::desc Planes(int64_t rows, int64_t columns,
                           memory::format_tag format = memory::format_tag::abc) {
  return {{WinogradTile<float>::kPlanes, rows, columns}, memory::data_type::f32, format};
}
inline constexpr auto kTransposed = memory::format_tag::acb;  // the memory holds the transposes

// Number of tiles whose transforms fit into the second-level cache, but at least enough for an
// efficient product.
inline int64_t CachedTiles(int64_t bytes_per_tile) {
  constexpr int64_t kCacheBytes = 768 << 10, kMinTiles = 64;
  return std::max(kMinTiles, kCacheBytes / bytes_per_tile);
}

inline Image MakeImage(const std::vector<int64_t>& dims) {
  return {dims[0], dims[2], dims[3], dims[1]};
}

// n elements of a float or bfloat16 array as float: the array itself, or widened into `buffer`.
inline const float* AsFloat(TypeMeta type, const void* data, int64_t offset, int64_t n,
                            std::vector<float>* buffer) {
  if (type.Match<float>()) return static_cast<const float*>(data) + offset;
  buffer->resize(n);
  WidenRow(n, static_cast<const bfloat16*>(data) + offset, buffer->data());
  return buffer->data();
}

// Writes the n elements of `from` to a float or bfloat16 array, from element `offset` on.
inline void StoreFloats(TypeMeta type, const float* from, int64_t n, int64_t offset, void* to) {
  if (type.Match<float>()) {
    std::copy(from, from + n, static_cast<float*>(to) + offset);
  } else {
    NarrowRow(n, from, static_cast<bfloat16*>(to) + offset);
  }
}

// sums[c] = the sum over all pixels.
template <typename Pixel>
void SumPixels(const Image& image, const Pixel* data, float* sums) {
  constexpr int64_t kChannels = 64;
  std::fill(sums, sums + image.channels, 0.f);
  const int64_t pixels = image.batch * image.height * image.width;
  ParallelFor(image.channels, kChannels, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < pixels; ++i) {
      AddRow(end - begin, data + i * image.channels + begin, sums + begin);
    }
  });
}

// The gradient of the bias, unless d_bias is null.
template <typename Pixel>
void WriteBias(TypeMeta type, const Image& dst, const Pixel* d_dst, void* d_bias) {
  if (!d_bias) return;
  std::vector<float> sums(dst.channels);
  SumPixels(dst, d_dst, sums.data());
  StoreFloats(type, sums.data(), dst.channels, 0, d_bias);
}

// Transposes one filter: the 3x3 kernels of its channels, filter[c][k], to rows[k][c], or back.
inline void SwapFilterAxes(int64_t outer, int64_t inner, const float* from, float* to) {
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) to[j * outer + i] = from[i * inner + j];
  }
}

// Copies a float image from one storage order to the other. With NHWC images nothing is copied.
class ImageCopy {
 public:
  // Between the caller's NCHW image and one in NHWC.
  static ImageCopy Make(const ConvProblem& problem, const std::vector<int64_t>& dims) {
    ImageCopy copy;
    if (problem.channels_last) return copy;
    constexpr auto type = memory::data_type::f32;
    copy.given_ = memory::desc(dims, type, memory::format_tag::nchw);
    copy.nhwc_ = memory::desc(dims, type, memory::format_tag::nhwc);
    copy.bytes_ = copy.given_.get_size();
    const memory given = At(copy.given_, nullptr), nhwc = At(copy.nhwc_, nullptr);
    copy.to_nhwc_ = dnnl::reorder(given, nhwc);
    copy.from_nhwc_ = dnnl::reorder(nhwc, given);
    return copy;
  }

  // The size of the copy, 0 if there is none.
  int64_t bytes() const { return static_cast<int64_t>(bytes_); }
  // Each returns the image to use: the copy at `place`, or the caller's.
  void* Prepare(const void* given, char* place, bool read) const {
    if (bytes_ == 0) return const_cast<void*>(given);
    if (read) Run(to_nhwc_, At(given_, given), At(nhwc_, place));
    return place;
  }
  void Finish(const void* place, void* given) const {
    if (bytes_ != 0) Run(from_nhwc_, At(nhwc_, place), At(given_, given));
  }

 private:
  static memory At(const memory::desc& desc, const void* data) {
    return data == nullptr ? memory(desc, CpuEngine(), DNNL_MEMORY_NONE)
                           : memory(desc, CpuEngine(), const_cast<void*>(data));
  }
  static void Run(const dnnl::reorder& reorder, memory from, memory to) {
    dnnl::stream stream(CpuEngine());
    reorder.execute(stream, from, to);
  }

  memory::desc given_, nhwc_;
  dnnl::reorder to_nhwc_, from_nhwc_;
  size_t bytes_ = 0;
};

}  // namespace caffe2::onednn::winograd
