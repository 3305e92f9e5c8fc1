// RMSNorm: rows are divided by their root mean square, then scaled and shifted.
#include <cmath>

#include "operators/element_type.h"
#include "operators/gradient_rule.h"
#include "operators/row_shape.h"

namespace caffe2 {
namespace {

using RmsNormTypes = TensorTypes<float, double>;

// The rows of X: the axes before `axis` count them, the others are theirs.
struct Rows {
  int axis = 1;
  int64_t count = 0, size = 0;
  int64_t grain() const {
    return std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, size));
  }

  // Throws unless gamma is as large as a row.
  static Rows Of(const Tensor& x, int axis, const Tensor& gamma) {
    Rows rows;
    rows.axis = x.canonical_axis_index(axis);
    rows.count = x.size_to_dim(rows.axis);
    rows.size = x.size_from_dim(rows.axis);
    CAFFE_ENFORCE_EQ(gamma.numel(), rows.size, "gamma or beta ", ShapeString(gamma.sizes()),
                     " for X ", ShapeString(x.sizes()), " with axis ", axis);
    return rows;
  }
};

class RmsNormOp final : public Operator<CPUContext> {
 public:
  RmsNormOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        axis_(GetSingleArgument<int>("axis", 1)),
        eps_(GetSingleArgument<float>("eps", 0.f)) {
    CAFFE_ENFORCE_GE(eps_, 0, "argument eps");
  }
  bool RunOnDevice() override { return RmsNormTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const Rows rows = Rows::Of(X, axis_, Input(1));
    CAFFE_ENFORCE_EQ(Input(2).numel(), rows.size, "beta");
    const T *x = X.data<T>(), *gamma = Input(1).data<T>(), *beta = Input(2).data<T>();
    Output(0)->ResizeLike(X);
    Output(1)->Resize(std::vector<int64_t>(X.sizes().begin(), X.sizes().begin() + rows.axis));
    T *y = Output(0)->mutable_data<T>(), *rrms = Output(1)->mutable_data<T>();
    ParallelFor(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = x + i * rows.size;
        double squares = 0;
        for (int64_t j = 0; j < rows.size; ++j) squares += static_cast<double>(row[j]) * row[j];
        const double mean = squares / static_cast<double>(std::max<int64_t>(1, rows.size));
        rrms[i] = static_cast<T>(1 / std::sqrt(mean + eps_));
        for (int64_t j = 0; j < rows.size; ++j) {
          y[i * rows.size + j] = row[j] * rrms[i] * gamma[j] + beta[j];
        }
      }
    });
    return true;
  }

 private:
  int axis_;
  float eps_;
};

// With r = rrms of the row:
//   dx = r gamma dy - r^3 x mean(gamma dy x),  dgamma = sum dy x r,  dbeta = sum dy
class RmsNormGradientOp final : public Operator<CPUContext> {
 public:
  RmsNormGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), axis_(GetSingleArgument<int>("axis", 1)) {}
  bool RunOnDevice() override { return RmsNormTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1), &gamma = Input(2), &rrms = Input(3);
    const Rows rows = Rows::Of(X, axis_, gamma);
    CAFFE_ENFORCE(dY.numel() == X.numel() && rrms.numel() == rows.count, "dY ",
                  ShapeString(dY.sizes()), " and rrms ", ShapeString(rrms.sizes()), " for X ",
                  ShapeString(X.sizes()));
    Output(0)->ResizeLike(X);
    for (int i : {1, 2}) Output(i)->ResizeLike(gamma);
    GradientOfX(rows, dY.data<T>(), X.data<T>(), gamma.data<T>(), rrms.data<T>(),
                Output(0)->mutable_data<T>());
    GradientOfParameters(rows, dY.data<T>(), X.data<T>(), rrms.data<T>(),
                         Output(1)->mutable_data<T>(), Output(2)->mutable_data<T>());
    return true;
  }

 private:
  template <typename T>
  static void GradientOfX(const Rows& rows, const T* dy, const T* x, const T* gamma, const T* rrms,
                          T* dx) {
    ParallelFor(rows.count, rows.grain(), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i * rows.size;
        double dot = 0;
        for (int64_t j = 0; j < rows.size; ++j) {
          dot += static_cast<double>(gamma[j]) * dy[row + j] * x[row + j];
        }
        const double r = rrms[i];
        const auto factor = static_cast<T>(r * r * r * dot / static_cast<double>(rows.size));
        for (int64_t j = 0; j < rows.size; ++j) {
          dx[row + j] = rrms[i] * gamma[j] * dy[row + j] - factor * x[row + j];
        }
      }
    });
  }
  template <typename T>
  static void GradientOfParameters(const Rows& rows, const T* dy, const T* x, const T* rrms,
                                   T* dgamma, T* dbeta) {
    std::vector<double> sums(2 * rows.size, 0.);
    for (int64_t i = 0; i < rows.count; ++i) {
      for (int64_t j = 0; j < rows.size; ++j) {
        const double g = dy[i * rows.size + j];
        sums[j] += g * x[i * rows.size + j] * rrms[i];
        sums[rows.size + j] += g;
      }
    }
    for (int64_t j = 0; j < rows.size; ++j) {
      dgamma[j] = static_cast<T>(sums[j]);
      dbeta[j] = static_cast<T>(sums[rows.size + j]);
    }
  }

  int axis_;
};

}  // namespace

REGISTER_CPU_OPERATOR(RMSNorm, RmsNormOp);
REGISTER_CPU_OPERATOR(RMSNormGradient, RmsNormGradientOp);

OPERATOR_SCHEMA(RMSNorm)
    .NumInputs(3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const std::vector<int64_t> dims = DimsOfRows(def, in[0]);
      return std::vector<TensorShape>{in[0], CreateTensorShape(dims, in[0].data_type())};
    })
    .SetDoc(
        "Root mean square normalization (Zhang and Sennrich, 2019): Y = gamma * X * rrms + beta, "
        "with rrms = 1 / sqrt(mean(X^2) + eps) over each row.")
    .Arg("axis",
         "(int, default 1) The rows are the axes before this one, their elements the others.")
    .Arg("eps", "(float >= 0, default 0) Added to the mean square.")
    .Input(0, "X", "A float or double tensor.")
    .Input(1, "gamma", "As large as a row, of X's type.")
    .Input(2, "beta", "As large as a row, of X's type.")
    .Output(0, "Y", "The result, shaped like X.")
    .Output(1, "rrms", "The reciprocal root mean square of each row: the axes before `axis`.");
OPERATOR_SCHEMA(RMSNormGradient)
    .NumInputs(4)
    .NumOutputs(3)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[1], in[2], in[2]};
    })
    .SetDoc("The gradients of RMSNorm.")
    .Arg("axis", "As in RMSNorm.")
    .Input(0, "dY", "The gradient of Y.")
    .Input(1, "X", "As in RMSNorm.")
    .Input(2, "gamma", "As in RMSNorm.")
    .Input(3, "rrms", "The second output of RMSNorm.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dgamma", "The gradient of gamma.")
    .Output(2, "dbeta", "The gradient of beta.");
REGISTER_GRADIENT(RMSNorm, GradientRule<"GO0 I0 I1 O1 -> GI0 GI1 GI2">);

}  // namespace caffe2
