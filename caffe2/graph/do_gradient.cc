#include <algorithm>
#include <set>

#include "caffe2/core/do_bindings.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/graph/control_gradient.h"

namespace caffe2 {
namespace {

std::string NotIn(const std::set<std::string>& taken, std::string name) {
  while (taken.count(name)) name += "_";
  return name;
}

bool Writes(const std::vector<OperatorDef>& ops, const std::string& blob) {
  return std::any_of(ops.begin(), ops.end(), [&blob](const OperatorDef& op) {
    return std::count(op.output().begin(), op.output().end(), blob) != 0;
  });
}

class GetDoGradient final : public ControlGradientMaker {
 public:
  using ControlGradientMaker::ControlGradientMaker;

  std::vector<OperatorDef> GetGradientDefs() override {
    net_ = NetArgument("net");
    ReadNames();
    nested_ = Differentiate(net_, SeedOutputs());
    for (const int i : DistinctInputs(0)) DeliverInput(i);
    CheckDelivered();
    BindReads();
    return {GradientDo()};
  }

 private:
  struct Binding {
    std::string inner, outer;
  };

  void ReadNames() {
    outer_of_ = ReadDoBindings(def_);
    for (const auto& [inner, outer] : outer_of_) inner_of_[outer] = inner;
    const Operands operands = OperandsOf(net_);
    inner_names_.insert(operands.reads.begin(), operands.reads.end());
    inner_names_.insert(operands.writes.begin(), operands.writes.end());
    outer_names_.insert(def_.input().begin(), def_.input().end());
    outer_names_.insert(def_.output().begin(), def_.output().end());
  }

  // Binds each incoming gradient to an inner name that the subnet does not use.
  std::map<std::string, std::string> SeedOutputs() {
    std::map<std::string, std::string> seeds, inner_seed;
    for (const auto& [output, gradient] : OutputGradients()) {
      outer_names_.insert(gradient);
      const std::string& inner = inner_of_.at(output);
      auto [it, is_new] = inner_seed.try_emplace(gradient);
      if (is_new) {
        it->second = NotIn(inner_names_, GradientName(inner) + "_out");
        inner_names_.insert(it->second);
        outer_of_seed_[it->second] = gradient;
      }
      seeds[inner] = it->second;
    }
    return seeds;
  }

  void DeliverInput(int i) {
    const auto found = inner_of_.find(I(i));
    if (found == inner_of_.end()) return;  // the scope
    const auto gradient = nested_.gradients.find(found->second);
    if (gradient == nested_.gradients.end()) return;
    const GradientWrapper inner = gradient->second;
    nested_.gradients.erase(gradient);
    const std::string name = GradientName(I(i));
    if (inner.IsDense()) {
      SetDense(i, Deliver(inner.dense, name));
    } else {
      SetSparse(i, Deliver(inner.indices, name + "_indices"),
                Deliver(inner.values, name + "_values"));
    }
  }

  // Binds the inner blob to an outer one and returns the name of the outer one: `wanted` if that is
  // free, else `wanted` with underscores added.
  std::string Deliver(const std::string& inner, const std::string& wanted) {
    const bool is_result =
        std::any_of(results_.begin(), results_.end(),
                    [&inner](const Binding& binding) { return binding.inner == inner; });
    const std::string outer = NotIn(outer_names_, wanted);
    outer_names_.insert(outer);
    if (Writes(nested_.ops, inner) && !is_result) {
      results_.push_back({inner, outer});
    } else {
      // The inner blob is an input, or is bound to another outer blob already.
      const std::string copy = NotIn(inner_names_, inner + "_in");
      inner_names_.insert(copy);
      nested_.ops.push_back(Copy(inner, copy, net_));
      results_.push_back({copy, outer});
    }
    return outer;
  }

  void CheckDelivered() const {
    for (const auto& [inner, gradient] : nested_.gradients) {
      const auto found = outer_of_.find(inner);
      CAFFE_ENFORCE(found == outer_of_.end(), "the net of Do reads blob ", inner,
                    ", or may leave it unchanged, but ", found->second,
                    ", which is bound to it, is not an input of Do: add it to the inputs, so that "
                    "a gradient can flow through it");
    }
  }

  // Binds the blobs that the gradient net reads and does not write: incoming gradients and blobs of
  // the forward run. The workspace of the forward run holds the inner ones of the latter, and with
  // copy_external_blobs all of them.
  void BindReads() {
    const bool copied = ArgumentHelper(def_).GetSingleArgument<bool>("copy_external_blobs", false);
    for (const std::string& inner : OperandsOf(GradientNet(net_, nested_.ops)).reads) {
      const auto seed = outer_of_seed_.find(inner);
      const auto bound = outer_of_.find(inner);
      if (seed != outer_of_seed_.end()) {
        reads_.push_back({inner, seed->second});
      } else if (bound != outer_of_.end() && !copied) {
        reads_.push_back({inner, bound->second});
      } else {
        saved_.push_back(inner);
      }
    }
  }

  OperatorDef GradientDo() const {
    OperatorDef op;
    op.set_type("Do");
    if (def_.has_name()) op.set_name(def_.name() + "_grad");
    std::vector<std::string> inner;
    std::vector<int> index;
    for (const Binding& read : reads_) {
      op.add_input(read.outer);
      inner.push_back(read.inner);
    }
    for (const Binding& result : results_) {
      op.add_output(result.outer);
      inner.push_back(result.inner);
    }
    for (size_t i = 0; i < inner.size(); ++i) index.push_back(static_cast<int>(i));
    const std::string& scope = def_.input(def_.input_size() - 1);
    op.add_input(scope);
    op.add_output(scope);
    SetArgument(&op, "net", GradientNet(net_, nested_.ops));
    SetArgument(&op, "inner_blobs", inner);
    SetArgument(&op, "outer_blobs_idx", index);
    SetArgument(&op, "saved_fwd_blobs", saved_);
    return op;
  }

  NetDef net_;
  Nested nested_;
  std::unordered_map<std::string, std::string> outer_of_, inner_of_;
  std::map<std::string, std::string> outer_of_seed_;
  std::set<std::string> inner_names_, outer_names_;
  std::vector<Binding> reads_, results_;
  std::vector<std::string> saved_;
};

}  // namespace

REGISTER_GRADIENT(Do, GetDoGradient);

}  // namespace caffe2
