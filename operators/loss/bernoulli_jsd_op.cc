#include "operators/loss/bernoulli_jsd_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR_WITH_GRADIENT(BernoulliJSD, BernoulliDivergence, TensorTypes<float>);
OPERATOR_SCHEMA(BernoulliJSD)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "The Jensen-Shannon divergence of Bernoulli distributions, element by element: H((X + T) / "
        "2) - (H(X) + H(T)) / 2, with the entropy H in nats.")
    .Input(0, "X", "Float probabilities.")
    .Input(1, "T", "Float probabilities, as many as X has.")
    .Output(0, "L", "The divergences, shaped like X.");
OPERATOR_SCHEMA(BernoulliJSDGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of BernoulliJSD for X; T gets none.")
    .Input(0, "dL", "The gradient of the divergences.")
    .Input(1, "X", "As in the forward operator.")
    .Input(2, "T", "As in the forward operator.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(BernoulliJSD, GradientRule<"GO0 I0 I1 -> GI0">);

}  // namespace caffe2
