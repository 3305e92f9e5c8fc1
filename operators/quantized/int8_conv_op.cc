// Int8Conv, Int8ConvTranspose and Int8FC: sums of products of bytes, exact in 32 bits, which are
// rounded once to the levels of the result. oneDNN multiplies the matrices.
#include <cstring>

#include "caffe2/utils/onednn_int8_matmul.h"
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"
#include "operators/conv/conv_op.h"
#include "operators/conv/conv_transpose_op.h"
#include "operators/quantized/int8_packed_conv.h"
#include "operators/quantized/int8_product.h"

namespace caffe2::int8 {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;  // bytes that a product reads at a time

// A plain function, as clones cannot be templates.
CAFFE2_SIMD_CLONES void AddProducts(int64_t n, const uint8_t* x, int32_t x_zero, const int32_t* w,
                                    int32_t* sum) {
#pragma GCC ivdep
  for (int64_t c = 0; c < n; ++c) sum[c] += (x[c] - x_zero) * w[c];
}

void CheckImages(const std::vector<int64_t>& dims) {
  CAFFE_ENFORCE(dims.size() == 4, "the images must have four axes, found shape ",
                ShapeString(dims));
}

// A convolution of images N x H x W x C.
template <LastInput last_input, Activation activation>
class Int8ConvOp final : public Int8ProductOp {
 public:
  Int8ConvOp(const OperatorDef& def, Workspace* ws)
      : Int8ProductOp(def, ws, last_input, last_input != LastInput::kAddend),
        arguments_(ArgumentHelper(def)) {
    CheckChannelsLast(*this);
  }
  bool RunOnDevice() override {
    const Tensor &X = Levels(0).t, &W = Levels(1).t;
    CheckImages(X.sizes());
    shape_ = ConvShape::Make(arguments_, X.sizes(), W.sizes());
    const Operands in = Read(shape_.y.channels);
    Result y = MakeResult(in, shape_.y.ToDims(StorageOrder::kNHWC), activation);
    if (y.empty() || RunPacked(in, shape_, y)) return true;
    const int64_t channels = shape_.y.channels;
    const bool depthwise = shape_.group == channels && shape_.group == shape_.x.channels;
    PackIfNeeded(in, depthwise);
    const int64_t pixels = shape_.y.batch * shape_.y.SpatialSize();
    const int64_t block = std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(Columns(), channels),
                                              1, std::max<int64_t>(pixels, 1));
    for (int64_t begin = 0; begin < pixels; begin += block) {
      const int64_t n = std::min(block, pixels - begin);
      sums_.resize(n * channels);
      if (depthwise) {
        SumDepthwise(in, taps_, begin, n);
      } else {
        Multiply(in, factors_, begin, n);
      }
      y.Write(begin, n, sums_.data());
    }
    return true;
  }

 private:
  // The number of bytes of X that a filter of one group reads.
  int64_t Columns() const { return CheckedNumel(shape_.filter) / shape_.filter[0]; }

  // Prepares the filter for Multiply or SumDepthwise, if it is another than in the last run.
  void PackIfNeeded(const Operands& in, bool depthwise) {
    if (IsLastFilter() && !(factors_.empty() && taps_.empty())) return;
    factors_ = depthwise ? std::vector<Int8Factor>() : Factors(in);
    taps_ = depthwise ? DepthwiseTaps(in) : std::vector<int32_t>();
  }

  std::vector<Int8Factor> Factors(const Operands& in) const {
    const int64_t filters = shape_.y.channels / shape_.group, columns = Columns();
    std::vector<Int8Factor> factors;
    for (int64_t g = 0; g < shape_.group; ++g) {
      factors.emplace_back(true, filters, columns, in.W->t.data<uint8_t>() + g * filters * columns,
                           in.w_zero);
    }
    return factors;
  }

  // Whether a pixel of Y depends on the same pixel of X alone.
  bool IsPointwise() const {
    const auto all = [](const std::vector<int64_t>& values, int64_t wanted) {
      return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == wanted; });
    };
    const Window& w = shape_.window;
    return all(w.kernel, 1) && all(w.stride, 1) && all(w.pad_begin, 0) && all(w.pad_end, 0);
  }

  // The address in X of tap (row, column) of the window at pixel `pixel` of Y; null if outside.
  const uint8_t* Tap(const uint8_t* x, int64_t pixel, int64_t row, int64_t column) const {
    const Window& w = shape_.window;
    const int64_t width = w.output[1], area = w.output[0] * width;
    const int64_t h =
        pixel / width % w.output[0] * w.stride[0] - w.pad_begin[0] + row * w.dilation[0];
    const int64_t v = pixel % width * w.stride[1] - w.pad_begin[1] + column * w.dilation[1];
    if (h < 0 || h >= shape_.x.spatial[0] || v < 0 || v >= shape_.x.spatial[1]) return nullptr;
    const int64_t at = (pixel / area * shape_.x.spatial[0] + h) * shape_.x.spatial[1] + v;
    return x + at * shape_.x.channels;
  }

  // The sums of pixels [begin, begin + n) of Y.
  void Multiply(const Operands& in, const std::vector<Int8Factor>& factors, int64_t begin,
                int64_t n) {
    const auto* x = in.X->t.data<uint8_t>();
    const int64_t filters = shape_.y.channels / shape_.group, columns = Columns();
    const int64_t channels = shape_.x.channels / shape_.group;
    const bool pointwise = IsPointwise();
    for (int64_t g = 0; g < shape_.group; ++g) {
      const uint8_t* rows = x + begin * shape_.x.channels + g * channels;
      if (!pointwise) {
        columns_.resize(n * columns);
        GatherColumns(x + g * channels, in.x_zero, begin, n);
        rows = columns_.data();
      }
      factors[g].Multiply(n, rows, pointwise ? shape_.x.channels : columns, in.x_zero,
                          in.bias == nullptr ? nullptr : in.bias + g * filters,
                          sums_.data() + g * filters, shape_.y.channels);
    }
  }

  // Copies the bytes of one group under the windows at pixels [begin, begin + n); pads have the
  // value 0.
  void GatherColumns(const uint8_t* x, uint8_t x_zero, int64_t begin, int64_t n) {
    const std::vector<int64_t>& kernel = shape_.window.kernel;
    const int64_t channels = shape_.x.channels / shape_.group, columns = Columns();
    ParallelFor(n, std::max<int64_t>(1, kElementwiseGrain / columns),
                [&](int64_t first, int64_t end) {
                  uint8_t* to = columns_.data() + first * columns;
                  for (int64_t i = first; i < end; ++i) {
                    for (int64_t k = 0; k < kernel[0] * kernel[1]; ++k, to += channels) {
                      const uint8_t* from = Tap(x, begin + i, k / kernel[1], k % kernel[1]);
                      if (from == nullptr) {
                        std::memset(to, x_zero, channels);
                      } else {
                        std::memcpy(to, from, channels);
                      }
                    }
                  }
                });
  }

  // The filter for groups of one channel, with the channels last, minus its zero point.
  std::vector<int32_t> DepthwiseTaps(const Operands& in) const {
    const int64_t channels = shape_.x.channels, taps = Columns();
    const auto* w = in.W->t.data<uint8_t>();
    std::vector<int32_t> result(taps * channels);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t k = 0; k < taps; ++k) result[k * channels + c] = w[c * taps + k] - in.w_zero;
    }
    return result;
  }

  void SumDepthwise(const Operands& in, const std::vector<int32_t>& filter, int64_t begin,
                    int64_t n) {
    const auto* x = in.X->t.data<uint8_t>();
    const std::vector<int64_t>& kernel = shape_.window.kernel;
    const int64_t channels = shape_.x.channels, taps = kernel[0] * kernel[1];
    ParallelFor(n, std::max<int64_t>(1, kElementwiseGrain / (taps * channels)),
                [&](int64_t first, int64_t end) {
                  for (int64_t i = first; i < end; ++i) {
                    int32_t* sum = sums_.data() + i * channels;
                    if (in.bias == nullptr) {
                      std::fill_n(sum, channels, 0);
                    } else {
                      std::copy_n(in.bias, channels, sum);
                    }
                    for (int64_t k = 0; k < taps; ++k) {
                      const uint8_t* from = Tap(x, begin + i, k / kernel[1], k % kernel[1]);
                      if (from == nullptr) continue;
                      AddProducts(channels, from, in.x_zero, filter.data() + k * channels, sum);
                    }
                  }
                });
  }

  const WindowArguments arguments_;
  ConvShape shape_;
  std::vector<uint8_t> columns_;
  std::vector<Int8Factor> factors_;  // one for each group, or
  std::vector<int32_t> taps_;        // of a filter for each channel
};

// Adds every pixel of X, times the filter C x kernel x M, to a window of Y.
class Int8ConvTransposeOp final : public Int8ProductOp {
 public:
  Int8ConvTransposeOp(const OperatorDef& def, Workspace* ws)
      : Int8ProductOp(def, ws, LastInput::kNone, false), arguments_(ArgumentHelper(def)) {
    CheckChannelsLast(*this);
    CAFFE_ENFORCE(arguments_.group() == 1,
                  "Int8ConvTranspose does not take the argument group, found ", arguments_.group());
  }
  bool RunOnDevice() override {
    const Tensor &X = Levels(0).t, &W = Levels(1).t;
    CheckImages(X.sizes());
    const ConvShape shape = MakeTransposedConvShape(arguments_, X.sizes(), W.sizes());
    const Operands in = Read(shape.x.channels);
    Result y = MakeResult(in, shape.x.ToDims(StorageOrder::kNHWC), Activation::kNone);
    const int64_t columns = W.size_from_dim(1), x_pixels = shape.y.SpatialSize();
    const int64_t y_pixels = shape.x.SpatialSize();
    if (!IsLastFilter() || !factor_) {
      factor_.emplace(false, columns, W.size(0), W.data<uint8_t>(), in.w_zero);
    }
    const int64_t images = shape.y.batch;
    const int64_t block =
        std::clamp<int64_t>(kBlockBytes / (x_pixels * columns), 1, std::max<int64_t>(images, 1));
    for (int64_t begin = 0; begin < images; begin += block) {
      const int64_t n = std::min(block, images - begin);
      products_.resize(n * x_pixels * columns);
      sums_.resize(n * y_pixels * shape.x.channels);
      factor_->Multiply(n * x_pixels, X.data<uint8_t>() + begin * x_pixels * W.size(0), W.size(0),
                        in.x_zero, nullptr, products_.data(), columns);
      ParallelFor(n, 1, [&](int64_t first, int64_t end) {
        for (int64_t i = first; i < end; ++i) {
          AddWindows(shape, in.bias, products_.data() + i * x_pixels * columns,
                     sums_.data() + i * y_pixels * shape.x.channels);
        }
      });
      y.Write(begin * y_pixels, n * y_pixels, sums_.data());
    }
    return true;
  }

 private:
  // The sums of one image: the bias, and the products of each pixel of X (kernel x M) in place.
  static void AddWindows(const ConvShape& shape, const int32_t* bias, const int32_t* products,
                         int32_t* sums) {
    const Window& w = shape.window;
    const int64_t channels = shape.x.channels;
    for (int64_t i = 0; i < shape.x.SpatialSize(); ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        sums[i * channels + c] = bias == nullptr ? 0 : bias[c];
      }
    }
    for (int64_t pixel = 0; pixel < shape.y.SpatialSize(); ++pixel) {
      const int64_t top = pixel / shape.y.spatial[1] * w.stride[0] - w.pad_begin[0];
      const int64_t left = pixel % shape.y.spatial[1] * w.stride[1] - w.pad_begin[1];
      for (int64_t k = 0; k < w.kernel[0] * w.kernel[1]; ++k, products += channels) {
        const int64_t row = top + k / w.kernel[1], column = left + k % w.kernel[1];
        if (row < 0 || row >= w.output[0] || column < 0 || column >= w.output[1]) continue;
        int32_t* sum = sums + (row * w.output[1] + column) * channels;
        for (int64_t c = 0; c < channels; ++c) sum[c] += products[c];
      }
    }
  }

  const WindowArguments arguments_;
  std::optional<Int8Factor> factor_;
  std::vector<int32_t> products_;
};

// Y = X W^T + bias.
class Int8FCOp final : public Int8ProductOp {
 public:
  Int8FCOp(const OperatorDef& def, Workspace* ws)
      : Int8ProductOp(def, ws, LastInput::kNone, false) {}
  bool RunOnDevice() override {
    const Tensor &X = Levels(0).t, &W = Levels(1).t;
    CAFFE_ENFORCE(
        X.dim() >= 1 && W.dim() >= 1 && X.size_from_dim(1) == W.size_from_dim(1) && W.numel() > 0,
        "a row of X must have as many elements as a row of W: X has shape ", ShapeString(X.sizes()),
        ", W ", ShapeString(W.sizes()));
    const int64_t m = X.size(0), n = W.size(0), k = W.size_from_dim(1);
    const Operands in = Read(n);
    Result y = MakeResult(in, {m, n}, Activation::kNone);
    if (y.empty() || RunPacked(in, ShapeOf(m, n, k), y)) return true;
    if (!IsLastFilter() || !factor_) factor_.emplace(true, n, k, W.data<uint8_t>(), in.w_zero);
    sums_.resize(m * n);
    factor_->Multiply(m, X.data<uint8_t>(), k, in.x_zero, in.bias, sums_.data(), n);
    y.Write(0, m, sums_.data());
    return true;
  }

 private:
  // The product as a convolution of images of one pixel.
  static ConvShape ShapeOf(int64_t m, int64_t n, int64_t k) {
    ConvShape shape;
    shape.x = {m, k, {1, 1}};
    shape.y = {m, n, {1, 1}};
    shape.window = {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
    shape.filter = {n, k, 1, 1};
    return shape;
  }

  std::optional<Int8Factor> factor_;
};

std::vector<TensorShape> InferInt8Conv(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<TensorShape> out = InferConv(def, in);
  if (out[0].unknown_shape()) return out;
  out[0].set_data_type(ResultType(def));
  const auto channels = ArgumentHelper(def).GetSingleArgument<int64_t>("Y_channels", 0);
  if (channels > 0) out[0].set_dims(out[0].dims_size() - 1, channels);
  return out;
}
std::vector<TensorShape> InferInt8ConvJoin(const OperatorDef&, const std::vector<TensorShape>& in) {
  return {in.back()};
}
std::vector<TensorShape> InferConvTranspose(const OperatorDef& def,
                                            const std::vector<TensorShape>& in) {
  const ConvShape shape = MakeTransposedConvShape(WindowArguments(ArgumentHelper(def)),
                                                  GetDimsVector(in[0]), GetDimsVector(in[1]));
  return {CreateTensorShape(shape.x.ToDims(StorageOrder::kNHWC), ResultType(def))};
}
std::vector<TensorShape> InferFC(const OperatorDef& def, const std::vector<TensorShape>& in) {
  CAFFE_ENFORCE(in[0].dims_size() >= 1 && in[1].dims_size() >= 1,
                "X and W must have at least one axis");
  return {CreateTensorShape({in[0].dims(0), in[1].dims(0)}, ResultType(def))};
}

// One product of 2 m n k operations, and one operation for each element of the result.
OpSchema::Cost CostOfFC(const OperatorDef& def, const std::vector<TensorShape>& in) {
  if (in[0].unknown_shape() || in[1].unknown_shape()) return {};
  const TensorShape y = InferFC(def, in)[0];
  const auto size = static_cast<uint64_t>(NumelOf(y)), n = static_cast<uint64_t>(in[1].dims(0));
  const uint64_t k = n == 0 ? 0 : static_cast<uint64_t>(NumelOf(in[1])) / n;
  OpSchema::Cost cost;
  cost.flops = size * (2 * k + 1);
  for (const TensorShape& input : in) cost.bytes_read += NbytesOf(input);
  cost.bytes_written = NbytesOf(y);
  for (size_t i = 1; i < in.size(); ++i) cost.params_bytes += NbytesOf(in[i]);
  return cost;
}

void DescribeWithBias(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .FillUsing(DescribeResult)
      .FillUsing(DescribeProduct)
      .Input(2, "bias",
             "Optional: quantized tensor of M int32. Its scale is the product of the scales of X "
             "and of the filter.");
}
void DescribeImages(OpSchema& schema) {
  schema.FillUsing(DescribeWithBias)
      .FillUsing(DescribeWindow)
      .Input(0, "X", "Quantized images N x H x W x C.")
      .Output(0, "Y", "Quantized images N x H' x W' x M.");
}
void DescribeConv(OpSchema& schema) {
  schema.FillUsing(DescribeImages)
      .Arg<int>("group", "(> 0, default 1) Number of groups that channels and filters fall into.")
      .TensorInferenceFunction(InferInt8Conv)
      .CostInferenceFunction(CostOfConv)
      .Input(1, "filter", "Quantized, M x kH x kW x C / group.");
}
// For the forms with an input after the bias.
void DescribeLastInput(OpSchema& schema) {
  schema.FillUsing(DescribeConv).NumInputs(3, 4).AllowInplace([](int input, int output) {
    return input >= 2 && output == 0;
  });
}
void DescribeConvSum(OpSchema& schema) {
  schema.FillUsing(DescribeLastInput)
      .Input(2, "bias_or_Z", "With four inputs, the bias; with three, Z.")
      .Input(3, "Z",
             "The quantized images to add, of Y's shape. It is always the last input. If Y is the "
             "same blob, this saves a copy.");
}
void DescribePart(OpSchema& schema) {
  schema.Arg<int>("Y_channel", "The first channel of Y that the operator writes, default 0.");
}
void DescribeConvPart(OpSchema& schema) {
  schema.FillUsing(DescribeConv)
      .FillUsing(DescribePart)
      .Arg<int>("Y_channels",
                "The channels of Y, of which the operator writes M only: operators "
                "Int8ConvJoin write the others, which hold any levels before. Default: M.");
}
void DescribeConvJoin(OpSchema& schema) {
  schema.FillUsing(DescribeLastInput)
      .FillUsing(DescribePart)
      .TensorInferenceFunction(InferInt8ConvJoin)
      .Input(2, "bias_or_J", "With four inputs, the bias; with three, J.")
      .Input(3, "J",
             "Quantized images of Y's shape, scale and zero point. It is always the last input. If "
             "Y is the same blob, this saves a copy.")
      .Output(0, "Y", "J with M channels replaced by the result of the convolution.");
}

using Int8ConvPlainOp = Int8ConvOp<LastInput::kNone, Activation::kNone>;
using Int8ConvReluOp = Int8ConvOp<LastInput::kNone, Activation::kRelu>;
using Int8ConvSumOp = Int8ConvOp<LastInput::kAddend, Activation::kNone>;
using Int8ConvSumReluOp = Int8ConvOp<LastInput::kAddend, Activation::kRelu>;
using Int8ConvJoinOp = Int8ConvOp<LastInput::kJoined, Activation::kNone>;
using Int8ConvReluJoinOp = Int8ConvOp<LastInput::kJoined, Activation::kRelu>;
REGISTER_CPU_OPERATOR(Int8Conv, Int8ConvPlainOp);
REGISTER_CPU_OPERATOR(Int8ConvRelu, Int8ConvReluOp);
REGISTER_CPU_OPERATOR(Int8ConvSum, Int8ConvSumOp);
REGISTER_CPU_OPERATOR(Int8ConvSumRelu, Int8ConvSumReluOp);
REGISTER_CPU_OPERATOR(Int8ConvJoin, Int8ConvJoinOp);
REGISTER_CPU_OPERATOR(Int8ConvReluJoin, Int8ConvReluJoinOp);
REGISTER_CPU_OPERATOR(Int8ConvTranspose, Int8ConvTransposeOp);
REGISTER_CPU_OPERATOR(Int8FC, Int8FCOp);

OPERATOR_SCHEMA(Int8Conv)
    .FillUsing(DescribeConvPart)
    .SetDoc("Conv of quantized images: sums in 32 bits, rounded once.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ConvRelu)
    .FillUsing(DescribeConvPart)
    .SetDoc("Conv of quantized images, rectified: sums in 32 bits, rounded once.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ConvSum)
    .FillUsing(DescribeConvSum)
    .SetDoc("Conv of quantized images plus Z, rounded once.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ConvSumRelu)
    .FillUsing(DescribeConvSum)
    .SetDoc("Conv of quantized images plus Z, rectified, rounded once.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ConvJoin)
    .FillUsing(DescribeConvJoin)
    .SetDoc("Conv of quantized images, written into channels of J: joins without a copy.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ConvReluJoin)
    .FillUsing(DescribeConvJoin)
    .SetDoc(
        "Conv of quantized images, rectified, written into channels of J: joins without a copy.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ConvTranspose)
    .FillUsing(DescribeImages)
    .Arg<int>("adj", "Rows and columns added at the end of Y, as in ConvTranspose.")
    .TensorInferenceFunction(InferConvTranspose)
    .SetDoc("ConvTranspose of quantized images: sums in 32 bits, rounded once.")
    .Input(1, "filter", "Quantized, C x kH x kW x M.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8FC)
    .FillUsing(DescribeWithBias)
    .Arg("order", "Not read: all axes of X but the first are columns.")
    .TensorInferenceFunction(InferFC)
    .CostInferenceFunction(CostOfFC)
    .SetDoc("FC of quantized matrices, Y = X W^T + bias: sums in 32 bits, rounded once.")
    .Input(0, "X", "Quantized; all axes but the first are columns.")
    .Input(1, "W", "Quantized, N x columns.")
    .Output(0, "Y", "Quantized, rows of X x N.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(Int8Conv);
SHOULD_NOT_DO_GRADIENT(Int8ConvRelu);
SHOULD_NOT_DO_GRADIENT(Int8ConvSum);
SHOULD_NOT_DO_GRADIENT(Int8ConvSumRelu);
SHOULD_NOT_DO_GRADIENT(Int8ConvJoin);
SHOULD_NOT_DO_GRADIENT(Int8ConvReluJoin);
SHOULD_NOT_DO_GRADIENT(Int8ConvTranspose);
SHOULD_NOT_DO_GRADIENT(Int8FC);

}  // namespace
}  // namespace caffe2::int8
