// Gather, BatchGather.
#include <algorithm>
#include <cstring>

#include "operators/copy_elements.h"
#include "operators/element_type.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

// Along which axis rows are gathered, and whether the indices have the axes before it too, so that
// each element of the batch has indices of its own.
struct GatherAxis {
  GatherAxis(const ArgumentHelper& arguments, int default_axis)
      : axis(arguments.GetSingleArgument<int>("axis", default_axis)),
        match_outer(arguments.GetSingleArgument<bool>("match_outer", false)) {}

  // The shape of data with the axis replaced by the indices'.
  std::vector<int64_t> Shape(const std::vector<int64_t>& data,
                             const std::vector<int64_t>& indices) const {
    CAFFE_ENFORCE(axis >= 0 && axis < static_cast<int>(data.size()), "axis ", axis,
                  " is out of range for shape ", ShapeString(data));
    std::vector<int64_t> shape(data.begin(), data.begin() + axis);
    const int shared = match_outer ? axis : 0;
    CAFFE_ENFORCE(static_cast<int>(indices.size()) >= shared &&
                      std::equal(shape.begin(), shape.begin() + shared, indices.begin()),
                  "the axes of the indices ", ShapeString(indices), " before ", axis,
                  " must be those of the data ", ShapeString(data));
    shape.insert(shape.end(), indices.begin() + shared, indices.end());
    shape.insert(shape.end(), data.begin() + axis + 1, data.end());
    return shape;
  }
  // Indices of one element of the batch.
  int64_t Count(const Tensor& indices) const {
    return match_outer ? indices.size_from_dim(axis) : indices.numel();
  }

  int axis;
  bool match_outer;
};

// default_axis: 0 for Gather, 1 for BatchGather.
template <class Context, int default_axis>
class GatherOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GatherOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(ArgumentHelper(this->debug_def()), default_axis) {}

  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(1).dtype()); }

  template <typename Index>
  bool DoRunWithType() {
    const Tensor &data = Input(0), &indices = Input(1);
    CAFFE_ENFORCE(data.has_data(), "data holds no elements");
    Tensor* Y = Output(0);
    Y->Resize(axis_.Shape(data.sizes(), indices.sizes()));
    const int axis = axis_.axis;
    const int64_t outer = data.size_to_dim(axis), rows = data.size(axis);
    const int64_t width = data.size_from_dim(axis + 1), n = axis_.Count(indices);
    const Index* index = indices.data<Index>();
    CheckIndices(indices.numel(), index, rows);
    const TypeMeta meta = data.dtype();
    const size_t row_bytes = width * meta.itemsize();
    const char* x = static_cast<const char*>(data.raw_data());
    char* y = static_cast<char*>(Y->raw_mutable_data(meta));
    for (int64_t o = 0; o < outer; ++o, x += rows * row_bytes) {
      for (int64_t i = 0; i < n; ++i, y += row_bytes) {
        context_.CopyItems(meta, width, x + index[i] * row_bytes, y);
      }
      if (axis_.match_outer) index += n;
    }
    return true;
  }

 private:
  GatherAxis axis_;
};

// Inputs data, indices, dY: each row of dY is added to the row of d_data it came from.
template <class Context>
class BatchGatherGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BatchGatherGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(ArgumentHelper(this->debug_def()), 1) {}

  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(1).dtype()); }

  template <typename Index>
  bool DoRunWithType() {
    const Tensor &data = Input(0), &indices = Input(1), &dY = Input(2);
    CAFFE_ENFORCE(dY.sizes() == axis_.Shape(data.sizes(), indices.sizes()), "the gradient's shape ",
                  ShapeString(dY.sizes()), " is not that of the result");
    const int axis = axis_.axis;
    const int64_t outer = data.size_to_dim(axis), rows = data.size(axis);
    const int64_t width = data.size_from_dim(axis + 1), n = axis_.Count(indices);
    const Index* index = indices.data<Index>();
    CheckIndices(indices.numel(), index, rows);
    const float* dy = dY.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(data);
    float* dx = dX->template mutable_data<float>();
    std::fill_n(dx, dX->numel(), 0.f);
    for (int64_t o = 0; o < outer; ++o, dx += rows * width) {
      for (int64_t i = 0; i < n; ++i, dy += width) {
        float* row = dx + index[i] * width;
        for (int64_t j = 0; j < width; ++j) row[j] += dy[j];
      }
      if (axis_.match_outer) index += n;
    }
    return true;
  }

 private:
  GatherAxis axis_;
};

// Along axis 0 the gradient is sparse: the indices, and the gradient of the result as values;
// dense_gradient=1 makes it dense.
class GetGatherGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const ArgumentHelper arguments(Def());
    if (arguments.GetSingleArgument<int>("axis", 0) != 0) {
      return SingleGradientDef("BatchGatherGradient", "",
                               std::vector<std::string>{I(0), I(1), GO(0)},
                               std::vector<std::string>{GI(0)});
    }
    if (arguments.GetSingleArgument<bool>("dense_gradient", false)) {
      return SingleGradientDef("SparseToDense", "", std::vector<std::string>{I(1), GO(0), I(0)},
                               std::vector<std::string>{GI(0)});
    }
    SetSparse(0, I(1), GO(0));
    return {};
  }
};
class GetBatchGatherGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("BatchGatherGradient", "", std::vector<std::string>{I(0), I(1), GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

template <int default_axis>
void DescribeGather(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const GatherAxis axis(ArgumentHelper(def), default_axis);
        return std::vector<TensorShape>{CreateTensorShape(
            axis.Shape(GetDimsVector(in[0]), GetDimsVector(in[1])), in[0].data_type())};
      })
      .Arg("match_outer",
           "1: INDICES has the axes of DATA before `axis`, and each element of these its own "
           "indices. Default 0: all have the same.")
      .Input(0, "DATA", "A tensor of any type.")
      .Input(1, "INDICES", "int32 or int64, of any shape; each in the range of the axis.")
      .Output(
          0, "OUTPUT",
          "DATA's shape with the axis replaced by the shape of INDICES (with match_outer, from the "
          "axis on).");
}

}  // namespace

REGISTER_CPU_OPERATOR(Gather, GatherOp<CPUContext, 0>);
REGISTER_CPU_OPERATOR(BatchGather, GatherOp<CPUContext, 1>);
REGISTER_CPU_OPERATOR(BatchGatherGradient, BatchGatherGradientOp<CPUContext>);
OPERATOR_SCHEMA(Gather)
    .FillUsing(DescribeGather<0>)
    .SetDoc("The rows of DATA that INDICES names. The gradient is sparse.")
    .Arg("axis", "The axis that is indexed. Default 0.")
    .Arg("dense_gradient", "1: the gradient is dense. Default 0.");
OPERATOR_SCHEMA(BatchGather)
    .FillUsing(DescribeGather<1>)
    .SetDoc("For every element of a batch, the rows of DATA that INDICES names.")
    .Arg("axis", "The axis that is indexed. Default 1.");
OPERATOR_SCHEMA(BatchGatherGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Gradient of BatchGather: rows that were read more than once sum up.")
    .Arg("axis", "As in the forward operator. Default 1.")
    .Arg("match_outer", "As in the forward operator. Default 0.")
    .Input(0, "DATA", "Float input of the forward operator; its shape counts.")
    .Input(1, "INDICES", "Indices of the forward operator.")
    .Input(2, "dOUTPUT", "Gradient of its output.")
    .Output(0, "dDATA", "Gradient of DATA.");
REGISTER_GRADIENT(Gather, GetGatherGradient);
REGISTER_GRADIENT(BatchGather, GetBatchGatherGradient);

}  // namespace caffe2
