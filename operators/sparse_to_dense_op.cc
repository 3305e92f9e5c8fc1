// SparseToDense, EnsureDense.
#include "operators/copy_elements.h"
#include "operators/element_type.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

template <class Context>
class SparseToDenseOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseToDenseOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        rows_(this->template GetSingleArgument<int64_t>("output_first_dim", 0)) {
    CAFFE_ENFORCE_GE(rows_, 0, "output_first_dim must not be negative");
  }

  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(0).dtype()); }

  template <typename Index>
  bool DoRunWithType() {
    const Tensor& values = Input(1);
    if (values.IsType<float>()) return Scatter<Index, float>();
    if (values.IsType<double>()) return Scatter<Index, double>();
    if (values.IsType<int32_t>()) return Scatter<Index, int32_t>();
    return Scatter<Index, int64_t>();
  }

 private:
  template <typename Index, typename T>
  bool Scatter() {
    const Tensor &indices = Input(0), &values = Input(1);
    const int64_t n = indices.numel();
    CAFFE_ENFORCE(indices.dim() == 1 && values.dim() >= 1 && values.size(0) == n,
                  "there must be one row of values for each index: indices ",
                  ShapeString(indices.sizes()), ", values ", ShapeString(values.sizes()));
    const Index* index = indices.data<Index>();
    const T* value = values.data<T>();
    const int64_t rows = NumRows(n, index), width = values.size_from_dim(1);
    CheckIndices(n, index, rows);
    std::vector<int64_t> dims = values.sizes();
    dims[0] = rows;
    Tensor* Y = Output(0);
    Y->Resize(dims);
    T* y = Y->template mutable_data<T>();
    std::fill_n(y, Y->numel(), T(0));
    for (int64_t i = 0; i < n; ++i) {
      T* row = y + index[i] * width;
      for (int64_t j = 0; j < width; ++j) row[j] += value[i * width + j];
    }
    return true;
  }

  // Given by the argument, by input 2, or by the largest index.
  template <typename Index>
  int64_t NumRows(int64_t n, const Index* index) const {
    if (InputSize() == 3) {
      CAFFE_ENFORCE_GE(Input(2).dim(), 1, "data_to_infer_dim must have rows");
      CAFFE_ENFORCE(rows_ == 0 || rows_ == Input(2).size(0),
                    "output_first_dim and data_to_infer_dim disagree");
      return Input(2).size(0);
    }
    if (rows_ > 0) return rows_;
    int64_t rows = 0;
    for (int64_t i = 0; i < n; ++i) rows = std::max<int64_t>(rows, int64_t{index[i]} + 1);
    return rows;
  }

  int64_t rows_;
};

// The values get the rows of the dense gradient that their indices name.
class GetSparseToDenseGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Gather", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(1)});
  }
};
// A sparse gradient becomes a dense one.
class GetEnsureDenseGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    if (GradOut(0).IsDense()) {
      SetDense(0, GO(0));
      return {};
    }
    return SingleGradientDef("SparseToDense", "", std::vector<std::string>{GO_I(0), GO_V(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};

std::vector<TensorShape> InferSparseToDense(const OperatorDef& def,
                                            const std::vector<TensorShape>& in) {
  const int64_t rows = ArgumentHelper(def).GetSingleArgument<int64_t>("output_first_dim", 0);
  if ((in.size() < 3 && rows == 0) || in[1].dims_size() == 0) return {UnknownTensorShape()};
  std::vector<TensorShape> out = {in[1]};
  out[0].set_dims(0, in.size() == 3 && in[2].dims_size() > 0 ? in[2].dims(0) : rows);
  return out;
}

}  // namespace

REGISTER_CPU_OPERATOR(SparseToDense, SparseToDenseOp<CPUContext>);
REGISTER_CPU_OPERATOR(EnsureDense, CopyOp<CPUContext>);
OPERATOR_SCHEMA(SparseToDense)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .TensorInferenceFunction(InferSparseToDense)
    .SetDoc(
        "Makes a dense tensor of rows and their numbers; rows of one number sum up, and those "
        "of none are 0.")
    .Arg("output_first_dim",
         "The number of rows. Default: that of data_to_infer_dim, or one more "
         "than the largest index.")
    .Input(0, "indices", "int32 or int64, one-dimensional.")
    .Input(1, "values", "float, double, int32 or int64; one row for each index.")
    .Input(2, "data_to_infer_dim", "Optional: has as many rows as the output shall have.")
    .Output(0, "output", "The dense tensor.");
OPERATOR_SCHEMA(EnsureDense)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Passes the input on, and makes its gradient dense if it is sparse.")
    .Input(0, "input", "A tensor of any type and shape.")
    .Output(0, "output", "The same values.");
REGISTER_GRADIENT(SparseToDense, GetSparseToDenseGradient);
REGISTER_GRADIENT(EnsureDense, GetEnsureDenseGradient);

}  // namespace caffe2
