// CopyRowsToTensor: sets some rows of a matrix to one row.
#include "operators/sparse/copy_rows_to_tensor_op.h"

#include <algorithm>

#include "operators/common/host_device_op.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"

namespace caffe2 {

void AssignToRows(const Tensor& indices, int64_t rows, TypeMeta meta, int64_t width, const void* x,
                  void* y, CPUContext* /*context*/) {
  const auto row_bytes = width * static_cast<int64_t>(meta.itemsize());
  for (const int64_t row : ReadIndices(indices, rows)) {
    CopyItems(meta, width, x, static_cast<char*>(y) + row * row_bytes);
  }
}

SortedRows SortIndices(const Tensor& indices, int64_t rows, Tensor* storage,
                       CPUContext* /*context*/) {
  std::vector<int64_t> list = ReadIndices(indices, rows);
  std::sort(list.begin(), list.end());
  const auto n = static_cast<int64_t>(list.size());
  CAFFE_ENFORCE(rows <= static_cast<int64_t>(SortedRows::kNoRow), "input_tensor has ", rows,
                " rows, more than ", SortedRows::kNoRow);
  storage->Resize(n);
  auto* keys = reinterpret_cast<uint64_t*>(storage->mutable_data<int64_t>());
  for (int64_t i = 0; i < n; ++i) keys[i] = static_cast<uint64_t>(list[i]) << 32;
  return {n, keys};
}

namespace {

class GetCopyRowsToTensorGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("CopyRowsToTensorGradient", "", std::vector{I(1), GO(0)},
                             std::vector{GI(0), GI(2)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(CopyRowsToTensor, CopyRowsToTensorOp<CPUContext>);
REGISTER_CPU_OPERATOR(CopyRowsToTensorGradient, CopyRowsToTensorGradientOp<CPUContext>);
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
    .Output(0, "d_input", "The gradient, with zeros in the rows that were set.")
    .Output(1, "d_row", "The sum of the gradient's rows that were set.");
REGISTER_GRADIENT(CopyRowsToTensor, GetCopyRowsToTensorGradient);

}  // namespace caffe2
