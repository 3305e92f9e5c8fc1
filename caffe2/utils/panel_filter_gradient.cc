#include "caffe2/utils/panel_filter_gradient.h"

#include <algorithm>
#include <vector>

#include "caffe2/utils/float_panels.h"
#include "caffe2/utils/panel_blocks.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

// Computes some blocks of kPanel filters and kPanel columns of patches.
class PanelWorker {
 public:
  PanelWorker(const ImagePatches& patches, const float* images, const float* gradients,
              float* d_filter)
      : p_(patches),
        blocks_(patches),
        images_(images),
        gradients_(gradients),
        d_filter_(d_filter),
        outside_(p_.channels()),
        rows_(p_.images() * p_.rows()),
        chunk_(ChunkOf(rows_)) {}

  int64_t blocks() const { return blocks_.count(); }

  // The blocks from `begin` to `end`. The calling thread copies to panels what it needs for itself.
  void Run(int64_t begin, int64_t end) const {
    const PanelBlocks::Panels in = blocks_.PanelsIn(begin, end);
    const PanelRange &filters = in.filters, &columns = in.columns;
    auto* gradients =
        reinterpret_cast<float*>(ThreadScratch(in.count() * kPanelStep * sizeof(float)));
    float* patches = gradients + filters.size() * kPanelStep;
    const int64_t first = filters.begin * kPanel;
    const int64_t wanted = std::min(p_.filters(), filters.end * kPanel) - first;
    for (int64_t row = 0; row < rows_; row += chunk_) {
      const int64_t length = std::min(chunk_, rows_ - row);
      for (int64_t i = 0; i < length; ++i) {
        SplitRow(wanted, gradients_ + (row + i) * p_.filters() + first, gradients + i * kPanel);
      }
      for (int64_t i = 0; i < length; ++i) {
        p_.SplitPatch(row + i, columns.begin, columns.end, images_, outside_.data(),
                      patches + i * kPanel);
      }
      LinesAhead ahead((end - begin) * kPanel / kStripRows);
      ahead.Add({gradients_ + (row + length) * p_.filters() + first, p_.filters()},
                LinesAhead::kLine, wanted / LinesAhead::kLine);
      if (p_.trivial()) {
        ahead.Add(
            {images_ + (row + length) * p_.channels() + columns.begin * kPanel, p_.channels()},
            LinesAhead::kLine, columns.size() * kPanel / LinesAhead::kLine);
      }
      for (int64_t block = begin; block < end; ++block) {
        const PanelBlocks::Block b = blocks_.At(block);
        MultiplyFloatPanels(length, gradients + (b.filter - filters.begin) * kPanelStep,
                            patches + (b.column - columns.begin) * kPanelStep, b.rows, b.columns,
                            row > 0, p_.width(), d_filter_ + b.offset, &ahead);
      }
    }
  }

 private:
  // Rows of a chunk; all chunks have about the same size.
  static int64_t ChunkOf(int64_t rows) {
    const int64_t chunks = std::max<int64_t>(1, (rows + kPanelRows - 1) / kPanelRows);
    return (rows + chunks - 1) / chunks;
  }

  const ImagePatches& p_;
  const PanelBlocks blocks_;
  const float *images_, *gradients_;
  float* d_filter_;
  const std::vector<float> outside_;
  const int64_t rows_, chunk_;
};

}  // namespace

void PanelFilterGradient(const ImagePatches& patches, const float* images, const float* gradients,
                         float* d_filter) {
  const PanelWorker worker(patches, images, gradients, d_filter);
  ParallelFor(worker.blocks(), 1, [&](int64_t begin, int64_t end) { worker.Run(begin, end); });
}

}  // namespace caffe2::onednn
