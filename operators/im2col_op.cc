// Im2Col and Col2Im: the windows of an image as columns, and back.
#include "caffe2/core/operator.h"
#include "operators/conv_pool_shape.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

// Where the elements of an image go: the window geometry of an N x C x H x W (or N x H x W x C)
// image and of its columns, N x (C kh kw) x oh x ow (or N x oh x ow x (kh kw C)).
struct Columns {
  ImageShape image;
  Window window;
  bool channels_last = false;

  static Columns Make(const OperatorDef& def, const std::vector<int64_t>& dims) {
    const WindowArguments arguments{ArgumentHelper(def)};
    CAFFE_ENFORCE_EQ(dims.size(), 4u, "dimensions of the image");
    Columns columns{ImageShape::FromDims(dims, arguments.order()), {}, arguments.channels_last()};
    columns.window = arguments.Resolve(columns.image.spatial);
    return columns;
  }
  int64_t Taps() const { return CheckedNumel({window.kernel[0], window.kernel[1]}); }
  std::vector<int64_t> Dims() const {
    const ImageShape shape{image.batch, CheckedNumel({image.channels, Taps()}), window.output};
    return shape.ToDims(channels_last ? StorageOrder::kNHWC : StorageOrder::kNCHW);
  }

  // Calls body(image offset or -1, column offset) for each element of the columns.
  template <typename Body>
  void ForEach(const Body& body) const {
    const int64_t h = image.spatial[0], w = image.spatial[1], c = image.channels;
    const int64_t oh = window.output[0], ow = window.output[1], taps = Taps();
    for (int64_t n = 0; n < image.batch; ++n) {
      for (int64_t channel = 0; channel < c; ++channel) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t pixel = 0; pixel < oh * ow; ++pixel) {
            const int64_t y = pixel / ow * window.stride[0] - window.pad_begin[0] +
                              tap / window.kernel[1] * window.dilation[0];
            const int64_t x = pixel % ow * window.stride[1] - window.pad_begin[1] +
                              tap % window.kernel[1] * window.dilation[1];
            const bool inside = y >= 0 && y < h && x >= 0 && x < w;
            if (channels_last) {
              body(inside ? ((n * h + y) * w + x) * c + channel : -1,
                   ((n * oh * ow + pixel) * taps + tap) * c + channel);
            } else {
              body(inside ? ((n * c + channel) * h + y) * w + x : -1,
                   ((n * c + channel) * taps + tap) * oh * ow + pixel);
            }
          }
        }
      }
    }
  }
};

class Im2ColOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Columns columns = Columns::Make(debug_def(), X.sizes());
    const float* x = X.data<float>();
    Output(0)->Resize(columns.Dims());
    float* y = Output(0)->mutable_data<float>();
    columns.ForEach([=](int64_t from, int64_t to) { y[to] = from < 0 ? 0.f : x[from]; });
    return true;
  }
};

class Col2ImOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &image = Input(1);
    const Columns columns = Columns::Make(debug_def(), image.sizes());
    CAFFE_ENFORCE_EQ(X.numel(), CheckedNumel(columns.Dims()), "elements of the columns ",
                     ShapeString(X.sizes()), " for the image ", ShapeString(image.sizes()));
    const float* x = X.data<float>();
    Output(0)->ResizeLike(image);
    float* y = Output(0)->mutable_data<float>();
    std::fill_n(y, image.numel(), 0.f);
    columns.ForEach([=](int64_t to, int64_t from) {
      if (to >= 0) y[to] += x[from];
    });
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Im2Col, Im2ColOp);
REGISTER_CPU_OPERATOR(Col2Im, Col2ImOp);
OPERATOR_SCHEMA(Im2Col)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(Columns::Make(def, GetDimsVector(in[0])).Dims(), in[0].data_type())};
    })
    .FillUsing(DescribeWindow)
    .SetDoc("The pixels under a sliding window as channels: what a convolution multiplies.")
    .Input(0, "X", "A float image N x C x H x W, or N x H x W x C.")
    .Output(0, "Y", "N x (C kh kw) x OH x OW, or N x OH x OW x (kh kw C).");
OPERATOR_SCHEMA(Col2Im)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .FillUsing(DescribeWindow)
    .SetDoc("Adds up, for each pixel of an image, the columns that Im2Col makes of it.")
    .Input(0, "X", "Columns, as Im2Col makes them.")
    .Input(1, "Z", "An image, of which only the shape is used.")
    .Output(0, "Y", "The sums, shaped like the image.");
REGISTER_GRADIENT(Im2Col, GradientRule<"Col2Im: GO0 I0 -> GI0">);
REGISTER_GRADIENT(Col2Im, GradientRule<"Im2Col: GO0 -> GI0">);

}  // namespace caffe2
