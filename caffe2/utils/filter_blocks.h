// How threads divide the gradient of filters over tiles (filter_tiles.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "caffe2/utils/filter_tiles.h"
#include "caffe2/utils/onednn_conv_matmul.h"

namespace caffe2::onednn {

struct BlockRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// Blocks of kTileSide filters and kTileSide columns of patches, all of one element of the kernel.
// They are numbered so that threads divide the larger side: the other one is the inner one.
class FilterBlocks {
 public:
  // What a range of blocks reads, in groups of kTileSide filters and panels of columns.
  struct Sides {
    BlockRange filters, panels;
  };
  struct Block {
    int64_t filter, panel;  // numbers of the group and the panel
    int64_t tap, channel;   // where the panel begins
    int64_t rows, columns;  // the filters and columns in them
    int64_t offset;         // of the first element in the gradient
  };

  explicit FilterBlocks(const ImagePatches& patches)
      : p_(patches),
        panels_of_tap_(Groups(p_.channels())),
        filter_groups_(Groups(p_.filters())),
        panels_(p_.width() / p_.channels() * panels_of_tap_),
        by_filter_(filter_groups_ >= panels_),
        inner_(std::min(filter_groups_, panels_)) {}

  int64_t count() const { return filter_groups_ * panels_; }
  // Blocks follow one another through the inner side, for each group of the other one.
  int64_t inner() const { return inner_; }
  // True if the inner side is the panels.
  bool by_filter() const { return by_filter_; }

  Sides SidesOf(int64_t begin, int64_t end) const {
    const BlockRange outer{begin / inner_, (end - 1) / inner_ + 1};
    const bool one = outer.size() == 1;
    const BlockRange within{one ? begin % inner_ : 0, one ? (end - 1) % inner_ + 1 : inner_};
    return by_filter_ ? Sides{outer, within} : Sides{within, outer};
  }

  Block At(int64_t block) const {
    const int64_t outer = block / inner_, within = block % inner_;
    const int64_t filter = by_filter_ ? outer : within, panel = by_filter_ ? within : outer;
    const int64_t m = filter * kTileSide, tap = panel / panels_of_tap_;
    const int64_t c = panel % panels_of_tap_ * kTileSide;
    return {filter,
            panel,
            tap,
            c,
            std::min(kTileSide, p_.filters() - m),
            std::min(kTileSide, p_.channels() - c),
            m * p_.width() + tap * p_.channels() + c};
  }

 private:
  static int64_t Groups(int64_t n) { return (n + kTileSide - 1) / kTileSide; }

  const ImagePatches& p_;
  const int64_t panels_of_tap_, filter_groups_, panels_;
  const bool by_filter_;
  const int64_t inner_;
};

}  // namespace caffe2::onednn
