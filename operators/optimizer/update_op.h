// The operators that run an update rule (update_rule.h, for example Adam): DenseUpdateOp for whole
// parameters and SparseUpdateOp for the rows that indices name. An operator's file gives the rule,
// its arguments, and an UpdateLayout, which gives the positions of its inputs and outputs.
#pragma once

#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/update_loops.h"

namespace caffe2 {

// The rule with the arguments of an operator. Each operator's file overloads ReadArguments for its
// rule.
template <class Rule>
Rule ReadRule(const OperatorBase& op) {
  Rule rule;
  ReadArguments(op, &rule);
  return rule;
}
template <class Rule>
void ReadArguments(const OperatorBase& op, WithWeightDecay<Rule>* rule) {
  ReadArguments(op, static_cast<Rule*>(rule));
  rule->weight_decay = op.GetSingleArgument<float>("weight_decay", 0.f);
}

// The factor by which the rule corrects its step at iteration `iter` (int64, one element).
// update_op_cuda.h has the version for devices.
template <CorrectedRule Rule>
Rate CorrectionOf(const Rule& rule, const Tensor& iter, CPUContext* /*context*/) {
  CAFFE_ENFORCE(iter.numel() == 1, "the iteration counter must have one element, found shape ",
                ShapeString(iter.sizes()));
  return {nullptr, rule.Correction(*iter.data<int64_t>())};
}

// The positions of an operator's inputs and outputs; -1 if it never has one. States are
// consecutive. An optional operand is missing if the operator has too few operands for its
// position.
struct UpdateLayout {
  int grad = -1, param = -1, states = -1, indices = -1, lr = -1, iter = -1, found_inf = -1;
  int param_out = -1, states_out = -1, step_out = -1;
};

// T: the type of gradients, steps and states.
template <class Context, typename T = float>
class UpdateOp : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  UpdateOp(const OperatorDef& def, Workspace* ws, const UpdateLayout& layout)
      : Operator<Context>(def, ws), layout_(layout) {}

 protected:
  bool HasParam() const { return HasInput(layout_.param); }
  // The data of output i, resized to the tensor's shape; null if the operator does not have this
  // output.
  template <typename E = T>
  E* Like(const Tensor& tensor, int i) {
    if (i < 0 || i >= OutputSize()) return nullptr;
    Output(i)->ResizeLike(tensor);
    return Output(i)->template mutable_data<E>();
  }

  // The update of one run: the rule with its tensors. Throws EnforceNotMet unless their shapes
  // match. P is the parameter's type.
  template <typename P = T, class Rule>
  DenseUpdate<Rule, P, T> MakeUpdate(const Rule& rule) {
    const Tensor& grad = Input(layout_.grad);
    const Tensor& like = HasParam() ? Input(layout_.param) : grad;
    CheckOptimizerState(like, grad, "gradient");
    return MakeElements<P, /*kRowWise=*/false>(rule, like);
  }
  // The update of the rows that the indices name. Rows is a template of sparse_update.h.
  template <template <class, typename> class Rows, typename P = T, class Rule>
  Rows<Rule, P> MakeRows(const Rule& rule) {
    const Tensor& param = Input(layout_.param);
    const int64_t width = CheckRowGradient(param, Input(layout_.indices), Input(layout_.grad));
    return {width, MakeElements<P, Rows<Rule, P>::kRowWise>(rule, param)};
  }
  // Updates these rows of the parameter and of its states.
  template <class Rows>
  void UpdateParamRows(const Rows& rows) {
    UpdateRows(Input(layout_.indices), Input(layout_.param).size(0), rows, &context_);
  }

  const UpdateLayout layout_;

 private:
  bool HasInput(int i) const { return i >= 0 && i < InputSize(); }

  template <typename P, bool kRowWise, class Rule>
  DenseUpdate<Rule, P, T> MakeElements(const Rule& rule, const Tensor& like) {
    const Tensor& grad = Input(layout_.grad);
    DenseUpdate<Rule, P, T> update{.rule = rule};
    if (HasInput(layout_.lr)) {
      const auto& lr = this->template Input<Tensor>(layout_.lr);
      update.lr = RateFor(lr, "the learning rate", &context_);
    }
    if constexpr (CorrectedRule<Rule>) {
      update.correction = CorrectionOf(rule, this->template Input<Tensor>(layout_.iter), &context_);
    }
    if (HasInput(layout_.found_inf)) update.found_inf = FoundInf(this, layout_.found_inf);
    update.grad = grad.data<T>();
    SetStates<kRowWise>(like, &update);
    if (HasParam()) {
      update.param = like.data<P>();
      update.param_out = Like<P>(like, layout_.param_out);
    }
    update.step_out = Like(grad, layout_.step_out);
    return update;
  }

  // With kRowWise the last state has one element for each row.
  template <bool kRowWise, class Update>
  void SetStates(const Tensor& like, Update* update) {
    using Rule = typename Update::Rule;
    if constexpr (Update::kStride > 1) {  // one tensor holds all states, interleaved
      const Tensor& states = Input(layout_.states);
      CAFFE_ENFORCE(states.numel() == Update::kStride * like.numel(), Rule::kStateNames[0],
                    " must have ", Update::kStride,
                    " values for each element of the parameter: it has shape ",
                    ShapeString(states.sizes()), ", the parameter ", ShapeString(like.sizes()));
      const T* from = states.data<T>();
      T* to = Like(states, layout_.states_out);
      for (int s = 0; s < Rule::kStates; ++s) {
        update->state[s] = from + s;
        update->state_out[s] = to + s;
      }
    } else if constexpr (Rule::kStates > 0) {
      for (int s = 0; s < Rule::kStates; ++s) {
        const Tensor& state = Input(layout_.states + s);
        if (kRowWise && s == Rule::kStates - 1) {
          CheckRowWiseState(like, state, Rule::kStateNames[s]);
        } else {
          CheckOptimizerState(like, state, Rule::kStateNames[s]);
        }
        update->state[s] = state.data<T>();
        update->state_out[s] = Like(state, layout_.states_out + s);
      }
    }
  }
};

// Updates all elements of a parameter by the rule.
template <class Context, class Rule, typename T = float>
class DenseUpdateOp : public UpdateOp<Context, T> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DenseUpdateOp(const OperatorDef& def, Workspace* ws, const UpdateLayout& layout)
      : UpdateOp<Context, T>(def, ws, layout), rule_(ReadRule<Rule>(*this)) {}
  bool RunOnDevice() override {
    ForEach(Input(this->layout_.grad).numel(), this->MakeUpdate(rule_), &context_);
    return true;
  }

 protected:
  const Rule rule_;
};

// Updates the rows that the indices name; Rows is a template of sparse_update.h.
template <class Context, class Rule, template <class, typename> class Rows = SparseUpdate>
class SparseUpdateOp : public UpdateOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseUpdateOp(const OperatorDef& def, Workspace* ws, const UpdateLayout& layout)
      : UpdateOp<Context>(def, ws, layout), rule_(ReadRule<Rule>(*this)) {}
  bool RunOnDevice() override {
    this->UpdateParamRows(this->template MakeRows<Rows>(rule_));
    return true;
  }

 protected:
  const Rule rule_;
};

}  // namespace caffe2
