#include "caffe2/utils/onednn_winograd.h"

#include <atomic>

#include "caffe2/core/allocator.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/onednn_winograd_parts.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"
#include "caffe2/utils/winograd_pairs.h"
#include "caffe2/utils/winograd_panels.h"

namespace caffe2::onednn {

using namespace winograd;

namespace {

bool All(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
}

}  // namespace

bool WinogradSupports(const ConvProblem& p) {
  return p.stride.size() == 2 && p.groups == 1 && p.filter[2] == 3 && p.filter[3] == 3 &&
         All(p.stride, 1) && All(p.dilation, 1) && p.pad_begin[0] <= 2 && p.pad_begin[1] <= 2 &&
         (p.type.Match<float>() ||
          (p.channels_last && p.type.Match<bfloat16>() && MultipliesBFloat16()));
}

// The parts that do not change from run to run.
class WinogradCorrelation::Plan {
 public:
  using Tile = WinogradTile<float>;

  Plan(const Image& in, const Image& out, int64_t pad_top, int64_t pad_left, bool rotated)
      : in(in),
        out(out),
        tiles(Tile::kOut, out, pad_top, pad_left,
              CachedTiles(Tile::kPlanes * sizeof(float) * (in.channels + out.channels))),
        plane_tiles(tiles.PlaneTiles(in.channels * sizeof(float), out.channels * sizeof(float))),
        in_plane(plane_tiles * in.channels),
        out_plane(plane_tiles * out.channels),
        filter_elements(Tile::kPlanes * in.channels * out.channels),
        filter(Planes(in.channels, out.channels, rotated ? memory::format_tag::abc : kTransposed)),
        product(Planes(plane_tiles, in.channels),
                Planes(in.channels, out.channels, memory::format_tag::any),
                Planes(plane_tiles, out.channels), false),
        in_planes(worker.Add<float>(Tile::kPlanes * in_plane)),
        out_planes(worker.Add<float>(Tile::kPlanes * out_plane)),
        outside(worker.Add<float>(out.channels)),
        product_scratch(worker.Add<char>(product.scratch_bytes())) {}

  const Image in, out;
  const Tiles tiles;
  const int64_t plane_tiles;          // tiles from tiles.per_chunk() on are undefined
  const int64_t in_plane, out_plane;  // elements of a plane
  const int64_t filter_elements;
  const memory::desc filter;  // as TransformFilters leaves it
  const PlaneProducts product;
  // The scratch memory of a thread.
  Layout worker;
  const size_t in_planes, out_planes, outside, product_scratch;
};

// One thread's part of the work.
class WinogradCorrelation::Worker {
 public:
  using Tile = WinogradTile<float>;

  Worker(const Plan& plan, char* scratch, const void* filter)
      : plan_(plan),
        in_planes_(reinterpret_cast<float*>(scratch + plan.in_planes)),
        out_planes_(reinterpret_cast<float*>(scratch + plan.out_planes)),
        outside_(reinterpret_cast<float*>(scratch + plan.outside)),
        zeros_(plan.in.channels),
        product_(plan.product, in_planes_, filter, out_planes_, scratch + plan.product_scratch) {}

  void RunChunk(int64_t chunk, const float* in, const WinogradEpilogue& epilogue, float* out) {
    constexpr int kOut = Tile::kOut;
    const Tiles& tiles = plan_.tiles;
    const int64_t rows = tiles.RowsOf(chunk);
    tiles.ForRows(chunk, rows, [&](int64_t n, int64_t y, int64_t x, int64_t tile) {
      const float* pixels[Tile::kIn * Tile::kIn];
      FindPixels<Tile::kIn>(plan_.in, n, tiles.top + kOut * y, tiles.left + kOut * x, in,
                            zeros_.data(), pixels);
      TransformInput(pixels, plan_.in.channels, plan_.in_plane,
                     in_planes_ + tile * plan_.in.channels);
    });
    product_.Run();
    tiles.ForRows(chunk, rows, [&](int64_t n, int64_t y, int64_t x, int64_t tile) {
      float* pixels[kOut * kOut];
      FindPixels<kOut>(plan_.out, n, kOut * y, kOut * x, out, outside_, pixels);
      TransformOutput(out_planes_ + tile * plan_.out.channels, plan_.out_plane, plan_.out.channels,
                      epilogue, pixels);
    });
  }

 private:
  const Plan& plan_;
  float* in_planes_;
  float* out_planes_;
  float* outside_;
  const std::vector<float> zeros_;
  PlaneProducts::Runner product_;
};

class WinogradCorrelation::Work {
 public:
  Work(const ConvProblem& problem, Direction direction)
      : problem_(problem),
        rotated_(direction == kBackwardData),
        in_copy_(ImageCopy::Make(problem, rotated_ ? problem.dst : problem.src)),
        out_copy_(ImageCopy::Make(problem, rotated_ ? problem.src : problem.dst)),
        plan_(MakePlan(problem, rotated_)) {}

  void Run(const void* in, const void* filter, const void* bias, void* out);

 private:
  static Plan MakePlan(const ConvProblem& problem, bool rotated) {
    const Image src = MakeImage(problem.src), dst = MakeImage(problem.dst);
    const int64_t top = problem.pad_begin[0], left = problem.pad_begin[1];
    return rotated ? Plan(dst, src, 2 - top, 2 - left, true) : Plan(src, dst, top, left, false);
  }
  void TransformFilters(const void* filter, float* planes) const;

  const ConvProblem problem_;
  const bool rotated_;
  const ImageCopy in_copy_, out_copy_;
  const Plan plan_;
  std::shared_ptr<void> kept_filter_;         // a constant filter's transform
  const void* kept_filter_source_ = nullptr;  // its source
};

void WinogradCorrelation::Work::TransformFilters(const void* filter, float* planes) const {
  const int64_t filters = problem_.filter[0], channels = problem_.filter[1];
  const int64_t step = rotated_ ? -channels : channels, first = rotated_ ? 8 * channels : 0;
  ParallelFor(filters, 8, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer, swapped(problem_.channels_last ? 0 : 9 * channels);
    for (int64_t m = begin; m < end; ++m) {
      const float* rows =
          AsFloat(problem_.filter_type, filter, m * 9 * channels, 9 * channels, &buffer);
      if (!problem_.channels_last) {
        SwapFilterAxes(channels, 9, rows, swapped.data());
        rows = swapped.data();
      }
      TransformFilter(rows + first, step, channels, filters * channels, planes + m * channels);
    }
  });
}

void WinogradCorrelation::Work::Run(const void* in, const void* filter, const void* bias,
                                    void* out) {
  const bool keep = problem_.constant_filter, kept = keep && kept_filter_source_ == filter;
  Layout layout;
  const size_t planes = layout.Add<float>(kept ? 0 : plan_.filter_elements);
  const size_t reordered = layout.Add<char>(keep ? 0 : plan_.product.b().get_size());
  const size_t in_place = layout.Add<char>(in_copy_.bytes());
  const size_t out_place = layout.Add<char>(out_copy_.bytes());
  const size_t workers = layout.Add<char>(plan_.worker.bytes() * omp_get_max_threads());
  char* scratch = ThreadScratch(layout.bytes());
  if (keep && !kept_filter_) {
    kept_filter_ = GetAllocator(CPU).Allocate(plan_.product.b().get_size(), Device{});
  }
  void* product_filter = keep ? kept_filter_.get() : scratch + reordered;
  if (!kept) {
    TransformFilters(filter, reinterpret_cast<float*>(scratch + planes));
    const memory from(plan_.filter, CpuEngine(), scratch + planes);
    memory to(plan_.product.b(), CpuEngine(), product_filter);
    dnnl::stream stream(CpuEngine());
    dnnl::reorder(from, to).execute(stream, const_cast<memory&>(from), to);
    if (keep) kept_filter_source_ = filter;
  }
  std::vector<float> bias_buffer(plan_.out.channels);
  const WinogradEpilogue epilogue{
      bias ? AsFloat(problem_.bias_type, bias, 0, plan_.out.channels, &bias_buffer)
           : bias_buffer.data(),
      !rotated_ && problem_.add_to_dst, !rotated_ && problem_.relu};
  const auto* from = static_cast<const float*>(in_copy_.Prepare(in, scratch + in_place, true));
  auto* to = static_cast<float*>(out_copy_.Prepare(out, scratch + out_place, epilogue.add));
  std::atomic<int> next_worker{0};
  ParallelFor(plan_.tiles.chunks, 1, [&](int64_t begin, int64_t end) {
    Worker worker(plan_, scratch + workers + next_worker++ * plan_.worker.bytes(), product_filter);
    for (int64_t chunk = begin; chunk < end; ++chunk) worker.RunChunk(chunk, from, epilogue, to);
  });
  out_copy_.Finish(to, out);
}

WinogradCorrelation::WinogradCorrelation(const ConvProblem& problem, Direction direction) {
  CAFFE_ENFORCE(WinogradSupports(problem), "no Winograd for ", problem.ToString());
  if (problem.type.Match<bfloat16>()) {
    pairs_ = std::make_unique<PairCorrelation>(problem, direction == kBackwardData);
  } else if (PanelWinogradSupports(problem)) {
    panels_ = std::make_unique<PanelCorrelation>(problem, direction == kBackwardData);
  } else {
    Translate("the products of " + problem.ToString(),
              [&] { in_float_ = std::make_unique<Work>(problem, direction); });
  }
}
WinogradCorrelation::~WinogradCorrelation() = default;

void WinogradCorrelation::Run(const void* in, const void* filter, const void* bias, void* out) {
  if (pairs_) return pairs_->Run(in, filter, bias, out);
  if (panels_) return panels_->Run(in, filter, bias, out);
  in_float_->Run(in, filter, bias, out);
}

}  // namespace caffe2::onednn
