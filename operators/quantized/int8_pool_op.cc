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

// The size of a window in an image of some channels.
struct WindowRows {
  int64_t rows, columns, row_stride, channels;
};

// 64 levels anywhere in an array.
typedef uint8_t LevelBlock __attribute__((vector_size(64), aligned(1), may_alias));
constexpr int64_t kLevelBlock = sizeof(LevelBlock);
constexpr int64_t kMaximumGrain = 1 << 18;  // levels read: about 2 us

// Takes the levels at x where they are larger.
CAFFE2_INLINE void TakeLarger(const uint8_t* x, LevelBlock* most) {
  const LevelBlock levels = *reinterpret_cast<const LevelBlock*>(x);
  *most = levels > *most ? levels : *most;
}

// y = for each channel, the largest of `minimum` and the levels of the window at x.
CAFFE2_INLINE void LargestLevels(const WindowRows& window, const uint8_t* x, uint8_t minimum,
                                 uint8_t* y) {
  const int64_t channels = window.channels;
  if (channels < kLevelBlock) {
    std::fill_n(y, channels, minimum);
    for (int64_t h = 0; h < window.rows; ++h) {
      const uint8_t* from = x + h * window.row_stride;
      for (int64_t w = 0; w < window.columns; ++w, from += channels) {
        for (int64_t c = 0; c < channels; ++c) y[c] = std::max(y[c], from[c]);
      }
    }
    return;
  }
  for (int64_t begin = 0; begin < channels; begin += kLevelBlock) {
    const int64_t c = std::min(begin, channels - kLevelBlock);
    LevelBlock most = LevelBlock{} + minimum;
    for (int64_t h = 0; h < window.rows; ++h) {
      const uint8_t* from = x + h * window.row_stride + c;
      if (window.columns == 3) {  // most pools: without a loop
        TakeLarger(from, &most);
        TakeLarger(from + channels, &most);
        TakeLarger(from + 2 * channels, &most);
        continue;
      }
      for (int64_t w = 0; w < window.columns; ++w) TakeLarger(from + w * channels, &most);
    }
    *reinterpret_cast<LevelBlock*>(y + c) = most;
  }
}

// The windows of a row of the result, along the columns of the image.
struct RowOfWindows {
  int64_t rows, row_stride, channels, width, kernel, stride, pad, count;
};

// The largest levels of a row of windows; x is the first row of the image under them. Plain, as
// clones cannot be members.
CAFFE2_SIMD_CLONES void LargestLevelsOfRow(const RowOfWindows& row, const uint8_t* x,
                                           uint8_t minimum, uint8_t* y) {
  for (int64_t i = 0; i < row.count; ++i, y += row.channels) {
    const int64_t first = i * row.stride - row.pad;
    const int64_t begin = std::max<int64_t>(0, first);
    const int64_t end = std::min(row.width, first + row.kernel);
    LargestLevels({row.rows, end - begin, row.row_stride, row.channels}, x + begin * row.channels,
                  minimum, y);
  }
}

// Adds the levels of the channels [0, channels) of the window at x.
template <typename Sum>
CAFFE2_SIMD_CLONES void AddLevels(const WindowRows& window, const uint8_t* x, int64_t channels,
                                  Sum* sums) {
  for (int64_t h = 0; h < window.rows; ++h) {
    const uint8_t* from = x + h * window.row_stride;
    for (int64_t w = 0; w < window.columns; ++w, from += window.channels) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) sums[c] += from[c];
    }
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
  // Calls means(x of the image, taps, first channel, channels, y of the pixel) for each pixel of
  // the result and each part of its channels, at most kMeanChannels.
  static constexpr int64_t kMeanChannels = 256;
  template <typename T, typename Means>
  void ForEach(const uint8_t* x, T* y, const Means& means) const {
    constexpr int64_t kChannels = kMeanChannels;
    const int64_t height = window_.output[0], width = window_.output[1], c = image_.channels;
    const int64_t parts = (c + kChannels - 1) / kChannels;
    const int64_t work =
        std::max<int64_t>(1, std::min(c, kChannels) * window_.kernel[0] * window_.kernel[1]);
    ParallelFor(image_.batch * height * width * parts,
                std::max<int64_t>(1, kElementwiseGrain / work), [&](int64_t begin, int64_t end) {
                  for (int64_t k = begin; k < end; ++k) {
                    const int64_t i = k / parts, first = k % parts * kChannels;
                    const uint8_t* image = x + i / (height * width) * image_.SpatialSize() * c;
                    means(image, TapsAt(i / width % height, i % width), first,
                          std::min(kChannels, c - first), y + i * c);
                  }
                });
  }
  // The largest levels of all windows.
  void Maximum(uint8_t minimum, const uint8_t* x, uint8_t* y) const {
    const int64_t height = window_.output[0], width = window_.output[1], c = image_.channels;
    const int64_t work = std::max<int64_t>(1, width * c * window_.kernel[0] * window_.kernel[1]);
    ParallelFor(image_.batch * height, std::max<int64_t>(1, kMaximumGrain / work),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const Taps taps = TapsAt(i % height, 0);
                    const int64_t row = i / height * image_.spatial[0] + taps.row_begin;
                    LargestLevelsOfRow(
                        {taps.row_end - taps.row_begin, image_.spatial[1] * c, c, image_.spatial[1],
                         window_.kernel[1], window_.stride[1], window_.pad_begin[1], width},
                        x + row * image_.spatial[1] * c, minimum, y + i * width * c);
                  }
                });
  }
  WindowRows RowsOf(const Taps& taps) const {
    return {taps.row_end - taps.row_begin, taps.column_end - taps.column_begin,
            image_.spatial[1] * image_.channels, image_.channels};
  }
  // The first pixel of the image under the taps.
  const uint8_t* FirstOf(const uint8_t* image, const Taps& taps) const {
    return image + (taps.row_begin * image_.spatial[1] + taps.column_begin) * image_.channels;
  }

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
      pooling.Maximum(activation == Activation::kRelu ? to.zero_point : uint8_t{0}, x, y);
    } else {
      Average(pooling, from, x, y, Requantizer(from.scale, to, activation));
    }
    return true;
  }

 private:
  // Writes convert(the mean, in steps of X).
  template <typename T, typename Convert>
  static void Average(const Pooling& pooling, const Quantization& from, const uint8_t* x, T* y,
                      const Convert& convert) {
    const auto means = [&](const uint8_t* image, const Taps& taps, int64_t channel, int64_t count,
                           T* out) {
      constexpr int64_t kFewLevels = 1 << 23;  // their sum fits into 32 bits
      const WindowRows window = pooling.RowsOf(taps);
      const uint8_t* first = pooling.FirstOf(image, taps) + channel;
      const auto divide = [&](auto sums, int64_t start) {
        std::fill_n(sums.begin(), count, start);
        AddLevels(window, first, count, sums.data());
        for (int64_t c = 0; c < count; ++c) {
          out[channel + c] =
              convert(static_cast<double>(sums[c]) / static_cast<double>(taps.count));
        }
      };
      const int64_t levels = window.rows * window.columns, zero = -levels * from.zero_point;
      if (levels <= kFewLevels) {
        divide(std::array<int32_t, Pooling::kMeanChannels>(), zero);
      } else {
        divide(std::array<int64_t, Pooling::kMeanChannels>(), zero);
      }
    };
    pooling.ForEach(x, y, means);
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
