// IntegralImage: sums over all rectangles that begin in a corner (Viola and Jones, 2001).
#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"

namespace caffe2 {
namespace {

// The planes of X, N x C x H x W. Those of Y have a row and a column more.
struct Planes {
  int64_t count = 0, height = 0, width = 0;

  static Planes Of(const Tensor& x) {
    CAFFE_ENFORCE_EQ(x.dim(), 4, "X ", ShapeString(x.sizes()), " must have four axes");
    return {x.size(0) * x.size(1), x.size(2), x.size(3)};
  }
  int64_t area() const { return height * width; }
  int64_t integral_area() const { return (height + 1) * (width + 1); }
};

std::vector<int64_t> IntegralDims(std::vector<int64_t> dims) {
  CAFFE_ENFORCE_EQ(dims.size(), 4u, "axes of X ", ShapeString(dims));
  ++dims[2];
  ++dims[3];
  return dims;
}

// Y[i, j] = sum of X[h, w] over h < i and w < j
class IntegralImageOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Planes planes = Planes::Of(Input(0));
    const float* x = Input(0).data<float>();
    Output(0)->Resize(IntegralDims(Input(0).sizes()));
    float* y = Output(0)->mutable_data<float>();
    ParallelFor(planes.count, 1, [=](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        Integrate(planes, x + p * planes.area(), y + p * planes.integral_area());
      }
    });
    return true;
  }

 private:
  static void Integrate(const Planes& planes, const float* x, float* y) {
    const int64_t columns = planes.width + 1;
    std::fill_n(y, columns, 0.f);
    for (int64_t i = 1; i <= planes.height; ++i) {
      double row = 0;  // of this row so far
      y[i * columns] = 0;
      for (int64_t j = 1; j < columns; ++j) {
        row += *x++;
        y[i * columns + j] = static_cast<float>(row + y[(i - 1) * columns + j]);
      }
    }
  }
};

// dX[h, w] = sum of dY[i, j] over i > h and j > w, or as Caffe2 over i <= h and j <= w.
class IntegralImageGradientOp final : public Operator<CPUContext> {
 public:
  IntegralImageGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), exact_(GetSingleArgument<bool>("exact", false)) {}

  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(1);
    const Planes planes = Planes::Of(X);
    CAFFE_ENFORCE(dY.sizes() == IntegralDims(X.sizes()), "dY ", ShapeString(dY.sizes()), " for X ",
                  ShapeString(X.sizes()));
    const float* dy = dY.data<float>();
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->mutable_data<float>();
    ParallelFor(planes.count, 1, [=, this](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        SumCorners(planes, dy + p * planes.integral_area(), dx + p * planes.area());
      }
    });
    return true;
  }

 private:
  // Walks the rows and columns from the corner that the sums begin in.
  void SumCorners(const Planes& planes, const float* dy, float* dx) const {
    const int64_t rows = planes.height, columns = planes.width, shift = exact_ ? 1 : 0;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t h = exact_ ? rows - 1 - i : i;
      const float* previous = dx + (exact_ ? h + 1 : h - 1) * columns;
      double row = 0;  // of dY's row so far
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t w = exact_ ? columns - 1 - j : j;
        row += dy[(h + shift) * (columns + 1) + w + shift];
        dx[h * columns + w] = static_cast<float>(row + (i > 0 ? previous[w] : 0.f));
      }
    }
  }

  const bool exact_;
};

class GetIntegralImageGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("IntegralImageGradient", "", std::vector{I(0), GO(0)},
                             std::vector{GI(0)}, std::vector{MakeArgument<int>("exact", 1)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(IntegralImage, IntegralImageOp);
REGISTER_CPU_OPERATOR(IntegralImageGradient, IntegralImageGradientOp);

OPERATOR_SCHEMA(IntegralImage)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(IntegralDims(GetDimsVector(in[0])), in[0].data_type())};
    })
    .SetDoc(
        "Integral images: Y[n, c, i, j] is the sum of X[n, c, h, w] over h < i and w < j, so that "
        "the sum over any rectangle takes four of them.")
    .Input(0, "X", "Float, N x C x H x W.")
    .Output(0, "Y", "Float, N x C x (H + 1) x (W + 1); the first row and column are 0.");
OPERATOR_SCHEMA(IntegralImageGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Gradient of IntegralImage: dX[h, w] is the sum of dY[i, j] over i > h and j > w if exact "
        "is set, as it is in the backward pass of IntegralImage. Without it, as in nets that "
        "Caffe2 made, the sum is Caffe2's, over i <= h and j <= w, which is not the derivative.")
    .Arg("exact", "(bool, default false) Whether the sum is the derivative.")
    .Input(0, "X", "Input of the forward operator, for its shape.")
    .Input(1, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X.");
REGISTER_GRADIENT(IntegralImage, GetIntegralImageGradient);

}  // namespace caffe2
