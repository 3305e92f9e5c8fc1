// LC, LC1D, LC2D and LC3D: convolution with a filter of its own at every position.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/conv_pool_shape.h"

namespace caffe2 {
namespace {

// One locally connected layer but its data. At each of `positions` the layer multiplies the patch
// of the input under the window, `patch` values a group, with a matrix of outputs / group rows.
struct LocalShape {
  ImageShape x, y;
  std::vector<int64_t> filter, bias;
  int64_t group = 1, positions = 0, window = 0;
  bool channels_last = false;
  // The pixel of X under element k of the window at position p: source[p * window + k]; -1 outside.
  std::vector<int64_t> source;

  int64_t depth() const { return x.channels / group; }
  int64_t patch() const { return depth() * window; }
  int64_t rows() const { return y.channels / group; }
  // Where channel c of a pixel lies in its image.
  int64_t At(const ImageShape& image, int64_t pixels, int64_t c, int64_t pixel) const {
    return channels_last ? pixel * image.channels + c : c * pixels + pixel;
  }
  int64_t FilterAt(int64_t position, int64_t m) const {
    return (position * y.channels + m) * patch();
  }

  // Throws EnforceNotMet, naming shapes, if input and filter do not fit the arguments.
  static LocalShape Make(const WindowArguments& arguments, const std::vector<int64_t>& x_dims,
                         const std::vector<int64_t>& filter_dims);

 private:
  void FindSources(const Window& geometry);
};

LocalShape LocalShape::Make(const WindowArguments& arguments, const std::vector<int64_t>& x_dims,
                            const std::vector<int64_t>& filter_dims) {
  LocalShape shape;
  shape.channels_last = arguments.channels_last();
  shape.group = arguments.group();
  shape.x = ImageShape::FromDims(x_dims, arguments.order());
  const Window geometry = arguments.Resolve(shape.x.spatial);
  const size_t rank = shape.x.spatial.size();
  CAFFE_ENFORCE(filter_dims.size() == 2 * rank + 2, "the filter ", ShapeString(filter_dims),
                " must have ", 2 * rank + 2, " axes: output positions, M, C / group and kernel");
  const int64_t outputs = filter_dims[rank];
  CAFFE_ENFORCE(shape.x.channels % shape.group == 0 && outputs % shape.group == 0, "the channels ",
                shape.x.channels, " and ", outputs, " do not divide into ", shape.group, " groups");
  shape.filter = geometry.output;
  shape.bias = geometry.output;
  shape.bias.push_back(outputs);
  shape.filter.push_back(outputs);
  if (!shape.channels_last) shape.filter.push_back(shape.depth());
  shape.filter.insert(shape.filter.end(), geometry.kernel.begin(), geometry.kernel.end());
  if (shape.channels_last) shape.filter.push_back(shape.depth());
  CAFFE_ENFORCE(filter_dims == shape.filter, "the filter is ", ShapeString(filter_dims), ", but X ",
                ShapeString(x_dims), " and the arguments ask for ", ShapeString(shape.filter));
  shape.y = {shape.x.batch, outputs, geometry.output};
  shape.positions = CheckedNumel(geometry.output);
  shape.window = CheckedNumel(geometry.kernel);
  shape.FindSources(geometry);
  return shape;
}

void LocalShape::FindSources(const Window& geometry) {
  source.resize(positions * window);
  for (int64_t i = 0; i < positions * window; ++i) {
    int64_t position = i / window, element = i % window, pixel = 0, stride = 1;
    for (size_t axis = x.spatial.size(); axis-- > 0;) {
      const int64_t at = position % geometry.output[axis] * geometry.stride[axis] +
                         element % geometry.kernel[axis] * geometry.dilation[axis] -
                         geometry.pad_begin[axis];
      position /= geometry.output[axis];
      element /= geometry.kernel[axis];
      if (at < 0 || at >= x.spatial[axis]) pixel = -1;
      if (pixel >= 0) pixel += at * stride;
      stride *= x.spatial[axis];
    }
    source[i] = pixel;
  }
}

class LocalBase : public Operator<CPUContext> {
 public:
  LocalBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), arguments_(ArgumentHelper(def)) {
    CAFFE_ENFORCE(!arguments_.global_pooling(), "a locally connected layer has no global_pooling");
  }

 protected:
  LocalShape Shape() const {
    return LocalShape::Make(arguments_, Input(0).sizes(), Input(1).sizes());
  }
  // Calls visit(i, at): element i of the patch of a group at a position lies at `at` of the image.
  // Elements outside are left out. The order is that of the filter's.
  template <class Visit>
  static void ForPatch(const LocalShape& s, int64_t position, int64_t g, const Visit& visit) {
    const int64_t pixels = s.x.SpatialSize();
    for (int64_t k = 0; k < s.window; ++k) {
      const int64_t pixel = s.source[position * s.window + k];
      if (pixel < 0) continue;
      for (int64_t c = 0; c < s.depth(); ++c) {
        visit(s.channels_last ? k * s.depth() + c : c * s.window + k,
              s.At(s.x, pixels, g * s.depth() + c, pixel));
      }
    }
  }
  static void ReadPatch(const LocalShape& s, int64_t position, int64_t g, const float* image,
                        std::vector<float>* patch) {
    patch->assign(s.patch(), 0.f);
    ForPatch(s, position, g, [=](int64_t i, int64_t at) { (*patch)[i] = image[at]; });
  }

  WindowArguments arguments_;
};

// X, filter, [bias] -> Y.
class LocallyConnectedOp final : public LocalBase {
 public:
  using LocalBase::LocalBase;
  bool RunOnDevice() override {
    const LocalShape s = Shape();
    const float *x = Input(0).data<float>(), *filter = Input(1).data<float>(), *bias = nullptr;
    if (InputSize() > 2) {
      CAFFE_ENFORCE(Input(2).sizes() == s.bias, "the bias is ", ShapeString(Input(2).sizes()),
                    ", not ", ShapeString(s.bias));
      bias = Input(2).data<float>();
    }
    Output(0)->Resize(s.y.ToDims(arguments_.order()));
    float* y = Output(0)->mutable_data<float>();
    const int64_t image_size = s.x.channels * s.x.SpatialSize();
    ParallelFor(s.positions, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> patch;
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t n = 0; n < s.x.batch; ++n) {
          for (int64_t m = 0; m < s.y.channels; ++m) {
            if (m % s.rows() == 0) ReadPatch(s, p, m / s.rows(), x + n * image_size, &patch);
            const float* weights = filter + s.FilterAt(p, m);
            float sum = bias == nullptr ? 0.f : bias[p * s.y.channels + m];
            for (int64_t i = 0; i < s.patch(); ++i) sum += weights[i] * patch[i];
            y[n * s.y.channels * s.positions + s.At(s.y, s.positions, m, p)] = sum;
          }
        }
      }
    });
    return true;
  }
};

// X, filter, dY -> dfilter, [dbias], [dX].
class LocallyConnectedGradientOp final : public LocalBase {
 public:
  LocallyConnectedGradientOp(const OperatorDef& def, Workspace* ws)
      : LocalBase(def, ws), no_bias_(GetSingleArgument<bool>("no_bias", false)) {
    CAFFE_ENFORCE(OutputSize() <= (no_bias_ ? 2 : 3), "no_bias leaves no output for dbias");
  }
  bool RunOnDevice() override {
    const LocalShape s = Shape();
    CAFFE_ENFORCE(Input(2).sizes() == s.y.ToDims(arguments_.order()), "dY has shape ",
                  ShapeString(Input(2).sizes()), ", Y ",
                  ShapeString(s.y.ToDims(arguments_.order())));
    float* dbias = nullptr;
    if (!no_bias_ && OutputSize() > 1) {
      Output(1)->Resize(s.bias);
      dbias = Output(1)->mutable_data<float>();
      std::fill_n(dbias, Output(1)->numel(), 0.f);
    }
    Output(0)->ResizeLike(Input(1));
    ByParameters(s, Output(0)->mutable_data<float>(), dbias);
    const int dx = no_bias_ ? 1 : 2;
    if (OutputSize() > dx) {
      Output(dx)->ResizeLike(Input(0));
      ByInput(s, Output(dx)->mutable_data<float>());
    }
    return true;
  }

 private:
  float DY(const LocalShape& s, int64_t n, int64_t m, int64_t p) const {
    return Input(2).data<float>()[n * s.y.channels * s.positions + s.At(s.y, s.positions, m, p)];
  }
  // A position belongs to one thread.
  void ByParameters(const LocalShape& s, float* dfilter, float* dbias) const {
    const float* x = Input(0).data<float>();
    const int64_t image_size = s.x.channels * s.x.SpatialSize();
    std::fill_n(dfilter, CheckedNumel(s.filter), 0.f);
    ParallelFor(s.positions, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> patch;
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t n = 0; n < s.x.batch; ++n) {
          for (int64_t m = 0; m < s.y.channels; ++m) {
            if (m % s.rows() == 0) ReadPatch(s, p, m / s.rows(), x + n * image_size, &patch);
            const float dy = DY(s, n, m, p);
            float* to = dfilter + s.FilterAt(p, m);
            for (int64_t i = 0; i < s.patch(); ++i) to[i] += dy * patch[i];
            if (dbias != nullptr) dbias[p * s.y.channels + m] += dy;
          }
        }
      }
    });
  }
  // An image belongs to one thread.
  void ByInput(const LocalShape& s, float* dx) const {
    const float* filter = Input(1).data<float>();
    const int64_t image_size = s.x.channels * s.x.SpatialSize();
    std::fill_n(dx, s.x.batch * image_size, 0.f);
    ParallelFor(s.x.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        float* image = dx + n * image_size;
        for (int64_t p = 0; p < s.positions; ++p) {
          for (int64_t m = 0; m < s.y.channels; ++m) {
            const float dy = DY(s, n, m, p);
            const float* weights = filter + s.FilterAt(p, m);
            ForPatch(s, p, m / s.rows(),
                     [=](int64_t i, int64_t at) { image[at] += dy * weights[i]; });
          }
        }
      }
    });
  }

  bool no_bias_;
};

void DescribeLocal(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const WindowArguments arguments{ArgumentHelper(def)};
        const LocalShape shape =
            LocalShape::Make(arguments, GetDimsVector(in[0]), GetDimsVector(in[1]));
        return std::vector<TensorShape>{
            CreateTensorShape(shape.y.ToDims(arguments.order()), in[0].data_type())};
      })
      .FillUsing(DescribeWindow)
      .Arg("group", "Groups that channels of X and Y divide into, default 1.")
      .SetDoc(
          "A locally connected layer: a convolution whose filter and bias are others at every "
          "position. LC takes one to three spatial axes; LC1D, LC2D and LC3D are its names for a "
          "given number.")
      .Input(0, "X", "Float, N x C x spatial (NCHW) or N x spatial x C (NHWC).")
      .Input(1, "filter",
             "Float: output positions x M x C / group x kernel (NCHW), or output positions x M x "
             "kernel x C / group (NHWC).")
      .Input(2, "bias", "Optional: float, output positions x M.")
      .Output(0, "Y", "Float, N x M x output positions, or N x output positions x M.");
}
void DescribeLocalGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1, 3)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const ArgumentHelper arguments(def);
        const LocalShape shape = LocalShape::Make(WindowArguments(arguments), GetDimsVector(in[0]),
                                                  GetDimsVector(in[1]));
        std::vector<TensorShape> out{in[1]};
        if (!arguments.GetSingleArgument<bool>("no_bias", false)) {
          out.push_back(CreateTensorShape(shape.bias, in[0].data_type()));
        }
        out.push_back(in[0]);
        out.resize(def.output_size());
        return out;
      })
      .FillUsing(DescribeWindow)
      .Arg("group", "As in the forward operator.")
      .Arg("no_bias", "1: there is no bias, and no output dbias. Default 0.")
      .SetDoc("The gradients of a locally connected layer.")
      .Input(0, "X", "As in the forward operator.")
      .Input(1, "filter", "As in the forward operator.")
      .Input(2, "dY", "The gradient of Y.")
      .Output(0, "dfilter", "The gradient of the filter.")
      .Output(1, "dbias", "The gradient of the bias. With no_bias: dX.")
      .Output(2, "dX", "The gradient of X.");
}

class GetLocallyConnectedGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const bool has_bias = Def().input_size() > 2;
    std::vector<std::string> outputs{GI(1)};
    if (has_bias) outputs.push_back(GI(2));
    if (!ArgumentHelper(Def()).GetSingleArgument<bool>("no_gradient_to_input", false)) {
      outputs.push_back(GI(0));
    }
    return SingleGradientDef(Def().type() + "Gradient", "", std::vector{I(0), I(1), GO(0)}, outputs,
                             std::vector{MakeArgument<int>("no_bias", has_bias ? 0 : 1)});
  }
};

}  // namespace

#define REGISTER_LOCALLY_CONNECTED(name)                             \
  REGISTER_CPU_OPERATOR(name, LocallyConnectedOp);                   \
  REGISTER_CPU_OPERATOR(name##Gradient, LocallyConnectedGradientOp); \
  OPERATOR_SCHEMA(name).FillUsing(DescribeLocal);                    \
  OPERATOR_SCHEMA(name##Gradient).FillUsing(DescribeLocalGradient);  \
  REGISTER_GRADIENT(name, GetLocallyConnectedGradient)
REGISTER_LOCALLY_CONNECTED(LC);
REGISTER_LOCALLY_CONNECTED(LC1D);
REGISTER_LOCALLY_CONNECTED(LC2D);
REGISTER_LOCALLY_CONNECTED(LC3D);

}  // namespace caffe2
