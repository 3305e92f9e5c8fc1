#include "operators/image/upsample_bilinear_op.h"

#include <span>
#include <vector>

namespace caffe2 {

namespace {

// For each input pixel of an axis, the output pixels that use it, and its weights in them.
class PixelShares {
 public:
  struct Share {
    int64_t pixel;
    float weight;
  };
  explicit PixelShares(const ScaledAxis& axis) {
    for (int64_t i = 0; i < axis.input; ++i) {
      for (int64_t o = axis.First(i); o < axis.Last(i); ++o) {
        const float weight = axis.At(o).Weight(i);
        if (weight != 0) shares_.push_back({o, weight});
      }
      ends_.push_back(shares_.size());
    }
  }
  std::span<const Share> Of(int64_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {shares_.data() + begin, ends_[i] - begin};
  }

 private:
  std::vector<Share> shares_;
  std::vector<size_t> ends_;
};

}  // namespace

template <typename T>
void SumShares(const BilinearGradientRows<T>& gradient, int64_t planes, CPUContext* /*context*/) {
  const ScaledAxis &rows = gradient.rows, &columns = gradient.columns;
  const PixelShares down(rows), along(columns);
  const int64_t grain = RowGrain(columns.input, kElementGrain);
  ParallelFor(planes * rows.input, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* plane = gradient.dy + row / rows.input * rows.output * columns.output;
      for (int64_t c = 0; c < columns.input; ++c) {
        float sum = 0;
        for (const auto& vertical : down.Of(row % rows.input)) {
          const T* dy = plane + vertical.pixel * columns.output;
          for (const auto& share : along.Of(c)) {
            sum += vertical.weight * share.weight * host_device::Widen(dy[share.pixel]);
          }
        }
        gradient.dx[row * columns.input + c] = host_device::Narrow<T>(sum);
      }
    }
  });
}

REGISTER_CPU_OPERATOR(UpsampleBilinear, UpsampleBilinearOp<CPUContext>);
REGISTER_CPU_OPERATOR(UpsampleBilinearGradient, UpsampleBilinearGradientOp<CPUContext>);

OPERATOR_SCHEMA(UpsampleBilinear)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in.size() > 1) return std::vector<TensorShape>{UnknownTensorShape()};
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      CAFFE_ENFORCE(dims.size() == 4, "X must have four axes, found shape ", ShapeString(dims));
      const ImageScales by = ImageScales::Read(ArgumentHelper(def), nullptr);
      dims[2] = ScaledSize("height_scale", dims[2], by.height);
      dims[3] = ScaledSize("width_scale", dims[3], by.width);
      return std::vector<TensorShape>{CreateTensorShape(dims, in[0].data_type())};
    })
    .FillUsing(ImageScales::Describe)
    .SetDoc(
        "Resizes images by linear interpolation between the four pixels around each place. The "
        "corner pixels of X and Y coincide.")
    .Input(0, "X", "N x C x H x W of float, float16 or bfloat16.")
    .Input(1, "scales", "Optional: height_scale and width_scale, floats, instead of arguments.")
    .Output(0, "Y", "N x C x floor(H * height_scale) x floor(W * width_scale).");
OPERATOR_SCHEMA(UpsampleBilinearGradient)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .FillUsing(ImageScales::Describe)
    .SetDoc("Gradient of UpsampleBilinear.")
    .Input(0, "dY", "Gradient of Y.")
    .Input(1, "X", "The forward operator's input, for its shape.")
    .Input(2, "scales", "Optional: as in the forward operator.")
    .Output(0, "dX", "Gradient of X: a pixel gets its shares of the pixels interpolated from it.");
REGISTER_GRADIENT(UpsampleBilinear, GetScaledImageGradient);

}  // namespace caffe2
