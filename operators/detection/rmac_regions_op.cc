// RMACRegions: squares of several scales that cover an image (Tolias et al., ICLR 2016).
#include <algorithm>
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

struct Square {
  int64_t x, y, side;
};

class RMACRegionsOp final : public Operator<CPUContext> {
 public:
  RMACRegionsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        scales_(GetSingleArgument<int>("scales", 3)),
        overlap_(GetSingleArgument<float>("overlap", 0.4f)) {
    CAFFE_ENFORCE(scales_ > 0, "argument scales must be positive, found ", scales_);
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 4 && X.size(2) > 0 && X.size(3) > 0,
                  "X must be images with pixels in order NCHW, found shape ",
                  ShapeString(X.sizes()));
    const std::vector<Square> squares = Squares(X.size(2), X.size(3));
    Output(0)->Resize(X.size(0) * static_cast<int64_t>(squares.size()), 5);
    float* roi = Output(0)->mutable_data<float>();
    for (int64_t n = 0; n < X.size(0); ++n) {
      for (const Square& square : squares) {
        const int64_t values[] = {n, square.x, square.y, square.x + square.side - 1,
                                  square.y + square.side - 1};
        for (const int64_t value : values) *roi++ = static_cast<float>(value);
      }
    }
    return true;
  }

 private:
  // The number of squares along the long side beyond those along the short side, 1 to 6: the one
  // that brings the overlap of neighbours closest to the argument.
  int64_t MoreSquares(int64_t height, int64_t width) const {
    if (height == width) return 0;
    const auto side = static_cast<float>(std::min(height, width));
    const float rest = static_cast<float>(std::max(height, width)) - side;
    int64_t best = 1;
    float min = std::numeric_limits<float>::infinity();
    for (int64_t more = 1; more <= 6; ++more) {
      const float step = rest / static_cast<float>(more);
      const float off = std::abs((side * side - side * step) / (side * side) - overlap_);
      if (off < min) {
        min = off;
        best = more;
      }
    }
    return best;
  }

  // The positions of `count` squares at equal distances from one edge to the other.
  static std::vector<int64_t> Starts(int64_t size, int64_t side, int64_t count) {
    std::vector<int64_t> starts;
    const double step =
        count > 1 ? static_cast<double>(size - side) / static_cast<double>(count - 1) : 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto start = static_cast<int64_t>(std::floor(step * static_cast<double>(i)));
      starts.push_back(std::min(start, size - side));
    }
    return starts;
  }

  std::vector<Square> Squares(int64_t height, int64_t width) const {
    const int64_t more = MoreSquares(height, width);
    std::vector<Square> squares;
    for (int64_t scale = 1; scale <= scales_; ++scale) {
      const int64_t side = 2 * std::min(height, width) / (scale + 1);
      if (side == 0) break;
      for (const int64_t x : Starts(width, side, scale + (width > height ? more : 0))) {
        for (const int64_t y : Starts(height, side, scale + (height > width ? more : 0))) {
          squares.push_back({x, y, side});
        }
      }
    }
    return squares;
  }

  int scales_;
  float overlap_;
};

}  // namespace

REGISTER_CPU_OPERATOR(RMACRegions, RMACRegionsOp);
OPERATOR_SCHEMA(RMACRegions)
    .NumInputs(1)
    .NumOutputs(1)
    .SetDoc(
        "Squares that cover images, for RoIPool. At scale l they have the side 2 min(H, W) / (l + "
        "1) and lie at equal distances from edge to edge: l along the short side, and along the "
        "long side as many more as bring their overlap closest to the argument.")
    .Arg<int>("scales", "(> 0, default 3) The scales are 1 to this one.")
    .Arg<float>("overlap", "(default 0.4) The share of a square of scale 1 that the next covers.")
    .Input(0, "X", "Images in the order NCHW. Only their sizes are used.")
    .Output(0, "RMAC_REGIONS",
            "Float n x 5: image, x1, y1, x2, y2 of the squares, bounds included, image by image; "
            "their number is known at run time only.")
    .CpuOnly(cpu_only::kBoxes);
SHOULD_NOT_DO_GRADIENT(RMACRegions);

}  // namespace caffe2
