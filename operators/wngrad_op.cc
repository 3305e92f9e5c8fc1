// Wngrad and SparseWngrad: one learning rate for a whole parameter, lowered by the size of its
// gradients (Wu, Ward & Bottou, 2018).
#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

// What both operators share: the rate lr / (b + epsilon), and b + |grad|^2 / (b + epsilon).
class WngradBase : public Operator<CPUContext> {
 public:
  WngradBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), epsilon_(GetSingleArgument<float>("epsilon", 1e-5f)) {}

 protected:
  float ReadDivisor(const Tensor& b) const {
    CAFFE_ENFORCE_EQ(b.numel(), 1, "elements of seq_b ", ShapeString(b.sizes()));
    return *b.data<float>() + epsilon_;
  }
  static float Grown(float b, float divisor, const Tensor& grad) {
    double squares = 0;
    const float* g = grad.data<float>();
    for (int64_t i = 0; i < grad.numel(); ++i) squares += double{g[i]} * g[i];
    return static_cast<float>(b + squares / divisor);
  }

  float epsilon_;
};

class WngradOp final : public WngradBase {
 public:
  using WngradBase::WngradBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    CheckOptimizerState(param, grad, "gradient");
    const float divisor = ReadDivisor(Input(SEQ_B)), b = *Input(SEQ_B).data<float>();
    const float rate = *CheckLearningRate(Input(LR)) / divisor;
    const float *p = param.data<float>(), *g = grad.data<float>();
    const float grown = Grown(b, divisor, grad);
    Output(0)->ResizeLike(param);
    float* p_out = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < param.numel(); ++i) p_out[i] = p[i] + rate * g[i];
    Output(1)->ResizeLike(Input(SEQ_B));
    *Output(1)->mutable_data<float>() = grown;
    if (OutputSize() > 2) {
      Output(2)->ResizeLike(Input(SEQ_B));
      *Output(2)->mutable_data<float>() = rate;
    }
    if (OutputSize() > 3) {
      Output(3)->ResizeLike(grad);
      float* update = Output(3)->mutable_data<float>();
      for (int64_t i = 0; i < grad.numel(); ++i) update[i] = rate * g[i];
    }
    return true;
  }

 private:
  enum { PARAM, SEQ_B, GRAD, LR };
};

class SparseWngradOp final : public WngradBase {
 public:
  using WngradBase::WngradBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    const RowUpdate update = CheckRowUpdate(param, Input(INDICES), grad);
    const float divisor = ReadDivisor(Input(SEQ_B));
    const float rate = *CheckLearningRate(Input(LR)) / divisor;
    const float* g = grad.data<float>();
    float *p = Output(0)->mutable_data<float>(), *b = Output(1)->mutable_data<float>();
    for (const int64_t row : update.rows) {
      for (int64_t j = 0; j < update.width; ++j) p[row * update.width + j] += rate * *g++;
    }
    *b = Grown(*b, divisor, grad);
    return true;
  }

 private:
  enum { PARAM, SEQ_B, INDICES, GRAD, LR };
};

void Describe(OpSchema& schema) {
  schema.Arg("epsilon", "(float, default 1e-5) Added to the divisor.")
      .Input(0, "param", "The float parameter.")
      .Input(1, "seq_b", "One float, b; above 0 at the start.")
      .Output(0, "output_param", "The new parameter; most often the same blob.")
      .Output(1, "output_seq_b", "The new b.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Wngrad, WngradOp);
REGISTER_CPU_OPERATOR(SparseWngrad, SparseWngradOp);
OPERATOR_SCHEMA(Wngrad)
    .NumInputs(4)
    .NumOutputs(2, 4)
    .AllowInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out{in[0], in[1], in[1], in[2]};
      out.resize(def.output_size());
      return out;
    })
    .FillUsing(Describe)
    .SetDoc(
        "WNGrad (Wu, Ward & Bottou, 2018): param' = param + lr / (b + epsilon) * grad, b' = b + "
        "|grad|^2 / (b + epsilon), with one b for the whole parameter.")
    .Input(2, "grad", "The gradient, shaped like the parameter.")
    .Input(3, "lr", "The learning rate, a float scalar; negative to descend.")
    .Output(2, "output_effective_lr", "Optional: lr / (b + epsilon).")
    .Output(3, "output_update", "Optional: what was added to each element.");
OPERATOR_SCHEMA(SparseWngrad)
    .NumInputs(5)
    .NumOutputs(2)
    .EnforceOneToOneInplace()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .FillUsing(Describe)
    .SetDoc("Wngrad of the rows of a parameter that have a gradient.")
    .Input(2, "indices", "int32 or int64: the rows to update.")
    .Input(3, "grad", "Their gradients, one row for each index.")
    .Input(4, "lr", "The learning rate, a float scalar; negative to descend.");
SHOULD_NOT_DO_GRADIENT(Wngrad);
SHOULD_NOT_DO_GRADIENT(SparseWngrad);

}  // namespace caffe2
