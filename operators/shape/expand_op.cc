#include "operators/shape/expand_op.h"

#include <algorithm>
#include <cstring>

#include "caffe2/utils/simd.h"
#include "operators/common/sum_to.h"

namespace caffe2 {
namespace {

constexpr size_t kChunk = 16, kMostShort = 128;  // bytes
bool IsShortCopy(size_t bytes) { return bytes >= kChunk && bytes <= kMostShort; }
// Writes `bytes` bytes of `from`, a chunk at a time, or with kRepeat its first chunk again and
// again. bytes is a multiple of the size of an element. This is faster than a call of memcpy.
template <bool kRepeat>
CAFFE2_INLINE void WriteChunks(size_t bytes, const char* from, char* to) {
  size_t i = 0;
  for (; i + kChunk <= bytes; i += kChunk) std::memcpy(to + i, from + (kRepeat ? 0 : i), kChunk);
  if (i == bytes) return;
  i = bytes - kChunk;
  std::memcpy(to + i, from + (kRepeat ? 0 : i), kChunk);
}

// y[0], ..., y[n - 1] = x[0], x[stride], ...; stride is 0 or 1.
template <typename T>
CAFFE2_INLINE void WriteRow(int64_t n, int64_t stride, const T* x, T* y) {
  const size_t bytes = n * sizeof(T);
  if (!IsShortCopy(bytes)) {
    stride == 0 ? std::fill_n(y, n, *x) : std::copy_n(x, n, y);
  } else if (stride == 0) {
    T chunk[kChunk / sizeof(T)];
    std::fill_n(chunk, kChunk / sizeof(T), *x);
    WriteChunks<true>(bytes, reinterpret_cast<const char*>(chunk), reinterpret_cast<char*>(y));
  } else {
    WriteChunks<false>(bytes, reinterpret_cast<const char*>(x), reinterpret_cast<char*>(y));
  }
}

}  // namespace

template <typename T>
void RepeatElements(const BroadcastPlan& plan, const T* x, T* y, CPUContext* /*context*/) {
  const int64_t stride = plan.a_inner_stride();
  if (plan.dims == 1) {
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t from, int64_t) {
      WriteRow(n, stride, x + from, y + row);
    });
    return;
  }
  // The rows are the elements of a plan of their own, whose loop over them is shorter.
  const int64_t n = plan.inner_size();
  BroadcastPlan rows = plan;
  --rows.dims;
  rows.numel = plan.outer_size();
  const int64_t step = rows.a_inner_stride();
  ParallelRows(rows, RowGrain(n), [=](int64_t count, int64_t row, int64_t from, int64_t) {
    for (int64_t r = 0; r < count; ++r) {
      WriteRow(n, stride, x + from + r * step, y + (row + r) * n);
    }
  });
}

REGISTER_CPU_OPERATOR(Expand, ExpandOp<CPUContext>);
REGISTER_CPU_OPERATOR(ExpandGradient, ExpandGradientOp<CPUContext>);

OPERATOR_SCHEMA(Expand)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const ArgumentHelper arguments(def);
      if (in.size() > 1 || !arguments.HasArgument("shape")) {
        return std::vector<TensorShape>{UnknownTensorShape()};
      }
      return std::vector<TensorShape>{CreateTensorShape(
          ExpandedShape(GetDimsVector(in[0]), arguments.GetRepeatedArgument<int64_t>("shape")),
          in[0].data_type())};
    })
    .SetDoc(
        "Broadcasts X to a shape by the rules of NumPy: shapes are aligned at the end, and a "
        "dimension of 1 (or a missing one) takes the size of the other shape's dimension.")
    .ArgList<int>("shape", "The shape, unless it is an input; 1 and -1 keep a dimension of X.")
    .Input(0, "X", "A tensor of numbers: float, double, float16, bfloat16, int32 or int64.")
    .Input(1, "shape", "Optional: the shape, one-dimensional int32 or int64, in host memory.")
    .Output(0, "Y", "The result.");
OPERATOR_SCHEMA(ExpandGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of Expand: sums over the repeated dimensions.")
    .Input(0, "dY", "The gradient of the output, of a floating-point type.")
    .Input(1, "X", "The input of the forward operator.")
    .Output(0, "dX", "The gradient of the input.");

class GetExpandGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ExpandGradient", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};
REGISTER_GRADIENT(Expand, GetExpandGradient);

}  // namespace caffe2
