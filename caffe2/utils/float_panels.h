// Products of matrices of float for processors with AVX-512: a tile of sums stays in registers.
// Matrices lie in panels of kPanel columns, as in bfloat16_pairs.h, with one row of kPanel floats
// for each row of the matrix. Other processors compute the same, more slowly than oneDNN.
#pragma once

#include <cstdint>

#include "caffe2/utils/bfloat16_pairs.h"

namespace caffe2 {

// True if the functions below use AVX-512: the processor has it, and the compiler made versions for
// it (simd.h), as GCC does from 12 on without sanitizers.
bool FloatPanelsUseAvx512();

// Memory that will be used soon. Products ask for it meanwhile, so that nothing need wait for it.
class LinesAhead {
 public:
  static constexpr int64_t kLine = 16;  // floats
  // One cache line for each row of a product: row r asks for the line at data + r * step.
  struct Lines {
    const float* data = nullptr;  // null: nothing is asked for
    int64_t step = 0;
  };

  // What is added is spread over so many products.
  explicit LinesAhead(int64_t products) : products_(products) {}
  // `count` times lines for a product, each time `advance` floats further. At most kParts calls.
  void Add(Lines first, int64_t advance, int64_t count) {
    if (count <= 0) return;
    parts_[end_++] = {first, advance, count};
    total_ += count;
  }
  // The lines from `begin` to `end`, for products of at least `rows` rows.
  void AddRange(const float* begin, const float* end, int64_t rows) {
    Add({begin, kLine}, rows * kLine, (end - begin + rows * kLine - 1) / (rows * kLine));
  }
  // What the next product asks for.
  Lines Next() {
    due_ += total_;
    if (due_ < products_ || begin_ == end_) return {};
    due_ -= products_;
    Part& part = parts_[begin_];
    const Lines lines = part.next;
    part.next.data += part.advance;
    if (--part.count == 0) ++begin_;
    return lines;
  }

 private:
  static constexpr int kParts = 4;
  struct Part {
    Lines next;
    int64_t advance, count;
  };
  Part parts_[kParts];
  int begin_ = 0, end_ = 0;
  int64_t products_, total_ = 0, due_ = 0;
};

// The transpose of one panel of a times one panel of b,
//   c[i][j] = the sum over r < length of a[r][i] * b[r][j],
// or added to c. The first `rows` columns of a and the first `columns` of b are wanted; the rows
// of c lie `step` apart. Runs in the calling thread.
void MultiplyFloatPanels(int64_t length, const float* a, const float* b, int64_t rows,
                         int64_t columns, bool accumulate, int64_t step, float* c,
                         LinesAhead* ahead);

// Rows of a times one panel of b: c[i][j] = the sum over k of a[i][k] * b[k][j], or added to c, for
// `rows` rows, a multiple of kStripRows, and kPanel columns. The columns of a lie in strips of
// kPanel, `strip` elements apart, and in a strip its rows lie one after another; b has strips *
// kPanel rows. The rows of c lie `step` apart. Runs in the calling thread.
void MultiplyFloatStrips(int64_t rows, int64_t strips, int64_t strip, const float* a,
                         const float* b, bool accumulate, int64_t step, float* c,
                         LinesAhead* ahead);

}  // namespace caffe2
