// UpsampleBilinear: images resized by linear interpolation, corners on corners.
#include "caffe2/utils/parallel.h"
#include "operators/scaled_image.h"

namespace caffe2 {
namespace {

// A place between two pixels of an axis: `share` of the upper one.
struct Place {
  int64_t low = 0, high = 0;
  float share = 0;
};

// The places that `output` pixels have on an axis of `input`, ends on ends.
std::vector<Place> MapAxis(int64_t input, int64_t output) {
  CAFFE_ENFORCE(input > 0 || output == 0, "nothing to resize an empty axis from");
  const float step =
      output > 1 ? static_cast<float>(input - 1) / static_cast<float>(output - 1) : 0.f;
  std::vector<Place> places(output);
  for (int64_t i = 0; i < output; ++i) {
    const float at = step * static_cast<float>(i);
    const int64_t low = std::min(static_cast<int64_t>(at), input - 1);
    places[i] = {low, std::min(low + 1, input - 1), at - static_cast<float>(low)};
  }
  return places;
}

class UpsampleBilinearBase : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

 protected:
  // The interpolation of planes of H x W pixels.
  struct Plan {
    int64_t planes = 0, height = 0, width = 0;
    std::vector<Place> rows, columns;
    std::vector<int64_t> output_dims;

    int64_t area() const { return height * width; }
    int64_t output_area() const { return static_cast<int64_t>(rows.size() * columns.size()); }
    // Calls body(output pixel, input pixel, weight) for the four neighbours of each output pixel.
    template <class Body>
    void ForEach(const Body& body) const {
      int64_t pixel = 0;
      for (const Place& row : rows) {
        for (const Place& column : columns) {
          body(pixel, row.low * width + column.low, (1 - row.share) * (1 - column.share));
          body(pixel, row.low * width + column.high, (1 - row.share) * column.share);
          body(pixel, row.high * width + column.low, row.share * (1 - column.share));
          body(pixel, row.high * width + column.high, row.share * column.share);
          ++pixel;
        }
      }
    }
  };

  // `scales`: which input holds the scales, if there are that many.
  Plan MakePlan(const Tensor& x, int scales) const {
    CAFFE_ENFORCE_EQ(x.dim(), 4, "X ", ShapeString(x.sizes()), " must have four axes");
    const ImageScales by = ImageScales::Read(ArgumentHelper(debug_def()),
                                             InputSize() > scales ? &Input(scales) : nullptr);
    Plan plan{x.size(0) * x.size(1), x.size(2), x.size(3), {}, {}, x.sizes()};
    plan.output_dims[2] = ScaledSize("height_scale", plan.height, by.height);
    plan.output_dims[3] = ScaledSize("width_scale", plan.width, by.width);
    plan.rows = MapAxis(plan.height, plan.output_dims[2]);
    plan.columns = MapAxis(plan.width, plan.output_dims[3]);
    return plan;
  }
};

class UpsampleBilinearOp final : public UpsampleBilinearBase {
 public:
  using UpsampleBilinearBase::UpsampleBilinearBase;
  bool RunOnDevice() override {
    const Plan plan = MakePlan(Input(0), 1);
    const float* x = Input(0).data<float>();
    Output(0)->Resize(plan.output_dims);
    float* y = Output(0)->mutable_data<float>();
    ParallelFor(plan.planes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const float* from = x + p * plan.area();
        float* to = y + p * plan.output_area();
        std::fill_n(to, plan.output_area(), 0.f);
        plan.ForEach([=](int64_t out, int64_t in, float weight) { to[out] += weight * from[in]; });
      }
    });
    return true;
  }
};

class UpsampleBilinearGradientOp final : public UpsampleBilinearBase {
 public:
  using UpsampleBilinearBase::UpsampleBilinearBase;
  bool RunOnDevice() override {
    const Tensor &dY = Input(0), &X = Input(1);
    const Plan plan = MakePlan(X, 2);
    CAFFE_ENFORCE(dY.sizes() == plan.output_dims, "dY has shape ", ShapeString(dY.sizes()), ", Y ",
                  ShapeString(plan.output_dims));
    const float* dy = dY.data<float>();
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->mutable_data<float>();
    ParallelFor(plan.planes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const float* from = dy + p * plan.output_area();
        float* to = dx + p * plan.area();
        std::fill_n(to, plan.area(), 0.f);
        plan.ForEach([=](int64_t out, int64_t in, float weight) { to[in] += weight * from[out]; });
      }
    });
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(UpsampleBilinear, UpsampleBilinearOp);
REGISTER_CPU_OPERATOR(UpsampleBilinearGradient, UpsampleBilinearGradientOp);

OPERATOR_SCHEMA(UpsampleBilinear)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in.size() > 1) return std::vector<TensorShape>{UnknownTensorShape()};
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      CAFFE_ENFORCE_EQ(dims.size(), 4u, "axes of X ", ShapeString(dims));
      const ImageScales by = ImageScales::Read(ArgumentHelper(def), nullptr);
      dims[2] = ScaledSize("height_scale", dims[2], by.height);
      dims[3] = ScaledSize("width_scale", dims[3], by.width);
      return std::vector<TensorShape>{CreateTensorShape(dims, in[0].data_type())};
    })
    .FillUsing(ImageScales::Describe)
    .SetDoc(
        "Resizes images by linear interpolation between the four pixels around each place. The "
        "corner pixels of X and Y lie on each other.")
    .Input(0, "X", "Float, N x C x H x W.")
    .Input(1, "scales", "Optional: height_scale and width_scale, floats, in place of arguments.")
    .Output(0, "Y", "Float, N x C x floor(H * height_scale) x floor(W * width_scale).");
OPERATOR_SCHEMA(UpsampleBilinearGradient)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .FillUsing(ImageScales::Describe)
    .SetDoc("Gradient of UpsampleBilinear.")
    .Input(0, "dY", "Gradient of Y.")
    .Input(1, "X", "The forward operator's input, for its shape.")
    .Input(2, "scales", "Optional: as in the forward operator.")
    .Output(0, "dX", "Gradient of X: a pixel gets its shares of those interpolated from it.");
REGISTER_GRADIENT(UpsampleBilinear, GetScaledImageGradient);

}  // namespace caffe2
