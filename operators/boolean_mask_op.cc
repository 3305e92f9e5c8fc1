// BooleanMask, BooleanMaskLengths, BooleanUnmask: choosing rows by a mask.
#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"
#include "operators/indices.h"
#include "operators/row_copier.h"

namespace caffe2 {
namespace {

class BooleanMaskOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &mask = Input(1);
    CAFFE_ENFORCE(X.dim() >= 1 && mask.dim() == 1 && mask.size(0) == X.size(0) && X.has_data(),
                  "mask ", ShapeString(mask.sizes()), " for data ", ShapeString(X.sizes()),
                  ": one bool for each row is needed");
    const bool* keep = mask.data<bool>();
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < X.size(0); ++i) {
      if (keep[i]) rows.push_back(i);
    }
    const auto count = static_cast<int64_t>(rows.size());
    RowCopier copier(X, count, Output(0));
    for (const int64_t row : rows) copier.Append(row);
    if (OutputSize() > 1) {
      Output(1)->Resize(count);
      std::copy(rows.begin(), rows.end(), Output(1)->mutable_data<int64_t>());
    }
    return true;
  }
};

class BooleanMaskLengthsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &lengths = Input(0), &mask = Input(1);
    CAFFE_ENFORCE(lengths.dim() == 1 && mask.dim() == 1, "lengths ", ShapeString(lengths.sizes()),
                  " and mask ", ShapeString(mask.sizes()), " must be one-dimensional");
    const T* length = lengths.data<T>();
    const bool* keep = mask.data<bool>();
    Tensor* Y = Output(0);
    Y->ResizeLike(lengths);
    T* y = Y->mutable_data<T>();
    int64_t at = 0;
    for (int64_t i = 0; i < lengths.numel(); ++i) {
      CAFFE_ENFORCE(length[i] >= 0 && length[i] <= mask.numel() - at, "length ", length[i], " at ",
                    i, " for a mask of ", mask.numel());
      y[i] = static_cast<T>(std::count(keep + at, keep + at + length[i], true));
      at += length[i];
    }
    CAFFE_ENFORCE_EQ(at, mask.numel(), "the sum of the lengths and the size of the mask");
    return true;
  }
};

// Of each position the value of the first mask that holds there.
class BooleanUnmaskOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const int pairs = InputSize() / 2;
    const int64_t n = Input(0).numel();
    const TypeMeta meta = Input(1).dtype();
    std::vector<int64_t> next(pairs, 0);
    Tensor* Y = Output(0);
    Y->Resize(n);
    char* y = static_cast<char*>(Y->raw_mutable_data(meta));
    for (int k = 0; k < pairs; ++k) {
      const Tensor &mask = Input(2 * k), &values = Input(2 * k + 1);
      CAFFE_ENFORCE(mask.dim() == 1 && mask.numel() == n && values.dim() == 1, "mask ", k, " ",
                    ShapeString(mask.sizes()), " and values ", ShapeString(values.sizes()),
                    " must be one-dimensional, all masks of ", n, " elements");
      CAFFE_ENFORCE(values.dtype() == meta && values.has_data(), "values ", k, " are ",
                    values.dtype().name(), ", not ", meta.name());
    }
    for (int64_t i = 0; i < n; ++i) {
      const int k = FirstMask(i, pairs);
      const Tensor& values = Input(2 * k + 1);
      CAFFE_ENFORCE_LT(next[k], values.numel(), "mask ", k, " asks for more values than there are");
      context_.CopyItems(meta, 1,
                         static_cast<const char*>(values.raw_data()) + next[k]++ * meta.itemsize(),
                         y + i * meta.itemsize());
    }
    for (int k = 0; k < pairs; ++k) {
      CAFFE_ENFORCE_EQ(next[k], Input(2 * k + 1).numel(), "values of mask ", k, " that were used");
    }
    return true;
  }

 private:
  int FirstMask(int64_t i, int pairs) const {
    for (int k = 0; k < pairs; ++k) {
      if (Input(2 * k).data<bool>()[i]) return k;
    }
    CAFFE_THROW("no mask holds at position ", i);
  }
};

// Inputs mask, dY; output dX: the rows that were kept get the gradient's rows, the others 0.
class BooleanMaskGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &mask = Input(0), &dY = Input(1);
    CAFFE_ENFORCE_GE(dY.dim(), 1, "the gradient must have rows");
    const bool* kept = mask.data<bool>();
    CAFFE_ENFORCE_EQ(std::count(kept, kept + mask.numel(), true), dY.size(0),
                     "rows of the gradient ", ShapeString(dY.sizes()));
    std::vector<int64_t> shape = dY.sizes();
    shape[0] = mask.numel();
    Tensor* dX = Output(0);
    dX->Resize(shape);
    const int64_t row = dY.size_from_dim(1);
    const float* dy = dY.data<float>();
    float* dx = dX->mutable_data<float>();
    for (int64_t i = 0; i < mask.numel(); ++i, dx += row) {
      if (kept[i]) {
        std::copy_n(dy, row, dx);
        dy += row;
      } else {
        std::fill_n(dx, row, 0.f);
      }
    }
    return true;
  }
};

class GetBooleanMaskGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("BooleanMaskGradient", "", std::vector<std::string>{I(1), GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(BooleanMask, BooleanMaskOp);
REGISTER_CPU_OPERATOR(BooleanMaskGradient, BooleanMaskGradientOp);
REGISTER_CPU_OPERATOR(BooleanMaskLengths, BooleanMaskLengthsOp);
REGISTER_CPU_OPERATOR(BooleanUnmask, BooleanUnmaskOp);
OPERATOR_SCHEMA(BooleanMask)
    .NumInputs(2)
    .NumOutputs(1, 2)
    .SetDoc(
        "The rows of data at which the mask is true. How many there are is known at run time "
        "only. The gradient is 0 for the other rows.")
    .Input(0, "data", "A tensor of any type with at least one dimension.")
    .Input(1, "mask", "Bool, one for each row.")
    .Output(0, "masked_data", "The rows that are kept.")
    .Output(1, "masked_indices", "Optional int64: their numbers.");
OPERATOR_SCHEMA(BooleanMaskGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> shape = GetDimsVector(in[1]);
      if (!shape.empty()) shape[0] = in[0].dims(0);
      return std::vector<TensorShape>{CreateTensorShape(shape, in[1].data_type())};
    })
    .SetDoc("The gradient of BooleanMask: dY where the mask is true, else 0.")
    .Input(0, "mask", "Bool, one for each row.")
    .Input(1, "dY", "The gradient of the rows that were kept, float.")
    .Output(0, "dX", "The gradient of all rows.");
OPERATOR_SCHEMA(BooleanMaskLengths)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("How long each segment is after BooleanMask: the number of true elements in it.")
    .Input(0, "lengths", "int32 or int64: the lengths before; they add up to the mask's size.")
    .Input(1, "mask", "Bool, one-dimensional.")
    .Output(0, "masked_lengths", "The lengths after.");
OPERATOR_SCHEMA(BooleanUnmask)
    .NumInputs([](int n) { return n > 0 && n % 2 == 0; })
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), in[1].data_type())};
    })
    .SetDoc(
        "Puts together what several masks took apart: each position takes the next value of the "
        "first mask that is true there. Every position needs one, and every value a position.")
    .Input(0, "mask", "Bool, one-dimensional; further pairs of mask and values follow.")
    .Input(1, "values", "Values of any type, one for each position that takes one.")
    .Output(0, "unmasked", "The values, shaped like a mask.");
REGISTER_GRADIENT(BooleanMask, GetBooleanMaskGradient);
NO_GRADIENT(BooleanMaskLengths);
NO_GRADIENT(BooleanUnmask);

}  // namespace caffe2
