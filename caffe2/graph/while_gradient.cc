#include <algorithm>
#include <set>

#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/graph/control_gradient.h"

namespace caffe2 {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class GetWhileGradient final : public ControlGradientMaker {
 public:
  using ControlGradientMaker::ControlGradientMaker;

  std::vector<OperatorDef> GetGradientDefs() override {
    body_ = NetArgument("loop_net");
    CheckBody();
    DifferentiateBody();
    CheckValues();
    std::vector<OperatorDef> ops = Start();
    ops.push_back(Loop());
    for (const int i : DistinctInputs(1)) {
      if (gradient_.gradients.count(I(i)) || running_.count(I(i))) {
        ops.push_back(Copy(Running(I(i)), GI(i), body_));
      }
    }
    return ops;
  }

 private:
  // The gradient of a blob while the loop runs backwards: the gradient of its value after the
  // iteration that is next, or, for a blob that the body does not write, the sum over the
  // iterations done so far.
  static std::string Running(const std::string& blob) { return GradientName(blob) + "_loop"; }
  std::string Scope() const { return body_.op(0).output(body_.op(0).output_size() - 1); }
  std::string HasRuns() const { return Scope() + "_has_runs"; }

  void CheckBody() const {
    CAFFE_ENFORCE(
        body_.op_size() == 1 && body_.op(0).type() == "Do",
        "the gradient of While needs a loop_net of one Do operator, whose scope keeps the values "
        "of every iteration; this one has ",
        body_.op_size(), " operators",
        body_.op_size() == 0 ? "" : ", the first a " + body_.op(0).type());
    CAFFE_ENFORCE(!BodyArgument("reuse_workspace"),
                  "the gradient of While needs the values of every iteration, but the Do in its "
                  "loop_net sets reuse_workspace: remove this argument");
    CAFFE_ENFORCE(body_.op(0).output_size() > 0,
                  "the Do in the body of While must have at least one output, found none");
  }

  bool BodyArgument(const char* name) const {
    return ArgumentHelper(body_.op(0)).GetSingleArgument<bool>(name, false);
  }

  // A blob that the body writes may get its first gradient from a later iteration, so seeds are
  // added until no new ones appear.
  void DifferentiateBody() {
    const std::vector<std::string> written = OperandsOf(body_).writes;
    for (const auto& [blob, gradient] : OutputGradients()) {
      CAFFE_ENFORCE(Contains(written, blob), "the body of While does not write its output ", blob);
      running_[blob] = Running(blob);
    }
    for (bool grown = true; grown;) {
      grown = false;
      gradient_ = Differentiate(body_, running_);
      for (const auto& entry : gradient_.gradients) {
        const std::string& blob = entry.first;
        if (Contains(written, blob)) grown |= running_.emplace(blob, Running(blob)).second;
      }
    }
  }

  // The gradient of an iteration must see the values of that iteration.
  void CheckValues() const {
    const NetDef condition = NetArgument("cond_net");
    std::vector<std::string> changing = OperandsOf(condition).writes;
    for (const std::string& blob : changing) {
      CAFFE_ENFORCE(!running_.count(blob) && !gradient_.gradients.count(blob),
                    "no gradient flows through the cond_net of While, which writes blob ", blob);
    }
    const std::vector<std::string> written = OperandsOf(body_).writes;
    changing.insert(changing.end(), written.begin(), written.end());
    for (const std::string& blob : OperandsOf(GradientNet(body_, gradient_.ops)).reads) {
      CAFFE_ENFORCE(blob == Scope() || !Contains(changing, blob),
                    "the gradient of While needs blob ", blob,
                    " as it was in every iteration: set copy_external_blobs of the Do in its "
                    "loop_net");
    }
  }

  // The operators before the first step back.
  std::vector<OperatorDef> Start() const {
    const auto given = OutputGradients();
    std::vector<OperatorDef> ops;
    for (const auto& [blob, running] : running_) {
      const auto seed = given.find(blob);
      ops.push_back(seed == given.end() ? Zeros(blob, running, body_)
                                        : Copy(seed->second, running, body_));
    }
    for (const auto& entry : gradient_.gradients) {
      if (!running_.count(entry.first)) {
        ops.push_back(Zeros(entry.first, Running(entry.first), body_));
      }
    }
    ops.push_back(CreateOperatorDef("HasScope", "", {Scope()}, {HasRuns()}));
    return ops;
  }

  OperatorDef Loop() const {
    NetDef condition;
    condition.set_name("cond_net_grad");
    *condition.add_op() = CreateOperatorDef("HasScope", "", {Scope()}, {HasRuns()});
    OperatorDef loop = CreateOperatorDef("While", "", {HasRuns()}, {},
                                         {MakeArgument("loop_net", GradientNet(body_, StepBack())),
                                          MakeArgument("cond_net", condition)});
    ListOperands(&loop);
    return loop;
  }

  // The gradient of one iteration. Its results go where the next step back reads them.
  std::vector<OperatorDef> StepBack() const {
    std::vector<OperatorDef> ops = gradient_.ops;
    for (const auto& [blob, running] : running_) {
      const auto result = gradient_.gradients.find(blob);
      ops.push_back(result == gradient_.gradients.end()
                        ? Zeros(running, running, body_)
                        : Copy(Dense(result->second, blob), running, body_));
    }
    for (const auto& [blob, result] : gradient_.gradients) {
      if (running_.count(blob)) continue;
      OperatorDef sum = Copy(Dense(result, blob), Running(blob), body_);
      sum.set_type("Sum");
      sum.add_input(Running(blob));
      sum.mutable_input()->SwapElements(0, 1);  // in place of the first input
      ops.push_back(sum);
    }
    return ops;
  }

  NetDef body_;
  Nested gradient_;                             // of one iteration
  std::map<std::string, std::string> running_;  // the running gradients of blobs the body writes
};

}  // namespace

REGISTER_GRADIENT(While, GetWhileGradient);

}  // namespace caffe2
