// How threads divide the gradient of filters over panels of patches (bfloat16_pairs.h,
// float_panels.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "caffe2/utils/onednn_conv_matmul.h"

namespace caffe2::onednn {

struct PanelRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// Blocks of kPanel filters and kPanel columns of patches, numbered so that threads divide the
// larger side: each thread copies all panels of the other one.
class PanelBlocks {
 public:
  // What a range of blocks reads.
  struct Panels {
    PanelRange filters, columns;
    int64_t count() const { return filters.size() + columns.size(); }
  };
  struct Block {
    int64_t filter, column;  // numbers of panels
    int64_t rows, columns;   // the filters and columns in them
    int64_t offset;          // of the first element in the gradient
  };

  explicit PanelBlocks(const ImagePatches& patches)
      : p_(patches),
        filter_panels_(PanelsOf(p_.filters())),
        patch_panels_(p_.width() / p_.channels() * p_.panels_of_tap()),
        by_filter_(filter_panels_ >= patch_panels_),
        inner_(std::min(filter_panels_, patch_panels_)) {}

  int64_t count() const { return filter_panels_ * patch_panels_; }

  Panels PanelsIn(int64_t begin, int64_t end) const {
    const PanelRange outer{begin / inner_, (end - 1) / inner_ + 1};
    const bool one = outer.size() == 1;
    const PanelRange within{one ? begin % inner_ : 0, one ? (end - 1) % inner_ + 1 : inner_};
    return by_filter_ ? Panels{outer, within} : Panels{within, outer};
  }

  Block At(int64_t block) const {
    const int64_t outer = block / inner_, within = block % inner_;
    const int64_t filter = by_filter_ ? outer : within, column = by_filter_ ? within : outer;
    const int64_t m = filter * kPanel, c = column % p_.panels_of_tap() * kPanel;
    return {filter, column, std::min(kPanel, p_.filters() - m), std::min(kPanel, p_.channels() - c),
            m * p_.width() + column / p_.panels_of_tap() * p_.channels() + c};
  }

 private:
  const ImagePatches& p_;
  const int64_t filter_panels_, patch_panels_;
  const bool by_filter_;
  const int64_t inner_;
};

}  // namespace caffe2::onednn
