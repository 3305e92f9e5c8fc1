#include "operators/shape/slice_op.h"

#include <cstring>

namespace caffe2 {
namespace {

// Calls copy(offset in the tensor, offset in the box, n) for each contiguous run of the box.
template <typename Copy>
void ForRuns(const std::vector<int64_t>& dims, const TensorBox& box, const Copy& copy) {
  // Whole trailing dimensions make longer runs.
  int last = static_cast<int>(dims.size()) - 1;
  int64_t inner = 1;
  while (last > 0 && box.size[last] == dims[last]) inner *= dims[last--];
  const int64_t run = dims.empty() ? 1 : box.size[last] * inner;
  const int64_t numel = CheckedNumel(box.size);
  if (numel == 0) return;
  for (int64_t offset = 0; offset < numel; offset += run) {
    int64_t rest = offset, from = 0, stride = 1;
    for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
      from += (box.start[d] + rest % box.size[d]) * stride;
      rest /= box.size[d];
      stride *= dims[d];
    }
    copy(from, offset, run);
  }
}

}  // namespace

TensorBox TensorBox::Resolve(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
                             const std::vector<int64_t>& dims) {
  CAFFE_ENFORCE(starts.size() == ends.size() && starts.size() <= dims.size(), starts.size(),
                " starts and ", ends.size(), " ends for shape ", ShapeString(dims));
  TensorBox box{std::vector<int64_t>(dims.size(), 0), dims};
  for (size_t d = 0; d < starts.size(); ++d) {
    const auto resolve = [dim = dims[d]](int64_t bound) {
      return bound < 0 ? dim + 1 + bound : std::min(bound, dim);
    };
    const int64_t start = resolve(starts[d]), end = resolve(ends[d]);
    CAFFE_ENFORCE(start >= 0 && end >= start, "the slice from ", starts[d], " to ", ends[d],
                  " of dimension ", d, " makes no sense for shape ", ShapeString(dims));
    box.start[d] = start;
    box.size[d] = end - start;
  }
  return box;
}

template <>
void TakeBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* x,
             void* y, CPUContext* context) {
  ForRuns(dims, box, [&](int64_t from, int64_t to, int64_t n) {
    context->CopyItems(meta, n, static_cast<const char*>(x) + from * meta.itemsize(),
                       static_cast<char*>(y) + to * meta.itemsize());
  });
}
template <>
void PutBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* y,
            void* x, CPUContext* /*context*/) {
  const size_t itemsize = meta.itemsize();
  ForRuns(dims, box, [&](int64_t to, int64_t from, int64_t n) {
    std::memcpy(static_cast<char*>(x) + to * itemsize,
                static_cast<const char*>(y) + from * itemsize, n * itemsize);
  });
}
namespace {

class GetSliceGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs = {I(0)};
    for (int i = 1; i < Def().input_size(); ++i) inputs.push_back(I(i));
    inputs.push_back(GO(0));
    return SingleGradientDef("SliceGradient", "", inputs, std::vector<std::string>{GI(0)});
  }
};

std::vector<TensorShape> InferSlice(const OperatorDef& def, const std::vector<TensorShape>& in) {
  if (in.size() > 1) return {UnknownTensorShape()};
  const ArgumentHelper arguments(def);
  return {CreateTensorShape(
      TensorBox::Resolve(arguments.GetRepeatedArgument<int64_t>("starts"),
                         arguments.GetRepeatedArgument<int64_t>("ends"), GetDimsVector(in[0]))
          .size,
      in[0].data_type())};
}

void DescribeBounds(OpSchema& schema) {
  schema
      .ArgList<int>("starts",
                    "First index in each dimension. A negative one counts from the end: -1 is the "
                    "end, one after the last element. Dimensions without an entry are whole.")
      .ArgList<int>("ends", "The index after the last one, in the same way: -1 is the end.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Slice, SliceOp<CPUContext>);
REGISTER_CPU_OPERATOR(SliceGradient, SliceGradientOp<CPUContext>);
OPERATOR_SCHEMA(Slice)
    .NumInputs({1, 3})
    .NumOutputs(1)
    .TensorInferenceFunction(InferSlice)
    .SetDoc("The part of a tensor from `starts` to `ends`.")
    .FillUsing(DescribeBounds)
    .Input(0, "data", "A tensor of any type and shape.")
    .Input(1, "starts", "Optional, in place of the argument: one-dimensional int32 or int64.")
    .Input(2, "ends", "Optional, in place of the argument: one-dimensional int32 or int64.")
    .Output(0, "output", "The part.");
OPERATOR_SCHEMA(SliceGradient)
    .NumInputs({2, 4})
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(GetDimsVector(in[0]), in.back().data_type())};
    })
    .SetDoc("Gradient of Slice: dY inside the slice, 0 outside.")
    .FillUsing(DescribeBounds)
    .Input(0, "data", "Input of Slice. Only its shape is used.")
    .Input(1, "starts_or_dY", "The input starts of Slice, or the gradient of its output.")
    .Input(2, "ends", "Optional: the input ends of Slice.")
    .Input(3, "dY", "With starts and ends: the gradient of the output of Slice.")
    .Output(0, "d_data", "Gradient of data.");
REGISTER_GRADIENT(Slice, GetSliceGradient);

}  // namespace caffe2
