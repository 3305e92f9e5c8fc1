// Gather, BatchGather.
#include "operators/sparse/gather_op.h"

#include <algorithm>
#include <cstring>

#include "caffe2/utils/parallel.h"

namespace caffe2 {

std::vector<int64_t> GatherAxis::Shape(const std::vector<int64_t>& data,
                                       const std::vector<int64_t>& indices) const {
  CAFFE_ENFORCE(axis >= 0 && axis < static_cast<int>(data.size()), "axis ", axis,
                " is out of range for shape ", ShapeString(data));
  std::vector<int64_t> shape(data.begin(), data.begin() + axis);
  const int shared = match_outer ? axis : 0;
  CAFFE_ENFORCE(static_cast<int>(indices.size()) >= shared &&
                    std::equal(shape.begin(), shape.begin() + shared, indices.begin()),
                "the axes of the indices ", ShapeString(indices), " before ", axis,
                " must be the same as in the data ", ShapeString(data));
  shape.insert(shape.end(), indices.begin() + shared, indices.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  return shape;
}

namespace {

// The indices of each element of the outer axes in turn, checked.
class OuterIndices {
 public:
  OuterIndices(const Tensor& indices, const RowLayout& layout)
      : list_(ReadIndices(indices, layout.rows)),
        count_(layout.match_outer
                   ? static_cast<int64_t>(list_.size()) / std::max<int64_t>(1, layout.outer)
                   : static_cast<int64_t>(list_.size())),
        step_(layout.match_outer ? count_ : 0) {}
  int64_t count() const { return count_; }
  const int64_t* Of(int64_t outer) const { return list_.data() + outer * step_; }

 private:
  const std::vector<int64_t> list_;
  const int64_t count_, step_;
};

// copy(source row, destination row) for all rows; the numbers count through all matrices.
template <typename Copy>
void ForEachGatheredRow(const OuterIndices& list, const RowLayout& layout, int64_t row_bytes,
                        const Copy& copy) {
  constexpr int64_t kGrainBytes = 1 << 15;
  const int64_t count = list.count();
  ParallelFor(layout.outer * count, std::max<int64_t>(1, kGrainBytes / (row_bytes + 8)),
              [&](int64_t begin, int64_t end) {
                while (begin < end) {
                  const int64_t outer = begin / count, first = begin % count;
                  const int64_t last = std::min(count, first + end - begin);
                  const int64_t* indices = list.Of(outer);
                  for (int64_t i = first; i < last; ++i) {
                    copy(outer * layout.rows + indices[i], outer * count + i);
                  }
                  begin += last - first;
                }
              });
}
template <typename Element>
void GatherElements(const OuterIndices& list, const RowLayout& layout, const void* x, void* y) {
  const auto* from = static_cast<const Element*>(x);
  auto* to = static_cast<Element*>(y);
  ForEachGatheredRow(list, layout, sizeof(Element), [=](int64_t i, int64_t o) { to[o] = from[i]; });
}
void GatherPlainRows(const OuterIndices& list, const RowLayout& layout, int64_t row_bytes,
                     const void* x, void* y) {
  switch (row_bytes) {
    case 0:
      return;
    case 1:
      return GatherElements<uint8_t>(list, layout, x, y);
    case 2:
      return GatherElements<uint16_t>(list, layout, x, y);
    case 4:
      return GatherElements<uint32_t>(list, layout, x, y);
    case 8:
      return GatherElements<uint64_t>(list, layout, x, y);
    default:
      ForEachGatheredRow(list, layout, row_bytes, [=](int64_t i, int64_t o) {
        std::memcpy(static_cast<char*>(y) + o * row_bytes,
                    static_cast<const char*>(x) + i * row_bytes, row_bytes);
      });
  }
}

}  // namespace

template <>
void GatherRows(const Tensor& indices, const RowLayout& layout, TypeMeta meta, const void* x,
                void* y, CPUContext* context) {
  const OuterIndices list(indices, layout);
  const size_t row_bytes = layout.width * meta.itemsize();
  if (meta.copy() == nullptr) {
    return GatherPlainRows(list, layout, static_cast<int64_t>(row_bytes), x, y);
  }
  const char* from = static_cast<const char*>(x);
  char* to = static_cast<char*>(y);
  for (int64_t o = 0; o < layout.outer; ++o, from += layout.rows * row_bytes) {
    for (int64_t i = 0; i < list.count(); ++i, to += row_bytes) {
      context->CopyItems(meta, layout.width, from + list.Of(o)[i] * row_bytes, to);
    }
  }
}

template <typename T>
void SumRows(const Tensor& indices, const RowLayout& layout, const T* x, T* y,
             CPUContext* /*context*/) {
  const OuterIndices list(indices, layout);
  const int64_t width = layout.width;
  for (int64_t o = 0; o < layout.outer; ++o, y += layout.rows * width) {
    for (int64_t i = 0; i < list.count(); ++i, x += width) {
      T* row = y + list.Of(o)[i] * width;
      for (int64_t j = 0; j < width; ++j) row[j] += x[j];
    }
  }
}
template void SumRows(const Tensor&, const RowLayout&, const float*, float*, CPUContext*);
template void SumRows(const Tensor&, const RowLayout&, const double*, double*, CPUContext*);
template void SumRows(const Tensor&, const RowLayout&, const int32_t*, int32_t*, CPUContext*);
template void SumRows(const Tensor&, const RowLayout&, const int64_t*, int64_t*, CPUContext*);

namespace {

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
  schema
      .Arg<bool>("match_outer",
                 "1: INDICES also has the axes of DATA before `axis`, so that each of their "
                 "elements has indices of its own. Default 0: all share the indices.")
      .NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const GatherAxis axis(ArgumentHelper(def), default_axis);
        return std::vector<TensorShape>{CreateTensorShape(
            axis.Shape(GetDimsVector(in[0]), GetDimsVector(in[1])), in[0].data_type())};
      })
      .Input(0, "DATA", "A tensor of any type.")
      .Input(1, "INDICES", "int32 or int64, of any shape; each in the range of the axis.")
      .Output(
          0, "OUTPUT",
          "DATA's shape with the axis replaced by the shape of INDICES (with match_outer, from the "
          "axis on).");
}

}  // namespace

using Gather = GatherOp<CPUContext, 0>;
using BatchGather = GatherOp<CPUContext, 1>;
REGISTER_CPU_OPERATOR(Gather, Gather);
REGISTER_CPU_OPERATOR(BatchGather, BatchGather);
REGISTER_CPU_OPERATOR(BatchGatherGradient, BatchGatherGradientOp<CPUContext>);
OPERATOR_SCHEMA(Gather)
    .FillUsing(DescribeGather<0>)
    .SetDoc("The rows of DATA that INDICES names. The gradient is sparse.")
    .Arg<int>("axis", "The axis that is indexed. Default 0.")
    .Arg<bool>("dense_gradient", "1: the gradient is dense. Default 0.");
OPERATOR_SCHEMA(BatchGather)
    .FillUsing(DescribeGather<1>)
    .SetDoc("For every element of a batch, the rows of DATA that INDICES names.")
    .Arg<int>("axis", "The axis that is indexed. Default 1.");
OPERATOR_SCHEMA(BatchGatherGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Gradient of BatchGather: adds up the gradients of rows that were read more than once.")
    .Arg<int>("axis", "As in the forward operator. Default 1.")
    .Arg<bool>("match_outer", "As in the forward operator. Default 0.")
    .Input(0, "DATA", "Float input of the forward operator. Only its shape is used.")
    .Input(1, "INDICES", "Indices of the forward operator.")
    .Input(2, "dOUTPUT", "Gradient of its output.")
    .Output(0, "dDATA", "Gradient of DATA.");
REGISTER_GRADIENT(Gather, GetGatherGradient);
REGISTER_GRADIENT(BatchGather, GetBatchGatherGradient);

}  // namespace caffe2
