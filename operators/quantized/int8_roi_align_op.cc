// RoIAlign of quantized images.
#include "caffe2/utils/parallel.h"
#include "operators/detection/roi_align_op.h"
#include "operators/quantized/int8_op.h"

namespace caffe2::int8 {
namespace {

// The regions are plain floats.
class Int8RoIAlignOp final : public Operator<CPUContext> {
 public:
  Int8RoIAlignOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        reader_(*this, /*rotated=*/false, StorageOrder::kNHWC),
        result_(Quantization::Read(*this)) {
    CAFFE_ENFORCE(GetSingleArgument<std::string>("order", "NHWC") == "NHWC",
                  "argument order must be NHWC for quantized images, found ",
                  GetSingleArgument<std::string>("order", "NHWC"));
  }
  bool RunOnDevice() override {
    const auto& X = Input<Int8TensorCPU>(0);
    const Tensor& R = Input(1);
    const Quantization from = Quantization::Of(X);
    const ImageLayout in = reader_.CheckShapes(X.t, R);
    const std::vector<RegionGrid> regions = reader_.Read(in, R);
    const auto* x = X.t.data<uint8_t>();
    auto* Y = Output<Int8TensorCPU>(0);
    Y->scale = result_.scale;
    Y->zero_point = result_.zero_point;
    Y->t.Resize(reader_.OutputDims(in, R.size(0)));
    auto* y = Y->t.mutable_data<uint8_t>();
    const Requantizer requantize(from.scale, result_, Activation::kNone);
    ParallelFor(R.size(0), 1, [&](int64_t begin, int64_t end) {
      std::vector<float> sums(in.channels);
      for (int64_t r = begin; r < end; ++r) {
        const RegionGrid& region = regions[r];
        const std::vector<RegionSample> samples = SamplesOf(in, region);
        const uint8_t* image = x + region.frame.image * in.image_size();
        const int64_t cells = region.rows * region.columns, per_cell = region.per_cell();
        uint8_t* out = y + r * cells * in.channels;
        for (int64_t cell = 0; cell < cells; ++cell, out += in.channels) {
          Average(per_cell, samples.data() + cell * per_cell, image, from.zero_point, &sums);
          for (int64_t c = 0; c < in.channels; ++c) out[c] = requantize(sums[c]);
        }
      }
    });
    return true;
  }

 private:
  // The averages of one cell in all channels, in steps of X above its zero point.
  static void Average(int64_t per_cell, const RegionSample* samples, const uint8_t* x,
                      int zero_point, std::vector<float>* sums) {
    std::fill(sums->begin(), sums->end(), 0.f);
    for (int64_t i = 0; i < per_cell; ++i) {
      const RegionSample& sample = samples[i];
      for (int k = 0; k < 4; ++k) {
        const uint8_t* pixel = x + sample.pixel[k];
        for (size_t c = 0; c < sums->size(); ++c) {
          (*sums)[c] += sample.weight[k] * static_cast<float>(pixel[c] - zero_point);
        }
      }
    }
  }

  const RegionReader reader_;
  const Quantization result_;
};

REGISTER_CPU_OPERATOR(Int8RoIAlign, Int8RoIAlignOp);
OPERATOR_SCHEMA(Int8RoIAlign)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return InferRoIAlign(def, in, StorageOrder::kNHWC);
    })
    .FillUsing(DescribeRoIAlign)
    .FillUsing(DescribeResult)
    .ArgOneOf("order", {"NHWC"}, "(default NHWC) The storage order.")
    .SetDoc("RoIAlign of quantized images.")
    .Input(0, "X", "Quantized images N x H x W x C.")
    .Input(1, "RoIs",
           "Float R x 5: image index, x1, y1, x2, y2 of each region; or R x 4, of image 0.")
    .Output(0, "Y", "Quantized, R x pooled_h x pooled_w x C.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(Int8RoIAlign);

}  // namespace
}  // namespace caffe2::int8
