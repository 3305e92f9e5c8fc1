#include "caffe2/utils/panel_filter_gradient.h"

#include <algorithm>
#include <vector>

#include "caffe2/utils/float_panels.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

struct PanelRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// Computes some blocks of kPanel filters and kPanel columns of patches.
class PanelWorker {
 public:
  PanelWorker(const ImagePatches& patches, const float* images, const float* gradients,
              float* d_filter)
      : p_(patches),
        images_(images),
        gradients_(gradients),
        d_filter_(d_filter),
        outside_(p_.channels()),
        rows_(p_.images() * p_.rows()),
        chunk_(ChunkOf(rows_)) {}

  int64_t filter_panels() const { return PanelsOf(p_.filters()); }
  int64_t patch_panels() const { return p_.width() / p_.channels() * p_.panels_of_tap(); }
  int64_t blocks() const { return filter_panels() * patch_panels(); }

  // The blocks from `begin` to `end`. The calling thread copies to panels what it needs for itself.
  void Run(int64_t begin, int64_t end) const {
    const PanelRange outer{begin / inner(), (end - 1) / inner() + 1};
    const bool one = outer.size() == 1;
    const PanelRange within{one ? begin % inner() : 0, one ? (end - 1) % inner() + 1 : inner()};
    const PanelRange filters = by_filter() ? outer : within;
    const PanelRange columns = by_filter() ? within : outer;
    auto* panels = reinterpret_cast<float*>(
        ThreadScratch((filters.size() + columns.size()) * kPanelStep * sizeof(float)));
    float* patches = panels + filters.size() * kPanelStep;
    const int64_t first = filters.begin * kPanel;
    const int64_t wanted = std::min(p_.filters(), filters.end * kPanel) - first;
    for (int64_t row = 0; row < rows_; row += chunk_) {
      const int64_t length = std::min(chunk_, rows_ - row);
      for (int64_t i = 0; i < length; ++i) {
        SplitRow(wanted, gradients_ + (row + i) * p_.filters() + first, panels + i * kPanel);
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
        const int64_t filter = by_filter() ? block / inner() : block % inner();
        const int64_t column = by_filter() ? block % inner() : block / inner();
        Multiply(length, filter, panels + (filter - filters.begin) * kPanelStep, column,
                 patches + (column - columns.begin) * kPanelStep, row > 0, &ahead);
      }
    }
  }

 private:
  // Rows of a chunk; all chunks have about the same size.
  static int64_t ChunkOf(int64_t rows) {
    const int64_t chunks = std::max<int64_t>(1, (rows + kPanelRows - 1) / kPanelRows);
    return (rows + chunks - 1) / chunks;
  }
  // Blocks are numbered so that threads divide the larger side: the other one is copied by each.
  bool by_filter() const { return filter_panels() >= patch_panels(); }
  int64_t inner() const { return std::min(filter_panels(), patch_panels()); }

  void Multiply(int64_t length, int64_t filter, const float* gradients, int64_t column,
                const float* patches, bool accumulate, LinesAhead* ahead) const {
    const int64_t m = filter * kPanel, c = column % p_.panels_of_tap() * kPanel;
    MultiplyFloatPanels(
        length, gradients, patches, std::min(kPanel, p_.filters() - m),
        std::min(kPanel, p_.channels() - c), accumulate, p_.width(),
        d_filter_ + m * p_.width() + column / p_.panels_of_tap() * p_.channels() + c, ahead);
  }

  const ImagePatches& p_;
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
