// Gradients of If, While and Do. The gradient of an operator that runs nets is the same operator
// running the gradients of these nets, as in Caffe2:
//
//   If(c; then_net, else_net)  If(c; gradient of then_net, gradient of else_net). The branch that
//                              did not run leaves zeros, or hands through the gradient of a blob
//                              that it does not write.
//   Do(scope; net)             Do(scope; gradient of net), marked is_gradient_op: it takes the
//                              workspace of its forward run off the scope and finds there the
//                              inner blobs. Gradients that come in and go out are bound like all
//                              blobs, under inner names of their own.
//   While(c; loop_net)         While(HasScope(scope); gradient of loop_net), once for each run of
//                              the body, last run first. The body must be one Do with a scope of
//                              its own, which keeps the inner blobs of every run. A blob that the
//                              body writes has a gradient that changes from run to run; the
//                              gradients of those it only reads are summed.
//
// The makers are registered like those of other operators, so that the pass (gradient.h), nested
// nets and Python find them. They see If and While with all blobs that their nets touch as inputs
// and outputs. Gradients are dense, in float where zeros are made; Do passes sparse ones too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/operator_gradient.h"

namespace caffe2 {

class ControlGradientMaker : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyEngine() const override { return false; }
  bool CopyArguments() const override { return false; }

 protected:
  // The backward pass of a nested net.
  struct Nested {
    std::vector<OperatorDef> ops;
    // Of the values that blobs have before the net runs.
    std::map<std::string, GradientWrapper> gradients;
  };

  // Differentiates `net`; `seeds` maps blobs to the gradients of their values after the run. The
  // gradient of a blob that the net does not touch is its seed.
  static Nested Differentiate(const NetDef& net, const std::map<std::string, std::string>& seeds);
  // The net argument `name`, or an empty net called so.
  NetDef NetArgument(const std::string& name) const;
  // `ops` as the gradient net of `forward`.
  static NetDef GradientNet(const NetDef& forward, const std::vector<OperatorDef>& ops);
  // Outputs -> their gradients, without those that have none.
  std::map<std::string, std::string> OutputGradients() const;
  // Inputs `begin` on, each once, as index.
  std::vector<int> DistinctInputs(int begin) const;

  // Operators that move gradients, on the device of the first operator of `near` that names one.
  static OperatorDef Copy(const std::string& from, const std::string& to, const NetDef& near);
  static OperatorDef Zeros(const std::string& like, const std::string& to, const NetDef& near);
  // The dense gradient; throws for a sparse one.
  std::string Dense(const GradientWrapper& gradient, const std::string& of) const;
  // Lists all blobs that the nets of the operator touch as its inputs and outputs, behind those it
  // lists.
  static void ListOperands(OperatorDef* op);
};

}  // namespace caffe2
