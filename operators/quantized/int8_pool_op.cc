// Int8MaxPool and Int8AveragePool, with or without a Relu after the pooling.
#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"
#include "operators/pool/pool_op.h"
#include "operators/quantized/int8_op.h"

namespace caffe2::int8 {
namespace {

// The pixels of an image under a window, [begin, end) along each axis, and the divisor of a mean.
struct Taps {
  int64_t row_begin, row_end, column_begin, column_end, count;
};

// n channels, at most 64, of LargestLevels; n is a constant where the loop should vectorize.
CAFFE2_INLINE void LargestOfBlock(const uint8_t* x, int64_t rows, int64_t columns,
                                  int64_t row_stride, int64_t channels, int64_t n, uint8_t minimum,
                                  uint8_t* y) {
  constexpr int64_t kMost = 64;
  uint8_t most[kMost];
  std::fill_n(most, n, minimum);
  for (int64_t h = 0; h < rows; ++h) {
    for (int64_t w = 0; w < columns; ++w) {
      const uint8_t* from = x + h * row_stride + w * channels;
#pragma omp simd
      for (int64_t k = 0; k < n; ++k) most[k] = std::max(most[k], from[k]);
    }
  }
  std::copy_n(most, n, y);
}

// y = for each channel, the largest of `minimum` and the levels of rows x columns pixels from x on.
// Plain, as clones cannot be members.
CAFFE2_SIMD_CLONES void LargestLevels(const uint8_t* x, int64_t rows, int64_t columns,
                                      int64_t row_stride, int64_t channels, uint8_t minimum,
                                      uint8_t* y) {
  constexpr int64_t kBlock = 64;
  int64_t c = 0;
  for (; c + kBlock <= channels; c += kBlock) {
    LargestOfBlock(x + c, rows, columns, row_stride, channels, kBlock, minimum, y + c);
  }
  if (c < channels) {
    LargestOfBlock(x + c, rows, columns, row_stride, channels, channels - c, minimum, y + c);
  }
}

class Pooling {
 public:
  Pooling(const WindowArguments& arguments, const std::vector<int64_t>& dims, bool include_pad)
      : image_(ImageShape::FromDims(dims, StorageOrder::kNHWC)),
        window_(ResolvePool(arguments, image_)),
        include_pad_(include_pad) {
    CAFFE_ENFORCE(dims.size() == 4, "the images must have four axes, found shape ",
                  ShapeString(dims));
  }

  std::vector<int64_t> OutputDims() const {
    return ImageShape{image_.batch, image_.channels, window_.output}.ToDims(StorageOrder::kNHWC);
  }
  // Calls pixel(x of the image, taps, y of the pixel) for each pixel of the result.
  template <typename T, typename Pixel>
  void ForEach(const uint8_t* x, T* y, const Pixel& pixel) const {
    const int64_t height = window_.output[0], width = window_.output[1], c = image_.channels;
    const int64_t work = std::max<int64_t>(1, c * window_.kernel[0] * window_.kernel[1]);
    ParallelFor(image_.batch * height * width, std::max<int64_t>(1, kElementwiseGrain / work),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const uint8_t* image = x + i / (height * width) * image_.SpatialSize() * c;
                    pixel(image, TapsAt(i / width % height, i % width), y + i * c);
                  }
                });
  }
  // Calls element(channel, level) for each element of an image under the taps.
  template <typename Element>
  void ForElements(const uint8_t* image, const Taps& taps, const Element& element) const {
    const int64_t width = image_.spatial[1], c = image_.channels;
    for (int64_t h = taps.row_begin; h < taps.row_end; ++h) {
      for (int64_t w = taps.column_begin; w < taps.column_end; ++w) {
        const uint8_t* x = image + (h * width + w) * c;
        for (int64_t k = 0; k < c; ++k) element(k, x[k]);
      }
    }
  }
  int64_t channels() const { return image_.channels; }
  int64_t width() const { return image_.spatial[1]; }

 private:
  Taps TapsAt(int64_t row, int64_t column) const {
    const auto cut = [this](int axis, int64_t out, int64_t* begin, int64_t* end) {
      const int64_t first = out * window_.stride[axis] - window_.pad_begin[axis];
      *begin = std::max<int64_t>(0, first);
      *end = std::min(image_.spatial[axis], first + window_.kernel[axis]);
    };
    Taps taps;
    cut(0, row, &taps.row_begin, &taps.row_end);
    cut(1, column, &taps.column_begin, &taps.column_end);
    taps.count = include_pad_
                     ? window_.kernel[0] * window_.kernel[1]
                     : (taps.row_end - taps.row_begin) * (taps.column_end - taps.column_begin);
    return taps;
  }

  const ImageShape image_;
  const Window window_;
  const bool include_pad_;
};

template <PoolKind kind, Activation activation>
class Int8PoolOp final : public Int8Operator {
 public:
  Int8PoolOp(const OperatorDef& def, Workspace* ws)
      : Int8Operator(def, ws), arguments_(ArgumentHelper(def)) {
    CheckChannelsLast(*this);
  }
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const Quantization from = Quantization::Of(X);
    const Pooling pooling(arguments_, X.t.sizes(),
                          GetSingleArgument<bool>("count_include_pad", false));
    const auto* x = X.t.data<uint8_t>();
    if (kind == PoolKind::kAverage && GetSingleArgument<bool>(kDequantizeOutput, false)) {
      Tensor* Y = Output(0);
      Y->Resize(pooling.OutputDims());
      const float minimum =
          activation == Activation::kRelu ? 0 : std::numeric_limits<float>::lowest();
      Average(pooling, from, x, Y->mutable_data<float>(), [&](double steps) {
        return std::max(static_cast<float>(from.scale * steps), minimum);
      });
      return true;
    }
    const Quantization to = kind == PoolKind::kMax ? Kept(X) : Quantization::Read(*this, from);
    Tensor* Y = SetResult(to);
    Y->Resize(pooling.OutputDims());
    auto* y = Y->mutable_data<uint8_t>();
    if (kind == PoolKind::kMax) {
      Maximum(pooling, activation == Activation::kRelu ? to.zero_point : uint8_t{0}, x, y);
    } else {
      Average(pooling, from, x, y, Requantizer(from.scale, to, activation));
    }
    return true;
  }

 private:
  static void Maximum(const Pooling& pooling, uint8_t minimum, const uint8_t* x, uint8_t* y) {
    const int64_t channels = pooling.channels(), row = pooling.width() * channels;
    pooling.ForEach(x, y, [&](const uint8_t* image, const Taps& taps, uint8_t* out) {
      const uint8_t* first = image + taps.row_begin * row + taps.column_begin * channels;
      LargestLevels(first, taps.row_end - taps.row_begin, taps.column_end - taps.column_begin, row,
                    channels, minimum, out);
    });
  }
  // Writes convert(the mean, in steps of X).
  template <typename T, typename Convert>
  static void Average(const Pooling& pooling, const Quantization& from, const uint8_t* x, T* y,
                      const Convert& convert) {
    pooling.ForEach(x, y, [&](const uint8_t* image, const Taps& taps, T* out) {
      std::vector<int64_t> sums(pooling.channels());
      pooling.ForElements(image, taps,
                          [&](int64_t c, uint8_t q) { sums[c] += q - from.zero_point; });
      for (size_t c = 0; c < sums.size(); ++c) {
        out[c] = convert(static_cast<double>(sums[c]) / static_cast<double>(taps.count));
      }
    });
  }

  const WindowArguments arguments_;
};

std::vector<TensorShape> InferAverage(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<TensorShape> out = InferPool(def, in);
  if (!out[0].unknown_shape()) out[0].set_data_type(ResultType(def));
  return out;
}

void DescribePool(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .FillUsing(DescribeWindow)
      .Arg<bool>("global_pooling", "1: the window is the whole image. Default 0.")
      .TensorInferenceFunction(InferPool)
      .CostInferenceFunction(CostOfPool)
      .Input(0, "X", "Quantized images N x H x W x C.")
      .Output(0, "Y", "Quantized images N x H' x W' x C, of the same shape as for MaxPool.");
}
void DescribeMax(OpSchema& schema) { schema.FillUsing(DescribePool).FillUsing(DescribeKept); }
void DescribeAverage(OpSchema& schema) {
  schema.FillUsing(DescribePool)
      .TensorInferenceFunction(InferAverage)
      .FillUsing(DescribeFloatResult)
      .Arg<bool>("count_include_pad",
                 "1: divide by the size of the whole window. Default 0: by the part of it that "
                 "lies inside the image.")
      .Arg<float>("Y_scale", "(> 0) The scale of the result. Default: X's scale.")
      .Arg<int>("Y_zero_point",
                "(0 to 255) The zero point of the result. Default: X's zero point.");
}

#define REGISTER_INT8_POOL(name, kind, activation, describe, doc)          \
  using name##Op = Int8PoolOp<PoolKind::kind, Activation::activation>;     \
  REGISTER_CPU_OPERATOR(name, name##Op);                                   \
  OPERATOR_SCHEMA(name).FillUsing(describe).SetDoc(doc).CpuOnly(kCpuOnly); \
  SHOULD_NOT_DO_GRADIENT(name)

REGISTER_INT8_POOL(Int8MaxPool, kMax, kNone, DescribeMax, "MaxPool of quantized images.");
REGISTER_INT8_POOL(Int8MaxPoolRelu, kMax, kRelu, DescribeMax,
                   "MaxPool of quantized images, rectified.");
REGISTER_INT8_POOL(Int8AveragePool, kAverage, kNone, DescribeAverage,
                   "AveragePool of quantized images.");
REGISTER_INT8_POOL(Int8AveragePoolRelu, kAverage, kRelu, DescribeAverage,
                   "AveragePool of quantized images, rectified.");
#undef REGISTER_INT8_POOL

}  // namespace
}  // namespace caffe2::int8
