#include "caffe2/utils/onednn_winograd.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include "caffe2/core/allocator.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_float_copies.h"
#include "caffe2/utils/onednn_primitive.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"
#include "caffe2/utils/winograd_transforms.h"

namespace caffe2::onednn {
namespace {

using dnnl::memory;

struct Image {
  int64_t batch, height, width, channels;
  int64_t Offset(int64_t n, int64_t y, int64_t x) const {
    return ((n * height + y) * width + x) * channels;
  }
  bool Holds(int64_t y, int64_t x) const { return y >= 0 && y < height && x >= 0 && x < width; }
};

// The tiles of a result, and the corresponding windows of the input. They are processed in chunks
// of rows, over all images.
struct Tiles {
  // Chunks have about the same size, at most about `max_per_chunk` tiles, and each thread gets the
  // same number of chunks.
  Tiles(const Image& result, int64_t pad_top, int64_t pad_left, int64_t max_per_chunk)
      : top(-pad_top),
        left(-pad_left),
        down((result.height + 1) / 2),
        across((result.width + 1) / 2),
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

// The addresses of the kSize x kSize pixels from (top, left) on; `outside` for pixels outside of
// the image.
template <int kSize, typename Pixel>
void FindPixels(const Image& image, int64_t n, int64_t top, int64_t left, Pixel* data,
                Pixel* outside, Pixel** pixels) {
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

  // Runs them in one thread.
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

// One matrix for each plane; if `transposed`, the memory holds its transpose.
memory::desc Planes(int64_t rows, int64_t columns, memory::data_type type,
                    bool transposed = false) {
  return {{kWinogradPlanes, rows, columns},
          type,
          transposed ? memory::format_tag::acb : memory::format_tag::abc};
}

// Number of tiles whose transforms fit into the second-level cache, but at least enough for an
// efficient product.
int64_t CachedTiles(int64_t bytes_per_tile) {
  constexpr int64_t kCacheBytes = 768 << 10, kMinTiles = 196;
  return std::max(kMinTiles, kCacheBytes / bytes_per_tile);
}

// sums[c] = the sum over all pixels.
void SumPixels(const Image& image, const bfloat16* data, float* sums) {
  constexpr int64_t kChannels = 64;
  std::fill(sums, sums + image.channels, 0.f);
  const int64_t pixels = image.batch * image.height * image.width;
  ParallelFor(image.channels, kChannels, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < pixels; ++i) {
      AddRow(end - begin, data + i * image.channels + begin, sums + begin);
    }
  });
}

Image MakeImage(const std::vector<int64_t>& dims) { return {dims[0], dims[2], dims[3], dims[1]}; }

bool All(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
}

// n elements of a float or bfloat16 array as float: the array itself, or widened into `buffer`.
const float* AsFloat(TypeMeta type, const void* data, int64_t offset, int64_t n,
                     std::vector<float>* buffer) {
  if (type.Match<float>()) return static_cast<const float*>(data) + offset;
  buffer->resize(n);
  WidenRow(n, static_cast<const bfloat16*>(data) + offset, buffer->data());
  return buffer->data();
}

// Clears tiles outside of the image, so that they add nothing to sums over tiles.
void ZeroTiles(int64_t begin, int64_t end, int64_t channels, bfloat16* planes) {
  for (int64_t plane = 0; plane < kWinogradPlanes; ++plane) {
    bfloat16* first = planes + plane * end * channels;
    std::fill(first + begin * channels, first + end * channels, bfloat16{});
  }
}

void StoreFloats(TypeMeta type, const float* from, int64_t n, int64_t offset, void* to) {
  if (type.Match<float>()) {
    std::copy(from, from + n, static_cast<float*>(to) + offset);
  } else {
    NarrowRow(n, from, static_cast<bfloat16*>(to) + offset);
  }
}

}  // namespace

bool WinogradSupports(const ConvProblem& p) {
  return p.stride.size() == 2 && p.groups == 1 && p.filter[2] == 3 && p.filter[3] == 3 &&
         All(p.stride, 1) && All(p.dilation, 1) && p.pad_begin[0] <= 2 && p.pad_begin[1] <= 2 &&
         p.channels_last && p.type.Match<bfloat16>() && MultipliesBFloat16();
}

// The parts that do not change from run to run.
class WinogradCorrelation::Plan {
 public:
  Plan(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left, bool rotated)
      : in(in),
        out(out),
        tiles(out, pad_top, pad_left,
              CachedTiles(kWinogradPlanes *
                          (sizeof(bfloat16) * in.channels + sizeof(float) * out.channels))),
        plane_tiles(tiles.PlaneTiles(in.channels * sizeof(bfloat16), out.channels * sizeof(float))),
        in_plane(plane_tiles * in.channels),
        out_plane(plane_tiles * out.channels),
        filter_elements(kWinogradPlanes * in.channels * out.channels),
        filter(Planes(in.channels, out.channels, memory::data_type::bf16, !rotated)),
        product(Planes(plane_tiles, in.channels, memory::data_type::bf16),
                {{kWinogradPlanes, in.channels, out.channels},
                 memory::data_type::bf16,
                 memory::format_tag::any},
                Planes(plane_tiles, out.channels, memory::data_type::f32), false),
        in_planes(worker.Add<bfloat16>(kWinogradPlanes * in_plane)),
        out_planes(worker.Add<float>(kWinogradPlanes * out_plane)),
        outside(worker.Add<bfloat16>(out.channels)),
        product_scratch(worker.Add<char>(product.scratch_bytes())) {}

  const Image in, out;
  const Tiles tiles;
  const int64_t plane_tiles;          // tiles from tiles.per_chunk() on are undefined
  const int64_t in_plane, out_plane;  // elements of a plane
  const int64_t filter_elements;
  const memory::desc filter;  // as TransformFilter leaves it
  const PlaneProducts product;
  // The scratch memory of a thread.
  Layout worker;
  const size_t in_planes, out_planes, outside, product_scratch;
};

// One thread's part of the work.
class WinogradCorrelation::Worker {
 public:
  Worker(const Plan& plan, char* scratch, const void* filter)
      : plan_(plan),
        in_planes_(reinterpret_cast<bfloat16*>(scratch + plan.in_planes)),
        out_planes_(reinterpret_cast<float*>(scratch + plan.out_planes)),
        outside_(reinterpret_cast<bfloat16*>(scratch + plan.outside)),
        zeros_(plan.in.channels),
        product_(plan.product, in_planes_, filter, out_planes_, scratch + plan.product_scratch) {}

  void RunChunk(int64_t chunk, const bfloat16* in, const WinogradEpilogue& epilogue,
                bfloat16* out) {
    const Tiles& tiles = plan_.tiles;
    const int64_t rows = tiles.RowsOf(chunk);
    tiles.ForRows(chunk, rows, [&](int64_t n, int64_t y, int64_t x, int64_t tile) {
      const bfloat16* pixels[16];
      FindPixels<4>(plan_.in, n, tiles.top + 2 * y, tiles.left + 2 * x, in, zeros_.data(), pixels);
      TransformInput(pixels, plan_.in.channels, plan_.in_plane,
                     in_planes_ + tile * plan_.in.channels);
    });
    product_.Run();
    tiles.ForRows(chunk, rows, [&](int64_t n, int64_t y, int64_t x, int64_t tile) {
      bfloat16* pixels[4];
      FindPixels<2>(plan_.out, n, 2 * y, 2 * x, out, outside_, pixels);
      TransformOutput(out_planes_ + tile * plan_.out.channels, plan_.out_plane, plan_.out.channels,
                      epilogue, pixels);
    });
  }

 private:
  const Plan& plan_;
  bfloat16* in_planes_;
  float* out_planes_;
  bfloat16* outside_;
  const std::vector<bfloat16> zeros_;
  PlaneProducts::Runner product_;
};

WinogradCorrelation::WinogradCorrelation(const ConvProblem& problem, Direction direction)
    : problem_(problem), rotated_(direction == kBackwardData) {
  CAFFE_ENFORCE(WinogradSupports(problem), "no Winograd for ", problem.ToString());
  const Image src = MakeImage(problem.src), dst = MakeImage(problem.dst);
  const int64_t top = problem.pad_begin[0], left = problem.pad_begin[1];
  plan_ = Translate("the products of " + problem.ToString(), [&] {
    return rotated_ ? std::make_unique<const Plan>(dst, src, 2 - top, 2 - left, true)
                    : std::make_unique<const Plan>(src, dst, top, left, false);
  });
}
WinogradCorrelation::~WinogradCorrelation() = default;

void WinogradCorrelation::TransformFilter(const void* filter, bfloat16* planes) const {
  const int64_t filters = problem_.filter[0], channels = problem_.filter[1];
  const int64_t step = rotated_ ? -channels : channels, first = rotated_ ? 8 * channels : 0;
  ParallelFor(filters, 8, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer;
    for (int64_t m = begin; m < end; ++m) {
      const float* rows =
          AsFloat(problem_.filter_type, filter, m * 9 * channels, 9 * channels, &buffer);
      caffe2::TransformFilter(rows + first, step, channels, filters * channels,
                              planes + m * channels);
    }
  });
}

void WinogradCorrelation::Run(const void* in, const void* filter, const void* bias, void* out) {
  const Plan& plan = *plan_;
  const bool keep = problem_.constant_filter, kept = keep && kept_filter_source_ == filter;
  Layout layout;
  const size_t planes = layout.Add<bfloat16>(kept ? 0 : plan.filter_elements);
  const size_t reordered = layout.Add<char>(keep ? 0 : plan.product.b().get_size());
  const size_t workers = layout.Add<char>(plan.worker.bytes() * omp_get_max_threads());
  char* scratch = ThreadScratch(layout.bytes());
  if (keep && !kept_filter_) {
    kept_filter_ = GetAllocator(CPU).Allocate(plan.product.b().get_size(), Device{});
  }
  void* product_filter = keep ? kept_filter_.get() : scratch + reordered;
  if (!kept) {
    TransformFilter(filter, reinterpret_cast<bfloat16*>(scratch + planes));
    const memory from(plan.filter, CpuEngine(), scratch + planes);
    memory to(plan.product.b(), CpuEngine(), product_filter);
    dnnl::stream stream(CpuEngine());
    dnnl::reorder(from, to).execute(stream, const_cast<memory&>(from), to);
    if (keep) kept_filter_source_ = filter;
  }
  std::vector<float> bias_buffer(plan.out.channels);
  const WinogradEpilogue epilogue{
      bias ? AsFloat(problem_.bias_type, bias, 0, plan.out.channels, &bias_buffer)
           : bias_buffer.data(),
      !rotated_ && problem_.add_to_dst, !rotated_ && problem_.relu};
  std::atomic<int> next_worker{0};
  ParallelFor(plan.tiles.chunks, 1, [&](int64_t begin, int64_t end) {
    Worker worker(plan, scratch + workers + next_worker++ * plan.worker.bytes(), product_filter);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      worker.RunChunk(chunk, static_cast<const bfloat16*>(in), epilogue,
                      static_cast<bfloat16*>(out));
    }
  });
}

class WinogradFilterGradient::Plan {
 public:
  Plan(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left)
      : in(in),
        out(out),
        tiles(out, pad_top, pad_left,
              CachedTiles(kWinogradPlanes * sizeof(bfloat16) * (in.channels + out.channels))),
        plane_tiles(
            tiles.PlaneTiles(in.channels * sizeof(bfloat16), out.channels * sizeof(bfloat16))),
        filter_elements(kWinogradPlanes * in.channels * out.channels),
        product(Planes(out.channels, plane_tiles, memory::data_type::bf16, true),
                Planes(plane_tiles, in.channels, memory::data_type::bf16),
                Planes(out.channels, in.channels, memory::data_type::f32), true),
        in_planes(worker.Add<bfloat16>(kWinogradPlanes * plane_tiles * in.channels)),
        out_planes(worker.Add<bfloat16>(kWinogradPlanes * plane_tiles * out.channels)),
        filter_planes(worker.Add<float>(filter_elements)),
        product_scratch(worker.Add<char>(product.scratch_bytes())) {}

  const Image in, out;
  const Tiles tiles;
  const int64_t plane_tiles, filter_elements;
  const PlaneProducts product;
  Layout worker;
  const size_t in_planes, out_planes, filter_planes, product_scratch;
};

// Sums over the chunks of one thread.
class WinogradFilterGradient::Worker {
 public:
  Worker(const Plan& plan, char* scratch)
      : plan_(plan),
        in_planes_(reinterpret_cast<bfloat16*>(scratch + plan.in_planes)),
        out_planes_(reinterpret_cast<bfloat16*>(scratch + plan.out_planes)),
        zeros_(std::max(plan.in.channels, plan.out.channels)),
        product_(plan.product, out_planes_, in_planes_, Sums(plan, scratch),
                 scratch + plan.product_scratch) {
    std::fill_n(Sums(plan, scratch), plan.filter_elements, 0.f);
  }
  static float* Sums(const Plan& plan, char* scratch) {
    return reinterpret_cast<float*>(scratch + plan.filter_planes);
  }

  void RunChunk(int64_t chunk, const bfloat16* src, const bfloat16* d_dst) {
    const int64_t channels = plan_.in.channels, filters = plan_.out.channels;
    const Tiles& tiles = plan_.tiles;
    const int64_t rows = tiles.RowsOf(chunk);
    ZeroTiles(rows * tiles.across, plan_.plane_tiles, channels, in_planes_);
    ZeroTiles(rows * tiles.across, plan_.plane_tiles, filters, out_planes_);
    tiles.ForRows(chunk, rows, [&](int64_t n, int64_t y, int64_t x, int64_t tile) {
      const bfloat16* pixels[16];
      FindPixels<4>(plan_.in, n, tiles.top + 2 * y, tiles.left + 2 * x, src, zeros_.data(), pixels);
      TransformInput(pixels, channels, plan_.plane_tiles * channels, in_planes_ + tile * channels);
      FindPixels<2>(plan_.out, n, 2 * y, 2 * x, d_dst, zeros_.data(), pixels);
      TransformOutputGradient(pixels, filters, plan_.plane_tiles * filters,
                              out_planes_ + tile * filters);
    });
    product_.Run();
  }

 private:
  const Plan& plan_;
  bfloat16 *in_planes_, *out_planes_;
  const std::vector<bfloat16> zeros_;
  PlaneProducts::Runner product_;
};

WinogradFilterGradient::WinogradFilterGradient(const ConvProblem& problem) : problem_(problem) {
  CAFFE_ENFORCE(WinogradSupports(problem), "no Winograd for ", problem.ToString());
  plan_ = Translate("the products of the gradient of " + problem.ToString(), [&] {
    return std::make_unique<const Plan>(MakeImage(problem.src), MakeImage(problem.dst),
                                        problem.pad_begin[0], problem.pad_begin[1]);
  });
}
WinogradFilterGradient::~WinogradFilterGradient() = default;

void WinogradFilterGradient::Run(const void* src, const void* d_dst, void* d_filter, void* d_bias) {
  const Plan& plan = *plan_;
  const auto* dy = static_cast<const bfloat16*>(d_dst);
  char* scratch = ThreadScratch(plan.worker.bytes() * omp_get_max_threads());
  // Parts are numbered by where they begin, so that the sums below have a fixed order.
  const int64_t parts = std::min<int64_t>(omp_get_max_threads(), plan.tiles.chunks);
  ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      Worker worker(plan, scratch + part * plan.worker.bytes());
      const int64_t first = plan.tiles.chunks * part / parts;
      const int64_t last = plan.tiles.chunks * (part + 1) / parts;
      for (int64_t chunk = first; chunk < last; ++chunk) {
        worker.RunChunk(chunk, static_cast<const bfloat16*>(src), dy);
      }
    }
  });
  const int64_t filters = plan.out.channels, channels = plan.in.channels;
  ParallelFor(filters, 8, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer(9 * channels);
    float* sums = Worker::Sums(plan, scratch);
    for (int64_t m = begin; m < end; ++m) {
      for (int64_t part = 1; part < parts; ++part) {
        const float* more = Worker::Sums(plan, scratch + part * plan.worker.bytes());
        for (int64_t plane = 0; plane < kWinogradPlanes; ++plane) {
          const int64_t row = (plane * filters + m) * channels;
          AddRow(channels, more + row, sums + row);
        }
      }
      TransformFilterGradient(sums + m * channels, filters * channels, channels, buffer.data());
      StoreFloats(problem_.filter_type, buffer.data(), 9 * channels, m * 9 * channels, d_filter);
    }
  });
  if (!d_bias) return;
  std::vector<float> sums(filters);
  SumPixels(plan.out, dy, sums.data());
  StoreFloats(problem_.bias_type, sums.data(), filters, 0, d_bias);
}

}  // namespace caffe2::onednn
