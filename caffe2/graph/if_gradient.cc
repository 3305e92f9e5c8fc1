#include "caffe2/graph/control_gradient.h"

namespace caffe2 {
namespace {

class GetIfGradient final : public ControlGradientMaker {
 public:
  using ControlGradientMaker::ControlGradientMaker;

  std::vector<OperatorDef> GetGradientDefs() override {
    const NetDef nets[2] = {NetArgument("then_net"), NetArgument("else_net")};
    const auto seeds = OutputGradients();
    Nested branches[2] = {Differentiate(nets[0], seeds), Differentiate(nets[1], seeds)};
    std::vector<OperatorDef> ops(1);
    for (const int i : DistinctInputs(1)) {
      const std::string& blob = def_.input(i);
      if (!branches[0].gradients.count(blob) && !branches[1].gradients.count(blob)) continue;
      // Both branches write this blob. It needs a name of its own, because the gradient of an
      // output may come in as "<blob>_grad", and the backward pass renames gradients that it sums.
      const std::string result = GradientName(blob) + "_branch";
      for (int k = 0; k < 2; ++k) Deliver(blob, result, nets[k], &branches[k]);
      ops.push_back(Copy(result, GI(i), nets[0]));
    }
    ops[0] = CreateOperatorDef("If", "", {I(0)}, {},
                               {MakeArgument("then_net", GradientNet(nets[0], branches[0].ops)),
                                MakeArgument("else_net", GradientNet(nets[1], branches[1].ops))});
    ListOperands(&ops[0]);
    return ops;
  }

 private:
  void Deliver(const std::string& blob, const std::string& result, const NetDef& near,
               Nested* branch) const {
    const auto found = branch->gradients.find(blob);
    branch->ops.push_back(found == branch->gradients.end()
                              ? Zeros(blob, result, near)
                              : Copy(Dense(found->second, blob), result, near));
  }
};

}  // namespace

REGISTER_GRADIENT(If, GetIfGradient);

}  // namespace caffe2
