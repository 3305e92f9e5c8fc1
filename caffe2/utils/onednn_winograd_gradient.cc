#include <omp.h>

#include "caffe2/core/logging.h"
#include "caffe2/utils/onednn_winograd.h"
#include "caffe2/utils/onednn_winograd_parts.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"
#include "caffe2/utils/winograd_pairs.h"
#include "caffe2/utils/winograd_panels.h"

namespace caffe2::onednn {

using namespace winograd;

namespace {

// Clears tiles outside of the image, so that they add nothing to sums over tiles.
void ZeroTiles(int64_t begin, int64_t end, int64_t channels, float* planes) {
  for (int64_t plane = 0; plane < WinogradTile<float>::kPlanes; ++plane) {
    float* first = planes + plane * end * channels;
    std::fill(first + begin * channels, first + end * channels, float{});
  }
}

}  // namespace

class WinogradFilterGradient::Plan {
 public:
  using Tile = WinogradTile<float>;

  Plan(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left)
      : in(in),
        out(out),
        tiles(Tile::kOut, out, pad_top, pad_left,
              CachedTiles(Tile::kPlanes * sizeof(float) * (in.channels + out.channels))),
        plane_tiles(tiles.PlaneTiles(in.channels * sizeof(float), out.channels * sizeof(float))),
        filter_elements(Tile::kPlanes * in.channels * out.channels),
        product(Planes(out.channels, plane_tiles, kTransposed), Planes(plane_tiles, in.channels),
                Planes(out.channels, in.channels), true),
        in_planes(worker.Add<float>(Tile::kPlanes * plane_tiles * in.channels)),
        out_planes(worker.Add<float>(Tile::kPlanes * plane_tiles * out.channels)),
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
  using Tile = WinogradTile<float>;

  Worker(const Plan& plan, char* scratch)
      : plan_(plan),
        in_planes_(reinterpret_cast<float*>(scratch + plan.in_planes)),
        out_planes_(reinterpret_cast<float*>(scratch + plan.out_planes)),
        zeros_(std::max(plan.in.channels, plan.out.channels)),
        product_(plan.product, out_planes_, in_planes_, Sums(plan, scratch),
                 scratch + plan.product_scratch) {
    std::fill_n(Sums(plan, scratch), plan.filter_elements, 0.f);
  }
  static float* Sums(const Plan& plan, char* scratch) {
    return reinterpret_cast<float*>(scratch + plan.filter_planes);
  }

  void RunChunk(int64_t chunk, const float* src, const float* d_dst) {
    constexpr int kOut = Tile::kOut;
    const int64_t channels = plan_.in.channels, filters = plan_.out.channels;
    const Tiles& tiles = plan_.tiles;
    const int64_t rows = tiles.RowsOf(chunk);
    ZeroTiles(rows * tiles.across, plan_.plane_tiles, channels, in_planes_);
    ZeroTiles(rows * tiles.across, plan_.plane_tiles, filters, out_planes_);
    tiles.ForRows(chunk, rows, [&](int64_t n, int64_t y, int64_t x, int64_t tile) {
      const float* pixels[Tile::kIn * Tile::kIn];
      FindPixels<Tile::kIn>(plan_.in, n, tiles.top + kOut * y, tiles.left + kOut * x, src,
                            zeros_.data(), pixels);
      TransformInput(pixels, channels, plan_.plane_tiles * channels, in_planes_ + tile * channels);
      FindPixels<kOut>(plan_.out, n, kOut * y, kOut * x, d_dst, zeros_.data(), pixels);
      TransformOutputGradient(pixels, filters, plan_.plane_tiles * filters,
                              out_planes_ + tile * filters);
    });
    product_.Run();
  }

 private:
  const Plan& plan_;
  float *in_planes_, *out_planes_;
  const std::vector<float> zeros_;
  PlaneProducts::Runner product_;
};

class WinogradFilterGradient::Work {
 public:
  explicit Work(const ConvProblem& problem)
      : problem_(problem),
        src_copy_(ImageCopy::Make(problem, problem.src)),
        dst_copy_(ImageCopy::Make(problem, problem.dst)),
        plan_(MakeImage(problem.src), MakeImage(problem.dst), problem.pad_begin[0],
              problem.pad_begin[1]) {}

  void Run(const void* src, const void* d_dst, void* d_filter, void* d_bias);

 private:
  // Adds the sums of all parts to the sums of part 0 and transforms them.
  void WriteFilters(int64_t parts, char* workers, void* d_filter) const;

  const ConvProblem problem_;
  const ImageCopy src_copy_, dst_copy_;
  const Plan plan_;
};

void WinogradFilterGradient::Work::Run(const void* src, const void* d_dst, void* d_filter,
                                       void* d_bias) {
  Layout layout;
  const size_t src_place = layout.Add<char>(src_copy_.bytes());
  const size_t dst_place = layout.Add<char>(dst_copy_.bytes());
  const size_t workers = layout.Add<char>(plan_.worker.bytes() * omp_get_max_threads());
  char* scratch = ThreadScratch(layout.bytes());
  const auto* x = static_cast<const float*>(src_copy_.Prepare(src, scratch + src_place, true));
  const auto* dy = static_cast<const float*>(dst_copy_.Prepare(d_dst, scratch + dst_place, true));
  // Parts are numbered by where they begin, so that the sums below have a fixed order.
  const int64_t chunks = plan_.tiles.chunks;
  const int64_t parts = std::min<int64_t>(omp_get_max_threads(), chunks);
  ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      Worker worker(plan_, scratch + workers + part * plan_.worker.bytes());
      const int64_t last = chunks * (part + 1) / parts;
      for (int64_t chunk = chunks * part / parts; chunk < last; ++chunk) {
        worker.RunChunk(chunk, x, dy);
      }
    }
  });
  WriteFilters(parts, scratch + workers, d_filter);
  WriteBias(problem_.bias_type, plan_.out, dy, d_bias);
}

void WinogradFilterGradient::Work::WriteFilters(int64_t parts, char* workers,
                                                void* d_filter) const {
  const int64_t filters = plan_.out.channels, channels = plan_.in.channels;
  ParallelFor(filters, 8, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer(9 * channels), swapped(problem_.channels_last ? 0 : 9 * channels);
    float* sums = Worker::Sums(plan_, workers);
    for (int64_t m = begin; m < end; ++m) {
      for (int64_t part = 1; part < parts; ++part) {
        const float* more = Worker::Sums(plan_, workers + part * plan_.worker.bytes());
        for (int64_t plane = 0; plane < WinogradTile<float>::kPlanes; ++plane) {
          const int64_t row = (plane * filters + m) * channels;
          AddRow(channels, more + row, sums + row);
        }
      }
      TransformFilterGradient<float>(sums + m * channels, filters * channels, channels,
                                     buffer.data());
      if (!problem_.channels_last) {
        SwapFilterAxes(9, channels, buffer.data(), swapped.data());
        buffer.swap(swapped);
      }
      StoreFloats(problem_.filter_type, buffer.data(), 9 * channels, m * 9 * channels, d_filter);
    }
  });
}

WinogradFilterGradient::WinogradFilterGradient(const ConvProblem& problem) {
  CAFFE_ENFORCE(WinogradSupports(problem), "no Winograd for ", problem.ToString());
  if (problem.type.Match<bfloat16>()) {
    pairs_ = std::make_unique<PairFilterGradient>(problem);
  } else if (PanelWinogradSupports(problem)) {
    panels_ = std::make_unique<PanelWinogradFilterGradient>(problem);
  } else {
    Translate("the products of the gradient of " + problem.ToString(),
              [&] { in_float_ = std::make_unique<Work>(problem); });
  }
}
WinogradFilterGradient::~WinogradFilterGradient() = default;

void WinogradFilterGradient::Run(const void* src, const void* d_dst, void* d_filter, void* d_bias) {
  if (pairs_) return pairs_->Run(src, d_dst, d_filter, d_bias);
  if (panels_) return panels_->Run(src, d_dst, d_filter, d_bias);
  in_float_->Run(src, d_dst, d_filter, d_bias);
}

}  // namespace caffe2::onednn
