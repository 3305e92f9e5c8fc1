// CopyRowsToTensor: some rows of a matrix set to one row.
#include <algorithm>

#include "operators/element_type.h"
#include "operators/indices.h"
#include "operators/row_copier.h"

namespace caffe2 {
namespace {

class CopyRowsToTensorOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &row = Input(2);
    CAFFE_ENFORCE(X.dim() == 2 && X.has_data(), "input_tensor ", ShapeString(X.sizes()),
                  " must be a matrix");
    CAFFE_ENFORCE(row.dim() == 1 && row.numel() == X.size(1) && row.dtype() == X.dtype(),
                  "width of input tensor should match lengths of row: ", X.DebugString(), " and ",
                  row.DebugString());
    const std::vector<int64_t> indices = ReadIndices(Input(1), X.size(0));
    const TypeMeta meta = X.dtype();
    if (!IsInputOutputAlias(0, 0)) Output(0)->CopyFrom(X);
    char* y = static_cast<char*>(Output(0)->raw_mutable_data(meta));
    for (const int64_t i : indices)
      CopyItems(meta, row.numel(), row.raw_data(), y + i * row.nbytes());
    return true;
  }
};

// dX = dY but for the rows that were overwritten, which get 0; the row gets the sum of theirs.
class CopyRowsToTensorGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(1).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& dY = Input(1);
    CAFFE_ENFORCE_EQ(dY.dim(), 2, "the gradient ", ShapeString(dY.sizes()), " must be a matrix");
    std::vector<int64_t> indices = ReadIndices(Input(0), dY.size(0));
    std::sort(indices.begin(), indices.end());  // a row that came twice counts once
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    const int64_t width = dY.size(1);
    std::vector<ArithmeticType<T>> sum(width, 0);
    Output(0)->CopyFrom(dY);
    T* dx = Output(0)->mutable_data<T>();
    for (const int64_t i : indices) {
      for (int64_t j = 0; j < width; ++j) sum[j] += Widen(dx[i * width + j]);
      std::fill_n(dx + i * width, width, Narrow<T>(0));
    }
    Output(1)->Resize(width);
    std::transform(sum.begin(), sum.end(), Output(1)->mutable_data<T>(), &Narrow<T>);
    return true;
  }
};

class GetCopyRowsToTensorGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("CopyRowsToTensorGradient", "", std::vector{I(1), GO(0)},
                             std::vector{GI(0), GI(2)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(CopyRowsToTensor, CopyRowsToTensorOp);
REGISTER_CPU_OPERATOR(CopyRowsToTensorGradient, CopyRowsToTensorGradientOp);
OPERATOR_SCHEMA(CopyRowsToTensor)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Sets some rows of a matrix to one row.")
    .Input(0, "input_tensor", "A matrix of any type.")
    .Input(1, "indices", "int32 or int64: the rows to set.")
    .Input(2, "row", "The row, one-dimensional, of the matrix's type.")
    .Output(0, "output_tensor", "The matrix with its new rows; may overwrite it.");
OPERATOR_SCHEMA(CopyRowsToTensorGradient)
    .NumInputs(2)
    .NumOutputs(2)
    .AllowInplace({{1, 0}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out(2, UnknownTensorShape());
      if (in[1].dims_size() != 2) return out;
      out[0] = in[1];
      out[1] = CreateTensorShape({in[1].dims(1)}, in[1].data_type());
      return out;
    })
    .SetDoc("The gradient of CopyRowsToTensor.")
    .Input(0, "indices", "The rows that were set.")
    .Input(1, "d_output", "The gradient of the output.")
    .Output(0, "d_input", "It, with zeros in the rows that were set.")
    .Output(1, "d_row", "The sum of those rows.");
REGISTER_GRADIENT(CopyRowsToTensor, GetCopyRowsToTensorGradient);

}  // namespace caffe2
