// Functions of two numbers, Clip and Scale on CUDA devices.
#include <limits>

#include "operators/common/broadcast_strides.h"
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/elementwise_ops.h"
#include "operators/elementwise/pow_op.h"

namespace caffe2 {
namespace {

template <BinaryFunction kFunction>
struct CudaBinary {
  explicit CudaBinary(const OperatorBase&) {}
  template <typename T>
  void operator()(const BroadcastPlan& plan, const T* a, const T* b, T* c,
                  CUDAContext* context) const {
    LaunchBinary(kFunction, StridesOf(plan), plan.a_full() && plan.b_full(), plan.numel, a, b, c,
                 context->report(), context->stream());
  }
};
template <class Types, BinaryFunction kFunction>
using Binary = BinaryElementwiseOp<Types, CUDAContext, CudaBinary<kFunction>>;

// dC, A, B -> dA, dB; as BinaryGradientOp (operators/elementwise/binary_gradient.h), with B, C, dC
// of Div too.
template <Derivative kByA, Derivative kByB, bool kReadsOperands>
class CudaBinaryGradientOp final : public Operator<CUDAContext> {
 public:
  CudaBinaryGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), rule_(ArgumentHelper(debug_def())) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const bool of_result = kByB == Derivative::kDivB && InputSize() == 3;
    const Tensor &dC = Input(of_result ? 2 : 0), &A = Input(1), &B = Input(of_result ? 0 : 2);
    const Derivative by_b = of_result ? Derivative::kDivBOfResult : kByB;
    const BroadcastPlan plan = rule_.Plan(A.sizes(), B.sizes());
    CheckBinaryGradient(plan, dC, A, B, Output(0), Output(1));
    const T* dc = dC.data<T>();
    const T* a = kReadsOperands ? A.data<T>() : nullptr;
    const T* b = kReadsOperands ? B.data<T>() : nullptr;
    // The output that overwrites dC goes last.
    const bool a_last = Output(0) == &dC;
    if (!a_last) GradientOf(0, kByA, plan, A, dc, a, b);
    GradientOf(1, by_b, plan, B, dc, a, b);
    if (a_last) GradientOf(0, kByA, plan, A, dc, a, b);
    return true;
  }

 private:
  // `like`: the operand.
  template <typename T>
  void GradientOf(int operand, Derivative derivative, const BroadcastPlan& plan, const Tensor& like,
                  const T* dc, const T* a, const T* b) {
    Strides kept, summed;
    int64_t summed_count = 1, stride = 1;
    for (int d = plan.dims - 1; d >= 0; --d) {
      const int64_t own = operand == 0 ? plan.a_stride[d] : plan.b_stride[d];
      Strides& space = own != 0 ? kept : summed;
      if (own == 0) summed_count *= plan.size[d];
      const int k = space.dims++;
      space.size[k] = plan.size[d];
      space.stride[0][k] = stride;
      space.stride[1][k] = plan.a_stride[d];
      space.stride[2][k] = plan.b_stride[d];
      stride *= plan.size[d];
    }
    Reverse(&kept);
    Reverse(&summed);
    Tensor* gradient = Output(operand);
    gradient->ResizeLike(like);
    LaunchBinaryGradient(derivative, kept, summed, gradient->numel(), summed_count, dc, a, b,
                         gradient->template mutable_data<T>(), context_.stream());
  }
  // Outermost dimension first.
  static void Reverse(Strides* space) {
    std::reverse(space->size, space->size + space->dims);
    for (auto& stride : space->stride) std::reverse(stride, stride + space->dims);
  }

  BroadcastRule rule_;
};

struct CudaClip {
  explicit CudaClip(const OperatorBase& op)
      : low(op.GetSingleArgument<float>("min", std::numeric_limits<float>::lowest())),
        high(op.GetSingleArgument<float>("max", std::numeric_limits<float>::max())) {
    CAFFE_ENFORCE_LE(low, high, "the arguments min and max leave nothing");
  }
  template <typename T>
  void operator()(int64_t n, const T* x, T* y, CUDAContext* context) const {
    LaunchClip(n, low, high, x, y, context->stream());
  }
  template <typename T>
  void operator()(const BroadcastPlan& plan, const T* y, const T* dy, T* dx,
                  CUDAContext* context) const {
    CAFFE_ENFORCE(plan.a_full() && plan.b_full(), "Y and dY must have one shape");
    LaunchClipGradient(plan.numel, low, high, y, dy, dx, context->stream());
  }
  float low, high;
};

struct CudaScale {
  explicit CudaScale(const OperatorBase& op) : scale(op.GetSingleArgument<float>("scale", 1.f)) {}
  template <typename T>
  void operator()(int64_t n, const T* x, T* y, CUDAContext* context) const {
    LaunchScale(n, scale, x, y, context->stream());
  }
  float scale;
};

REGISTER_CUDA_OPERATOR(Add, Binary<NumericTypes, BinaryFunction::kAdd>);
REGISTER_CUDA_OPERATOR(Sub, Binary<NumericTypes, BinaryFunction::kSub>);
REGISTER_CUDA_OPERATOR(Mul, Binary<NumericTypes, BinaryFunction::kMul>);
REGISTER_CUDA_OPERATOR(Div, Binary<NumericTypes, BinaryFunction::kDiv>);
REGISTER_CUDA_OPERATOR(AddGradient,
                       CudaBinaryGradientOp<Derivative::kAddA, Derivative::kAddB, false>);
REGISTER_CUDA_OPERATOR(SubGradient,
                       CudaBinaryGradientOp<Derivative::kAddA, Derivative::kSubB, false>);
REGISTER_CUDA_OPERATOR(MulGradient,
                       CudaBinaryGradientOp<Derivative::kMulA, Derivative::kMulB, true>);
REGISTER_CUDA_OPERATOR(DivGradient,
                       CudaBinaryGradientOp<Derivative::kDivA, Derivative::kDivB, true>);

REGISTER_CUDA_OPERATOR(PowGradient,
                       CudaBinaryGradientOp<Derivative::kPowA, Derivative::kPowB, true>);
const Registerer<std::string, OperatorBase, const OperatorDef&, Workspace*> kPowRegisterer(
    DeviceOperatorRegistry(CUDA), "Pow",
    MakePow<CUDAContext, Binary<FloatTypes, BinaryFunction::kPow>>);

REGISTER_CUDA_OPERATOR(Clip, UnaryElementwiseOp<FloatTypes, CUDAContext, CudaClip>);
REGISTER_CUDA_OPERATOR(ClipGradient, BinaryElementwiseOp<FloatTypes, CUDAContext, CudaClip>);
REGISTER_CUDA_OPERATOR(Scale, UnaryElementwiseOp<FloatTypes, CUDAContext, CudaScale>);

}  // namespace
}  // namespace caffe2
