// Im2Col and Col2Im: the windows of an image as columns, and back.
#include "operators/conv/im2col_op.h"

#include <algorithm>

#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

ColumnLayout ColumnLayoutFor(const OperatorDef& def, const std::vector<int64_t>& dims) {
  const WindowArguments arguments{ArgumentHelper(def)};
  CAFFE_ENFORCE(dims.size() == 4, "the image must have four axes, found shape ", ShapeString(dims));
  const ImageShape image = ImageShape::FromDims(dims, arguments.order());
  const Window window = arguments.Resolve(image.spatial);
  ColumnLayout layout{};
  layout.batch = image.batch;
  layout.channels = image.channels;
  layout.channels_last = arguments.channels_last();
  std::copy_n(image.spatial.begin(), 2, layout.size);
  std::copy_n(window.output.begin(), 2, layout.output);
  std::copy_n(window.kernel.begin(), 2, layout.kernel);
  std::copy_n(window.stride.begin(), 2, layout.stride);
  std::copy_n(window.dilation.begin(), 2, layout.dilation);
  std::copy_n(window.pad_begin.begin(), 2, layout.pad);
  return layout;
}

std::vector<int64_t> ColumnDims(const ColumnLayout& layout) {
  const int64_t taps = CheckedNumel({layout.kernel[0], layout.kernel[1]});
  const ImageShape shape{
      layout.batch, CheckedNumel({layout.channels, taps}), {layout.output[0], layout.output[1]}};
  return shape.ToDims(layout.channels_last ? StorageOrder::kNHWC : StorageOrder::kNCHW);
}

namespace {

// Row `row` of the output plane of one channel and tap.
void FillColumnsOfRow(const ColumnLayout& l, int64_t row, int64_t tap, const float* plane,
                      float* y) {
  const int64_t width = l.output[1], source = l.Source(0, row, tap / l.kernel[1]);
  if (source < 0) {
    std::fill_n(y, width, 0.f);
    return;
  }
  // Outputs [begin, end) read inside the image.
  const int64_t stride = l.stride[1], shift = tap % l.kernel[1] * l.dilation[1] - l.pad[1];
  const int64_t room = l.size[1] - 1 - shift;
  const int64_t end = room < 0 ? 0 : std::min(width, room / stride + 1);
  const int64_t begin = shift >= 0 ? 0 : std::min(end, (-shift + stride - 1) / stride);
  const float* x = plane + source * l.size[1] + shift;
  std::fill_n(y, begin, 0.f);
  if (stride == 1) {
    std::copy(x + begin, x + end, y + begin);
  } else {
    for (int64_t i = begin; i < end; ++i) y[i] = x[i * stride];
  }
  std::fill(y + end, y + width, 0.f);
}

// All taps of one pixel, which are rows of channels.
void FillTaps(const ColumnLayout& l, int64_t row, int64_t column, const float* image, float* y) {
  for (int64_t u = 0; u < l.kernel[0]; ++u) {
    const int64_t from_row = l.Source(0, row, u);
    for (int64_t v = 0; v < l.kernel[1]; ++v, y += l.channels) {
      const int64_t from = l.Source(1, column, v);
      if (from_row < 0 || from < 0) {
        std::fill_n(y, l.channels, 0.f);
      } else {
        std::copy_n(image + (from_row * l.size[1] + from) * l.channels, l.channels, y);
      }
    }
  }
}

}  // namespace

void FillColumns(const ColumnElements& columns, int64_t n, CPUContext* /*context*/) {
  if (n == 0) return;
  const ColumnLayout& l = columns.layout;
  const int64_t area = l.size[0] * l.size[1];
  const int64_t width = l.channels_last ? l.taps() * l.channels : l.output[1];
  ParallelFor(n / width, RowGrain(width, kElementGrain), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* y = columns.y + r * width;
      if (l.channels_last) {
        const int64_t pixel = r % l.pixels();
        FillTaps(l, pixel / l.output[1], pixel % l.output[1],
                 columns.x + r / l.pixels() * area * l.channels, y);
      } else {
        const int64_t plane = r / l.output[0];  // of the columns
        FillColumnsOfRow(l, r % l.output[0], plane % l.taps(), columns.x + plane / l.taps() * area,
                         y);
      }
    }
  });
}

REGISTER_CPU_OPERATOR(Im2Col, Im2ColOp<CPUContext>);
REGISTER_CPU_OPERATOR(Col2Im, Col2ImOp<CPUContext>);
OPERATOR_SCHEMA(Im2Col)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(
          ColumnDims(ColumnLayoutFor(def, GetDimsVector(in[0]))), in[0].data_type())};
    })
    .FillUsing(DescribeWindow)
    .SetDoc(
        "Writes the pixels under a sliding window as channels, so that a product of matrices "
        "computes a convolution.")
    .Input(0, "X", "A float image N x C x H x W, or N x H x W x C.")
    .Output(0, "Y", "N x (C kh kw) x OH x OW, or N x OH x OW x (kh kw C).");
OPERATOR_SCHEMA(Col2Im)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .FillUsing(DescribeWindow)
    .SetDoc("Adds up, for each pixel of an image, the column elements that Im2Col copies it to.")
    .Input(0, "X", "Columns, as Im2Col writes them.")
    .Input(1, "Z", "An image. Only its shape is used.")
    .Output(0, "Y", "The sums, shaped like the image.");
REGISTER_GRADIENT(Im2Col, GradientRule<"Col2Im: GO0 I0 -> GI0">);
REGISTER_GRADIENT(Col2Im, GradientRule<"Im2Col: GO0 -> GI0">);

}  // namespace caffe2
