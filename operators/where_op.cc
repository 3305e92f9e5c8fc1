#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/element_type.h"

namespace caffe2 {
namespace {

template <class Context>
class WhereOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WhereOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        on_rows_(this->template GetSingleArgument<bool>("broadcast_on_rows", false)) {}

  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t, std::string, bool>::Dispatch(
        this, Input(1).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &condition = Input(0), &X = Input(1), &Y = Input(2);
    CAFFE_ENFORCE(X.sizes() == Y.sizes(), "X and Y differ in shape: ", ShapeString(X.sizes()),
                  " and ", ShapeString(Y.sizes()));
    if (on_rows_) {
      CAFFE_ENFORCE(condition.dim() == 1 && X.dim() >= 1 && condition.numel() == X.size(0),
                    "the condition must have one element for each row, but its shape is ",
                    ShapeString(condition.sizes()), " for rows of ", ShapeString(X.sizes()));
    } else {
      CAFFE_ENFORCE(condition.sizes() == X.sizes(), "the condition has shape ",
                    ShapeString(condition.sizes()), ", X has ", ShapeString(X.sizes()));
    }
    const bool* choose = condition.data<bool>();
    const T *x = X.data<T>(), *y = Y.data<T>();
    Tensor* Z = Output(0);
    Z->ResizeLike(X);
    T* z = Z->template mutable_data<T>();
    if (condition.numel() == 0) return true;
    const int64_t row = X.numel() / condition.numel();
    for (int64_t i = 0, k = 0; i < condition.numel(); ++i) {
      const T* source = choose[i] ? x : y;
      for (const int64_t end = k + row; k < end; ++k) z[k] = source[k];
    }
    return true;
  }

 private:
  bool on_rows_;
};

}  // namespace

REGISTER_CPU_OPERATOR(Where, WhereOp<CPUContext>);
OPERATOR_SCHEMA(Where)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{1, 0}, {2, 0}})
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("Z = X where the condition is true, Y elsewhere.")
    .Arg("broadcast_on_rows", "1: the condition chooses whole rows. Default 0.")
    .Input(0, "C", "Bool tensor of X's shape, or with broadcast_on_rows of one element a row.")
    .Input(1, "X", "Values where the condition is true.")
    .Input(2, "Y", "Values where it is false; of X's type and shape.")
    .Output(0, "Z", "The chosen values.");
SHOULD_NOT_DO_GRADIENT(Where);

}  // namespace caffe2
