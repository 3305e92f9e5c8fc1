// PiecewiseLinearTransform: a piecewise linear function for each column of predictions.
#include <algorithm>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

// One function of `pieces` lines: piece i is between bounds[i] and bounds[i + 1].
struct PiecewiseLinear {
  int64_t pieces;
  const float *bounds, *slopes, *intercepts;

  // Outside of the bounds the value at the nearest one.
  float operator()(float x) const {
    const float inside = std::clamp(x, bounds[0], bounds[pieces]);
    const int64_t above = std::lower_bound(bounds, bounds + pieces + 1, inside) - bounds;
    const int64_t piece = std::clamp<int64_t>(above - 1, 0, pieces - 1);
    return slopes[piece] * inside + intercepts[piece];
  }
};

class PiecewiseLinearTransformOp final : public Operator<CPUContext> {
 public:
  PiecewiseLinearTransformOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        binary_(GetSingleArgument<bool>("binary", false)),
        bounds_(GetRepeatedArgument<float>("bounds")),
        slopes_(GetRepeatedArgument<float>("slopes")),
        intercepts_(GetRepeatedArgument<float>("intercepts")) {
    const bool given = !bounds_.empty();
    CAFFE_ENFORCE(given == !slopes_.empty() && given == !intercepts_.empty(),
                  "bounds, slopes and intercepts must be given together");
    CAFFE_ENFORCE_EQ(InputSize(), given ? 1 : 4, "inputs, of which there are 4 where bounds, ",
                     "slopes and intercepts are no arguments");
  }

  bool RunOnDevice() override {
    if (InputSize() == 4) {
      Read(Input(1), &bounds_);
      Read(Input(2), &slopes_);
      Read(Input(3), &intercepts_);
    }
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 2 || (binary_ && X.dim() == 1), "predictions ", ShapeString(X.sizes()),
                  " must be a matrix");
    const int64_t rows = X.size(0), columns = X.size_from_dim(1);
    CAFFE_ENFORCE(!binary_ || columns == 1 || columns == 2, "predictions ", ShapeString(X.sizes()),
                  " must have one or two columns if they are binary");
    const std::vector<PiecewiseLinear> functions = MakeFunctions(binary_ ? 1 : columns);
    const float* x = X.data<float>();
    Output(0)->ResizeLike(X);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < rows * columns; ++i) {
      if (!binary_) {
        y[i] = functions[i % columns](x[i]);
      } else if (i % columns == columns - 1) {  // the probability of the event
        y[i] = functions[0](x[i]);
        if (columns == 2) y[i - 1] = 1 - y[i];
      }
    }
    return true;
  }

 private:
  static void Read(const Tensor& X, std::vector<float>* values) {
    values->assign(X.data<float>(), X.data<float>() + X.numel());
  }
  // `columns` functions of as many pieces each.
  std::vector<PiecewiseLinear> MakeFunctions(int64_t columns) const {
    const auto total = static_cast<int64_t>(slopes_.size());
    const int64_t pieces = columns == 0 ? 0 : total / columns;
    CAFFE_ENFORCE(slopes_.size() == intercepts_.size() && pieces > 0 && pieces * columns == total &&
                      static_cast<int64_t>(bounds_.size()) == total + columns,
                  bounds_.size(), " bounds, ", slopes_.size(), " slopes and ", intercepts_.size(),
                  " intercepts for ", columns, " functions");
    std::vector<PiecewiseLinear> functions;
    for (int64_t c = 0; c < columns; ++c) {
      const float* bounds = bounds_.data() + c * (pieces + 1);
      CAFFE_ENFORCE(std::is_sorted(bounds, bounds + pieces + 1), "the bounds of function ", c,
                    " must be sorted");
      functions.push_back(
          {pieces, bounds, slopes_.data() + c * pieces, intercepts_.data() + c * pieces});
    }
    return functions;
  }

  bool binary_;
  std::vector<float> bounds_, slopes_, intercepts_;
};

}  // namespace

REGISTER_CPU_OPERATOR(PiecewiseLinearTransform, PiecewiseLinearTransformOp);
OPERATOR_SCHEMA(PiecewiseLinearTransform)
    .NumInputs([](int n) { return n == 1 || n == 4; })
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "A piecewise linear function for each column of predictions; outside of its bounds it has "
        "the value at the nearest one. Functions are given as arguments or as inputs 1 to 3, all "
        "with the same number of pieces.")
    .Arg("bounds", "(list of float) The bounds of all functions, one more than pieces, ascending.")
    .Arg("slopes", "(list of float) The slopes of all pieces of all functions.")
    .Arg("intercepts", "(list of float) Their values at 0.")
    .Arg("binary",
         "(bool, default 0) 1: predictions are of one event, one-dimensional, N x 1 or N x 2; the "
         "only function is for the last column, and the first becomes 1 minus the last.")
    .Input(0, "predictions", "A float matrix N x D.")
    .Input(1, "bounds", "Float, in place of the argument.")
    .Input(2, "slopes", "Float, in place of the argument.")
    .Input(3, "intercepts", "Float, in place of the argument.")
    .Output(0, "transforms", "The results, shaped like the predictions.");
SHOULD_NOT_DO_GRADIENT(PiecewiseLinearTransform);

}  // namespace caffe2
