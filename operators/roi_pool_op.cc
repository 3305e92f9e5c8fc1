// RoIPool: the maxima of a grid of cells over each region of interest (Girshick, ICCV 2015).
#include <cmath>
#include <limits>

#include "operators/element_type.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

constexpr int64_t kRoiSize = 5;  // image, x1, y1, x2, y2

template <class Context>
class RoIPoolBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RoIPoolBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        is_test_(this->template GetSingleArgument<int>("is_test", 0) != 0),
        height_(this->template GetSingleArgument<int>("pooled_h", 1)),
        width_(this->template GetSingleArgument<int>("pooled_w", 1)),
        scale_(this->template GetSingleArgument<float>("spatial_scale", 1.f)) {
    CAFFE_ENFORCE_GT(height_, 0, "the argument pooled_h");
    CAFFE_ENFORCE_GT(width_, 0, "the argument pooled_w");
    CAFFE_ENFORCE_GT(scale_, 0, "the argument spatial_scale");
    const auto order = this->template GetSingleArgument<std::string>("order", "NCHW");
    CAFFE_ENFORCE_EQ(order, "NCHW", "the storage order");
  }

 protected:
  void CheckShapes(const Tensor& X, const Tensor& rois) const {
    CAFFE_ENFORCE_EQ(X.dim(), 4, "X ", ShapeString(X.sizes()), " must be N x C x H x W");
    CAFFE_ENFORCE(rois.dim() == 2 && rois.size(1) == kRoiSize, "RoIs ", ShapeString(rois.sizes()),
                  " must be R x 5");
    CAFFE_ENFORCE_LE(X.size_from_dim(2), std::numeric_limits<int>::max(), "pixels of an image");
  }

  bool is_test_;
  int64_t height_, width_;
  float scale_;
};

// Cell i of n along an axis, of a region that covers [first, last] of `size` pixels.
struct Span {
  int64_t begin = 0, end = 0;
  static Span Of(int64_t i, int64_t n, int64_t first, int64_t last, int64_t size) {
    const double step =
        static_cast<double>(std::max<int64_t>(last - first + 1, 1)) / static_cast<double>(n);
    const auto begin = static_cast<int64_t>(std::floor(static_cast<double>(i) * step));
    const auto end = static_cast<int64_t>(std::ceil(static_cast<double>(i + 1) * step));
    return {std::clamp<int64_t>(begin + first, 0, size), std::clamp<int64_t>(end + first, 0, size)};
  }
};

template <class Context>
class RoIPoolOp final : public RoIPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RoIPoolOp(const OperatorDef& def, Workspace* ws) : RoIPoolBase<Context>(def, ws) {
    CAFFE_ENFORCE(this->is_test_ ? OutputSize() == 1 : OutputSize() == 2,
                  "RoIPool has two outputs, or with is_test one, not ", OutputSize());
  }
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &R = Input(1);
    this->CheckShapes(X, R);
    const std::vector<int64_t> dims{R.size(0), X.size(1), this->height_, this->width_};
    const float *x = X.data<float>(), *rois = R.data<float>();
    Tensor* Y = Output(0);
    Y->Resize(dims);
    float* y = Y->template mutable_data<float>();
    int* argmax = nullptr;
    if (OutputSize() > 1) {
      Output(1)->Resize(dims);
      argmax = Output(1)->template mutable_data<int>();
    }
    const int64_t pooled = CheckedNumel({dims[1], dims[2], dims[3]});
    for (int64_t r = 0; r < dims[0]; ++r) {
      PoolRegion(X, x, rois + r * kRoiSize, y + r * pooled,
                 argmax == nullptr ? nullptr : argmax + r * pooled);
    }
    return true;
  }

 private:
  void PoolRegion(const Tensor& X, const float* x, const float* roi, float* y, int* argmax) const {
    const int64_t channels = X.size(1), h = X.size(2), w = X.size(3);
    CAFFE_ENFORCE(roi[0] >= 0 && roi[0] < static_cast<float>(X.size(0)), "a region of image ",
                  roi[0], " of ", X.size(0));
    int64_t corner[4];
    for (int k = 0; k < 4; ++k) {
      CAFFE_ENFORCE(std::fabs(roi[k + 1]) < 1e9f, "a region's corner at ", roi[k + 1]);
      corner[k] = std::lround(roi[k + 1] * this->scale_);
    }
    x += static_cast<int64_t>(roi[0]) * channels * h * w;
    for (int64_t c = 0; c < channels; ++c, x += h * w) {
      for (int64_t i = 0; i < this->height_; ++i) {
        const Span rows = Span::Of(i, this->height_, corner[1], corner[3], h);
        for (int64_t j = 0; j < this->width_; ++j, ++y) {
          const Span columns = Span::Of(j, this->width_, corner[0], corner[2], w);
          const int64_t at = Largest(x, w, rows, columns);
          *y = at < 0 ? 0 : x[at];
          if (argmax != nullptr) *argmax++ = static_cast<int>(at);
        }
      }
    }
  }
  // The position of the largest pixel; -1 where there is none.
  static int64_t Largest(const float* x, int64_t w, Span rows, Span columns) {
    int64_t best = -1;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        if (best < 0 || x[i * w + j] > x[best]) best = i * w + j;
      }
    }
    return best;
  }
};

// Each output's gradient goes to the pixel it came from.
template <class Context>
class RoIPoolGradientOp final : public RoIPoolBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using RoIPoolBase<Context>::RoIPoolBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &R = Input(1), &argmaxes = Input(2), &dY = Input(3);
    this->CheckShapes(X, R);
    const int64_t area = X.size_from_dim(2), cells = this->height_ * this->width_;
    const int64_t channels = X.size(1);
    CAFFE_ENFORCE(dY.numel() == R.size(0) * channels * cells && argmaxes.numel() == dY.numel(),
                  "gradient ", ShapeString(dY.sizes()), " and argmaxes ",
                  ShapeString(argmaxes.sizes()), " for X ", ShapeString(X.sizes()), " and RoIs ",
                  ShapeString(R.sizes()));
    const float *rois = R.data<float>(), *dy = dY.data<float>();
    const int* argmax = argmaxes.data<int>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->template mutable_data<float>();
    std::fill_n(dx, dX->numel(), 0.f);
    for (int64_t i = 0; i < dY.numel(); ++i) {
      if (argmax[i] < 0) continue;
      const int64_t roi = i / (channels * cells), c = i / cells % channels;
      const auto image = static_cast<int64_t>(rois[roi * kRoiSize]);
      CAFFE_ENFORCE(argmax[i] < area && image >= 0 && image < X.size(0), "argmax ", argmax[i],
                    " of image ", image, " for X ", ShapeString(X.sizes()));
      dx[(image * channels + c) * area + argmax[i]] += dy[i];
    }
    return true;
  }
};

void Arguments(OpSchema& schema) {
  schema.Arg("is_test", "(int, default 0) 1: there is no second output.")
      .Arg("order", "The storage order; only NCHW.")
      .Arg("pooled_h", "(int > 0, default 1) Rows of cells.")
      .Arg("pooled_w", "(int > 0, default 1) Columns of cells.")
      .Arg("spatial_scale", "(float > 0, default 1) Pixels of X for one unit of the regions.");
}

}  // namespace

REGISTER_CPU_OPERATOR(RoIPool, RoIPoolOp<CPUContext>);
REGISTER_CPU_OPERATOR(RoIPoolGradient, RoIPoolGradientOp<CPUContext>);

OPERATOR_SCHEMA(RoIPool)
    .NumInputs(2)
    .NumOutputs(1, 2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const ArgumentHelper arguments(def);
      CAFFE_ENFORCE(in[0].dims_size() == 4 && in[1].dims_size() == 2, "X ",
                    ShapeString(GetDimsVector(in[0])), " and RoIs ",
                    ShapeString(GetDimsVector(in[1])));
      const std::vector<int64_t> dims{in[1].dims(0), in[0].dims(1),
                                      arguments.GetSingleArgument<int>("pooled_h", 1),
                                      arguments.GetSingleArgument<int>("pooled_w", 1)};
      std::vector<TensorShape> out{CreateTensorShape(dims, in[0].data_type()),
                                   CreateTensorShape(dims, TensorProto::INT32)};
      out.resize(def.output_size());
      return out;
    })
    .FillUsing(Arguments)
    .SetDoc(
        "Divides each region into pooled_h x pooled_w cells and takes the maximum of each "
        "channel in each (Girshick, ICCV 2015). Cells share the pixels on their edges; a cell "
        "outside the image gives 0. Corners are scaled and rounded to whole pixels.")
    .Input(0, "X", "A float tensor N x C x H x W.")
    .Input(1, "RoIs", "Float R x 5: image index, x1, y1, x2, y2 (inclusive) of each region.")
    .Output(0, "Y", "R x C x pooled_h x pooled_w.")
    .Output(1, "argmaxes", "int32, like Y: the pixel of each maximum, -1 where there is none.");
OPERATOR_SCHEMA(RoIPoolGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(Arguments)
    .SetDoc("The gradient of RoIPool for X; the regions get none.")
    .Input(0, "X", "As in the forward operator; its shape counts.")
    .Input(1, "RoIs", "As in the forward operator.")
    .Input(2, "argmaxes", "The second output of the forward operator.")
    .Input(3, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(RoIPool, GradientRule<"I0 I1 O1 GO0 -> GI0">);

}  // namespace caffe2
