#include "caffe2/utils/pair_patch_gradient.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "caffe2/utils/panel_blocks.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

// The product over some patches, in blocks of kPanel filters and kPanel columns of patches.
class PairWorker {
 public:
  using Panels = PanelBlocks::Panels;

  PairWorker(const ImagePatches& patches, const bfloat16* images, const bfloat16* gradients)
      : p_(patches),
        blocks_(patches),
        images_(images),
        gradients_(gradients),
        outside_(std::max(p_.filters(), p_.channels())) {}

  const PanelBlocks& blocks() const { return blocks_; }
  // The memory that Run needs for these blocks.
  int64_t BytesFor(int64_t begin, int64_t end) const {
    return blocks_.PanelsIn(begin, end).count() * kPanelStep *
           static_cast<int64_t>(sizeof(BFloat16Pair));
  }

  // The blocks from `begin` to `end` over patches `first` to `last`; first is even. The calling
  // thread interleaves what it needs for itself: caches of several cores that exchange panels are
  // slow.
  void Run(int64_t first, int64_t last, int64_t begin, int64_t end, char* scratch,
           float* d_filter) const {
    const Panels in = blocks_.PanelsIn(begin, end);
    auto* gradients = reinterpret_cast<BFloat16Pair*>(scratch);
    BFloat16Pair* patches = gradients + in.filters.size() * kPanelStep;
    for (int64_t row = first; row < last; row += 2 * kPanelPairs) {
      const int64_t pairs = std::min(kPanelPairs, (last - row + 1) / 2);
      for (int64_t i = 0; i < pairs; ++i) {
        InterleaveGradients(row + 2 * i, in.filters, gradients + i * kPanel);
        p_.GatherPair(row + 2 * i, in.columns.begin, in.columns.end, images_, outside_.data(),
                      patches + i * kPanel);
      }
      const int64_t next = row + 2 * pairs, next_rows = std::min(2 * kPanelPairs, last - next);
      const auto share = [&](int64_t block) {
        return next + next_rows * (block - begin) / (end - begin);
      };
      for (int64_t block = begin; block < end; ++block) {
        if (next < last) Prefetch(share(block), share(block + 1), in);
        const PanelBlocks::Block b = blocks_.At(block);
        MultiplyPanels(pairs, gradients + (b.filter - in.filters.begin) * kPanelStep,
                       patches + (b.column - in.columns.begin) * kPanelStep, b.rows, b.columns,
                       row > first, p_.width(), d_filter + b.offset);
      }
    }
  }

 private:
  void InterleaveGradients(int64_t row, const PanelRange& filters, BFloat16Pair* to) const {
    const int64_t first = filters.begin * kPanel;
    const bfloat16* even = gradients_ + row * p_.filters() + first;
    const bool last = row + 1 == p_.images() * p_.rows();
    InterleaveRows(std::min(p_.filters(), filters.end * kPanel) - first, even,
                   last ? outside_.data() : even + p_.filters(), to);
  }
  // Brings rows that will be interleaved to the second-level cache: reading them takes as long as
  // the products of a few blocks. Patches that share pixels are left to the processor.
  void Prefetch(int64_t row, int64_t end, const Panels& in) const {
    for (; row < end; ++row) {
      PrefetchPanels(gradients_ + row * p_.filters(), p_.filters(), in.filters);
      if (p_.trivial()) PrefetchPanels(images_ + row * p_.channels(), p_.channels(), in.columns);
    }
  }
  static void PrefetchPanels(const bfloat16* row, int64_t size, const PanelRange& panels) {
    const int64_t end = std::min(size, panels.end * kPanel);
    for (int64_t i = panels.begin * kPanel; i < end; i += kPanel) __builtin_prefetch(row + i, 0, 2);
  }

  const ImagePatches& p_;
  const PanelBlocks blocks_;
  const bfloat16 *images_, *gradients_;
  const std::vector<bfloat16> outside_;
};

// The number of parts into which sums over many patches are divided, so that each thread reads
// whole rows once. With large filters the sums of a part would not stay in the cache of a core.
int64_t PartsOf(const ImagePatches& p) {
  constexpr int64_t kMaxSums = int64_t{1} << 16, kMinRows = 16 * kPanelPairs, kMaxParts = 32;
  if (p.filters() * p.width() > kMaxSums) return 1;
  int64_t parts = 1;  // a power of 2: most numbers of threads divide the parts evenly
  while (parts < kMaxParts && p.images() * p.rows() >= 2 * parts * kMinRows) parts *= 2;
  return parts;
}

// Threads share the parts. The first part is summed in d_filter, to which the others are added.
void AddParts(const ImagePatches& p, const PairWorker& worker, int64_t parts, float* d_filter) {
  const int64_t rows = p.images() * p.rows(), pairs_of_part = (rows + 2 * parts - 1) / (2 * parts);
  const int64_t of_part = 2 * pairs_of_part, size = p.filters() * p.width();
  const int64_t blocks = worker.blocks().count(), bytes = worker.BytesFor(0, blocks);
  const int64_t threads = std::min<int64_t>(omp_get_max_threads(), parts);
  char* scratch = ThreadScratch(threads * bytes + (parts - 1) * size * sizeof(float));
  auto* sums = reinterpret_cast<float*>(scratch + threads * bytes);
  std::atomic<int> next_thread{0};
  ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
    char* own = scratch + next_thread++ * bytes;
    for (int64_t part = begin; part < end; ++part) {
      worker.Run(part * of_part, std::min(rows, (part + 1) * of_part), 0, blocks, own,
                 part == 0 ? d_filter : sums + (part - 1) * size);
    }
  });
  ParallelFor(size, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t part = 0; part + 1 < parts; ++part) {
      for (int64_t i = begin; i < end; ++i) d_filter[i] += sums[part * size + i];
    }
  });
}

}  // namespace

void PairPatchGradient(const ImagePatches& patches, const bfloat16* images,
                       const bfloat16* gradients, float* d_filter) {
  const PairWorker worker(patches, images, gradients);
  const int64_t parts = PartsOf(patches);
  if (parts > 1) return AddParts(patches, worker, parts, d_filter);
  ParallelFor(worker.blocks().count(), 1, [&](int64_t begin, int64_t end) {
    worker.Run(0, patches.images() * patches.rows(), begin, end,
               ThreadScratch(worker.BytesFor(begin, end)), d_filter);
  });
}

}  // namespace caffe2::onednn
